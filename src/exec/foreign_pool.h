/* SPDX-License-Identifier: MIT */
/*
 * exec/foreign_pool.h - where the fibers of all other executors have their memory.
 *
 * They belong to no runtime; what a runtime has for its own (descriptors,
 * stacks, credits, under the lock of `outside') the process has once for all of
 * them, in a runtime without processors: the HOME.  It is there as long as
 * somebody holds it: each executor that weft made, and each fiber until its
 * descriptor is free.
 *
 * Their timers have a thread, from the first that is set until the home goes.
 * It holds the home while it fires: a fiber that is woken may run on this very
 * thread (exec/inline.c), end, and be the last.
 *
 *	who drops it, the last		the thread, firing
 *	  take it out of `home'		  hold it, unless it was taken out
 *	  quit = true			  fire
 *	  wake and join the thread	  drop it; the last: nobody joins us
 *	  free				  free
 *
 * Reads next: exec/pool.c
 */
#ifndef WF_SCHED_HOME_H
#define WF_SCHED_HOME_H

#include <stdbool.h>

#include "base/compiler.h"

struct weft_rt;
struct wf_timers;

/* Hold the home, made if need be.  -ENOMEM.  Let go of it. */
wf_must_check int wf_home_hold(struct weft_rt **home);
void wf_home_drop(void);

/*
 * The timers of a home that is held, which have a thread from then on; NULL: it
 * could not be had.
 */
struct wf_timers *wf_home_timers(struct weft_rt *rt);

#endif
