/* SPDX-License-Identifier: MIT */
/*
 * idle/wake.h - waking a processor that sleeps: when, and which one.
 *
 * idle/economy.h decides whether a wake is worth its price.
 *
 * A waker wakes the lowest-numbered sleeper, so that light load stays on few,
 * warm processors.  The waker counts it as searching from then on, unless as
 * many as may search do: so one wake under way stands for all.
 *
 *	submitter			processor, parking
 *	  task published		  sleeping |= bit
 *	  fence [park.sleep]		  fence [park.sleep]
 *	  searching? sleeping?		  any task?
 *
 * One of the two sees the other, so a task is never left to sleepers only.
 *
 * Reads next: idle/park.h, the other column.
 */
#ifndef WF_IDLE_WAKE_H
#define WF_IDLE_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "sched/group.h"
#include "sched/proc.h"

/* p has searched and found a task; it is not counted any more.  Holder. */
void wf_wake_next(struct wf_proc *p);

/* Wake p, if it sleeps and can be woken.  It is not counted as searching. */
bool wf_wake_proc(struct wf_proc *p);

/* Wake all that have a thread, for the last time: the runtime ends. */
void wf_wake_all(struct wf_group *g);

#endif
