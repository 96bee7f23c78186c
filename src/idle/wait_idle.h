/* SPDX-License-Identifier: MIT */
/*
 * idle/wait_idle.h - is nothing ready or running?  Submitters pay nothing.
 *
 * A processor that sleeps has empty queues and runs nothing.  So a runtime is
 * QUIET when all sleep and the global queues are empty; but these are several
 * words, read one after the other.  A waiter reads
 *
 *	1. parkings	how often processors went to sleep, in all
 *	2. the global queues	they are empty
 *	3. sleeping	all of them do
 *	4. parkings	it is the number of 1
 *
 * In 2 the waiter sees a task that was ready before, unless a processor took
 * it.  That processor was awake then, and the waiter sees it awake in 3 unless
 * it has gone to sleep since; then it counted in parkings first, so 4 differs
 * from 1, unless it parked before 1.  This holds for tasks that it left to
 * thieves, too: a holder sees what thieves took from it before it parks.
 *
 * A waiter counts itself in idlers, and looks; a processor that parks counts,
 * and looks for idlers if it is the last of its group:
 *
 *	waiter				processor, parking
 *	  idlers + 1			  parkings + 1, sleeping |= bit
 *	  fence [wait_idle.idlers]		  fence [wait_idle.idlers]
 *	  quiet?			  idlers? -> wake them
 *
 * While there are idlers, searchers do not spin.
 *
 * Rejected: counts of tasks that became ready and of runs that ended, one pair
 * per processor, to be compared by the waiter.  Right as well, and two more
 * stores for every task.
 */
#ifndef WF_IDLE_WAIT_IDLE_H
#define WF_IDLE_WAIT_IDLE_H

#include <stdbool.h>

#include "base/atomic.h"
#include "sched/runtime.h"

/* Are there idlers? */
static inline bool wf_wait_idle_is_awaited(struct weft_rt *rt)
{
	return wf_load_rlx(&rt->idle_wait.idlers) != 0;
}

/* Wake the idlers: a processor parks, its bit is set, then came a fence. */
void wf_wait_idle_tell(struct weft_rt *rt);

#endif
