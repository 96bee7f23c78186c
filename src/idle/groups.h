/* SPDX-License-Identifier: MIT */
/*
 * idle/groups.h - every choice between scheduling groups.
 *
 *	a task from outside	goes to the next group, in turn, that has a
 *				sleeper; if none has one, to the next
 *	a searcher		that found nothing in its own group takes from
 *				the global queues of others, and from their
 *				processors that have coarse tasks
 *	a processor that parks	stays up for a task in any global queue.  For
 *				what is in the local queues of another group
 *				the monitor wakes (idle/monitor.h)
 *	a waker			that cannot wake any sleeper of its own group
 *				wakes one of another (idle/wake.c, monitor.c)
 *
 * All of them ask wf_may_take_global: a searcher that did not take what keeps a
 * parking processor up would never let it sleep; and if a processor parked on
 * what only it would take, the task would stay there.
 *
 * A rule about near and far groups changes groups.c and this file only.
 *
 * Reads next: sched/steal.h, how a thief takes.
 */
#ifndef WF_IDLE_GROUPS_H
#define WF_IDLE_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/task.h>

#include "sched/global.h"
#include "sched/group.h"
#include "sched/proc.h"

/*
 * Does the global queue of g have a task that p, which has nothing else, may
 * take?  In its own group p may have to leave fine tasks to another processor;
 * to other groups p comes only after it found nothing in its own.
 */
static inline bool wf_may_take_global(struct wf_proc *p, struct wf_group *g)
{
	return wf_global_len(g) != 0 &&
		(g != p->group || wf_group_may_take(g, p));
}

/* Is there such a group?  Holder, or p has just stopped. */
bool wf_may_take_any_global(struct wf_proc *p);

/*
 * Take from another group.  NULL does not mean that nothing was taken: if the
 * first entry was a dead ticket, the others are in the local queue of p now,
 * where the caller must look.  Holder.
 */
weft_task *wf_search_other_groups(struct wf_proc *p);

/*
 * Let wake try to wake a sleeper of each group but g, until one succeeds.
 * Returns whether one did.
 */
bool wf_wake_other_group(struct wf_group *g,
	bool (*wake)(struct wf_group *other, struct wf_group *g));

#endif
