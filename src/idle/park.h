/* SPDX-License-Identifier: MIT */
/*
 * idle/park.h - going to sleep in two phases, and waking up.
 *
 *	1. stop searching, set the own bit among the sleepers, fence;
 *	2. look at every queue again.  A task there: take the bit back, or if a
 *	   waker was faster, be woken.  None: sleep in the thread's parker.
 *
 * The columns are in idle/wake.h.  A processor that parks leaves three kinds of
 * work to others on purpose: fine tasks behind a shut gate, whose holder runs;
 * if it did not search, the tasks that searchers will look at; and tasks in the
 * local queues of other groups (idle/groups.h).
 *
 * The own queue, slot and list of yielders are empty when the bit is set: while
 * a processor sleeps, only the monitor looks there.  Debug builds assert it.
 *
 * It sleeps until the first of its timers that a fiber waits for; then it takes
 * its bit back, or finds that it is being woken, and fires the timers.
 *
 * A thread that has slept for long (30 s) without a timer ends, unless it is
 * the first of the runtime: the processor then sleeps without a thread.
 *
 * Reads next: idle/parker.h, the sleep itself.
 */
#ifndef WF_IDLE_PARK_H
#define WF_IDLE_PARK_H

#include <stdbool.h>

#include "sched/thread.h"

/*
 * Sleep until woken, or not at all if there is work; searched: the caller was a
 * searcher.  False: the thread must end.
 */
wf_must_check bool wf_park(struct wf_thread *t, bool searched);

#endif
