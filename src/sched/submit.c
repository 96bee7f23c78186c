/* SPDX-License-Identifier: MIT */
/*
 * sched/submit.c - the slower ways in, and the public one.
 */
#include "sched/submit.h"

#include <errno.h>

#include "sched/global.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "sched/handshake.h"
#include "exec/foreign.h"

/* So many entries of a full queue tell whether it holds dead tickets. */
#define WF_SIFT_SAMPLE 8

/*
 * Does the full queue of p seem to hold tickets of fibers that their joiners
 * have run?  Those of a tree of calls are mostly dead.
 */
static bool has_dead_tickets(struct wf_proc *p)
{
	struct wf_runq *q = &p->runq;
	uint64_t at = wf_load_rlx(&q->head), end = wf_load_rlx(&q->tail);
	uint64_t step = q->mask / WF_SIFT_SAMPLE + 1;

	for (; at < end; at += step) {
		wf_entry e = wf_load_rlx(&q->slots[at & q->mask]);

		if (wf_entry_is_ticket(e) && !wf_fiber_is_fresh(e))
			return true;
	}
	return false;
}

/* What p's local queue had no room for goes to the global queue. */
static void send_away(struct wf_proc *p, struct wf_batch *batch)
{
	bool away = wf_task_is_away(batch->first) ||
		wf_task_is_away(batch->last);

	if (away)
		wf_store_rlx(&p->group->away, true);
	wf_global_push(p->group, p, batch);
	/* They are older than what is here now: see TURNS in sched/pick.h. */
	if (!away)
		wf_pick_turn_in(p, wf_runq_len(&p->runq) + 1);
}

/* Make room in the full queue of p. */
static void offload(struct wf_proc *p)
{
	const weft_policy *policy = wf_policy_of(p->group);
	struct wf_batch batch = { 0 };
	bool before = false, alone;

	if (wf_load_rlx(&p->yielders.count) != 0) {
		alone = wf_yielders_hold(p);
		before = wf_yielders_wait_local(p) && !p->yielders.moved;
		wf_yielders_let_go(p, alone);
	}
	if (policy->local == WEFT_LOCAL_ATOMIC && has_dead_tickets(p) &&
		wf_runq_sift(&p->runq, wf_fiber_is_fresh) <=
			p->runq.mask / 4 * 3)
		return;
	(void)wf_policy_runq(policy)->offload(&p->runq, wf_fiber_claim_away,
		wf_policy_offload(policy), &batch);
	wf_bump(&p->counters.offloads, 1);
	if (!wf_batch_is_empty(&batch))
		send_away(p, &batch);
	if (before) {
		alone = wf_yielders_hold(p);
		p->yielders.global_mark = wf_inject_pushed(p->inject);
		p->yielders.moved = true;
		wf_yielders_let_go(p, alone);
	}
}

void wf_push_slow(struct wf_proc *p, wf_entry e)
{
	const struct wf_runq_ops *ops = wf_policy_runq(wf_policy_of(p->group));

	do
		offload(p);
	while (!ops->push(&p->runq, e));
}

/* Into the global queue, where no tickets are. */
static void push_global(struct wf_proc *p, weft_task *task)
{
	struct wf_batch batch = { 0 };

	if (task == NULL)
		return;
	wf_batch_add(&batch, task);
	wf_global_push(p->group, p, &batch);
}

void wf_push_flagged(struct wf_proc *p, wf_entry e)
{
	const weft_policy *policy = wf_policy_of(p->group);

	if (wf_policy_is_global(policy))
		push_global(p, wf_entry_redeem(e));
	else if (!wf_policy_runq(policy)->push(&p->runq, e))
		wf_push_slow(p, e);
	wf_wake_for_push(p);
}

void wf_push_next_slow(struct wf_proc *p, wf_entry e)
{
	wf_entry old = wf_load_rlx(&p->slot);

	if (old == WF_SLOT_SHUT) {
		wf_push(p, e);
		return;
	}
	/* [pair: slot.take] The thief that takes it sees the task. */
	old = wf_xchg_rel(&p->slot, e);
	if (old != 0)
		wf_push(p, old);
}

void wf_push_yield(struct wf_proc *p, weft_task *task)
{
	bool alone;

	if (wf_policy_yields_global(wf_policy_of(p->group))) {
		push_global(p, task);
	} else {
		alone = wf_yielders_hold(p);
		wf_yielders_add(p, task);
		wf_yielders_let_go(p, alone);
	}
	if (wf_load_rlx(&p->coarse) != 0)
		wf_wake_for_push(p);
}

void wf_outside_enter(struct weft_rt *rt)
{
	(void)wf_add_rlx(&rt->outside.callers, 1);
}

bool wf_outside_accept(struct weft_rt *rt)
{
	if (!(wf_add_rlx(&rt->outside.callers, 1) & WF_OUTSIDE_CLOSED))
		return true;
	wf_outside_leave(rt);
	return false;
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

	wf_global_push(g, NULL, batch);
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

void wf_make_due(weft_fiber *f)
{
	struct wf_thread *t = wf_thread_in(wf_fiber_rt(f));
	wf_entry e = wf_entry_of(&f->task);

	if (t == NULL || (wf_load_rlx(&t->proc->coarse) & WF_APART) ||
		wf_policy_of(t->proc->group)->wake != WEFT_WAKE_GATE) {
		wf_make_ready(f, WEFT_HINT_DEFAULT);
		return;
	}
	wf_store_rlx(&f->ready_us, t->proc->clock_us);
	if (wf_unlikely(!wf_runq_push(&t->proc->runq, e)))
		wf_push_slow(t->proc, e);
	wf_leave(t);
}

void wf_make_all_ready(struct wf_batch *fibers, weft_hint hint)
{
	weft_task *task;

	while ((task = wf_batch_take(fibers)) != NULL) {
		wf_fiber_prefetch(wf_fiber_of(task));
		wf_make_ready(wf_fiber_of(task), hint);
	}
}

/*
 * A few go to the own queue.  More than fit there go to the global one, as they
 * are; to push them one by one, until the queue overflows, comes to the same.
 */
void wf_crowd_wake(struct wf_crowd *c, struct wf_thread *t)
{
	struct wf_proc *p = t->proc;
	weft_task *task;

	if (c->batch.count <= p->runq.mask / 2) {
		while ((task = wf_batch_take(&c->batch)) != NULL)
			wf_push(p, wf_entry_of(task));
		return;
	}
	wf_global_push(p->group, p, &c->batch);
	if (wf_load_rlx(&p->coarse) != 0)
		wf_wake_for_outside(p->group);
}

void wf_crowd_fetch(weft_task *first, size_t n)
{
	for (weft_task *task = first; n > 1; n--, task = task->next_) {
		weft_fiber *f = wf_fiber_of(task);

		if (!wf_task_is_fiber(task) || f->stack == NULL)
			return;
		if (f->ahead != NULL) {
			wf_prefetch(f->ahead);
			wf_prefetch(&f->ahead->wait);
		}
	}
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
	if (wf_unlikely(t->run == NULL || !is_hint(hint)))
		return -EINVAL;
	return e->submit(e, t, hint);
}
