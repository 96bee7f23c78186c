/* SPDX-License-Identifier: MIT */
/*
 * idle/gate.h - is help worth having?  For fine tasks it is measured.
 *
 * A task of 20 ns is done before its cache line could reach another core, and a
 * thief slows its victim down; yet a thief that takes the root of a large tree
 * halves the time.  No estimate tells the two apart (the victim's mean grows
 * because it is being robbed), but the rate of the whole group does.  So:
 *
 *	SHUT	nobody steals fine tasks or wakes for them, until some time
 *	ALONE	still shut; the rate without help is measured, while there is
 *		something that could be stolen, until it rises no more
 *	TRIAL	open; the rate with help is measured, after a moment to settle
 *	OPEN	help raised the rate by a tenth or more; looked at again after
 *		a while, by going back to ALONE
 *
 * A trial that does not pay shuts the gate for 16 ms, the next one in a row for
 * 32, at most 256.  Coarse tasks, 1 us and more, need no gate.
 *
 * Tasks of 200 ns may take 4 us while two cores fight for the lines they write.
 * If help made them seem coarse, they would go on being helped whatever the
 * trial shows.  So from a trial on, what is coarse is in DOUBT, and takes 20 us
 * or more, until help has paid or a processor was seen to run alone.
 *
 * It belongs to the monitor, which feeds it; nothing here is shared but the
 * verdict.
 *
 * Reads next: idle/monitor.h, who asks.
 */
#ifndef WF_SCHED_GATE_H
#define WF_SCHED_GATE_H

#include <stdbool.h>
#include <stdint.h>

#define WF_COARSE_NS 1000	/* a task this long is coarse */
#define WF_DOUBT_NS 20000	/* and this long, if that is in doubt */

enum wf_gate_phase {
	WF_GATE_ALONE,
	WF_GATE_TRIAL,
	WF_GATE_OPEN,
	WF_GATE_SHUT,
};

/* All-zero is ready for the first look. */
struct wf_gate {
	enum wf_gate_phase phase;
	bool backlog;		/* at the last look: for who sleeps */
	bool settled;		/* TRIAL: it is being measured */
	bool lone;		/* at the last look: one at most ran tasks */
	bool doubt;		/* what seems coarse may only be robbed */
	int64_t since_ns;	/* of the phase, or of the present window */
	int64_t until_ns;	/* OPEN, SHUT: when it ends */
	int64_t backoff_ns;	/* of the next SHUT */
	uint64_t ticks;		/* at since_ns */
	uint64_t alone;		/* tasks per ms without help */
};

/*
 * A look at now_ns, when the group had run ticks tasks in all; backlog: there
 * are fine tasks that others could take, and somebody who could but sleeps.
 * While all are busy there is nothing to compare: the rate alone would be that
 * of all, and no trial could raise it.  Returns whether the gate is open.
 */
bool wf_gate_look(
	struct wf_gate *gate, int64_t now_ns, uint64_t ticks, bool backlog);

/* Before a look at what tasks are like: does at most one processor run? */
void wf_gate_count(struct wf_gate *gate, bool lone);

/* A task this long is coarse, as far as the gate knows. */
static inline uint64_t wf_gate_coarse_ns(const struct wf_gate *gate)
{
	return gate->doubt ? WF_DOUBT_NS : WF_COARSE_NS;
}

/* Is the gate being measured, so that it wants to be looked at often? */
static inline bool wf_gate_is_busy(const struct wf_gate *gate)
{
	return gate->phase == WF_GATE_TRIAL ||
		(gate->phase == WF_GATE_ALONE && gate->backlog);
}

#endif
