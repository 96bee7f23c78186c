/* SPDX-License-Identifier: MIT */
/*
 * exec/inline.c - the executor that runs a task in the call that submits it.
 *
 * The outermost such call on a thread has a queue in its frame, and a stand-in
 * (exec/foreign.h) by which the calls inside it find that queue: they add their
 * tasks to it and return.  So the stack does not grow with the number of tasks,
 * however they submit each other, and tasks run in the order of their submits.
 *
 * The search for the queue passes over the stand-ins of other executors.  The
 * outermost call may be made by a fiber.  That fiber cannot switch while the
 * call lasts, since the running fiber is the stand-in's and not it; so the
 * queue in its frame stays on this thread.
 *
 * Reads next: exec/strand.c
 */
#include "exec/foreign.h"
#include "queue/batch.h"
#include "queue/resubmit_check.h"
#include "sched/thread.h"

/* The queue of the outermost call on this thread; NULL: there is none. */
static struct wf_batch *outermost(void)
{
	struct wf_thread *here = wf_enter(), *t = here;

	while (t != NULL && t->inlined == NULL)
		t = t->host;
	wf_leave(here);
	return t != NULL ? t->inlined : NULL;
}

static int submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct wf_batch *outer = outermost(), queue = { 0 };
	struct wf_thread v;

	(void)hint;
	wf_resubmit_enter(task);
	if (outer != NULL) {
		wf_batch_add(outer, task);
		return 0;
	}
	wf_foreign_begin(&v, e);
	v.inlined = &queue;
	do {
		wf_resubmit_leave(task);
		task->run(task);
		task = wf_batch_take(&queue);
	} while (task != NULL);
	wf_foreign_end(&v);
	return 0;
}

weft_executor *weft_inline(void)
{
	static weft_executor executor = { .submit = submit };

	return &executor;
}
