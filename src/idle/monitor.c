/* SPDX-License-Identifier: MIT */
/*
 * idle/monitor.c - look, and send help.
 */
#include "idle/monitor.h"

#include <errno.h>

#include "idle/economy.h"
#include "idle/groups.h"
#include "idle/serve.h"
#include "idle/wake.h"
#include "sched/handshake.h"
#include "sched/idle.h"
#include "sched/runtime.h"
#include "wait/timers.h"

/* What the monitor knows of g. */
static struct wf_monitor_group *known(struct wf_group *g)
{
	struct weft_rt *rt = g->rt;

	return &rt->monitor->groups[g - rt->groups];
}

static void look_at_proc(struct wf_proc *p, struct wf_monitor_seen *seen,
	const struct wf_gate *gate, int64_t now_ns, struct wf_group_facts *all)
{
	uint64_t ticks = wf_load_rlx(&p->counters.ticks);
	uint64_t picks = wf_proc_picks(p);
	int64_t idle_ns = wf_load_rlx(&p->idle_ns);
	struct wf_proc_facts facts = { .ran = ticks - seen->ticks,
		.picked = (int64_t)(picks - seen->picks),
		.backlog = wf_proc_backlog(p) + wf_global_backlog(p->group),
		.since_ns = now_ns - seen->moved_ns,
		.idle_ns = idle_ns - seen->idle_ns,
		.behind_ns = now_ns - seen->free_ns,
		.coarse_ns = wf_gate_coarse_ns(gate),
		.wake_ns = wf_load_rlx(&p->group->wake_ns) };
	struct wf_proc_verdict verdict = wf_economy_judge(&facts);

	seen->picks = picks;
	if (facts.ran > 0) {
		all->moves = true;
		seen->ticks = ticks;
		seen->moved_ns = now_ns;
		seen->idle_ns = idle_ns;
	}
	if (!verdict.waiting)
		seen->free_ns = now_ns;
	if (facts.backlog > 0) {
		wf_store_rlx(&p->mean_ns, verdict.mean_ns);
		wf_set_coarse(p, verdict.coarse);
		if (verdict.coarse)
			seen->calm_ns = now_ns;
	}
	all->fine |= verdict.fine;
	all->help |= verdict.help;
	all->coarse |= wf_is_coarse(p);
}

/* Shut thieves out of queues that need no help. */
static void close_calm(struct wf_group *g, const struct wf_monitor_group *m,
	const struct wf_monitor_seen *seen, bool open, int64_t now_ns)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (wf_economy_is_calm(now_ns - seen[i].calm_ns,
			    now_ns - m->stolen_ns, open))
			wf_handshake_close(&g->procs[i]);
}

/* p sleeps, or the monitor did not look for long: nothing is known of p. */
static void forget_proc(
	struct wf_proc *p, struct wf_monitor_seen *seen, int64_t now_ns)
{
	seen->ticks = wf_load_rlx(&p->counters.ticks);
	seen->picks = wf_proc_picks(p);
	seen->moved_ns = now_ns;
	seen->free_ns = now_ns;
	seen->idle_ns = wf_load_rlx(&p->idle_ns);
}

/*
 * A processor that sleeps has empty queues: wf_park makes sure of it.  Should
 * that ever be wrong, only the processor itself is sure to run its tasks:
 * thieves leave fine tasks alone, and the monitor does not judge sleepers.
 */
static bool look_at_sleeper(struct wf_proc *p)
{
	return wf_unlikely(wf_proc_backlog(p) != 0) && wf_wake_proc(p);
}

/* Does a processor of g search that was not stopped? */
static bool is_searched(
	struct wf_group *g, struct wf_monitor_group *m, int64_t now_ns)
{
	uint64_t searching = wf_load_rlx(&g->searching);

	if (searching != m->searchers) {
		m->searchers = searching;
		m->searchers_ns = now_ns;
	}
	return wf_economy_is_searched(searching, now_ns - m->searchers_ns);
}

/*
 * Wake a sleeper of g for itself or another group.  The places of searchers
 * that were stopped are free for it: without one it would not search.
 */
static bool send_help(struct wf_group *g, struct wf_group *for_group)
{
	struct wf_monitor_group *m = known(g);

	(void)for_group;
	if (!is_searched(g, m, g->rt->monitor->now_ns) && m->searchers != 0)
		(void)wf_and_rlx(&g->searching, ~m->searchers);
	return wf_wake_one(g);
}

/* Look at each processor of g.  Was a sleeper woken? */
static bool look_at_procs(struct wf_group *g, struct wf_monitor_seen *seen,
	int64_t now_ns, struct wf_group_facts *all)
{
	struct wf_monitor_group *m = known(g);
	uint64_t awake = g->all & ~all->sleeping;
	bool woken = false;

	wf_gate_count(&m->gate, (awake & (awake - 1)) == 0);
	for (uint32_t i = 0; i < g->count; i++) {
		struct wf_proc *p = &g->procs[i];

		if (all->sleeping & p->bit) {
			forget_proc(p, &seen[i], now_ns);
			woken |= look_at_sleeper(p);
		} else {
			look_at_proc(p, &seen[i], &m->gate, now_ns, all);
		}
	}
	return woken;
}

/* Ask the gate; note thefts; publish what wakers and thieves read. */
static void look_at_gate(struct wf_group *g, const struct wf_monitor_seen *seen,
	int64_t now_ns, struct wf_group_facts *all)
{
	struct wf_monitor_group *m = known(g);
	uint64_t ticks = 0, steals = 0;

	for (uint32_t i = 0; i < g->count; i++) {
		ticks += seen[i].ticks;
		steals += wf_load_rlx(&g->procs[i].counters.steals);
	}
	if (steals != m->steals) {
		m->steals = steals;
		m->stolen_ns = now_ns;
	}
	/* With no sleeper there is no help to be had. */
	all->open = wf_gate_look(
		&m->gate, now_ns, ticks, all->fine && all->sleeping != 0);
	wf_store_rlx(&g->coarse, all->coarse);
	wf_store_rlx(&g->gate_open, all->open);
	close_calm(g, m, seen, all->open, now_ns);
}

/* Was a sleeper woken for g? */
static bool look_at_group(
	struct wf_group *g, struct wf_monitor_seen *seen, int64_t now_ns)
{
	struct wf_group_facts all = {
		.coarse = wf_policy_of(g)->wake != WEFT_WAKE_GATE,
		.sleeping = wf_load_rlx(&g->sleeping),
	};
	bool woken = look_at_procs(g, seen, now_ns, &all);

	if (wf_global_len(g) > 0)
		wf_economy_add_global(&all);
	look_at_gate(g, seen, now_ns, &all);
	if (woken)
		return true;
	all.searched = is_searched(g, known(g), now_ns);
	switch (wf_economy_help(&all)) {
	case WF_HELP_OWN:
		return send_help(g, g);
	case WF_HELP_OTHER:
		return wf_wake_other_group(g, send_help);
	case WF_HELP_NONE:
		break;
	}
	return false;
}

/*
 * Fire the timers of processors that are late with them: they are busy with a
 * long task, or were stopped.  Returns when the next timer of all is late.
 */
static int64_t look_at_timers(struct weft_rt *rt, int64_t now_ns)
{
	int64_t first = INT64_MAX;

	for (uint32_t i = 0; i < rt->proc_count; i++) {
		struct wf_timers *timers = rt->procs[i].timers;
		int64_t late_ns = wf_economy_late_ns(0);
		int64_t next = wf_timers_next(timers);

		if (next <= now_ns - late_ns)
			late_ns = wf_economy_late_ns(
				wf_global_len(rt->procs[i].group));
		if (next <= now_ns - late_ns) {
			(void)wf_serve_timers(timers, now_ns, SIZE_MAX);
			next = wf_timers_next(timers);
		}
		next = wf_time_add(next, late_ns);
		if (next < first)
			first = next;
	}
	return first;
}

int64_t wf_monitor_look(struct weft_rt *rt, int64_t now_ns, int64_t pause_ns)
{
	struct wf_monitor_seen *seen = rt->monitor->seen;
	int64_t late_ns = look_at_timers(rt, now_ns) - now_ns;
	bool helped = false, busy = false;

	rt->monitor->now_ns = now_ns;
	if (pause_ns == 0) {
		for (uint32_t i = 0; i < rt->proc_count; i++)
			forget_proc(&rt->procs[i], &seen[i], now_ns);
		return wf_tuning.pause_min_ns;
	}
	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];

		helped |= look_at_group(g, seen, now_ns);
		busy |= wf_gate_is_busy(&known(g)->gate);
		seen += g->count;
	}
	return wf_economy_pause_ns(pause_ns, late_ns, helped, busy);
}

static bool anyone_runs(struct weft_rt *rt)
{
	for (uint32_t i = 0; i < rt->group_count; i++)
		if (wf_load_rlx(&rt->groups[i].sleeping) != rt->groups[i].all)
			return true;
	return false;
}

/* Sleep until a processor runs.  Was that for long? */
static bool sleep_long(struct weft_rt *rt)
{
	struct wf_monitor *m = rt->monitor;
	int64_t since_ns = wf_os_now_ns();

	wf_store_rlx(&m->asleep, true);
	/* [pair: monitor.asleep] One of us sees the other (M1). */
	wf_fence_seq();
	if (anyone_runs(rt) || wf_load_rlx(&m->quit))
		wf_store_rlx(&m->asleep, false);
	while (wf_load_rlx(&m->asleep))
		(void)wf_parker_sleep(&m->parker, INT64_MAX);
	return wf_os_now_ns() - since_ns > wf_tuning.short_ns;
}

static void watch(void *arg)
{
	struct weft_rt *rt = arg;
	uint32_t idle = wf_tuning.idle_looks, most = idle;
	int64_t pause_ns = 0;

	wf_os_thread_slice(wf_tuning.slice_ns);
	while (!wf_load_rlx(&rt->monitor->quit)) {
		int64_t now;

		idle = anyone_runs(rt) ? 0 : idle + 1;
		if (idle > most) {
			bool was_long = sleep_long(rt);

			/* After a short sleep: looks cost less than wakes. */
			most = wf_tuning.idle_looks * (was_long ? 1 : 4);
			idle = 0;
			if (was_long)
				pause_ns = 0;
			continue;
		}
		now = wf_os_now_ns();
		pause_ns = wf_monitor_look(rt, now, pause_ns);
		(void)wf_parker_sleep(&rt->monitor->parker, now + pause_ns);
	}
}

void wf_monitor_wake(struct weft_rt *rt)
{
	struct wf_monitor *m = rt->monitor;

	if (m == NULL || !m->started)
		return;
	/* [pair: monitor.asleep] Our bit, cleared before, is seen (M1). */
	wf_fence_seq();
	if (wf_load_rlx(&m->asleep) && wf_xchg_rlx(&m->asleep, false))
		wf_parker_wake(&m->parker);
}

void wf_idle_began(struct weft_rt *rt)
{
	wf_monitor_wake(rt);
}

int wf_monitor_open(struct weft_rt *rt)
{
	struct wf_monitor *m = wf_os_alloc(sizeof(*m));

	if (m == NULL)
		return -ENOMEM;
	rt->monitor = m;
	m->seen = wf_os_alloc(rt->proc_count * sizeof(*m->seen));
	m->groups = wf_os_alloc(rt->group_count * sizeof(*m->groups));
	if (m->seen != NULL && m->groups != NULL)
		return 0;
	wf_monitor_close(rt);
	return -ENOMEM;
}

void wf_monitor_close(struct weft_rt *rt)
{
	struct wf_monitor *m = rt->monitor;

	if (m == NULL)
		return;
	wf_os_free(m->groups);
	wf_os_free(m->seen);
	wf_os_free(m);
	rt->monitor = NULL;
}

int wf_monitor_start(struct weft_rt *rt)
{
	struct wf_monitor *m = rt->monitor;
	int err = wf_os_thread_start(&m->os, watch, rt, 0, "weft-monitor");

	m->started = !err;
	return err;
}

void wf_monitor_stop(struct weft_rt *rt)
{
	struct wf_monitor *m = rt->monitor;

	if (m == NULL || !m->started)
		return;
	wf_store_rlx(&m->quit, true);
	wf_monitor_wake(rt);
	wf_os_thread_join(&m->os);
}
