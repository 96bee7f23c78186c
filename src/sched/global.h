/* SPDX-License-Identifier: MIT */
/*
 * sched/global.h - the global queue of a group, in the form the policy says.
 *
 *	list	 (default) queue/inject.h, under short locks
 *	inboxes	 (lock-free mode) sched/global_lockfree.h
 *	bounded	 queue/bounded.h.  A task that finds it full goes to the list,
 *		 and so does every task after it until the list is empty again.
 *		 So a task in the bounded queue is older than each in the list.
 *
 * A processor that takes a share and leaves tasks wakes others, as after a
 * push.
 *
 * Reads next: sched/turn.h, when a processor takes from here.
 */
#ifndef WF_SCHED_GLOBAL_H
#define WF_SCHED_GLOBAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "queue/batch.h"
#include "queue/inbox.h"
#include "queue/inject.h"
#include "sched/group.h"
#include "sched/policy.h"
#include "sched/proc.h"

static inline bool wf_global_is_lockfree(struct wf_group *g)
{
	return wf_unlikely(wf_policy_of(g)->locks == WEFT_LOCKS_NONE);
}

/* wf_global_len, for the forms that are not the default. */
size_t wf_global_len_other(struct wf_group *g);

/*
 * About how many tasks wait there, and at least 1 if there are any whose push
 * has ended.  0: the caller sees every processor that took the last tasks, and
 * all that it did before.
 */
static inline size_t wf_global_len(struct wf_group *g)
{
	const weft_policy *policy = wf_policy_of(g);

	if (wf_unlikely(policy->locks == WEFT_LOCKS_NONE ||
		    policy->queue == WEFT_QUEUE_BOUNDED))
		return wf_global_len_other(g);
	return wf_inject_len(&g->inject);
}

/*
 * The part of the global queue that is the backlog of every processor: all of
 * it, where there are no local queues.
 */
static inline size_t wf_global_backlog(struct wf_group *g)
{
	return wf_policy_is_global(wf_policy_of(g)) ? wf_global_len(g) : 0;
}

/* Append batch, not empty; it is then empty.  By p, or NULL: from outside. */
void wf_global_push(
	struct wf_group *g, struct wf_proc *p, struct wf_batch *batch);

/*
 * Append p's share of g's queue to out: its length / sharers, up to max.
 * Returns how many.  Holder of p.
 */
size_t wf_global_take(struct wf_proc *p, struct wf_group *g, size_t sharers,
	size_t max, struct wf_batch *out);

/* Mark all that the global queue of p's group holds now. */
static inline struct wf_global_mark wf_global_mark(struct wf_proc *p)
{
	return (struct wf_global_mark){
		.pushed = wf_inject_pushed(p->inject),
		.rest = wf_inbox_has_rest(&p->inbox),
	};
}

/* Has every task been taken that was marked, as far as one can tell? */
static inline bool wf_global_passed(
	struct wf_proc *p, const struct wf_global_mark *mark)
{
	if (wf_global_is_lockfree(p->group))
		return mark->rest && !wf_inbox_has_rest(&p->inbox);
	return wf_inject_passed(p->inject, mark->pushed);
}

/*
 * Would a take begin a new chain?  Then no mark tells any more which tasks of
 * it are old.
 */
static inline bool wf_global_is_unmarked(struct wf_proc *p)
{
	return wf_global_is_lockfree(p->group) &&
		!wf_inbox_has_rest(&p->inbox);
}

#endif
