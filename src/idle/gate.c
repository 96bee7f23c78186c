/* SPDX-License-Identifier: MIT */
/*
 * idle/gate.c - the gate's phases.
 */
#include "idle/gate.h"

#include "base/units.h"

#define WF_GATE_ALONE_NS (400 * WF_NS_PER_US)  /* a window; at least two */
#define WF_GATE_SETTLE_NS (200 * WF_NS_PER_US) /* a thief gets going */
#define WF_GATE_TRIAL_NS (500 * WF_NS_PER_US)
#define WF_GATE_OPEN_NS (64 * WF_NS_PER_MS)
#define WF_GATE_SHUT_MIN_NS (16 * WF_NS_PER_MS)
#define WF_GATE_SHUT_MAX_NS (256 * WF_NS_PER_MS)

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
	if (!backlog || ns > 4 * WF_GATE_ALONE_NS) {
		enter(gate, WF_GATE_ALONE, now_ns, ticks);
		gate->alone = 0;
		return;
	}
	if (ns < WF_GATE_ALONE_NS)
		return;
	/* Not while it still gets faster: it may have started cold. */
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
		gate->until_ns = now_ns + WF_GATE_OPEN_NS;
		gate->backoff_ns = 0;
		gate->doubt = false;
		return;
	}
	gate->backoff_ns = gate->backoff_ns == 0 ? WF_GATE_SHUT_MIN_NS
						 : gate->backoff_ns * 2;
	if (gate->backoff_ns > WF_GATE_SHUT_MAX_NS)
		gate->backoff_ns = WF_GATE_SHUT_MAX_NS;
	enter(gate, WF_GATE_SHUT, now_ns, ticks);
	gate->until_ns = now_ns + gate->backoff_ns;
}

static void trial(struct wf_gate *gate, int64_t now_ns, uint64_t ticks)
{
	int64_t ns = now_ns - gate->since_ns;

	if (!gate->settled && ns >= WF_GATE_SETTLE_NS) {
		enter(gate, WF_GATE_TRIAL, now_ns, ticks);
		gate->settled = true;
	} else if (gate->settled && ns >= WF_GATE_TRIAL_NS) {
		verdict(gate, now_ns, ticks);
	}
}

void wf_gate_count(struct wf_gate *gate, bool lone)
{
	/* What was done since the last look was done by one, alone. */
	if (lone && gate->lone && gate->phase != WF_GATE_TRIAL)
		gate->doubt = false;
	gate->lone = lone;
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
