/* SPDX-License-Identifier: MIT */
/*
 * sched/submit.c - the slower ways in, and the public one.
 */
#include "sched/submit.h"

#include <errno.h>

#include "sched/runtime.h"
#include "sched/share.h"
#include "sched/visit.h"

/* Make room in the full queue of p. */
static void offload(struct wf_proc *p)
{
	struct wf_batch batch = { 0 };
	bool alone = wf_yielders_hold(p);
	bool before = wf_yielders_wait_local(p) && !p->yielders.moved;

	wf_yielders_let_go(p, alone);

	/* Often it is full of tickets that were run by who joined them. */
	if (wf_runq_sift(&p->runq, wf_fiber_is_fresh) <= p->runq.mask / 2)
		return;
	(void)wf_runq_offload(&p->runq, wf_fiber_claim, &batch);
	wf_bump(&p->counters.offloads, 1);
	if (!wf_batch_is_empty(&batch))
		wf_inject_push(p->inject, &batch);
	if (before) {
		alone = wf_yielders_hold(p);
		p->yielders.global_mark = wf_inject_pushed(p->inject);
		p->yielders.moved = true;
		wf_yielders_let_go(p, alone);
	}
}

void wf_push_slow(struct wf_proc *p, wf_entry e)
{
	do
		offload(p);
	while (!wf_runq_push(&p->runq, e));
	if (wf_load_rlx(&p->coarse))
		wf_wake_for_coarse(p);
}

void wf_push_next_slow(struct wf_proc *p, wf_entry e)
{
	/* [pair: slot.take] The thief that takes it sees the task. */
	wf_entry old = wf_xchg_rel(&p->slot, e);

	if (old != 0)
		wf_push(p, old);
}

void wf_push_yield(struct wf_proc *p, weft_task *task)
{
	bool alone = wf_yielders_hold(p);

	wf_yielders_add(p, task);
	wf_yielders_let_go(p, alone);
	if (wf_load_rlx(&p->coarse))
		wf_wake_for_coarse(p);
}

void wf_outside_enter(struct weft_rt *rt)
{
	(void)wf_add_rlx(&rt->outside.callers, 1);
}

bool wf_outside_accept(struct weft_rt *rt)
{
	if (rt->outside.closed)
		return false;
	wf_outside_enter(rt);
	return true;
}

void wf_outside_leave(struct weft_rt *rt)
{
	/* [pair: rt.callers] The last access; then stop may free it. */
	(void)wf_sub_rel(&rt->outside.callers, 1);
}

/* The group with somebody to wake, or else each in turn. */
static struct wf_group *choose_group(struct weft_rt *rt)
{
	uint32_t n = rt->group_count;
	uint32_t at;

	if (n == 1)
		return rt->groups;
	at = wf_add_rlx(&rt->outside.next_group, 1);
	for (uint32_t i = 0; i < n; i++) {
		struct wf_group *g = &rt->groups[(at + i) % n];

		if (wf_load_rlx(&g->sleeping) != 0)
			return g;
	}
	return &rt->groups[at % n];
}

void wf_submit_outside(struct weft_rt *rt, struct wf_batch *batch)
{
	struct wf_group *g = choose_group(rt);

	wf_inject_push(&g->inject, batch);
	wf_wake_for_outside(g);
}

void wf_make_ready(weft_fiber *f, weft_hint hint)
{
	struct weft_rt *rt = wf_fiber_rt(f);
	struct wf_thread *t = wf_thread_in(rt);
	struct wf_batch batch = { 0 };

	if (wf_likely(t != NULL)) {
		wf_store_rlx(&f->ready_us, t->proc->clock_us);
		wf_push_hint(t->proc, wf_entry_of(&f->task), hint);
		wf_leave(t);
		return;
	}
	if (rt->is_home) {
		wf_fiber_send_again(f, hint);
		return;
	}
	wf_store_rlx(&f->ready_us, WF_READY_UNKNOWN);
	wf_batch_add(&batch, &f->task);
	wf_outside_enter(rt);
	wf_submit_outside(rt, &batch);
	wf_outside_leave(rt);
}

void wf_make_all_ready(struct wf_batch *fibers, weft_hint hint)
{
	weft_task *task;

	while ((task = wf_batch_take(fibers)) != NULL)
		wf_make_ready(wf_fiber_of(task), hint);
}

void weft_wake(weft_fiber *f, weft_hint hint)
{
	wf_make_ready(f, hint);
}

static bool is_hint(weft_hint hint)
{
	return hint == WEFT_HINT_DEFAULT || hint == WEFT_HINT_NEXT ||
		hint == WEFT_HINT_YIELD;
}

int weft_submit(weft_executor *e, weft_task *t, weft_hint hint)
{
	return is_hint(hint) ? e->submit(e, t, hint) : -EINVAL;
}
