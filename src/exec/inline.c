/* SPDX-License-Identifier: MIT */
/*
 * exec/inline.c - the executor that runs a task in the call that submits it.
 *
 * The outermost such call on a thread has a queue in its frame, and a visit by
 * which the calls inside it find that queue: they add to it and return.  So the
 * stack does not grow with the number of tasks, however they submit each other,
 * and tasks run in the order of their submits.
 *
 * The visits of other executors that lie between are walked over.  A fiber
 * stays on its thread as long as such a call lasts, since what it would leave
 * by is the visit's and not its own (exec/foreign.h); so the queue is there.
 *
 * Reads next: exec/strand.c
 */
#include "exec/exec.h"
#include "queue/batch.h"
#include "queue/resubmit_check.h"
#include "sched/thread.h"
#include "exec/foreign.h"

/* The queue of the outermost call on this thread; NULL: we are in none. */
static struct wf_batch *outermost(void)
{
	struct wf_thread *t = wf_enter();

	while (t != NULL && t->inlined == NULL)
		t = t->host;
	return t != NULL ? t->inlined : NULL;
}

static int submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct wf_batch *outer = outermost(), queue = { 0 };
	struct wf_thread v;

	(void)hint;
	wf_twice_enter(task);
	if (outer != NULL) {
		wf_batch_add(outer, task);
		return 0;
	}
	wf_visit_begin(&v, e);
	v.inlined = &queue;
	do {
		wf_twice_leave(task);
		task->run(task);
		task = wf_batch_take(&queue);
	} while (task != NULL);
	wf_visit_end(&v);
	return 0;
}

weft_executor *weft_inline(void)
{
	static weft_executor the_one = { .submit = submit };

	return &the_one;
}
