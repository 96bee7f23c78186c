/* SPDX-License-Identifier: MIT */
/*
 * idle/search.h - the rounds of a searcher over the processors of its group.
 *
 * A search goes over all victims several times, each time in another random
 * order: a random start, and a stride that shares no divisor with their number.
 * idle/economy.h says from which victims a thief may take.  In the last round a
 * thief also takes a task that is alone, from a holder that has not picked
 * anything for 20 us.
 *
 * Reads next: sched/steal.h, how a thief takes from a victim.
 */
#ifndef WF_IDLE_SEARCH_H
#define WF_IDLE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/task.h>

#include "sched/group.h"
#include "sched/proc.h"

struct wf_search {
	struct wf_proc *p;		/* the searcher */
	int64_t start_ns;
	int64_t now_ns;
	bool may_unstick;		/* in the last round a victim had tasks
					   and had picked nothing */
	uint64_t progress[WF_GROUP_MAX];	/* of each, at the start */
};

/* Remember what the victims looked like.  Holder. */
void wf_search_begin(struct wf_search *s, struct wf_proc *p);

/*
 * One round over all victims.  A task to run, counted; or NULL.  NULL does not
 * mean that nothing was taken: see wf_search_other_groups.
 */
weft_task *wf_search_round(struct wf_search *s, bool last);

#endif
