/* SPDX-License-Identifier: MIT */
/*
 * sched/pick.h - what runs next.
 *
 * The quick pick looks, in this order, at
 *
 *	the global queue	every 61st time (global_tick), for one task
 *	the slot		at most 3 times in a row (lifo_budget); then
 *				its task goes through the local queue
 *	yielders		whose turn it is (sched/yielders.h)
 *	the local queue
 *	the global queue	for a fair share (who may: sched/group.h)
 *
 * and stops now and then to read the clock and serve events (sched/agenda.h).
 * It never searches, polls or sleeps, so it works on any stack.  wf_pick may do
 * all of that; it is for the loop on a clean stack.
 *
 * BOUND.  Let L be local_capacity, S lifo_budget, G global_tick (at least 2), P
 * the processors of the group, and R the tasks that are ready in the group when
 * a task becomes ready, or when the list of yielders or the full local queue in
 * which it waits is closed or moved.  It runs after at most
 *
 *	B = (S + 1) * (4 * L + 6 * R + 2 * G) * P
 *
 * picks of its group (wf_pick_bound), whatever is submitted later.  In the
 * slot: S.  In the local queue: the tasks before it, at most L, or twice L if
 * the queue is shuffled meanwhile (sched/shuffle.h); the yielders of one round,
 * at most R; and the global queue's turn, at most R.  In the global queue, with
 * at most R before it: the rest of the turns under way, a stop, and the next
 * turns.  A yielder: both, one after the other.  Each with S picks from the
 * slot before it.  In the lock-free mode add L to G (sched/turn.h).
 *
 * For each joinable fiber before it, L + G more.  Where fibers run their
 * children as calls, a fiber that has not started may wait for them as long as
 * life/join.c says.  All of this counts picks.  A processor whose task computes
 * makes none: its tasks are left to thieves, and to the monitor's bound of time
 * (idle/monitor.h).
 *
 * Every pick is a tick, and is counted by its source.
 *
 * Reads next: sched/run.h; or sched/idle.h, when there is nothing.
 */
#ifndef WF_SCHED_PICK_H
#define WF_SCHED_PICK_H

#include <weft/task.h>

#include "sched/idle.h"
#include "sched/proc.h"
#include "sched/runtime.h"
#include "sched/thread.h"

/* BOUND, of a group with so many processors. */
static inline uint64_t wf_pick_bound(
	const weft_config *c, uint64_t processors, uint64_t ready)
{
	return (c->lifo_budget + UINT64_C(1)) *
		(UINT64_C(4) * c->local_capacity + 6 * ready +
			UINT64_C(2) * c->global_tick) *
		processors;
}

/* The task that runs next, of those at hand; NULL: none.  Holder. */
weft_task *wf_pick_quick(struct wf_proc *p);

/* wf_pick_quick, then search and sleep.  NULL: the thread must end. */
static inline weft_task *wf_pick(struct wf_thread *t)
{
	weft_task *task = wf_pick_quick(t->proc);

	return wf_likely(task != NULL) ? task : wf_idle(t);
}

/*
 * A stop on behalf of a joiner that runs children as calls: read the clock,
 * serve events, and if the global queue has its turn pick from it, or pick a
 * yielder or a task that has started.  NULL: none of these, or it is not the
 * global queue's turn.  early: no stop is due, and one shall follow soon.
 * Holder.
 */
weft_task *wf_pick_started(struct wf_proc *p, bool early);

/* The first yielder, even if it is not its turn; NULL: none.  Holder. */
weft_task *wf_pick_yielder(struct wf_proc *p);

/* task was picked at now_ns: count how long it was ready.  Holder. */
void wf_pick_measure(struct wf_proc *p, weft_task *task, int64_t now_ns);

/* Have there been lifo_budget picks from the slot in a row? */
static inline bool wf_pick_is_slot_spent(struct wf_proc *p)
{
	return p->streak >= p->group->rt->config.lifo_budget;
}

/*
 * A fiber that waits has named its successor (weft_awaiter.next).  May the
 * successor run before all others?  Not when the slot's budget is spent, nor in
 * place of a pick that stops.  Holder.
 */
static inline bool wf_pick_may_give(struct wf_proc *p)
{
	return !wf_pick_is_slot_spent(p) && !wf_agenda_is_due(&p->agenda);
}

/* The successor runs: this counts like a pick from the slot.  Holder. */
static inline weft_task *wf_pick_given(struct wf_proc *p, weft_task *task)
{
	if (!wf_agenda_is_due(&p->agenda))
		p->agenda.pause--;
	p->streak++;
	return wf_proc_picked(p, &p->counters.runs_lifo, task);
}

#endif
