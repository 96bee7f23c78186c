/* SPDX-License-Identifier: MIT */
/*
 * sched/yielders.h - fibers and tasks that gave way, in rounds.
 *
 * A processor keeps its yielders in a list of their own.  The holder of the
 * processor touches the list between wf_yielders_hold and wf_yielders_let_go,
 * a thief under its lock (sched/handshake.h).
 *
 *	(Y1) The first `round' yielders run once the head of the local queue has
 *	     reached local_mark, which was its tail when the round was closed,
 *	     and the global queue has given out all that it held then
 *	     (global_mark).  So a yielder runs after every task that was ready
 *	     when it yielded, and before every task that became ready after its
 *	     round was closed.  Tasks that the holder brings from the global
 *	     queue in between move local_mark; tasks that overflow from the
 *	     local queue move global_mark, once a round.
 *	(Y2) round is 0 only if the list is empty.
 *
 * Reads next: sched/pick.h
 */
#ifndef WF_SCHED_YIELDERS_H
#define WF_SCHED_YIELDERS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/task.h>

#include "base/compiler.h"
#include "queue/batch.h"
#include "queue/inject.h"
#include "sched/handshake.h"
#include "sched/proc.h"

/* The holder begins to touch the list.  True: without the lock. */
wf_inline bool wf_yielders_hold(struct wf_proc *p)
{
	bool alone = wf_take_begin(p);

	if (wf_unlikely(!alone))
		wf_lock(&p->yield_lock);
	return alone;
}

wf_inline void wf_yielders_let_go(struct wf_proc *p, bool alone)
{
	if (wf_unlikely(!alone))
		wf_unlock(&p->yield_lock);
	wf_take_end(p);
}

/* The functions from here on are for a caller that holds the list. */

/* The n yielders that there are now make the next round (Y1). */
static inline void wf_yielders_close(struct wf_proc *p, uint32_t n)
{
	p->yielders.round = n;
	p->yielders.moved = false;
	p->yielders.local_mark = wf_load_rlx(&p->runq.tail);
	p->yielders.global_mark = wf_inject_pushed(p->inject);
}

/* Append a fiber or task that gives way. */
static inline void wf_yielders_add(struct wf_proc *p, weft_task *task)
{
	struct wf_yielders *y = &p->yielders;
	uint32_t count = wf_load_rlx(&y->count);

	if (count == 0)
		y->first = task;
	else
		y->last->next_ = task;
	y->last = task;
	wf_store_rlx(&y->count, count + 1);
	if (count == 0)
		wf_yielders_close(p, 1);
}

/* Is it the turn of the first yielder (Y1)? */
static inline bool wf_yielders_ready(struct wf_proc *p)
{
	struct wf_yielders *y = &p->yielders;

	return y->round != 0 && wf_load_rlx(&p->runq.head) >= y->local_mark &&
		wf_inject_passed(p->inject, y->global_mark);
}

/* Take the first yielder; there is one. */
static inline weft_task *wf_yielders_take(struct wf_proc *p)
{
	struct wf_yielders *y = &p->yielders;
	uint32_t count = wf_load_rlx(&y->count) - 1;
	weft_task *task = y->first;

	y->first = task->next_;
	if (wf_likely(count != 0))
		wf_prefetch(y->first->next_);
	wf_store_rlx(&y->count, count);
	if (--y->round == 0)
		wf_yielders_close(p, count);
	return task;
}

/* Move the first n, 0 < n <= count, into out, which is empty. */
void wf_yielders_split(struct wf_proc *p, uint32_t n, struct wf_batch *out);

/* The functions from here on hold the list themselves.  Holder. */

/* The first yielder, if it is its turn or anyway is set; else NULL. */
weft_task *wf_yielders_pick(struct wf_proc *p, bool anyway);

/* Move half of the yielders, the first ones, to the end of the global queue. */
void wf_yielders_spill(struct wf_proc *p);

/*
 * The holder moves tasks from one queue to the other.  Note before it does so
 * whether they go before the yielders; then move the mark (Y1).
 */
wf_must_check bool wf_yielders_wait_global(struct wf_proc *p);
wf_must_check bool wf_yielders_wait_local(struct wf_proc *p);
void wf_yielders_mark_local(struct wf_proc *p);
void wf_yielders_mark_global(struct wf_proc *p);

#endif
