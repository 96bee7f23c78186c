/* SPDX-License-Identifier: MIT */
/*
 * exec/strand_call.c - a critical section, sent to a strand and waited for.
 *
 * The SECTION is a task in its caller's frame, with a notice (exec/notice.h)
 * that tells the caller of its end:
 *
 *	caller				runner of the strand
 *	  submit the section		  fn(arg)
 *	  wait for the notice		  tell: its last access to the frame
 *
 * A call has no deadline.  Other tasks of the strand are linked to the section,
 * so it cannot be taken back once it is submitted; and as long as it is not
 * taken back, the caller's frame must stay.
 *
 * A reader will assume that an idle strand could run the section on the
 * caller's stack, without its executor, as a mutex would.  Then fn would run
 * outside that executor: on a thread that is not the event loop's, or on a
 * small stack.  A strand over the inline executor is the strand that does so.
 *
 * Reads next: wait/wait.h, how a fiber waits on an object.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include <weft/fiber.h>
#include <weft/task.h>

#include "exec/foreign.h"
#include "exec/notice.h"
#include "exec/strand.h"
#include "sched/thread.h"

struct section {
	weft_task task;			/* must be first */
	void (*fn)(void *);
	void *arg;
	struct wf_notice end;
};

static void section_run(weft_task *task)
{
	struct section *s = (struct section *)task;

	s->fn(s->arg);
	wf_notice_tell(&s->end);
}

/* Does e run the next task only after the one that runs now has ended? */
static bool is_serial(weft_executor *e)
{
	return wf_strand_below(e) != NULL || e == weft_inline();
}

/*
 * Would a section of strand wait for the task that calls?  A fiber lets the
 * executors below run other tasks while it waits; a plain task does not.
 */
static bool waits_for_caller(weft_executor *strand)
{
	struct wf_thread *t = wf_enter();
	bool is_fiber = t != NULL && t->current != NULL;
	bool waits = wf_foreign_is_inside(strand);
	weft_executor *e = is_fiber ? NULL : wf_strand_below(strand);

	for (; e != NULL; e = wf_strand_below(e))
		waits |= is_serial(e) && wf_foreign_is_inside(e);
	wf_leave(t);
	return waits;
}

int weft_strand_call(weft_executor *strand, void (*fn)(void *), void *arg)
{
	struct section s = { { .run = section_run }, .fn = fn, .arg = arg };
	int err;

	if (wf_strand_below(strand) == NULL || fn == NULL)
		return -EINVAL;
	if (waits_for_caller(strand))
		return -EDEADLK;
	wf_notice_open(&s.end);
	/*
	 * Not NEXT, although the caller gives its place up.  The sections of
	 * other ready callers gather until the strand has its turn: 85 ns of
	 * CPU time for each, with NEXT 148 (docs/HISTORY.md).
	 */
	err = strand->submit(strand, &s.task, WEFT_HINT_DEFAULT);
	if (!err)
		wf_notice_wait(&s.end);
	weft_checkpoint();
	return err;
}
