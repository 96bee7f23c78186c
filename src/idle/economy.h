/* SPDX-License-Identifier: MIT */
/*
 * idle/economy.h - the decisions of the economy: wake? steal? help? spin?
 *
 * Each is a function from plain numbers to an answer, without a look at the
 * runtime.  The other files of this room collect the numbers and do what was
 * decided.  The gate (idle/gate.h) is a decision over time, and its verdict is
 * a number here.  tests/idle/economy_test.c has a table for each function.
 *
 * A wake costs its sender microseconds, and the thread that gets up tens of
 * them; a fine task costs nanoseconds.  So a sleeper is woken only for
 *
 *	a task from outside	if all sleep, or if the awake processors have
 *				coarse tasks and none searches
 *	a task from inside	if the holder's tasks are coarse and its backlog
 *				is worth more than two wakes
 *	a searcher's find	if that searcher was the last one and left more
 *				tasks; so a burst fans out as a chain of wakes
 *	the monitor		for everything else (idle/monitor.h)
 *
 * Two other rules stand here for comparison (sched/policy.h).  Both take every
 * task for coarse and worth a wake:
 *
 *	Go's	a waker wakes a sleeper unless a processor searches
 *	flare's	a waker claims a searcher by clearing its bit, and wakes a
 *		sleeper only if none searches.  That sleeper is not counted as
 *		searching: so each task has a processor of its own
 *
 * Reads next: sched/tuning.h, the numbers.
 */
#ifndef WF_IDLE_ECONOMY_H
#define WF_IDLE_ECONOMY_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/policy.h>

#include "base/compiler.h"
#include "sched/tuning.h"

/* Are n tasks of this mean worth a wake? */
static inline bool wf_economy_pays(
	uint64_t n, uint64_t mean_ns, uint64_t wake_ns)
{
	return n * mean_ns > wf_tuning.worth_wakes * wake_ns;
}

/* ------------------------------------------------------------------------ */
/* Wake a sleeper? */

enum wf_cause {
	WF_CAUSE_OUTSIDE,	/* a task was submitted from outside */
	WF_CAUSE_PUSH,		/* a holder has queued a task */
	WF_CAUSE_FOUND,		/* a searcher has found a task */
};

struct wf_wake_facts {
	enum wf_cause cause;
	uint32_t rule;		/* weft_policy.wake */
	uint64_t sleeping;	/* masks of the group's processors */
	uint64_t searching;
	uint64_t all;
	bool coarse;		/* tasks are: the holder's; OUTSIDE: any's */
	bool gate_open;
	uint64_t local;		/* tasks in the holder's queues */
	uint64_t global;	/* in the global one, if it is the only one */
	uint64_t mean_ns;	/* of one of them */
	uint64_t wake_ns;	/* what a wake costs */
};

enum wf_wake {
	WF_WAKE_NONE,
	WF_WAKE_CLAIM,		/* a searcher; if none is left, a sleeper */
	WF_WAKE_SLEEPER,
};

wf_inline bool wf_economy_is_worth(const struct wf_wake_facts *f)
{
	switch (f->cause) {
	case WF_CAUSE_OUTSIDE:
		return f->coarse || f->sleeping == f->all;
	case WF_CAUSE_PUSH:
		return f->rule != WEFT_WAKE_GATE ||
			(f->coarse &&
				wf_economy_pays(f->local + f->global,
					f->mean_ns, f->wake_ns));
	case WF_CAUSE_FOUND:
		break;
	}
	if (f->rule == WEFT_WAKE_GO)
		return true;
	return f->coarse ? f->local + f->global > 0
			 : f->gate_open && f->local > 1;
}

wf_inline enum wf_wake wf_economy_wake(const struct wf_wake_facts *f)
{
	bool claims = f->rule == WEFT_WAKE_FLARE && f->cause != WF_CAUSE_FOUND;

	if (f->sleeping == 0 || (f->searching != 0 && !claims) ||
		!wf_economy_is_worth(f))
		return WF_WAKE_NONE;
	return f->searching != 0 ? WF_WAKE_CLAIM : WF_WAKE_SLEEPER;
}

/* ------------------------------------------------------------------------ */
/* Steal, and how long to look for something to steal? */

/* Has a holder that picked nothing (still) for so long to be helped? */
static inline bool wf_economy_is_stuck(bool still, int64_t ns)
{
	return still && ns >= wf_tuning.stuck_ns;
}

/*
 * May a thief take from a victim with this backlog?  allowed: its tasks are
 * coarse, or the gate is open.  Searching and parking processors both ask this,
 * the latter with stuck = false: if their answers differed, a processor would
 * sleep while it could steal, or never sleep.  A task that is alone stays with
 * its holder, which is about to run it, unless the holder is stuck.
 */
static inline bool wf_economy_may_steal(
	uint64_t backlog, bool allowed, bool stuck)
{
	return stuck ? backlog > 0 : allowed && backlog > 1;
}

/*
 * Do tasks of this mean leave one that is alone waiting for as long as behind a
 * stuck holder?  Then a thief of another group may take it.
 */
static inline bool wf_economy_is_long(uint64_t mean_ns)
{
	return mean_ns >= (uint64_t)wf_tuning.stuck_ns;
}

/*
 * How long a search goes on at least.  Spinning pays exactly when it outlasts
 * the gap until the next task, so it lasts twice the mean gap while that is
 * short.  Not if others search, or if the processor got up for a timer, which
 * says nothing about the next task.
 */
static inline int64_t wf_economy_spin_ns(
	int64_t gap_ns, int64_t most_ns, bool others, bool alarmed)
{
	if (others || alarmed)
		return 0;
	if (gap_ns >= most_ns)
		return most_ns / 10;
	return 2 * gap_ns < most_ns ? 2 * gap_ns : most_ns;
}

/* Is a search over?  may_unstick: it waits for a holder to become stuck. */
static inline bool wf_economy_gives_up(
	int64_t ns, int64_t spin_ns, bool may_unstick)
{
	return ns >= spin_ns &&
		(!may_unstick || ns >= wf_tuning.stuck_ns * 3 / 2);
}

/* ------------------------------------------------------------------------ */
/* Send help?  The monitor. */

/* What one processor did since the look before. */
struct wf_proc_facts {
	uint64_t ran;		/* tasks that began */
	int64_t picked;		/* of these, not as calls; may seem to be < 0 */
	uint64_t backlog;	/* tasks that wait for it */
	int64_t since_ns;	/* how long ago a task last began */
	int64_t idle_ns;	/* of that time it had nothing to run */
	int64_t behind_ns;	/* tasks wait behind long ones for so long */
	uint64_t coarse_ns;	/* a task of this length is coarse */
	uint64_t wake_ns;	/* what a wake costs */
};

struct wf_proc_verdict {
	uint64_t mean_ns;	/* of a task */
	bool coarse;		/* they are; nothing is known if backlog is 0 */
	bool fine;		/* there are fine ones to be stolen */
	bool waiting;		/* behind_ns goes on; false: it begins anew */
	bool help;		/* wake a sleeper */
};

static inline struct wf_proc_verdict wf_economy_judge(
	const struct wf_proc_facts *f)
{
	struct wf_proc_verdict v = { .mean_ns = (uint64_t)f->since_ns };
	bool waits, waited;

	/* Idle time may be from before: it was not counted then. */
	if (f->ran > 0)
		v.mean_ns = f->idle_ns < f->since_ns
			? (uint64_t)(f->since_ns - f->idle_ns) / f->ran
			: 0;
	waits = f->backlog > 0 &&
		(f->picked <= 0 ||
			v.mean_ns * f->ran / (uint64_t)f->picked >
				(uint64_t)wf_tuning.stuck_ns);
	waited = waits && f->behind_ns >= wf_tuning.behind_ns;
	v.coarse = v.mean_ns >= f->coarse_ns;
	v.fine = !v.coarse && f->backlog > 1;
	v.help = v.coarse && f->backlog > 0 &&
		(f->picked <= 0 || waited ||
			wf_economy_pays(f->backlog, v.mean_ns, f->wake_ns));
	/* Help may come in vain, so it is called once in that time. */
	v.waiting = waits && !waited;
	return v;
}

/* What all processors of a group did. */
struct wf_group_facts {
	bool coarse;		/* some processor has coarse tasks */
	bool fine;		/* some fine ones could be stolen */
	bool moves;		/* some processor picks tasks */
	bool help;		/* some processor needs help */
	bool searched;		/* a processor searches */
	bool open;		/* the gate is */
	uint64_t sleeping;
};

/* Tasks wait in the global queue as well. */
static inline void wf_economy_add_global(struct wf_group_facts *f)
{
	f->coarse |= !f->moves;
	f->help |= f->coarse;
	f->fine |= !f->coarse;
}

enum wf_help { WF_HELP_NONE, WF_HELP_OWN, WF_HELP_OTHER };

/* Wake a sleeper, and of this group or of another? */
static inline enum wf_help wf_economy_help(const struct wf_group_facts *f)
{
	if (f->searched)
		return WF_HELP_NONE;
	if (f->sleeping == 0)
		return f->help ? WF_HELP_OTHER : WF_HELP_NONE;
	return f->help || (f->open && f->fine) ? WF_HELP_OWN : WF_HELP_NONE;
}

/*
 * Is there a searcher to rely on?  If the same ones have searched for long, the
 * system or a debugger has stopped them.
 */
static inline bool wf_economy_is_searched(uint64_t searching, int64_t for_ns)
{
	return searching != 0 && for_ns < wf_tuning.search_ns;
}

/*
 * Does a processor without coarse tasks for so long need its queue no longer
 * open to thieves?  They took nothing for theft_ns; a thief can open it again.
 */
static inline bool wf_economy_is_calm(
	int64_t coarse_ns, int64_t theft_ns, bool open)
{
	return coarse_ns > wf_tuning.calm_ns &&
		(theft_ns > wf_tuning.calm_ns || !open);
}

/*
 * How late a processor may be with its timers before the monitor fires them.
 * Their fibers go to the end of the global queue: if that is long, the
 * processor itself is sooner.
 */
static inline int64_t wf_economy_late_ns(uint64_t global)
{
	return wf_tuning.late_ns + (int64_t)global * wf_tuning.coarse_ns;
}

/* The monitor's pause after one of last_ns; in late_ns a timer is late. */
static inline int64_t wf_economy_pause_ns(
	int64_t last_ns, int64_t late_ns, bool helped, bool measured)
{
	int64_t ns = 2 * last_ns < late_ns ? 2 * last_ns : late_ns;
	int64_t most = measured ? wf_tuning.pause_gate_ns
				: wf_tuning.pause_max_ns;

	if (helped || late_ns < wf_tuning.pause_min_ns)
		return wf_tuning.pause_min_ns;
	return ns < most ? ns : most;
}

#endif
