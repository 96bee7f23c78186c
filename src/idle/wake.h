/* SPDX-License-Identifier: MIT */
/*
 * idle/wake.h - waking a processor that sleeps: when, and which one.
 *
 * A wake costs its sender microseconds, and what it wakes tens of them; a fine
 * task costs nanoseconds.  So a wake is a decision:
 *
 *	a task from outside	wakes if nobody is awake, or if those who are
 *				have coarse tasks and nobody searches
 *	a task from inside	never wakes while tasks are fine; coarse ones
 *				do when the backlog is worth two wakes
 *	a searcher that found	wakes the next if it was the last one and more
 *	something		is left, so a burst fans out as a chain
 *	the monitor		for everything else (idle/monitor.h)
 *
 * The lowest-numbered sleeper is woken, so that light load stays on few, warm
 * processors.  It is counted as searching from then on, by its waker, so that
 * one wake under way stands for all; unless as many as may search already do.
 *
 *	submitter			processor, parking
 *	  task published		  sleeping |= bit
 *	  fence [park.sleep]		  fence [park.sleep]
 *	  searching? sleeping?		  any task?
 *
 * One of the two sees the other: a task is never left to sleepers only.
 *
 * These are two other rules, for comparison (sched/policy.h).  Both take every
 * task for coarse and worth a wake:
 *
 *	Go's	a sleeper is woken, unless somebody searches
 *	flare's	a searcher is claimed by clearing its bit, and only if there is
 *		none a sleeper is woken, who does not count as searching: so
 *		each task has one of its own
 *
 * Reads next: idle/park.h, the other column.
 */
#ifndef WF_SCHED_WAKE_H
#define WF_SCHED_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "sched/group.h"
#include "sched/proc.h"

/* A task was put into the global queue of g from outside. */
void wf_wake_for_outside(struct wf_group *g);

/* A task was queued by the holder of p, whose flags (coarse) are not zero. */
void wf_wake_for_push(struct wf_proc *p);

/* p, the holder's, searched and found something. */
void wf_wake_next(struct wf_proc *p);

/*
 * Wake the lowest sleeper of g; if none that there is can be woken, and tasks
 * wait in the global queue, one of another group.  False: nobody.
 */
bool wf_wake_one(struct wf_group *g);

/* Wake p, if it sleeps and can be woken.  It is not counted as searching. */
bool wf_wake_proc(struct wf_proc *p);

/* Wake all that have a thread, for the last time: the runtime ends. */
void wf_wake_all(struct wf_group *g);

/* Are n tasks of p, the mean of them, worth a wake? */
static inline bool wf_wake_pays(struct wf_proc *p, uint64_t n)
{
	return n * wf_load_rlx(&p->mean_ns) >
		2 * wf_load_rlx(&p->group->wake_ns);
}

#endif
