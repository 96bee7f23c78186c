/* SPDX-License-Identifier: MIT */
/*
 * idle/wait_idle.h - is nothing ready or running?  It costs who submits nothing.
 *
 * A processor that sleeps has empty queues and runs nothing.  So a runtime is
 * QUIET when all sleep and the global queues are empty; but these are several
 * words, read one after the other.  Whoever asks reads
 *
 *	1. parkings	how often processors went to sleep, in all
 *	2. the global queues	they are empty
 *	3. sleeping	all of them do
 *	4. parkings	it is the number of 1
 *
 * A task that was ready before is seen in 2 if nobody took it.  Who took it was
 * awake then, and seen in 3 unless it has gone to sleep since; then it counted
 * in parkings first, so 4 differs from 1, unless that was before 1 too.  The
 * same goes for the tasks that it had left to others: who takes from a queue,
 * or a slot, is seen by the owner before that parks.
 *
 * Whoever waits counts itself in idlers, and looks; who parks counts, and looks
 * for idlers if it is the last of its group:
 *
 *	waiter				processor, parking
 *	  idlers + 1			  parkings + 1, sleeping |= bit
 *	  fence [quiet.idlers]		  fence [quiet.idlers]
 *	  quiet?			  idlers? -> wake them
 *
 * While somebody waits, searchers do not spin.
 *
 * Rejected: counts of tasks that became ready and of runs that ended, one pair
 * per processor, to be compared by the waiter.  Right as well, and two more
 * stores for every task.
 */
#ifndef WF_SCHED_QUIET_H
#define WF_SCHED_QUIET_H

#include <stdbool.h>

#include "base/atomic.h"
#include "sched/runtime.h"

/* Does anybody wait for it? */
static inline bool wf_quiet_is_awaited(struct weft_rt *rt)
{
	return wf_load_rlx(&rt->quiet.idlers) != 0;
}

/* A processor parks; its bit is set, and a fence came after it. */
void wf_quiet_tell(struct weft_rt *rt);

#endif
