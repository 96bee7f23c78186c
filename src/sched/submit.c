/* SPDX-License-Identifier: MIT */
/*
 * sched/submit.c - the slow paths of a push, and the public calls.
 */
#include "sched/submit.h"

#include <errno.h>

#include "queue/resubmit_check.h"
#include "sched/foreign.h"
#include "sched/global.h"
#include "sched/idle.h"
#include "sched/runtime.h"
#include "sched/yielders.h"

/* So many entries of a full queue are sampled for dead tickets. */
#define WF_SIFT_SAMPLE 8

/*
 * Does the full queue of p seem to hold dead tickets, of fibers that their
 * joiners have run?  In a tree of calls most tickets are dead.
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

/* Send tasks that p's local queue had no room for to the global queue. */
static void send_away(struct wf_proc *p, struct wf_batch *batch)
{
	bool away = wf_task_is_away(batch->first) ||
		wf_task_is_away(batch->last);

	if (away)
		wf_store_rlx(&p->group->away, true);
	wf_global_push(p->group, p, batch);
	/* Older than the tasks in the local queue: see sched/turn.h. */
	if (!away)
		wf_agenda_turn_in(&p->agenda, wf_runq_len(&p->runq) + 1);
}

/* Make room in the full queue of p. */
static void offload(struct wf_proc *p)
{
	const weft_policy *policy = wf_policy_of(p->group);
	bool before = wf_yielders_wait_local(p);
	struct wf_batch batch = { 0 };

	if (policy->local == WEFT_LOCAL_ATOMIC && has_dead_tickets(p) &&
		wf_runq_sift(&p->runq, wf_fiber_is_fresh) <=
			p->runq.mask / 4 * 3)
		return;
	(void)p->group->runq->offload(&p->runq, wf_fiber_claim_away,
		wf_policy_offload(policy), &batch);
	wf_bump(&p->counters.offloads, 1);
	if (!wf_batch_is_empty(&batch))
		send_away(p, &batch);
	if (before)
		wf_yielders_mark_global(p);
}

void wf_push_slow(struct wf_proc *p, wf_entry e)
{
	const struct wf_runq_ops *ops = p->group->runq;

	do
		offload(p);
	while (!ops->push(&p->runq, e));
}

/* Push task, which is not a ticket, to the global queue.  NULL: nothing. */
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
	else if (!p->group->runq->push(&p->runq, e))
		wf_push_slow(p, e);
	wf_wake_for_push(p);
}

void wf_push_next_slow(struct wf_proc *p, wf_entry e)
{
	wf_entry old;

	if (wf_load_rlx(&p->push_flags) & WF_PUSH_SLOTLESS) {
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
	if (wf_load_rlx(&p->push_flags) != 0)
		wf_wake_for_push(p);
}

void wf_submit_outside(struct weft_rt *rt, struct wf_batch *batch)
{
	struct wf_group *g = rt->group_count == 1 ? rt->groups
						  : wf_group_for_outside(rt);

	wf_global_push(g, NULL, batch);
	wf_wake_for_outside(g);
}

/* t is the caller's thread of rt, or NULL: from outside. */
static int submit(struct weft_rt *rt, struct wf_thread *t, weft_task *task,
	weft_hint hint)
{
	struct wf_batch batch = { 0 };

	if (t != NULL) {
		if (wf_load_rlx(&rt->stopping))
			return -ESHUTDOWN;
		wf_resubmit_enter(task);
		wf_push_hint(t->proc, wf_entry_of(task), hint);
		return 0;
	}
	if (!wf_outside_accept(rt))
		return -ESHUTDOWN;
	wf_resubmit_enter(task);
	wf_batch_add(&batch, task);
	wf_submit_outside(rt, &batch);
	wf_outside_leave(rt);
	return 0;
}

int wf_rt_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct weft_rt *rt = (struct weft_rt *)e;
	struct wf_thread *t = wf_enter();
	int err = submit(rt, wf_thread_of(t, rt), task, hint);

	wf_leave(t);
	return err;
}

void wf_make_ready(weft_fiber *f, weft_hint hint)
{
	wf_make_ready_on(wf_here(), f, hint);
}

void wf_make_ready_on(struct wf_thread *t, weft_fiber *f, weft_hint hint)
{
	struct weft_rt *rt = wf_fiber_rt(f);
	struct wf_batch batch = { 0 };

	t = wf_thread_of(t, rt);
	if (wf_likely(t != NULL)) {
		wf_store_rlx(&f->ready_us, t->proc->clock_us);
		wf_push_hint(t->proc, wf_entry_of(&f->task), hint);
		return;
	}
	if (wf_fiber_is_foreign(f)) {
		wf_foreign_ready(f, hint);
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

	if (t == NULL || (wf_load_rlx(&t->proc->push_flags) & WF_PUSH_POLICY) ||
		wf_policy_of(t->proc->group)->wake != WEFT_WAKE_GATE) {
		wf_make_ready(f, WEFT_HINT_DEFAULT);
		return;
	}
	wf_store_rlx(&f->ready_us, t->proc->clock_us);
	if (wf_unlikely(!wf_runq_push(&t->proc->runq, e)))
		wf_push_slow(t->proc, e);
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
 * Few fibers go to the local queue.  More than fit there go to the global queue
 * as they are: pushed one by one, the local queue would overflow into it.
 */
void wf_push_all(struct wf_proc *p, struct wf_batch *fibers)
{
	weft_task *task;

	if (fibers->count <= p->runq.mask / 2) {
		while ((task = wf_batch_take(fibers)) != NULL)
			wf_push(p, wf_entry_of(task));
		return;
	}
	wf_global_push(p->group, p, fibers);
	if (wf_load_rlx(&p->push_flags) != 0)
		wf_wake_for_outside(p->group);
}

void wf_prefetch_chain(weft_task *first, size_t n)
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
	struct wf_thread *t = wf_enter();

	wf_suspension_end(f);
	wf_make_ready_on(t, f, hint);
	wf_leave(t);
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
