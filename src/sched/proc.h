/* SPDX-License-Identifier: MIT */
/*
 * sched/proc.h - the processor: the right to run, and all that goes with it.
 *
 * There are as many processors as the configuration says, in groups of at most
 * 64.  The thread that holds a processor is its HOLDER.  Fields belong to the
 * holder unless they say otherwise, and change hands with the processor.
 *
 * COUNTERS are written by the holder and read by any thread, without order.
 * wf_bump is a load and a store, not a locked instruction.
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
#include "base/spares.h"
#include "fiber/slab.h"
#include "os/lock.h"
#include "os/os.h"
#include "queue/batch.h"
#include "queue/inbox.h"
#include "queue/inject.h"
#include "queue/runq.h"
#include "sched/agenda.h"
#include "stack/cache.h"

#include <weft/obs.h>

struct wf_group;
struct wf_thread;
struct wf_timers;

/* See sched/yielders.h.  For the caller that holds the list. */
struct wf_yielders {
	weft_task *first;
	weft_task *last;
	_Atomic(uint32_t) count;	/* read by anyone */
	uint32_t round;			/* (Y1) */
	uint64_t local_mark;		/* (Y1) */
	uint64_t global_mark;		/* (Y1) */
	bool moved;			/* global_mark was, in this round */
};

/* All that was in the global queue at some moment: see sched/global.h. */
struct wf_global_mark {
	uint64_t pushed;		/* tasks ever pushed by then */
	bool rest;			/* lock-free: a chain had a rest */
};

/* See sched/turn.h. */
enum wf_turn_of {
	WF_TURN_NONE,			/* the global queue was empty */
	WF_TURN_LOCAL,
	WF_TURN_GLOBAL,
};

struct wf_turn {
	enum wf_turn_of of;
	uint64_t local_mark;		/* the local queue's tail, and */
	struct wf_global_mark global_mark;	/* the global queue, when the
					   turns began */
};

/* proc.push_flags: what a push here does besides queueing the task. */
#define WF_PUSH_COARSE 1	/* tasks are coarse: it may wake a sleeper */
#define WF_PUSH_POLICY 2	/* fixed: the policy says where the task goes */
#define WF_PUSH_SLOTLESS 4	/* fixed: the policy has no slot */

/* The counters behind weft_metrics. */
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

	/* Part 2: the holder's; first what every pick touches. */
	uint32_t streak;		/* picks from the slot in a row */
	_Atomic(uint32_t) busy;		/* it takes; see sched/handshake.h */
	uint32_t clock_us;		/* clock_ns, as READY has it */
	_Atomic(int64_t) clock_ns;	/* a recent time; read by anyone */
	struct wf_agenda agenda;
	struct wf_yielders yielders;
	struct wf_counters counters;
	struct wf_fiber_cache fibers;
	struct wf_stack_cache stacks;
	struct wf_spares spares;	/* wf_record_take */
	uint32_t gave_way;		/* how often joiners did: life/join.c */
	struct wf_turn turn;
	uint64_t shuffled;		/* the queue's tail, when it last was */
	struct wf_random random;
	struct wf_timers *timers;	/* of fibers whose waits began here;
					   fixed */
	int64_t gap_ns;			/* mean time of being idle, lately */
	_Atomic(int64_t) idle_ns;	/* time of being idle in all; read by
					   anyone */
	uint32_t inbox_turn;		/* see sched/global_lockfree.c */
	bool woken;			/* by a waker, and found nothing yet */
	bool alarmed;			/* its last sleep ended by a timer */

	/* Part 3: thieves take from here too. */
	_Atomic(wf_entry) slot wf_aligned(WF_FALSE_SHARING);
	struct wf_runq runq;
	struct wf_inbox inbox;		/* sched/global.h */

	/* Part 4: read by the holder at every push and pick, written seldom,
	 * and never by thieves. */
	_Atomic(uint8_t) push_flags wf_aligned(WF_FALSE_SHARING);
					/* by the monitor, or the holder after
					   it stole coarse tasks */
	_Atomic(bool) shared;		/* by the group's handshake_lock */
	_Atomic(uint64_t) mean_ns;	/* of one task, says the monitor */

	/* Part 5: thieves (sched/handshake.h), and wakers. */
	_Atomic(bool) open wf_aligned(WF_FALSE_SHARING); /* handshake_lock */
	_Atomic(uint32_t) thieves;
	struct wf_lock yield_lock;	/* of yielders, while shared */
	_Atomic(struct wf_thread *) thread;	/* by the holder, or by the
					   waker that cleared the sleeping
					   bit */
	_Atomic(int64_t) woken_ns;	/* when it was last woken */
	_Atomic(bool) to_shuffle;	/* by a thief: see sched/shuffle.h */
};

/* Add to a counter.  Holder. */
static inline void wf_bump(_Atomic(uint64_t) *counter, uint64_t by)
{
	wf_store_rlx(counter, wf_load_rlx(counter) + by);
}

/* task was picked: a tick, and one of its source; NULL: the local queue. */
wf_inline weft_task *wf_proc_picked(
	struct wf_proc *p, _Atomic(uint64_t) *source, weft_task *task)
{
	wf_bump(&p->counters.ticks, 1);
	if (source != NULL)
		wf_bump(source, 1);
	return task;
}

static inline bool wf_is_coarse(struct wf_proc *p)
{
	return wf_load_rlx(&p->push_flags) & WF_PUSH_COARSE;
}

/*
 * Ticks of p without children run as calls: a task that waits in a queue sees
 * only these pass.
 */
static inline uint64_t wf_proc_picks(struct wf_proc *p)
{
	uint64_t inlined = wf_load_rlx(&p->counters.runs_inline);

	return wf_load_rlx(&p->counters.ticks) - inlined;
}

/* Set the clock to now_ns.  Holder. */
static inline void wf_proc_clock(struct wf_proc *p, int64_t now_ns)
{
	wf_store_rlx(&p->clock_ns, now_ns);
	p->clock_us = (uint32_t)(now_ns / 1000) | WF_READY_UNKNOWN;
}

/* About what time it is: the time of p's last look at the clock.  Holder. */
static inline int64_t wf_proc_time(struct wf_proc *p)
{
	int64_t ns = wf_load_rlx(&p->clock_ns);

	return wf_likely(ns != 0) ? ns : wf_os_now_ns();
}

/* About how many tasks wait in p.  Anyone. */
static inline size_t wf_proc_backlog(struct wf_proc *p)
{
	return wf_runq_len(&p->runq) +
		(wf_load_rlx(&p->slot) != 0) +
		wf_load_rlx(&p->yielders.count);
}

/*
 * Open a processor.  The caller owns the memory of its timers and of its queue
 * of capacity entries.  -ENOMEM.  Close it: its queues are empty.
 */
wf_must_check int wf_proc_open(struct wf_proc *p, struct wf_group *group,
	struct wf_inject *inject, struct wf_timers *timers, uint32_t index,
	uint32_t id, struct wf_stack_pool *stacks, _Atomic(wf_entry) *slots,
	uint64_t capacity);
void wf_proc_close(struct wf_proc *p);

#endif
