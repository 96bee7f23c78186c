/* SPDX-License-Identifier: MIT */
/*
 * idle/gate.c - the gate's phases.
 */
#include "idle/gate.h"

#include "base/units.h"
#include "sched/tuning.h"

static void enter(struct wf_gate *gate, enum wf_gate_phase phase,
	int64_t now_ns, uint64_t ticks)
{
	gate->phase = phase;
	gate->since_ns = now_ns;
	gate->ticks = ticks;
}

/* Tasks per millisecond since the phase, or its window, began. */
static uint64_t rate(const struct wf_gate *gate, int64_t now_ns, uint64_t ticks)
{
	return (ticks - gate->ticks) * (uint64_t)WF_NS_PER_MS /
		(uint64_t)(now_ns - gate->since_ns);
}

static void alone(
	struct wf_gate *gate, int64_t now_ns, uint64_t ticks, bool backlog)
{
	int64_t ns = now_ns - gate->since_ns;
	uint64_t now;
	bool steady;

	/* A pause in between, or nothing to steal: begin again. */
	if (!backlog || ns > 4 * wf_tuning.gate_alone_ns) {
		enter(gate, WF_GATE_ALONE, now_ns, ticks);
		gate->alone = 0;
		return;
	}
	if (ns < wf_tuning.gate_alone_ns)
		return;
	/* Not while the rate still rises: caches may have been cold. */
	now = rate(gate, now_ns, ticks);
	steady = gate->alone != 0 && now * 10 <= gate->alone * 11;
	enter(gate, steady ? WF_GATE_TRIAL : WF_GATE_ALONE, now_ns, ticks);
	gate->alone = now > gate->alone ? now : gate->alone;
	gate->settled = false;
	gate->doubt |= steady;
}

static void verdict(struct wf_gate *gate, int64_t now_ns, uint64_t ticks)
{
	if (rate(gate, now_ns, ticks) * 10 >= gate->alone * 11) {
		enter(gate, WF_GATE_OPEN, now_ns, ticks);
		gate->until_ns = now_ns + wf_tuning.gate_open_ns;
		gate->backoff_ns = 0;
		gate->doubt = false;
		return;
	}
	gate->backoff_ns = gate->backoff_ns == 0 ? wf_tuning.gate_shut_min_ns
						 : gate->backoff_ns * 2;
	if (gate->backoff_ns > wf_tuning.gate_shut_max_ns)
		gate->backoff_ns = wf_tuning.gate_shut_max_ns;
	enter(gate, WF_GATE_SHUT, now_ns, ticks);
	gate->until_ns = now_ns + gate->backoff_ns;
}

static void trial(struct wf_gate *gate, int64_t now_ns, uint64_t ticks)
{
	int64_t ns = now_ns - gate->since_ns;

	if (!gate->settled && ns >= wf_tuning.gate_settle_ns) {
		enter(gate, WF_GATE_TRIAL, now_ns, ticks);
		gate->settled = true;
	} else if (gate->settled && ns >= wf_tuning.gate_trial_ns) {
		verdict(gate, now_ns, ticks);
	}
}

void wf_gate_count(struct wf_gate *gate, bool single_runner)
{
	/* One processor alone ran all tasks since the last look. */
	if (single_runner && gate->single_runner &&
		gate->phase != WF_GATE_TRIAL)
		gate->doubt = false;
	gate->single_runner = single_runner;
}

bool wf_gate_look(
	struct wf_gate *gate, int64_t now_ns, uint64_t ticks, bool backlog)
{
	gate->backlog = backlog;
	switch (gate->phase) {
	case WF_GATE_ALONE:
		alone(gate, now_ns, ticks, backlog);
		break;
	case WF_GATE_TRIAL:
		trial(gate, now_ns, ticks);
		break;
	case WF_GATE_OPEN:
	case WF_GATE_SHUT:
		if (now_ns >= gate->until_ns) {
			enter(gate, WF_GATE_ALONE, now_ns, ticks);
			gate->alone = 0;
		}
		break;
	}
	return gate->phase == WF_GATE_TRIAL || gate->phase == WF_GATE_OPEN;
}
