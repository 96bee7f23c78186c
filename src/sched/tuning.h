/* SPDX-License-Identifier: MIT */
/*
 * sched/tuning.h - every number that steers sleeping, waking and stealing.
 *
 * They stand in one struct, and the compiler puts them in as if they were
 * literals.  Times are in nanoseconds.  Each comment says what the number
 * steers, and which error of it costs little.  Numbers that the user can set
 * are in weft_config; sizes that the simulator shrinks are in base/limits.h.
 *
 * Reads next: idle/economy.h, the decisions made with them.
 */
#ifndef WF_SCHED_TUNING_H
#define WF_SCHED_TUNING_H

#include <stdint.h>

#include "base/limits.h"
#include "base/units.h"

struct wf_tuning {
	/*
	 * Tasks with a mean run time of coarse_ns are coarse: others may take
	 * them, and sleepers are woken for them.  doubt_ns takes its place
	 * while a trial may have slowed the tasks down (idle/gate.h).  Too
	 * long: the gate decides, and help comes later.
	 */
	int64_t coarse_ns;
	int64_t doubt_ns;

	/*
	 * A holder that has picked nothing for so long computes: thieves may
	 * take all that waits behind it.  Too long: that work waits longer.
	 */
	int64_t stuck_ns;

	/*
	 * A wake costs wake_ns until the first one was measured, and a backlog
	 * must be worth more than worth_wakes of them.  Too much: the monitor
	 * finds the backlog.
	 */
	int64_t wake_ns;
	uint64_t worth_wakes;

	/* An idle thread ends after that.  Too long: it keeps its memory. */
	int64_t linger_ns;

	/*
	 * Pauses after the system has refused a thread, the first and the
	 * longest.  Too long: the processors that are awake work alone.
	 */
	int64_t ask_min_ns;
	int64_t ask_max_ns;

	/*
	 * A holder looks at the clock so often if its tasks are long.  Too
	 * short: more looks, of some 30 ns each.
	 */
	int64_t look_ns;

	/* Timers that fire at once even if the local queue is full. */
	uint32_t serve_min;

	/*
	 * The gate: a window of ALONE, of which there are at least two; the
	 * time for a thief to get going in a trial; the trial; how long it is
	 * OPEN; how long it is SHUT, after one trial that failed and at most.
	 * Windows too long: help comes later.  SHUT too long: the same; too
	 * short: trials that do not pay take more of the time.
	 */
	int64_t gate_alone_ns;
	int64_t gate_settle_ns;
	int64_t gate_trial_ns;
	int64_t gate_open_ns;
	int64_t gate_shut_min_ns;
	int64_t gate_shut_max_ns;

	/*
	 * Pauses of the monitor: after help was sent, while a gate is being
	 * measured, at most.  Too short: more looks, of some microseconds each.
	 */
	int64_t pause_min_ns;
	int64_t pause_gate_ns;
	int64_t pause_max_ns;

	/* A searcher of that age was stopped.  Too long: help comes later. */
	int64_t search_ns;

	/*
	 * The monitor fires the timers of a processor that is so late with
	 * them.  Too long: they are late.
	 */
	int64_t late_ns;

	/*
	 * The monitor sends help to tasks that waited behind long ones at every
	 * look for so long.  Too short: some help comes in vain.
	 */
	int64_t behind_ns;

	/*
	 * Thieves are shut out of a queue that needed no help for so long.  Too
	 * long: the holder takes by locked instructions for longer.
	 */
	int64_t calm_ns;

	/*
	 * The monitor sleeps after so many looks at which nothing ran, and four
	 * times as many if its last sleep was not longer than short_ns.  Too
	 * many: some looks at nothing.
	 */
	uint32_t idle_looks;
	int64_t short_ns;

	/* What the monitor asks the kernel for, to run soon after its pause. */
	int64_t slice_ns;
};

static const struct wf_tuning wf_tuning = {
	.coarse_ns = WF_NS_PER_US,
	.doubt_ns = 20 * WF_NS_PER_US,
	.stuck_ns = 20 * WF_NS_PER_US,
	.wake_ns = 30 * WF_NS_PER_US,
	.worth_wakes = 2,
	.linger_ns = 30 * WF_NS_PER_S,
	.ask_min_ns = WF_NS_PER_MS,
	.ask_max_ns = WF_NS_PER_S,
	.look_ns = WF_NS_PER_MS,
	.serve_min = 16,
	.gate_alone_ns = 400 * WF_NS_PER_US,
	.gate_settle_ns = 200 * WF_NS_PER_US,
	.gate_trial_ns = 500 * WF_NS_PER_US,
	.gate_open_ns = 64 * WF_NS_PER_MS,
	.gate_shut_min_ns = 16 * WF_NS_PER_MS,
	.gate_shut_max_ns = 256 * WF_NS_PER_MS,
	.pause_min_ns = 50 * WF_NS_PER_US,
	.pause_gate_ns = 100 * WF_NS_PER_US,
	.pause_max_ns = WF_NS_PER_MS,
	.search_ns = 2 * WF_NS_PER_MS,
	.late_ns = WF_NS_PER_MS,
	.behind_ns = WF_NS_PER_MS,
	.calm_ns = 2 * WF_NS_PER_MS,
	.idle_looks = WF_MONITOR_IDLE_LOOKS,
	.short_ns = 2 * WF_NS_PER_MS,
	.slice_ns = 100 * WF_NS_PER_US,
};

#endif
