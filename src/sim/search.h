/* SPDX-License-Identifier: MIT */
/*
 * sim/search.h - the search modes: the ways to choose a schedule.
 *
 *	walk	at each point stays with the thread in three of four cases,
 *		otherwise chooses any; a load reads the newest store in at least
 *		every second case
 *	pct	threads have random priorities, and at a few random steps the
 *		running thread gets the lowest: finds bugs of small depth with
 *		a probability that can be stated
 *	urw	any thread, weighted by its estimated remaining steps, so that
 *		all interleavings are about equally likely
 *	bounded all schedules with at most so many preemptions, stale loads and
 *		surprises, one after the other, deepest decision first
 *	list	the decisions of the list, and dull ones otherwise
 *
 * A thread that runs for ever in an unfair schedule would be reported as one
 * that never ends.  So pct and urw turn into a walk, which is fair, after a
 * number of steps.
 */
#ifndef WF_SIM_SEARCH_H
#define WF_SIM_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine.h"

/* WEFT_SIM_BOUNDED: the limited kinds; all values of free kinds are tried. */
enum wf_sim_limit {
	WF_SIM_PREEMPTIONS,
	WF_SIM_STALE_LOADS,
	WF_SIM_SURPRISES,
	WF_SIM_FREE,
};

wf_must_check int wf_sim_search_open(void);

/* A run begins. */
void wf_sim_search_begin(const struct wf_sim_run *how);

/*
 * Which thread continues.  At least one is ready.  relax: the current one waits
 * for another.
 */
uint32_t wf_sim_pick(bool relax);

/* Bounded: start again with these limits. */
void wf_sim_bounded_start(const uint32_t limits[WF_SIM_FREE]);

/* The run is over; whether there is another one. */
bool wf_sim_bounded_next(void);

/* Whether the limit of preemptions left out any run. */
bool wf_sim_bounded_cut(void);

#endif
