/* SPDX-License-Identifier: MIT */
/*
 * idle/park.h - going to sleep in two phases, and waking up.
 *
 *	1. stop searching, set the own bit among the sleepers, fence;
 *	2. look at every queue again.  Something there: take the bit back, or
 *	   if somebody was faster, be woken.  Nothing: sleep on the own word.
 *
 * The columns are in idle/wake.h.  Three kinds of work are left to others on
 * purpose: fine tasks behind a shut gate, whose owner runs; for one that did
 * not search what searchers stand for, if there are any; and what is in the
 * queues of processors of other groups, for which the monitor wakes
 * (idle/monitor.h).
 *
 * The own queue, slot and list of yielders are empty when the bit is set: while
 * a processor sleeps, only the monitor looks there.  Debug builds assert it.
 *
 * It sleeps until the first of its timers that somebody waits for; then it
 * takes its bit back, or finds that it is being woken, and fires.
 *
 * A thread that has slept for long (30 s) without a timer ends, unless it is
 * the first of the runtime: the processor then sleeps without a thread.
 *
 * Reads next: sched/run.h, what happens to a task that was found.
 */
#ifndef WF_SCHED_PARK_H
#define WF_SCHED_PARK_H

#include <stdbool.h>

#include "sched/thread.h"

/*
 * Sleep until woken, or not at all if there is work; searched: the caller was a
 * searcher.  False: the thread shall end.
 */
wf_must_check bool wf_park(struct wf_thread *t, bool searched);

/* Tell who waits for the end of fibers that some may have ended. */
void wf_rt_tell_ended(struct weft_rt *rt);

#endif
