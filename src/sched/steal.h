/* SPDX-License-Identifier: MIT */
/*
 * sched/steal.h - taking work from other processors.
 *
 * A search goes over all victims several times, each time in another random
 * order: a random start, and a stride that shares no divisor with their number.
 * It takes half of a victim's queue, or if that is empty of its yielders,
 * rounded down, so that a task alone in its queue, and the one in the slot,
 * stay with an owner that is about to run them.
 * Only from an owner that has not picked anything for 20 us, because it
 * computes, are they taken in the last round.
 *
 * Tasks that were made in order, and what they use, lie in order in memory.
 * When many fine ones have been divided, two cores go through neighbouring
 * parts, round after round, and lines near where the parts meet go to and fro:
 * by prefetching, as it seems.  So both sides put what they have into another
 * order, once (wf_runq_mix, in sched/pick.c).
 *
 * What may be taken is decided by one predicate, for thieves and for those who
 * are about to park: coarse tasks, anything when the gate is open, anything
 * behind a task that has run for 20 us.
 *
 * Reads next: idle/park.h, when nothing was found.
 */
#ifndef WF_SCHED_STEAL_H
#define WF_SCHED_STEAL_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/task.h>

#include "sched/group.h"
#include "sched/proc.h"

#define WF_STUCK_NS 20000	/* without a pick: the owner computes */

struct wf_search {
	struct wf_proc *p;		/* who searches */
	int64_t start_ns;
	int64_t now_ns;
	bool lone;			/* something may be had by waiting, as
					   the last round saw it */
	uint64_t progress[WF_GROUP_MAX];	/* of each, at the start */
};

/* Remember what the victims looked like.  Holder. */
void wf_search_begin(struct wf_search *s, struct wf_proc *p);

/*
 * One round over all victims; last: also what is alone in its queue, if it has
 * been there for long enough.  A task to run, counted, or NULL.
 */
weft_task *wf_search_round(struct wf_search *s, bool last);

/*
 * A look into the queues of the other groups: global ones, and those of
 * processors that have coarse tasks; what is alone, from one whose tasks take
 * 20 us.
 *
 * Of both: NULL does not mean that nothing was taken.  If the first entry was a
 * dead ticket, the others are in the own queue now, where the caller must look.
 */
weft_task *wf_search_abroad(struct wf_search *s);

/* Would a thief take anything from v, as far as one can tell at a glance? */
static inline bool wf_steal_allowed(struct wf_proc *v)
{
	return wf_is_coarse(v) || wf_load_rlx(&v->group->gate_open);
}

#endif
