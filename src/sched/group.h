/* SPDX-License-Identifier: MIT */
/*
 * sched/group.h - a scheduling group: up to 64 processors and a global queue.
 *
 * Two words say which processors are idle, one bit per processor:
 *
 *	SLEEPING   The processor runs nothing: its thread sleeps, or it has no
 *		   thread.  The thread that clears the bit wakes the processor,
 *		   or is the processor's own.  The bit may be set for a moment
 *		   while the processor still takes its last look.  It must not
 *		   be clear while the processor sleeps and no waker is under
 *		   way.
 *	SEARCHING  The processor has nothing to run and looks for a task.  It
 *		   looks at every queue again after it has cleared the bit; so a
 *		   submitter that sees a bit set need not wake a sleeper.  The
 *		   processor or its waker sets the bit, and only while fewer
 *		   than max_searchers bits are set (wf_group_enlist).  The
 *		   processor clears it; so does a submitter that claims the
 *		   searcher (flare's rule), and the monitor, if the system has
 *		   stopped the searcher.
 *
 * A processor that sleeps has empty queues.
 *
 * The GATE says whether thieves may steal fine tasks, and whether more than one
 * processor may take them from the global queue: see idle/gate.h.
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
#include "queue/runq.h"
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
	uint64_t all;			/* the bits of all processors */
	weft_policy policy;
	const struct wf_runq_ops *runq;	/* how local queues are used */

	/* Written seldom, read by all. */
	_Atomic(bool) gate_open;
	_Atomic(bool) coarse;		/* some processor has coarse tasks */
	_Atomic(bool) away;		/* joinable fibers (AWAY) may be at the
					   head of the global queue */
	_Atomic(uint64_t) wake_ns;	/* mean time of a wake, lately */

	struct wf_lock handshake_lock;	/* sched/handshake.h */
	bool always_open;		/* fixed: there is no membarrier */

	struct wf_inject inject;	/* see sched/global.h */
	struct wf_bounded bounded;
};

/* The policy of g. */
static inline const weft_policy *wf_policy_of(const struct wf_group *g)
{
	static const weft_policy preset;

	return WF_POLICY_FIXED ? &preset : &g->policy;
}

/* Are tasks fine, as far as is known, and is the gate shut? */
static inline bool wf_group_is_shy(struct wf_group *g)
{
	return !wf_load_rlx(&g->coarse) && !wf_load_rlx(&g->gate_open);
}

/* Would a thief take a task from v, as far as these two words tell? */
static inline bool wf_steal_allowed(struct wf_proc *v)
{
	return wf_is_coarse(v) || wf_load_rlx(&v->group->gate_open);
}

/*
 * The tasks of p are coarse, or not.  Where wakes do not follow the gate's rule
 * the flag stays as it is: there all tasks count as coarse.
 */
static inline void wf_set_coarse(struct wf_proc *p, bool coarse)
{
	uint8_t fixed = wf_load_rlx(&p->push_flags) & ~WF_PUSH_COARSE;

	if (wf_policy_of(p->group)->wake == WEFT_WAKE_GATE)
		wf_store_rlx(&p->push_flags,
			fixed | (coarse ? WF_PUSH_COARSE : 0));
}

/*
 * May p, which has no other task, take a share of the global queue?  Fine tasks
 * are left to one processor, the lowest that is awake, unless the gate is open.
 */
static inline bool wf_group_may_take(struct wf_group *g, struct wf_proc *p)
{
	uint64_t awake = ~wf_load_rlx(&g->sleeping);

	return !wf_group_is_shy(g) || (awake & (p->bit - 1)) == 0;
}

/*
 * Count the processor of bit, which is idle, as a searcher, unless there are
 * max_searchers.  Returns whether it is counted.  One compare-and-swap reads
 * the mask and changes it: in two steps several processors could each see the
 * last free place, and all take it.  Relaxed: the mask only advises submitters.
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
	return true; /* its waker has counted it */
}

/* The processor of the lowest bit in mask. */
static inline struct wf_proc *wf_group_lowest(struct wf_group *g, uint64_t mask)
{
	return &g->procs[__builtin_ctzll(mask)];
}

#endif
