/* SPDX-License-Identifier: MIT */
/*
 * sched/group.h - up to 64 processors that share a global queue and their work.
 *
 * Who is idle is two words, one bit per processor:
 *
 *	SLEEPING   the processor runs nothing: its thread sleeps on its word, or
 *		   it has no thread.  Whoever clears the bit must wake it, or is
 *		   itself its thread.  May be set for a moment while the thread
 *		   still looks for a last time; must not be clear for one that
 *		   sleeps and nobody wakes.
 *	SEARCHING  it has nothing to run and looks for something.  It will look
 *		   at every queue again after it has cleared the bit; so who
 *		   sees one set need not wake anyone.  Set by the processor, or
 *		   by its waker, and only while fewer than max_searchers bits
 *		   are set (wf_group_enlist).  Cleared by the processor; by a
 *		   submitter that claims it (flare's rule); by the monitor, from
 *		   a searcher that the system has stopped.
 *
 * A processor that sleeps has empty queues.
 *
 * The GATE says whether fine tasks, those that cost less than a cache line's
 * way to another core is worth, may be stolen, or taken from the global queue
 * by more than one: see idle/gate.h.
 *
 * Reads next: sched/thread.h, what holds a processor.
 */
#ifndef WF_SCHED_GROUP_H
#define WF_SCHED_GROUP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/limits.h"
#include "queue/bounded.h"
#include "queue/inject.h"
#include "idle/gate.h"
#include "sched/policy.h"
#include "sched/proc.h"

#define WF_GROUP_MAX 64

struct weft_rt;

struct wf_group {
	_Atomic(uint64_t) sleeping wf_aligned(WF_FALSE_SHARING);
	_Atomic(uint64_t) searching;
	_Atomic(uint64_t) parkings;	/* idle/wait_idle.h */

	/* Fixed. */
	struct weft_rt *rt wf_aligned(WF_FALSE_SHARING);
	struct wf_proc *procs;
	uint32_t count;
	uint32_t max_searchers;
	uint64_t all;			/* a bit for each */
	weft_policy policy;

	/* Written seldom, read by all. */
	_Atomic(bool) gate_open;
	_Atomic(bool) coarse;		/* the tasks of some processor are */
	_Atomic(bool) away;		/* the global queue may begin with
					   joinable fibers (AWAY) */
	_Atomic(uint64_t) wake_ns;	/* what a wake costs, lately */

	struct wf_lock share_lock;	/* sched/handshake.h */
	bool share_always;		/* fixed: there is no membarrier */

	/* The monitor's. */
	struct wf_gate gate;
	uint64_t searchers;		/* searching, at the last looks */
	int64_t searchers_ns;		/* since when */
	uint64_t steals;		/* of all, at the last look */
	int64_t stolen_ns;		/* when that last changed */

	struct wf_inject inject;	/* see sched/global.h */
	struct wf_bounded bounded;
};

/* The choices made for g. */
static inline const weft_policy *wf_policy_of(const struct wf_group *g)
{
	static const weft_policy preset;

	return WF_POLICY_FIXED ? &preset : &g->policy;
}

/* Are tasks fine, as far as one knows, and the gate shut? */
static inline bool wf_group_is_shy(struct wf_group *g)
{
	return !wf_load_rlx(&g->coarse) && !wf_load_rlx(&g->gate_open);
}

/*
 * The tasks of p are coarse, or not.  Who wakes by another rule than the gate's
 * takes all of them for coarse.
 */
static inline void wf_set_coarse(struct wf_proc *p, bool coarse)
{
	uint8_t fixed = wf_load_rlx(&p->coarse) & WF_APART;

	if (wf_policy_of(p->group)->wake == WEFT_WAKE_GATE)
		wf_store_rlx(&p->coarse, fixed | (coarse ? WF_COARSE : 0));
}

/*
 * May p, when it has nothing else, take from the global queue?  Fine tasks are
 * better left to one processor, the lowest that is awake, unless the gate is
 * open.
 */
static inline bool wf_group_shares(struct wf_group *g, struct wf_proc *p)
{
	uint64_t awake = ~wf_load_rlx(&g->sleeping);

	return !wf_group_is_shy(g) || (awake & (p->bit - 1)) == 0;
}

/*
 * Count the processor of bit, which is idle, as searching, unless as many as
 * may are.  Is it counted?  The look at the others and the change are one
 * compare-and-swap: in two steps several processors would each see the last
 * free place, and all take it.  Relaxed: the mask only advises submitters.
 */
static inline bool wf_group_enlist(struct wf_group *g, uint64_t bit)
{
	uint64_t seen = wf_load_rlx(&g->searching);

	while (!(seen & bit)) {
		if ((uint32_t)__builtin_popcountll(seen) >= g->max_searchers)
			return false;
		if (wf_cas_weak_rlx(&g->searching, &seen, seen | bit))
			return true;
	}
	return true; /* its waker did it */
}

/* The processor of the lowest bit. */
static inline struct wf_proc *wf_group_lowest(struct wf_group *g, uint64_t mask)
{
	return &g->procs[__builtin_ctzll(mask)];
}

#endif
