/* SPDX-License-Identifier: MIT */
/*
 * sim/shrink.h - find the same failure with fewer decisions.
 *
 * Delta debugging: leave out halves of the list, then quarters, down to single
 * decisions, as long as the same check fails.  A decision that is left out
 * becomes the dull one: no preemption, the newest store, no fault, the first of
 * several.  When the list is short, also try it without any two decisions, and
 * with one switch in place of two.
 */
#ifndef WF_SIM_SHRINK_H
#define WF_SIM_SHRINK_H

#include <stddef.h>

#include "sim/engine.h"

/*
 * list, of count decisions, fails with oracle.  Shorten it in place, with at
 * most max_runs runs; returns how many decisions are left.
 */
size_t wf_sim_shrink(struct wf_sim_decision *list, size_t count,
	const char *oracle, unsigned max_runs);

#endif
