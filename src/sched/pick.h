/* SPDX-License-Identifier: MIT */
/*
 * sched/pick.h - what runs next.
 *
 * The quick pick looks, in this order, at
 *
 *	the global queue	every 61st time (global_tick), for one task
 *	the slot		at most 3 times in a row (lifo_budget); then
 *				what is in it goes through the queue
 *	yielders		whose turn it is (sched/proc.h)
 *	the local queue
 *	the global queue	for a fair share (who may: sched/group.h)
 *
 * As often, but at random picks, it looks at the clock, fires timers that are
 * due, and measures how long the fiber that it picked was ready; if tasks are
 * long it looks more often, about every 1 ms, or after every task that takes
 * longer.  A look is at most 3/2 * 61 picks after the one before.
 *
 * It never searches, polls or sleeps, so any stack will do.  A pick that may
 * do all of that is for the loop on a clean stack: it goes on in sched/idle.h.
 *
 * TURNS.  A local queue that overflows sends its oldest tasks to the global
 * queue.  If newer tasks came to the local queue for ever, and only every 61st
 * pick took one of the older, a program that starts as many fibers as end would
 * have more and more of them.  So while the global queue is not empty the two
 * queues take turns:
 *
 *	LOCAL	until all that was in the local queue when the turns began has
 *		run (the 61st pick still takes one from the global queue)
 *	GLOBAL	until all that was in the global queue when the turns began has
 *		been taken, by this processor or others: the global queue stands
 *		in for the local one, one task for each pick; or if the local
 *		queue is no more than half full, a share of the global queue
 *		goes behind what is there, and runs before the next turn
 *
 * So a task in the global queue is overtaken by at most two local queues, and
 * by as many tasks as were before it.
 *
 * A joinable fiber that has overflowed (AWAY, fiber/fiber.h) ends the GLOBAL
 * turn.  It is a part of a tree of forks, as like as not, and to begin many of
 * them at once is what a tree must not do: each would take a stack, and leave
 * as many again in the queue.
 *
 * In the lock-free mode yielders are in the global queue (sched/global.h), and
 * the GLOBAL turn is what is left of one chain of it; the tick takes nothing
 * before what was in the local queue has run, so L is to be added to G below.
 *
 * BOUND (R2.17).  Let L be local_capacity, S lifo_budget, G global_tick (at
 * least 2), P the processors of the group, and R the tasks that are ready in
 * the group when a task becomes ready, or when the list of yielders or the full
 * local queue in which it waits is closed or moved.  It runs after at most
 *
 *	B = (S + 1) * (4 * L + 6 * R + 2 * G) * P
 *
 * picks of its group (wf_pick_bound), whatever is submitted later.  In the
 * slot: S.  In the local queue: what is before it, at most L, twice if the
 * queue was divided and mixed meanwhile, which happens to a task once; the
 * yielders of one round, at most R; and the global queue's turn, at most R.
 * In the global queue, with at most R before it: the rest of the turns under
 * way, a look, and the next turns.  A yielder: both, one after the other.  Each
 * with S picks from the slot before it.
 *
 * For each joinable fiber before it, L + G more.  Where fibers run their
 * children as calls, a fiber that has not started may wait for them as long as
 * life/join.c says.  All of this counts picks: a processor whose task computes
 * makes none, and what waits there is for thieves and the monitor's bound of
 * time (idle/monitor.h).
 *
 * Every pick is a tick, and every tick is counted by where it came from.
 *
 * Reads next: sched/idle.h, when there is nothing.
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

/* What runs next of what is at hand; NULL: nothing.  Holder. */
weft_task *wf_pick_quick(struct wf_proc *p);

/*
 * Look around for a joiner that runs children as calls: read the clock, fire
 * timers, and if the global queue has its turn pick from it, or something else
 * that is not a ticket.  NULL: there is nothing, or it is not its turn.  early:
 * it is not yet time to look, and the next look shall be soon.  Holder.
 */
weft_task *wf_pick_started(struct wf_proc *p, bool early);

/* The first yielder, whether it is its turn or not; NULL: none.  Holder. */
weft_task *wf_pick_yielder(struct wf_proc *p);

/* The next turn of the global queue is after so many picks, or before. */
void wf_pick_turn_in(struct wf_proc *p, uint64_t picks);

/* task runs next: how long it was ready goes into the histogram.  Holder. */
void wf_pick_measure(struct wf_proc *p, weft_task *task, int64_t now_ns);

/* Have there been as many picks from the slot in a row as there may be? */
static inline bool wf_pick_is_slot_spent(struct wf_proc *p)
{
	return p->streak >= p->group->rt->config.lifo_budget;
}

/*
 * A fiber that waits has named its successor (weft_awaiter.next).  May the
 * successor run before all others?  Not when the slot's budget is spent, nor in
 * place of a pick that looks around (R2.19).  Holder.
 */
static inline bool wf_pick_may_give(struct wf_proc *p)
{
	return !wf_pick_is_slot_spent(p) && p->pause > 1;
}

/* The successor runs: a pick like one from the slot.  Holder. */
static inline weft_task *wf_pick_given(struct wf_proc *p, weft_task *task)
{
	if (p->pause > 1)
		p->pause--;
	p->streak++;
	wf_bump(&p->counters.ticks, 1);
	wf_bump(&p->counters.runs_lifo, 1);
	return task;
}

/* The same as the first, and search, and sleep.  NULL: the thread shall end. */
static inline weft_task *wf_pick(struct wf_thread *t)
{
	weft_task *task = wf_pick_quick(t->proc);

	return wf_likely(task != NULL) ? task : wf_idle(t);
}

/*
 * A share of g's global queue, as one of sharers, of up to max tasks: the first
 * is the result, the others go to the local queue, which has room for them.
 * The other: as many as the policy says; shy: fine tasks, not to be shared.
 * Holder.
 */
weft_task *wf_grab(
	struct wf_proc *p, struct wf_group *g, size_t sharers, size_t max);
weft_task *wf_grab_share(struct wf_proc *p, struct wf_group *g, bool shy);

/* The tasks of entries that are tickets are claimed.  NULL: it was dead. */
static inline weft_task *wf_entry_redeem(wf_entry e)
{
	if (!wf_entry_is_ticket(e) || wf_fiber_claim(e))
		return wf_entry_task(e);
	return NULL;
}

#endif
