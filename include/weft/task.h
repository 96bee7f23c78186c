/* SPDX-License-Identifier: MIT */
/*
 * weft/task.h - tasks, and what runs them: executors.
 *
 * A task lives in its owner's memory.  An executor stores the pointer and never
 * allocates, copies or frees a task.
 *
 * A runtime (weft/runtime.h) is an executor, and the fastest.  Here are others:
 * a pool of threads, a manual one for tests, one that runs a task at once, and
 * the strand, which runs tasks one after the other on top of another executor.
 * Fibers run on all of them (weft_fiber_attr.executor): each run of the task is
 * the fiber going on until it waits or ends.
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

#include <stddef.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/*
 * Fill in run before the task is submitted and leave next_ alone.  From submit
 * until run is entered the task belongs to the scheduler; from then on it is
 * its owner's again and may be freed or submitted anew, also by run itself.
 */
typedef struct weft_task {
	void (*run)(struct weft_task *self);
	struct weft_task *next_;
} weft_task;

/*
 * Where a task that becomes ready would best run.  Advice: nothing depends on
 * it but speed and fairness.
 */
typedef enum weft_hint {
	/* Behind what is in the queue already. */
	WEFT_HINT_DEFAULT,
	/* Right after what runs now, with its data warm in the cache. */
	WEFT_HINT_NEXT,
	/* After everything that is ready now, here and in the global queue. */
	WEFT_HINT_YIELD,
} weft_hint;

/*
 * Whatever runs tasks.  submit takes a task and runs it some time later, once,
 * on some thread; it returns 0, or -errno and the task is still the caller's.
 *
 * Anyone may write one: put a weft_executor first in a struct, set submit, and
 * leave the rest zero.  It may use the task's next_ until it runs it, which it
 * does by weft_task_run.  hint is advice.  A fiber that is woken on it is
 * submitted again; an executor that refuses then ends the program with a
 * message, since the fiber could never go on.
 */
typedef struct weft_executor {
	int (*submit)(struct weft_executor *self, weft_task *task,
		weft_hint hint);
	void *reserved_[3];
} weft_executor;

/*
 * Have e run t.  Never allocates.
 *
 * Returns 0; -EINVAL for an unknown hint, or if t->run is NULL; -ESHUTDOWN if e
 * is stopping; or what the executor's own submit says.  On an error t is still
 * the caller's.
 *
 * A task must not be submitted again before its run is entered.  Debug builds
 * of the library find it and end the program with one line.
 *
 * Context: any.  Never switches.
 * Order:   everything before the call happens before t->run is entered.
 */
WEFT_API WEFT_MUST_CHECK int weft_submit(
	weft_executor *e, weft_task *t, weft_hint hint);

/*
 * Have e run fn(arg).  Allocates the task that it needs, and frees it before fn
 * is called.
 *
 * Returns as weft_submit; -ENOMEM; -EINVAL if fn is NULL.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_submit_fn(
	weft_executor *e, void (*fn)(void *), void *arg);

/*
 * For those who write an executor: run t now, on this thread, as a task of e.
 * In t, weft_go and weft_spawn then start fibers on e.
 *
 * Context: where e's own code runs.
 */
WEFT_API void weft_task_run(weft_executor *e, weft_task *t);

/*
 * A pool of threads (0: one for each CPU this process may use, at most 4,096)
 * with one queue, a mutex and a condition variable.  It is what schedulers are
 * measured against.
 *
 * Returns 0 and the pool in *e; -ENOMEM; -EAGAIN if the threads could not be
 * made; -EINVAL for too many.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_pool_create(
	weft_executor **e, unsigned threads);

/*
 * An executor that runs what it holds when it is told to, on the thread that
 * tells it: for tests, and for loops that belong to others.
 *
 * Returns 0 and the executor in *e; -ENOMEM.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_manual_create(weft_executor **e);

/*
 * Run the oldest tasks of a manual executor, one after the other, until it
 * holds none or at_most have run.  What they submit to it counts like all else.
 *
 * Returns how many ran, which may be ignored.  An executor that is not manual
 * ends the program with a message.
 *
 * Context: any; may be called from several threads at once, and by a task.
 */
WEFT_API size_t weft_manual_run(weft_executor *e, size_t at_most);

/*
 * The executor that runs a task in the very call that submits it.  What is
 * submitted to it meanwhile, by the task or by those it runs, waits until the
 * task is done, and is then run by the outermost call, in order.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_executor *weft_inline(void);

/*
 * A strand: runs its tasks one after the other, in the order of their submits,
 * as tasks of another executor.  No lock, and no thread ever waits.  If over
 * refuses, so does the strand; what it had accepted before is run all the same,
 * by whoever learns of the refusal.
 *
 * A fiber on a strand is alone on it from one wait to the next.
 *
 * Returns 0 and the strand in *e; -ENOMEM.  over must outlive it.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_strand_create(
	weft_executor **e, weft_executor *over);

/*
 * Wait until all that was submitted to e has run and every fiber on it has
 * ended, those that wait included, and free it.  It is for the caller to see to
 * it that nobody submits from outside meanwhile.
 *
 * Returns 0, and e is gone; -EBUSY for a manual executor that holds a task or a
 * fiber; -EDEADLK in a task or fiber of e; -EINVAL for a runtime's executor,
 * the inline one, and one that weft did not make.  On an error e is as before.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_executor_destroy(weft_executor *e);

WEFT_END_DECLS

#endif
