/* SPDX-License-Identifier: MIT */
/*
 * weft/task.h - the one thing that queues hold: an intrusive task.
 *
 * A task lives in its owner's memory.  The scheduler stores the pointer and
 * never allocates, copies or frees a task.
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

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
 */
typedef struct weft_executor {
	int (*submit)(struct weft_executor *self, weft_task *task,
		weft_hint hint);
	void *reserved_[3];
} weft_executor;

/*
 * Have e run t.  Never allocates.
 *
 * Returns 0; -EINVAL for an unknown hint; -ESHUTDOWN if e is stopping; or what
 * the executor's own submit says.  On an error t is still the caller's.
 *
 * Context: any.  Never switches.
 * Order:   everything before the call happens before t->run is entered.
 */
WEFT_API WEFT_MUST_CHECK int weft_submit(
	weft_executor *e, weft_task *t, weft_hint hint);

WEFT_END_DECLS

#endif
