/* SPDX-License-Identifier: MIT */
/*
 * sim/spread.c - let the fibers of a program meet.
 *
 * Outside of the simulator a runtime keeps fine tasks together on few
 * processors, and a fiber makes many calls before it gives way (idle/economy.h,
 * coop_budget).  A small program then runs its fibers one after the other, and
 * the search would have to find the rare schedules in which they meet.  So in a
 * simulation, unless WEFT_SIM_ECONOMY is set,
 *
 *	a runtime whose policy the program left open has all ready fibers in its
 *	global queue, where each processor takes them; or, in other schedules,
 *	local queues.  Every task is worth a wake;
 *	a fiber gives way at one of its next calls, and the search chooses at
 *	which one.
 *
 * All of this can happen outside too: a program must not rely on the contrary.
 * weft's own scenarios test the economy itself, and set the flag.
 */
#include <weft/policy.h>
#include <weft/sim.h>

#include "base/sanitize.h"
#include "base/units.h"
#include "sim/engine.h"

/* A fiber gives way at one of so many calls, if the program says no number. */
#define WF_SIM_CALLS 4

static bool spreads(void)
{
	return wf_sim_on() && !(wf_sim->flags & WEFT_SIM_ECONOMY);
}

void wf_sim_spread_policy(struct weft_policy *policy)
{
	if (!spreads())
		return;
	policy->wake = WEFT_WAKE_GO;
	policy->queue = wf_sim_choose(WF_SIM_EITHER, 2) == 0
		? WEFT_QUEUE_GLOBAL
		: WEFT_QUEUE_STEALING;
}

uint32_t wf_sim_spread_budget(uint32_t full)
{
	unsigned calls;

	if (!spreads())
		return full;
	calls = wf_sim_choose(
		WF_SIM_BUDGET, (unsigned)wf_min_size(full, WF_SIM_CALLS));
	return calls == 0 ? full : calls;
}
