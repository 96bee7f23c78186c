/* SPDX-License-Identifier: MIT */
/*
 * weft/task.h - tasks, and the executors that run them.
 *
 * A task lives in its owner's memory.  An executor stores the pointer and never
 * allocates, copies or frees a task.
 *
 * A runtime (weft/runtime.h) is an executor, and the fastest.  This header has
 * others: a pool of threads, a manual one for tests, one that runs a task at
 * once, and the strand, which runs tasks one after the other on top of another
 * executor.  Fibers run on all of them (weft_fiber_attr.executor): each run of
 * the task continues the fiber until it waits or ends.  An executor that is not
 * a runtime is called a foreign executor.
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

#include <stddef.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/*
 * Set run before the task is submitted, and leave next_ alone.  From submit
 * until run is entered, the task belongs to the executor.  From then on it
 * belongs to its owner again, and may be freed or submitted again, also by run
 * itself.
 */
typedef struct weft_task {
	void (*run)(struct weft_task *self);
	struct weft_task *next_;
} weft_task;

/*
 * Where a task that becomes ready should run.  A hint changes only speed and
 * fairness.
 */
typedef enum weft_hint {
	/* Behind the tasks that are in the queue already. */
	WEFT_HINT_DEFAULT,
	/* Right after the running task, while its data is in the cache. */
	WEFT_HINT_NEXT,
	/* After all tasks that are ready now, in the local and in the global
	 * queue. */
	WEFT_HINT_YIELD,
} weft_hint;

/*
 * An executor runs tasks.  submit takes a task and runs it some time later,
 * once, on some thread; it returns 0, or -errno and the task still belongs to
 * the caller.
 *
 * Anyone may write an executor: put a weft_executor first in a struct, set
 * submit, and leave the other fields zero.  It may use the task's next_ until
 * it runs the task, which it does by weft_task_run.  It may ignore hint.  A
 * fiber that is woken on an executor is submitted to it again.  If the executor
 * refuses then, weft ends the program with a message, since the fiber could
 * never continue.
 */
typedef struct weft_executor {
	int (*submit)(struct weft_executor *self, weft_task *task,
		weft_hint hint);
	void *reserved_[3];
} weft_executor;

/*
 * Submit t to e, which runs it.  Never allocates.
 *
 * Returns 0; -EINVAL for an unknown hint, or if t->run is NULL; -ESHUTDOWN if e
 * is stopping; or the error of the executor's own submit.  On an error t still
 * belongs to the caller.
 *
 * A task must not be submitted again before its run is entered.  Debug builds
 * of the library detect that and end the program with one line.
 *
 * Context: any.  Never switches.
 * Order:   everything before the call happens before t->run is entered.
 */
WEFT_API WEFT_MUST_CHECK int weft_submit(
	weft_executor *e, weft_task *t, weft_hint hint);

/*
 * Have e run fn(arg).  Allocates a task, and frees it before fn is called.
 *
 * Returns 0 or an error of weft_submit; -ENOMEM; -EINVAL if fn is NULL.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_submit_fn(
	weft_executor *e, void (*fn)(void *), void *arg);

/*
 * For authors of executors: run t now, on this thread, as a task of e.  Inside
 * t, weft_go and weft_spawn start fibers on e.
 *
 * Context: where e's own code runs.
 */
WEFT_API void weft_task_run(weft_executor *e, weft_task *t);

/*
 * Make a pool of threads (0: one for each CPU this process may use, at most
 * 4,096) with one queue, a mutex and a condition variable: the plain design
 * that schedulers are measured against.
 *
 * Returns 0 and the pool in *e; -ENOMEM; -EAGAIN if the threads could not be
 * made; -EINVAL for too many.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_pool_create(
	weft_executor **e, unsigned threads);

/*
 * Make a manual executor: it runs its tasks when weft_manual_run is called, on
 * the calling thread.  For tests, and for event loops of other libraries.
 *
 * Returns 0 and the executor in *e; -ENOMEM.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_manual_create(weft_executor **e);

/*
 * Run the oldest tasks of a manual executor, one after the other, until it is
 * empty or at_most tasks have run.  Tasks that these submit to e count too.
 *
 * Returns how many ran, which may be ignored.  If e is not a manual executor,
 * weft ends the program with a message.
 *
 * Context: any; may be called from several threads at once, and by a task.
 */
WEFT_API size_t weft_manual_run(weft_executor *e, size_t at_most);

/*
 * The executor that runs a task in the call that submits it.  Tasks that are
 * submitted to it meanwhile, on this thread, wait until that task has ended;
 * then the outermost call runs them, in order.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_executor *weft_inline(void);

/*
 * Make a strand: it runs its tasks one after the other, in the order of their
 * submits, as tasks of the executor over.  It has no lock, and no thread waits
 * for it.  If over refuses a task, so does the strand.  Tasks that the strand
 * had accepted before run all the same, in the call to which over has refused.
 *
 * A fiber on a strand is the only one that runs on it, from one wait to the
 * next.
 *
 * Returns 0 and the strand in *e; -ENOMEM.  over must outlive the strand.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_strand_create(
	weft_executor **e, weft_executor *over);

/*
 * Run fn(arg) as a task of strand, and return when fn has returned.  No other
 * task of the strand runs meanwhile: fn is a critical section, which the caller
 * sends to the strand and waits for.  It has its turn behind the tasks that
 * were submitted before.  Never allocates.
 *
 * fn runs where the tasks of the strand run, as a task: weft_self() is NULL
 * there.  With a strand over the inline executor that is the calling thread, or
 * the thread of another caller: then one call may run the sections of several
 * callers before it returns.
 *
 * Neither a deadline nor a cancellation ends the call.  The section lies in the
 * caller's frame and cannot be taken back once the strand has it.
 *
 * Returns 0, and fn has returned; -EINVAL if strand is not a strand, or fn is
 * NULL; -EDEADLK if the section would wait for its own caller: in a task or
 * fiber of strand, and in a plain task of the executor below if that is a
 * strand, too, or the inline executor; -ESHUTDOWN if the runtime below is
 * stopping, or the error of the submit of the executor below.  On an error fn
 * has not run, and will not.
 *
 * Two sections that call each other's strands may wait for each other for ever,
 * like two holders of mutexes.  A caller that is not a fiber blocks its thread,
 * so another thread must run the executor below.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the call happens before fn; fn, and the tasks of
 *	    the strand before it, happen before the return.
 */
WEFT_API WEFT_MUST_CHECK int weft_strand_call(
	weft_executor *strand, void (*fn)(void *), void *arg);

/*
 * Wait until everything that was submitted to e has run and every fiber on it
 * has ended, also fibers that wait now, and free e.  Neither a deadline nor a
 * cancellation ends this wait.  The caller must make sure that no thread
 * submits to e meanwhile.
 *
 * Returns 0, and e is gone; -EBUSY for a manual executor that holds a task or a
 * fiber; -EDEADLK in a task or fiber of e; -EINVAL for a runtime's executor,
 * the inline one, and one that weft did not make.  On an error e is unchanged.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_executor_destroy(weft_executor *e);

WEFT_END_DECLS

#endif
