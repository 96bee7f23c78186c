/* SPDX-License-Identifier: MIT */
/*
 * sched/global.h - the global queue of a group, in the form the policy says.
 *
 *	list	(default) queue/inject.h, under short locks
 *	inboxes	(lock-free mode) queue/inbox.h, one per processor
 *	bounded	queue/bounded.h; what finds it full goes to the list, and so
 *		does all that comes after it, until the list is empty again:
 *		so what is in the bounded queue is always older
 *
 * Whoever takes and leaves some wakes others as after a push.
 *
 * Reads next: sched/pick.h, who takes.
 */
#ifndef WF_SCHED_GLOBAL_H
#define WF_SCHED_GLOBAL_H

#include <stddef.h>

#include "queue/batch.h"
#include "sched/group.h"
#include "sched/policy.h"
#include "sched/proc.h"

/* The forms that are not the default. */
size_t wf_global_len_other(struct wf_group *g, const weft_policy *policy);

/*
 * How many tasks wait there, roughly, and at least 1 if there are any whose
 * push has ended.  0: whoever took the last ones, and all it did before, is
 * seen.
 */
static inline size_t wf_global_len(struct wf_group *g)
{
	const weft_policy *policy = wf_policy_of(g);

	if (wf_unlikely(policy->locks == WEFT_LOCKS_NONE ||
		    policy->queue == WEFT_QUEUE_BOUNDED))
		return wf_global_len_other(g, policy);
	return wf_inject_len(&g->inject);
}

/*
 * What of it is the backlog of every processor: all, where there are no other
 * queues.
 */
static inline size_t wf_global_backlog(struct wf_group *g)
{
	return wf_policy_is_global(wf_policy_of(g)) ? wf_global_len(g) : 0;
}

/* Append batch, not empty; it is then empty.  By p, or NULL: from outside. */
void wf_global_push(
	struct wf_group *g, struct wf_proc *p, struct wf_batch *batch);

/*
 * Append p's share of what is in g's queue to out: its length / sharers, up to
 * max.  Holder of p.  How many.
 */
size_t wf_global_take(struct wf_proc *p, struct wf_group *g, size_t sharers,
	size_t max, struct wf_batch *out);

#endif
