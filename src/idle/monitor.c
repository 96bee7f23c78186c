/* SPDX-License-Identifier: MIT */
/*
 * idle/monitor.c - look, and send help.
 */
#include "idle/monitor.h"

#include <errno.h>

#include "base/limits.h"
#include "base/units.h"
#include "sched/global.h"
#include "sched/runtime.h"
#include "sched/handshake.h"
#include "sched/steal.h"
#include "idle/wake.h"

#define WF_MONITOR_PAUSE_MIN_NS (50 * WF_NS_PER_US)
#define WF_MONITOR_PAUSE_GATE_NS (100 * WF_NS_PER_US)
#define WF_MONITOR_PAUSE_MAX_NS WF_NS_PER_MS
#define WF_MONITOR_SEARCH_NS (2 * WF_NS_PER_MS)
#define WF_MONITOR_LATE_NS WF_NS_PER_MS	       /* then we fire its timers */
#define WF_MONITOR_SHORT_NS (2 * WF_NS_PER_MS) /* a sleep not worth it */
#define WF_MONITOR_SLICE_NS (100 * WF_NS_PER_US)
#define WF_MONITOR_BEHIND_NS WF_NS_PER_MS
#define WF_MONITOR_CALM_NS (2 * WF_NS_PER_MS) /* then thieves need not come */

/* What a look at a group brought together. */
struct sight {
	uint64_t ticks;	 /* of all processors, since ever */
	uint64_t steals; /* the same */
	bool coarse;	 /* some processor has coarse tasks */
	bool fine;	 /* some fine ones could be stolen */
	bool moves;	 /* some processor picks tasks */
	bool help;	 /* somebody should be woken */
};

/*
 * Has something waited behind long tasks at every look for long?  Each wait is
 * too short to be worth a wake, but there is always one.  Help may come in
 * vain, so it is asked for once in that time.
 */
static bool is_behind(struct wf_monitor_seen *seen, int64_t now_ns, bool waits)
{
	if (waits && now_ns - seen->free_ns < WF_MONITOR_BEHIND_NS)
		return false;
	seen->free_ns = now_ns;
	return waits;
}

static void look_at_proc(struct wf_proc *p, struct wf_monitor_seen *seen,
	int64_t now_ns, struct sight *sight)
{
	uint64_t ticks = wf_load_rlx(&p->counters.ticks);
	uint64_t ran = ticks - seen->ticks;
	/* Two counters, read at two times: it may seem to be less than 0. */
	int64_t picked = (int64_t)(wf_proc_picks(p) - seen->picks);
	uint64_t backlog = wf_proc_backlog(p) + wf_global_backlog(p->group);
	uint64_t mean = (uint64_t)(now_ns - seen->moved_ns);
	bool behind, stays;

	seen->picks += (uint64_t)picked;
	if (ran > 0) {
		int64_t idle_ns = wf_load_rlx(&p->idle_ns);
		uint64_t idle = (uint64_t)(idle_ns - seen->idle_ns);

		sight->moves = true;
		/* Some of it may be from before: it was not counted then. */
		mean = idle < mean ? (mean - idle) / ran : 0;
		seen->ticks = ticks;
		seen->moved_ns = now_ns;
		seen->idle_ns = idle_ns;
	}
	stays = picked <= 0 || mean * ran / (uint64_t)picked > WF_STUCK_NS;
	behind = is_behind(seen, now_ns, backlog > 0 && stays);
	if (backlog > 0) {
		bool coarse = mean >= wf_gate_coarse_ns(&p->group->gate);

		wf_store_rlx(&p->mean_ns, mean);
		wf_set_coarse(p, coarse);
		if (coarse)
			p->calm_ns = now_ns;
		if (!coarse)
			sight->fine |= backlog > 1;
		else if (picked <= 0 || behind || wf_wake_pays(p, backlog))
			sight->help = true;
	}
	sight->coarse |= wf_is_coarse(p);
}

/*
 * Thieves need not come to who has had no coarse tasks for long, if they may
 * not take others, or took nothing for as long: a thief can open it again.
 */
static void share(
	struct wf_group *g, bool open, uint64_t steals, int64_t now_ns)
{
	bool calm;

	if (steals != g->steals) {
		g->steals = steals;
		g->stolen_ns = now_ns;
	}
	calm = now_ns - g->stolen_ns > WF_MONITOR_CALM_NS;
	for (uint32_t i = 0; i < g->count; i++) {
		struct wf_proc *p = &g->procs[i];

		if ((calm || !open) && now_ns - p->calm_ns > WF_MONITOR_CALM_NS)
			wf_share_close(p);
	}
}

/* It does not run, or nobody looked for long: nothing is known of it. */
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
 * A processor that sleeps has empty queues: wf_park sees to it.  Should that
 * ever be wrong, only the processor itself is sure to run what it has: thieves
 * leave fine tasks alone, and others do not look at sleepers.
 */
static bool look_at_sleeper(struct wf_proc *p)
{
	return wf_unlikely(wf_proc_backlog(p) != 0) && wf_wake_proc(p);
}

/*
 * Does somebody search?  Who has been at it for long has been stopped by the
 * system, or by a debugger, and stands for nobody.
 */
static bool is_searched(struct wf_group *g, int64_t now_ns)
{
	uint64_t searching = wf_load_rlx(&g->searching);

	if (searching != g->searchers) {
		g->searchers = searching;
		g->searchers_ns = now_ns;
	}
	return searching != 0 &&
		now_ns - g->searchers_ns < WF_MONITOR_SEARCH_NS;
}

/*
 * Wake a sleeper of g.  The places of searchers that were stopped are free for
 * it: without one it would not search.
 */
static bool send_help(struct wf_group *g, int64_t now_ns)
{
	if (!is_searched(g, now_ns) && g->searchers != 0)
		(void)wf_and_rlx(&g->searching, ~g->searchers);
	return wf_wake_one(g);
}

/* All of g are busy; somebody of another group may search here. */
static bool wake_abroad(struct wf_group *g, int64_t now_ns)
{
	struct weft_rt *rt = g->rt;

	for (uint32_t i = 0; i < rt->group_count; i++)
		if (&rt->groups[i] != g && send_help(&rt->groups[i], now_ns))
			return true;
	return false;
}

/* Did the group send for help? */
static bool look_at_group(
	struct wf_group *g, struct wf_monitor_seen *seen, int64_t now_ns)
{
	uint64_t sleeping = wf_load_rlx(&g->sleeping);
	struct sight sight = { .coarse = wf_policy_of(g)->wake !=
			WEFT_WAKE_GATE };
	uint64_t awake = g->all & ~sleeping;
	bool open, woken = false;

	wf_gate_count(&g->gate, (awake & (awake - 1)) == 0);
	for (uint32_t i = 0; i < g->count; i++) {
		struct wf_proc *p = &g->procs[i];

		if (sleeping & p->bit) {
			forget_proc(p, &seen[i], now_ns);
			woken |= look_at_sleeper(p);
		} else {
			look_at_proc(p, &seen[i], now_ns, &sight);
		}
		sight.ticks += seen[i].ticks;
		sight.steals += wf_load_rlx(&p->counters.steals);
	}
	if (wf_global_len(g) > 0) {
		sight.coarse |= !sight.moves;
		sight.help |= sight.coarse;
		sight.fine |= !sight.coarse;
	}
	wf_store_rlx(&g->coarse, sight.coarse);
	/* With nobody asleep there is no help to be had. */
	open = wf_gate_look(
		&g->gate, now_ns, sight.ticks, sight.fine && sleeping != 0);
	wf_store_rlx(&g->gate_open, open);
	share(g, open, sight.steals, now_ns);
	if (woken || is_searched(g, now_ns))
		return woken;
	if (sleeping == 0)
		return sight.help && wake_abroad(g, now_ns);
	return (sight.help || (open && sight.fine)) && send_help(g, now_ns);
}

/*
 * How late p may be with its timers.  Whom we wake for it goes to the end of
 * the global queue: if that is long, p will sooner see to it itself.
 */
static int64_t patience_ns(struct wf_proc *p)
{
	return WF_MONITOR_LATE_NS +
		(int64_t)wf_global_len(p->group) * WF_COARSE_NS;
}

/*
 * A processor that is late with its timers is busy with something long, or has
 * been stopped.  When the next of all would be late.
 */
static int64_t look_at_timers(struct weft_rt *rt, int64_t now_ns)
{
	int64_t first = INT64_MAX;

	for (uint32_t i = 0; i < rt->proc_count; i++) {
		struct wf_timers *timers = &rt->procs[i].timers;
		int64_t late_ns = WF_MONITOR_LATE_NS;
		int64_t next = wf_timers_next(timers);

		if (next <= now_ns - late_ns)
			late_ns = patience_ns(&rt->procs[i]);
		if (next <= now_ns - late_ns) {
			(void)wf_timers_fire(timers, now_ns, SIZE_MAX);
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
	struct wf_monitor_seen *seen = rt->monitor.seen;
	int64_t late_ns = look_at_timers(rt, now_ns) - now_ns;
	bool helped = false, busy = false;

	if (pause_ns == 0) {
		for (uint32_t i = 0; i < rt->proc_count; i++)
			forget_proc(&rt->procs[i], &seen[i], now_ns);
		return WF_MONITOR_PAUSE_MIN_NS;
	}
	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];

		helped |= look_at_group(g, seen, now_ns);
		busy |= wf_gate_is_busy(&g->gate);
		seen += g->count;
	}
	if (helped || late_ns < WF_MONITOR_PAUSE_MIN_NS)
		return WF_MONITOR_PAUSE_MIN_NS;
	pause_ns *= 2;
	if (pause_ns > late_ns)
		pause_ns = late_ns;
	if (busy && pause_ns > WF_MONITOR_PAUSE_GATE_NS)
		return WF_MONITOR_PAUSE_GATE_NS;
	return pause_ns < WF_MONITOR_PAUSE_MAX_NS ? pause_ns
						  : WF_MONITOR_PAUSE_MAX_NS;
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
	struct wf_monitor *m = &rt->monitor;
	int64_t since_ns = wf_os_now_ns();

	wf_store_rlx(&m->asleep, 1);
	/* [pair: monitor.asleep] One of us sees the other (M1). */
	wf_fence_seq();
	if (anyone_runs(rt) || wf_load_rlx(&m->quit))
		wf_store_rlx(&m->asleep, 0);
	while (wf_load_rlx(&m->asleep) == 1)
		(void)wf_os_futex_wait(&m->asleep, 1, INT64_MAX);
	return wf_os_now_ns() - since_ns > WF_MONITOR_SHORT_NS;
}

static void watch(void *arg)
{
	struct weft_rt *rt = arg;
	_Atomic(uint32_t) never = 0;
	unsigned idle = WF_MONITOR_IDLE_LOOKS, most = idle;
	int64_t pause_ns = 0;

	wf_os_thread_slice(WF_MONITOR_SLICE_NS);
	while (!wf_load_rlx(&rt->monitor.quit)) {
		int64_t now;

		idle = anyone_runs(rt) ? 0 : idle + 1;
		if (idle > most) {
			bool was_long = sleep_long(rt);

			/* Who would soon be woken again may as well look on. */
			most = WF_MONITOR_IDLE_LOOKS * (was_long ? 1 : 4);
			idle = 0;
			if (was_long)
				pause_ns = 0;
			continue;
		}
		now = wf_os_now_ns();
		pause_ns = wf_monitor_look(rt, now, pause_ns);
		(void)wf_os_futex_wait(&never, 0, now + pause_ns);
	}
}

void wf_monitor_rouse(struct weft_rt *rt)
{
	struct wf_monitor *m = &rt->monitor;

	/* [pair: monitor.asleep] Our bit, cleared before, is seen (M1). */
	wf_fence_seq();
	if (wf_load_rlx(&m->asleep) == 1 && wf_xchg_rlx(&m->asleep, 0) == 1)
		(void)wf_os_futex_wake(&m->asleep, 1);
}

int wf_monitor_start(struct weft_rt *rt)
{
	struct wf_monitor *m = &rt->monitor;
	int err;

	m->seen = wf_os_alloc(rt->proc_count * sizeof(*m->seen));
	if (m->seen == NULL)
		return -ENOMEM;
	err = wf_os_thread_start(&m->os, watch, rt, 0, "weft-monitor");
	m->started = !err;
	return err;
}

void wf_monitor_stop(struct weft_rt *rt)
{
	struct wf_monitor *m = &rt->monitor;

	if (m->started) {
		wf_store_rlx(&m->quit, true);
		wf_monitor_rouse(rt);
		wf_os_thread_join(&m->os);
	}
	wf_os_free(m->seen);
}
