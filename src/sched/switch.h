/* SPDX-License-Identifier: MIT */
/*
 * sched/switch.h - the switch itself, for the functions that may switch.
 *
 * It is inline in wf_go_on, wf_suspend and wf_wait, so that a wait saves the
 * registers of its caller once.  Each of the three is wf_may_switch: to their
 * callers nothing changes.
 *
 * Reads next: sched/run.c
 */
#ifndef WF_SCHED_RUN_PRIV_H
#define WF_SCHED_RUN_PRIV_H

#include "arch/context.h"
#include "base/compiler.h"
#include "os/os.h"
#include "sched/pick.h"
#include "sched/proc.h"
#include "sched/run.h"
#include "sched/runtime.h"
#include "sched/handshake.h"
#include "exec/foreign.h"

/* A clean stack, on which a loop begins with task in hand. */
struct wf_stack *wf_loop_prepare(struct wf_thread *t, unsigned cls,
	weft_task *task, struct wf_context *at);

/* wf_arrive, for all that is not a plain commit. */
wf_noinline weft_fiber *wf_settle(struct wf_thread *t, enum wf_after after);

/*
 * Do what the side that left wanted done.  Returns a fiber whose commit refused
 * and that must run now, in place of whoever arrived; else NULL.
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

/* Where f goes when it leaves for next; NULL: nobody in particular. */
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

/* It takes its stack over, if it has not left it before. */
wf_inline void wf_own_stack(struct wf_thread *t, weft_fiber *f)
{
	if (wf_unlikely(f->stack == NULL))
		wf_fiber_adopt(f, t->stack);
}

/*
 * As wf_go_on, for a fiber that has its stack and no exceptions.  Returns the
 * thread it is on then, whose words for exceptions are zero (os/cxx.h).
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
		t = wf_os_self();
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

/* As wf_go_on_here, for a fiber with exceptions: it takes them along. */
wf_may_switch struct wf_thread *wf_go_on_busy(
	struct wf_thread *t, weft_fiber *f, weft_task *next);

/* As wf_go_on, f having its stack; the result is the thread we are on then. */
wf_inline struct wf_thread *wf_go_on_here(
	struct wf_thread *t, weft_fiber *f, weft_task *next)
{
	if (wf_cxx_is_busy(t->cxx))
		return wf_go_on_busy(t, f, next);
	return wf_go_on_clean(t, f, next);
}

/*
 * As wf_suspend, f having its stack, with next in its place; after is COMMIT,
 * or GIVE with successor and given set.
 */
wf_inline int wf_suspend_here(struct wf_thread *t, weft_fiber *f,
	struct weft_awaiter *a, weft_task *next, enum wf_after after)
{
	t->after = after;
	t->left = f;
	t->awaiter = a;
	t = wf_go_on_here(t, f, next);
	/* Nobody else ran on the thread in between, if it was refused. */
	if (wf_likely(t->refused != f))
		return 0;
	t->refused = NULL;
	return 1;
}

#endif
