/* SPDX-License-Identifier: MIT */
/*
 * idle/gate.h - may thieves take fine tasks?  It is measured.
 *
 * A task of 20 ns is done before its cache line could reach another core, and a
 * thief slows its victim down; yet a thief that takes the root of a large tree
 * halves the time.  No estimate tells the two apart (the victim's mean grows
 * because thieves take from it), but the rate of the whole group does.  So:
 *
 *	SHUT	no thief takes fine tasks and no sleeper is woken for them,
 *		until some time
 *	ALONE	still shut; the rate without help is measured, while there is
 *		something that could be stolen, until it rises no more
 *	TRIAL	open; the rate with help is measured, after a moment to settle
 *	OPEN	help raised the rate by a tenth or more; measured again after
 *		a while, by going back to ALONE
 *
 * A trial that does not pay shuts the gate for 16 ms, the next one in a row for
 * 32, at most 256.  Coarse tasks, 1 us and more, need no gate.
 *
 * Tasks of 200 ns may take 4 us while two cores fight for the lines they write.
 * If help made them seem coarse, they would go on being helped whatever the
 * trial shows.  So from a trial on coarse tasks are in DOUBT: only tasks of
 * 20 us count as coarse, until help has paid or one processor ran alone.
 *
 * The monitor owns the gate of each group, feeds it and publishes its verdict.
 *
 * Reads next: idle/monitor.h
 */
#ifndef WF_IDLE_GATE_H
#define WF_IDLE_GATE_H

#include <stdbool.h>
#include <stdint.h>

#include "sched/tuning.h"

enum wf_gate_phase {
	WF_GATE_ALONE,
	WF_GATE_TRIAL,
	WF_GATE_OPEN,
	WF_GATE_SHUT,
};

/* All-zero is ready for the first look. */
struct wf_gate {
	enum wf_gate_phase phase;
	bool backlog;		/* at the last look */
	bool settled;		/* TRIAL: it is being measured */
	bool single_runner;	/* at the last look: one at most ran tasks */
	bool doubt;		/* tasks may seem coarse because of help */
	int64_t since_ns;	/* of the phase, or of the present window */
	int64_t until_ns;	/* OPEN, SHUT: when it ends */
	int64_t backoff_ns;	/* of the next SHUT */
	uint64_t ticks;		/* at since_ns */
	uint64_t alone;		/* tasks per ms without help */
};

/*
 * A look at now_ns, when the group had run ticks tasks in all; backlog: there
 * are fine tasks that others could take, and a sleeper that could take them.
 * While all are busy there is nothing to compare: the rate alone would be that
 * of all, and no trial could raise it.  Returns whether the gate is open.
 */
bool wf_gate_look(
	struct wf_gate *gate, int64_t now_ns, uint64_t ticks, bool backlog);

/* Before the processors are judged: does at most one of them run? */
void wf_gate_count(struct wf_gate *gate, bool single_runner);

/* A task this long is coarse, as far as the gate knows. */
static inline uint64_t wf_gate_coarse_ns(const struct wf_gate *gate)
{
	return (uint64_t)(gate->doubt ? wf_tuning.doubt_ns
				      : wf_tuning.coarse_ns);
}

/* Is the gate measuring, so that it needs looks often? */
static inline bool wf_gate_is_busy(const struct wf_gate *gate)
{
	return gate->phase == WF_GATE_TRIAL ||
		(gate->phase == WF_GATE_ALONE && gate->backlog);
}

#endif
