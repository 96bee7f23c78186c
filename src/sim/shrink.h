/* SPDX-License-Identifier: MIT */
/*
 * sim/shrink.h - the same failure with fewer decisions.
 *
 * Delta debugging: leave out halves of the list, then quarters, down to single
 * decisions, as long as the same check fires.  A decision left out is the dull
 * one: no preemption, the newest store, no fault, the first of several.  A list
 * that is short by then is tried without any two, and with switches that go
 * straight to where two led.
 */
#ifndef WF_SIM_SHRINK_H
#define WF_SIM_SHRINK_H

#include <stddef.h>

#include "sim/engine.h"

/*
 * list, of count decisions, fails with oracle.  Make it short, in place; how
 * many are left.  Takes at most max_runs runs.
 */
size_t wf_sim_shrink(struct wf_sim_decision *list, size_t count,
	const char *oracle, unsigned max_runs);

#endif
