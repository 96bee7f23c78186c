/* SPDX-License-Identifier: MIT */
/*
 * sched/run.h - running what was picked: the loop at the base of every stack.
 *
 * There is no scheduler stack.  Every stack, at its base, runs the same loop:
 *
 *	pick;	a fresh fiber		call its function right here
 *		a suspended fiber	jump to it; this stack goes back
 *		a plain task		call it
 *
 * A fiber that ends without waiting was a function call.  A fiber that waits
 * keeps the stack it is on, with the loop's frame at its base.  A quick pick on
 * that stack chooses the next task.  If it is a suspended fiber, the waiting
 * fiber jumps to it; otherwise it jumps to a clean stack, where a new loop
 * begins with the task.  When the fiber goes on and later ends, it returns into
 * the loop below it, perhaps on another thread: the loop keeps nothing of a
 * thread across a call.
 *
 *	(L1) A fiber is published only after its context is saved: the side that
 *	     arrives does it (AFTER, sched/thread.h).
 *	(L2) Stacks in use: one for each suspended fiber, by its credit, and one
 *	     for each thread's loop, by the processor's.
 *	(L3) A stack of another size class than most is left as soon as its
 *	     fiber has ended.  Its credit goes back when the stack has.
 *
 * Reads next: arch/context.h, the jump; then wait/wait.h
 */
#ifndef WF_SCHED_RUN_H
#define WF_SCHED_RUN_H

#include <stdbool.h>

#include "base/compiler.h"
#include "sched/thread.h"

/* On the thread's own stack: run task, and then others until t must end. */
wf_may_switch void wf_loop_begin(struct wf_thread *t, weft_task *task);

/*
 * The running fiber f leaves its stack for next, or if that is NULL for a loop.
 * t->after says what the arriving side does for it.  Returns when f runs again,
 * perhaps on another thread.
 */
wf_may_switch void wf_go_on(
	struct wf_thread *t, weft_fiber *f, weft_task *next);

/* Suspend f, the running fiber: see weft_suspend. */
wf_may_switch int wf_suspend(
	struct wf_thread *t, weft_fiber *f, struct weft_awaiter *a);

/* f gives way to every task that is ready. */
wf_may_switch void wf_yield(struct wf_thread *t, weft_fiber *f);

/* f gives way, and next, which was picked, runs. */
wf_may_switch void wf_yield_for(
	struct wf_thread *t, weft_fiber *f, weft_task *next);

/* f lets task run, and runs right after it. */
wf_may_switch void wf_yield_to(
	struct wf_thread *t, weft_fiber *f, weft_task *task);

/*
 * Run f, fresh and claimed, to its end as a call, for its joiner `by'.  They
 * spend one budget: a tree of children run as calls gives way as one fiber.
 */
void *wf_run_inline(struct wf_thread *t, weft_fiber *f, weft_fiber *by);

/*
 * A call of f's need not wait: spend one of its budget.  May switch.  Returns
 * the thread that f is on afterwards.
 */
static inline struct wf_thread *wf_spend(struct wf_thread *t, weft_fiber *f)
{
	if (wf_unlikely(--t->budget == 0)) {
		wf_yield(t, f);
		t = wf_here();
	}
	return t;
}

#endif
