/* SPDX-License-Identifier: MIT */
/*
 * sim/search.h - who decides: the ways through the schedules of a program.
 *
 *	walk	at each point stays with the thread in three of four cases,
 *		otherwise any; the newest store in every second
 *	pct	threads have random priorities, and at a few random steps the
 *		one that runs falls to the lowest: finds bugs of small depth
 *		with a probability that can be stated
 *	urw	any thread, weighted by how much it has still to do, so that all
 *		interleavings are about equally likely
 *	bounded all schedules with at most so many preemptions, stale loads and
 *		surprises, one after the other, deepest decision first
 *	list	as the list says, and dull otherwise
 *
 * In the random ways a thread that runs for ever would be taken for one that
 * never ends, so after a while they all turn into a walk, which is fair.
 */
#ifndef WF_SIM_SEARCH_H
#define WF_SIM_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine.h"

/* WEFT_SIM_BOUNDED: what is limited; what is not is tried in full. */
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
 * Which thread goes on.  Somebody is ready.  relax: the current one waits for
 * another.
 */
uint32_t wf_sim_pick(bool relax);

/* Bounded: begin anew with these limits. */
void wf_sim_bounded_start(const uint32_t limits[WF_SIM_FREE]);

/* The run is over; is there another? */
bool wf_sim_bounded_next(void);

/* Did the limit of preemptions keep anything from being tried? */
bool wf_sim_bounded_cut(void);

#endif
