/* SPDX-License-Identifier: MIT */
/*
 * sched/switch.h - the switch from a fiber to the next task.
 *
 * It is inline in wf_go_on, wf_suspend and wf_wait, so that a wait saves the
 * registers of its caller once.  The other switches are in sched/run.c, where a
 * loop leaves its stack for good or begins, and in exec/foreign.c.
 *
 * Reads next: sched/run.c
 */
#ifndef WF_SCHED_SWITCH_H
#define WF_SCHED_SWITCH_H

#include "arch/context.h"
#include "base/compiler.h"
#include "fiber/fiber.h"
#include "os/cxx.h"
#include "os/os.h"
#include "sched/foreign.h"
#include "sched/handshake.h"
#include "sched/pick.h"
#include "sched/proc.h"
#include "sched/run.h"
#include "sched/runtime.h"

/* A clean stack, on which a loop begins and runs task first. */
struct wf_stack *wf_loop_prepare(struct wf_thread *t, unsigned cls,
	weft_task *task, struct wf_context *at);

/* wf_arrive for each `after' but COMMIT. */
wf_noinline weft_fiber *wf_settle(struct wf_thread *t, enum wf_after after);

/*
 * Do AFTER for the side that left.  Returns a fiber whose commit refused: it
 * must run now, in place of the side that arrived.  Else NULL.
 */
wf_inline weft_fiber *wf_arrive(struct wf_thread *t)
{
	enum wf_after after = t->after;

	if (after == WF_AFTER_NOTHING)
		return NULL;
	t->after = WF_AFTER_NOTHING;
	if (wf_unlikely(after != WF_AFTER_COMMIT))
		return wf_settle(t, after);
	if (wf_likely(t->awaiter->commit(t->awaiter, t->left)))
		return NULL;
	return t->refused = t->left;
}

/* Where a fiber goes when it leaves for next; NULL: for a loop. */
wf_inline struct wf_context *wf_destination(
	struct wf_thread *t, weft_task *next)
{
	weft_fiber *g = wf_fiber_of(next);

	if (wf_likely(next != NULL && wf_task_is_fiber(next) &&
		    g->stack != NULL)) {
		t->stack = g->stack;
		return &g->context;
	}
	t->stack = wf_loop_prepare(t, t->rt->cls, next, &t->clean);
	return &t->clean;
}

/* f takes over the stack it runs on, if it leaves it for the first time. */
wf_inline void wf_own_stack(struct wf_thread *t, weft_fiber *f)
{
	if (wf_unlikely(f->stack == NULL))
		wf_fiber_adopt(f, t->stack);
}

/*
 * wf_go_on for a fiber that has its stack and no exceptions.  Returns the
 * thread that f is on afterwards; the words for exceptions there are zero
 * (os/cxx.h).
 */
wf_inline struct wf_thread *wf_go_on_clean(
	struct wf_thread *t, weft_fiber *f, weft_task *next)
{
	struct wf_context *to;
	weft_fiber *refused;

	for (;;) {
		t->current = NULL;
		wf_san_left(&t->san_left, &f->stack->san);
		to = wf_destination(t, next);
		wf_bump(&t->proc->counters.switches, 1);
		wf_san_leave(&f->stack->san, &t->stack->san);
		wf_context_switch(&f->context, to);
		t = wf_here();
		wf_san_arrive(&f->stack->san, t->san_left);
		wf_take_end(t->proc);
		refused = wf_arrive(t);
		if (wf_likely(refused == NULL))
			break;
		/* f steps aside, into the slot. */
		t->after = WF_AFTER_REQUEUE;
		t->left = f;
		next = &refused->task;
	}
	wf_store_rlx(&f->ready_us, 0);
	t->current = f;
	wf_budget_fill(t);
	return t;
}

/* wf_go_on_inline for a fiber with exceptions: it takes them along. */
wf_may_switch struct wf_thread *wf_go_on_busy(
	struct wf_thread *t, weft_fiber *f, weft_task *next);

/* wf_go_on for f, which has its stack.  Returns the thread it is on then. */
wf_inline struct wf_thread *wf_go_on_inline(
	struct wf_thread *t, weft_fiber *f, weft_task *next)
{
	if (wf_cxx_is_busy(t->cxx))
		return wf_go_on_busy(t, f, next);
	return wf_go_on_clean(t, f, next);
}

/*
 * wf_suspend for f, which has its stack, on *t; next runs in its place.  after
 * is COMMIT, or GIVE with successor and given set.  *t becomes the thread that
 * f is on afterwards.
 */
wf_inline int wf_suspend_inline(struct wf_thread **t, weft_fiber *f,
	struct weft_awaiter *a, weft_task *next, enum wf_after after)
{
	(*t)->after = after;
	(*t)->left = f;
	(*t)->awaiter = a;
	*t = wf_go_on_inline(*t, f, next);
	/* If f was refused, no other fiber ran on the thread in between. */
	if (wf_likely((*t)->refused != f))
		return 0;
	(*t)->refused = NULL;
	return 1;
}

#endif
