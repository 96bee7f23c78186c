/* SPDX-License-Identifier: MIT */
/*
 * sched/proc.h - the processor: the right to run, and all that goes with it.
 *
 * There are as many as the configuration says, in groups of at most 64.  A
 * thread that holds a processor is its HOLDER; fields are the holder's unless
 * they say otherwise, and change hands with the processor.
 *
 * YIELDERS, fibers and tasks that gave way, wait in a list of their own, which
 * is held to be touched (sched/handshake.h), in rounds:
 *
 *	(Y1) The first `round' of them run once the local queue's head has
 *	     reached local_mark, its tail when the round was closed, and all
 *	     that was in the global queue then has been taken (global_mark).
 *	     So each runs after everything that was ready when it yielded, and
 *	     waits for nothing that came after its round was closed.
 *	     What comes from the global queue meanwhile moves the local mark,
 *	     and what overflows into it the global one, once a round.
 *	(Y2) round == 0 only if the list is empty.
 *
 * COUNTERS are written by the holder and read by anyone, without order; bump
 * is a load and a store, not a locked instruction.
 *
 * Reads next: sched/group.h, the processors together.
 */
#ifndef WF_SCHED_PROC_H
#define WF_SCHED_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/random.h"
#include "fiber/slab.h"
#include "os/lock.h"
#include "queue/batch.h"
#include "queue/inbox.h"
#include "queue/inject.h"
#include "queue/runq.h"
#include "wait/timers.h"
#include "stack/cache.h"

#include <weft/obs.h>

struct wf_group;
struct wf_thread;

struct wf_yielders {
	weft_task *first;		/* all by who holds the list */
	weft_task *last;
	_Atomic(uint32_t) count;	/* read by anyone */
	uint32_t round;			/* (Y1) */
	uint64_t local_mark;		/* (Y1) */
	uint64_t global_mark;		/* (Y1) */
	bool moved;			/* global_mark was, in this round */
};

/* TURNS of the local queue and the global one: see sched/pick.h. */
enum wf_turn_of {
	WF_TURN_NONE,			/* the global queue was empty */
	WF_TURN_LOCAL,
	WF_TURN_GLOBAL,
};

struct wf_turn {
	enum wf_turn_of of;
	uint32_t looks;			/* GLOBAL: picks until the clock is
					   read again */
	bool rest;			/* lock-free: there was a rest of a
					   chain (queue/inbox.h), and */
	uint64_t local_mark;		/* this was the local queue's tail, */
	uint64_t global_mark;		/* this all ever pushed to the global
					   queue, when the turns began */
};

/* proc.coarse: tasks that become ready here want more than to be queued. */
#define WF_COARSE 1		/* they are coarse: others may be woken */
#define WF_APART 2		/* fixed: they go where the policy says */

/* proc.slot, fixed: there is none. */
#define WF_SLOT_SHUT ((wf_entry)2)

/* Of so many that wait for events a processor knows where their frames are. */
#define WF_PROC_WAITED 16

/* What weft_metrics shows, as it is counted. */
struct wf_counters {
	_Atomic(uint64_t) ticks;
	_Atomic(uint64_t) runs_lifo;
	_Atomic(uint64_t) runs_global;
	_Atomic(uint64_t) runs_stolen;
	_Atomic(uint64_t) runs_inline;
	_Atomic(uint64_t) spawned;
	_Atomic(uint64_t) finished;
	_Atomic(uint64_t) switches;
	_Atomic(uint64_t) steals;
	_Atomic(uint64_t) stolen;
	_Atomic(uint64_t) steal_fails;
	_Atomic(uint64_t) offloads;
	_Atomic(uint64_t) grabs;
	_Atomic(uint64_t) parks;
	_Atomic(uint64_t) wakes;
	_Atomic(uint64_t) wakes_futile;
	_Atomic(uint64_t) search_ns;
	_Atomic(uint64_t) overflows;
	_Atomic(uint64_t) delay[WEFT_DELAY_BUCKETS];
};

struct wf_proc {
	/* Part 1: fixed. */
	struct wf_group *group wf_aligned(WF_FALSE_SHARING);
	struct wf_inject *inject;	/* of the group */
	uint64_t bit;			/* in the masks of the group */
	uint32_t id;			/* in the runtime */

	/* Part 2: the holder's. */
	uint32_t pause;			/* picks until it looks around */
	uint32_t owed;			/* and from there to a turn of the
					   global queue; 0: it is one */
	uint32_t blind;			/* and from there to a look at the
					   clock; 0: it is one */
	uint32_t stride;		/* picks between two looks, the last */
	uint32_t streak;		/* picks from the slot in a row */
	uint32_t gave_way;		/* joiners did: see life/join.c */
	_Atomic(uint32_t) busy;		/* it takes; see sched/handshake.h */
	bool woken;			/* by somebody, and found nothing yet */
	bool alarmed;			/* its last sleep ended by a timer */
	uint32_t clock_us;		/* clock_ns, as READY has it */
	_Atomic(int64_t) clock_ns;	/* a recent time; read by anyone */
	struct wf_yielders yielders;
	struct wf_counters counters;
	struct wf_fiber_cache fibers;
	struct wf_stack_cache stacks;
	const void *waited[WF_PROC_WAITED];	/* who did, lately: frames that
					   may be gone, only to be fetched */
	uint32_t waits;			/* how many did, in all */
	struct wf_random random;
	uint64_t mixed;			/* the queue's tail, when it last was */
	int64_t gap_ns;			/* how long it is idle, lately */
	_Atomic(int64_t) idle_ns;	/* and was in all; read by anyone */
	uint32_t inbox_turn;		/* lock-free: see sched/global.c */
	struct wf_turn turn;		/* sched/pick.h */

	/* Part 3: others take from here. */
	_Atomic(wf_entry) slot wf_aligned(WF_FALSE_SHARING);
	struct wf_runq runq;
	struct wf_inbox inbox;		/* sched/global.h */

	/* Part 4: the monitor's word on what the tasks here are like. */
	_Atomic(uint8_t) coarse wf_aligned(WF_FALSE_SHARING); /* WF_COARSE */
	_Atomic(uint64_t) mean_ns;	/* of one task */
	int64_t calm_ns;		/* since then no help was needed */

	/* Part 5: sched/handshake.h */
	_Atomic(bool) shared;		/* written by the group's share_lock */
	_Atomic(bool) open;		/* the same */
	_Atomic(uint32_t) thieves;
	struct wf_lock yield_lock;	/* of yielders, while shared */
	_Atomic(bool) divided;		/* by a thief, for the holder: mix it */

	/* Part 6: who holds it; by whoever took its bit from the mask of
	 * sleepers, or the holder. */
	_Atomic(struct wf_thread *) thread;
	_Atomic(int64_t) woken_ns;	/* when it was last woken */

	/* Part 7: of the fibers whose waits began here; by its lock. */
	struct wf_timers timers;
};

/* A counter of the holder's. */
static inline void wf_bump(_Atomic(uint64_t) *counter, uint64_t by)
{
	wf_store_rlx(counter, wf_load_rlx(counter) + by);
}

static inline bool wf_is_coarse(struct wf_proc *p)
{
	return wf_load_rlx(&p->coarse) & WF_COARSE;
}

/* Ticks of p but for children run as calls: tasks that wait see only these. */
static inline uint64_t wf_proc_picks(struct wf_proc *p)
{
	uint64_t inlined = wf_load_rlx(&p->counters.runs_inline);

	return wf_load_rlx(&p->counters.ticks) - inlined;
}

/* It is now_ns.  Holder. */
static inline void wf_proc_clock(struct wf_proc *p, int64_t now_ns)
{
	wf_store_rlx(&p->clock_ns, now_ns);
	p->clock_us = (uint32_t)(now_ns / 1000) | WF_READY_UNKNOWN;
}

/* The next round is of the n yielders there are now (Y1). */
static inline void wf_yielders_close(struct wf_proc *p, uint32_t n)
{
	p->yielders.round = n;
	p->yielders.moved = false;
	p->yielders.local_mark = wf_load_rlx(&p->runq.tail);
	p->yielders.global_mark = wf_inject_pushed(p->inject);
}

/* Append a fiber or task that gives way.  Holding the list. */
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

/* Is there a yielder whose turn it is?  Holding the list. */
static inline bool wf_yielders_ready(struct wf_proc *p)
{
	struct wf_yielders *y = &p->yielders;

	return y->round != 0 && wf_load_rlx(&p->runq.head) >= y->local_mark &&
		wf_inject_passed(p->inject, y->global_mark);
}

/* Does something in the global queue go before them?  Holding the list. */
static inline bool wf_yielders_wait_global(struct wf_proc *p)
{
	return p->yielders.round != 0 &&
		!wf_inject_passed(p->inject, p->yielders.global_mark);
}

/* Does something in the local queue?  Holding the list. */
static inline bool wf_yielders_wait_local(struct wf_proc *p)
{
	return p->yielders.round != 0 &&
		wf_load_rlx(&p->runq.head) < p->yielders.local_mark;
}

/* Take the first yielder; there is one.  Holding the list. */
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

/* Move the first n, 0 < n <= count, into out, which is empty.  Holding it. */
void wf_yielders_cut(struct wf_proc *p, uint32_t n, struct wf_batch *out);

/* How much waits in p, roughly, for anyone to see. */
static inline size_t wf_proc_backlog(struct wf_proc *p)
{
	return wf_runq_len(&p->runq) +
		(wf_load_rlx(&p->slot) > WF_SLOT_SHUT) +
		wf_load_rlx(&p->yielders.count);
}

/* So many timers fire at once even if the queue is full. */
#define WF_PROC_FIRE_MIN 16

/*
 * End waits whose deadline has come by now_ns, if there seem to be any, but not
 * more than there is room for: what overflows into the global queue may find a
 * long way there.  Did any?  Holder.
 */
static inline bool wf_proc_fire(struct wf_proc *p, int64_t now_ns)
{
	size_t room;

	if (wf_likely(wf_timers_next(&p->timers) > now_ns))
		return false;
	room = (size_t)p->runq.mask + 1 - wf_runq_len(&p->runq);
	return wf_timers_fire(&p->timers, now_ns,
		room > WF_PROC_FIRE_MIN ? room : WF_PROC_FIRE_MIN);
}

/*
 * Open a processor: memory for its queue of capacity entries is the caller's.
 * -ENOMEM.  close: everything in it is empty.
 */
wf_must_check int wf_proc_open(struct wf_proc *p, struct wf_group *group,
	struct wf_inject *inject, uint32_t index, uint32_t id,
	struct wf_stack_pool *stacks, _Atomic(wf_entry) *slots,
	uint64_t capacity);
void wf_proc_close(struct wf_proc *p);

#endif
