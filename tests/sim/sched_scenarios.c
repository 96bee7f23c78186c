/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/sched_scenarios.c - the scenarios of the scheduler: the table, and
 * what they have in common.
 */
#include "scenario.h"
#include "sched_kit.h"
#include "sim/conserve_kit.h"

struct stage stage;

/* ------------------------------------------------------------------------ */
/* Whole runtimes. */

weft_config rt_config(uint32_t workers)
{
	return (weft_config){
		.workers = workers,
		.local_capacity = 2,
		.global_tick = 3,
		.lifo_budget = 2,
		.steal_rounds = 1,
		.coop_budget = 2,
		.spin_ns = -1,
	};
}

void rt_start_with(const weft_config *cfg)
{
	int err = weft_rt_start(&stage.rt, cfg);

	weft_sim_assert(err == 0, "no runtime: %d", err);
}

void rt_start(uint32_t workers)
{
	weft_config cfg = rt_config(workers);

	rt_start_with(&cfg);
}

void rt_stop(void)
{
	int err;

	stage.stops = true;
	err = weft_rt_stop(stage.rt, WEFT_FOREVER);
	stage.stops = false;
	stage.rt = NULL;
	weft_sim_assert(err == 0, "stop says %d", err);
}

/* ------------------------------------------------------------------------ */
/* At every step. */

void sched_step(void *arg)
{
	weft_rt *rt = stage.rt;

	(void)arg;
	if (rt == NULL || stage.stops)
		return;
	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];
		uint64_t searching = wf_load_rlx(&g->searching);

		weft_sim_assert((uint32_t)__builtin_popcountll(searching) <=
				g->max_searchers,
			"searching is 0x%x, and %u may search at once",
			(unsigned)searching, g->max_searchers);
	}
}

/* ------------------------------------------------------------------------ */
/* No thread can run before time passes. */

/* A processor that runs at such a moment waits, in a task, for another. */
static bool anyone_runs(weft_rt *rt)
{
	for (uint32_t i = 0; i < rt->group_count; i++)
		if (wf_load_rlx(&rt->groups[i].sleeping) != rt->groups[i].all)
			return true;
	return false;
}

/* Nothing may wait for a deadline that is there for other reasons. */
static void check_stop(weft_rt *rt)
{
	if (wf_load_rlx(&rt->quit))
		weft_sim_assert(wf_load_rlx(&rt->threads) <=
				wf_load_rlx(&stage.blocked),
			"%u threads sleep through the end of the runtime",
			wf_load_rlx(&rt->threads));
	else
		weft_sim_assert(wf_rt_fibers(rt) != 0 && !stage.cancels,
			"stop sleeps, and no fiber is left that may wait");
}

/* Help is on its way: the monitor looks whenever time passes. */
static void check_help(struct latch *needed)
{
	if (needed == NULL || wf_load_rlx(&needed->word) != 0)
		stage.idles = 0;
	else if (stage.looks != 0)
		weft_sim_assert(++stage.idles <= stage.looks,
			"no help comes for a task that waits");
}

void sched_idle(void *arg)
{
	weft_rt *rt = stage.rt;

	(void)arg;
	if (rt == NULL)
		return;
	check_help(stage.help);
	if (stage.stops)
		check_stop(rt);
	if (wf_load_rlx(&rt->quit))
		return;
	conserve_check(rt);
	weft_sim_assert(rt->monitor == NULL || !rt->monitor->started ||
			!anyone_runs(rt) ||
			wf_load_rlx(&rt->monitor->asleep) == 0,
		"a processor runs, and the monitor sleeps");
}

/* ------------------------------------------------------------------------ */

/*
 * The first look may only begin a measurement, the second may see that tasks
 * were run in between, the third sends help.  In a weakly ordered memory any of
 * them may see what was before.
 */
static struct help two_strong = { 2, 3, 0 }, three_strong = { 3, 3, 0 };
static struct help two = { 2, 40, 0 }, three = { 3, 40, 0 };
/* The only processors that could help are of another group. */
static struct help apart = { 2, 40, 1 }, apart_strong = { 2, 3, 1 };

#define SMALL(n, f)                                            \
	{                                                      \
		.name = n, .body = f, .opts.idle = sched_idle, \
		.opts.invariant = sched_step                   \
	}
#define COMPLETE(n, f)                                         \
	{                                                      \
		.name = n, .body = f, .opts.idle = sched_idle, \
		.opts.invariant = sched_step, .complete = 1    \
	}
#define WHOLE(n, f, workers)                                               \
	{                                                                  \
		.name = n, .body = f, .arg = (void *)(uintptr_t)(workers), \
		.opts.idle = sched_idle, .opts.invariant = sched_step      \
	}

#define HELP(n, f, plan, how)                                               \
	{                                                                   \
		.name = n, .body = f, .arg = plan, .opts.idle = sched_idle, \
		.opts.invariant = sched_step, .opts.flags = how             \
	}
#define STRONG WEFT_SIM_STRONG
#define TURNS(n, f, workers)                                                  \
	{                                                                     \
		.name = n, .body = f,                                         \
		.arg = (void *)(uintptr_t)(workers), .opts.idle = sched_idle, \
		.opts.invariant = turns_check                                 \
	}

static const struct scenario table[] = {
	COMPLETE("park/one-worker", park_one_worker),
	COMPLETE("park/two-workers", park_two_workers),
	SMALL("park/three-workers", park_three_workers),
	SMALL("park/last-searcher", park_last_searcher),
	WHOLE("park/pick", park_pick, 2),
	WHOLE("park/pick-three", park_pick, 3),
	SMALL("park/limit", park_limit),
	SMALL("park/word", park_word),
	SMALL("wake/chain", wake_chain),
	SMALL("wake/self-enlisted", wake_self_enlisted),
	SMALL("wake/two-wakers", wake_two_wakers),
	SMALL("wake/fails", wake_fails),
	SMALL("wake/other", wake_other),
	SMALL("wake/limit", wake_limit),
	SMALL("wake/pause", wake_pause),

	COMPLETE("handshake/queue", handshake_queue),
	COMPLETE("handshake/slot", handshake_slot),
	COMPLETE("handshake/yielders", handshake_yielders),
	SMALL("handshake/close-queue", handshake_close_queue),
	SMALL("handshake/close-slot", handshake_close_slot),
	SMALL("handshake/close-yielders", handshake_close_yielders),
	SMALL("handshake/reopen", handshake_reopen),
	SMALL("handshake/second-look", handshake_second_look),
	SMALL("handshake/two-thieves", handshake_two_thieves),
	SMALL("handshake/shuffle", handshake_shuffle),
	SMALL("slot/push", slot_push),
	SMALL("slot/displace", slot_displace),

	SMALL("steal/chain", steal_chain),
	SMALL("steal/offload", steal_offload),
	SMALL("steal/spill", steal_spill),
	SMALL("pick/global", pick_global),
	SMALL("pick/count", pick_count),
	SMALL("gate/opens", gate_opens),
	HELP("monitor/helps", monitor_helps, &two, 0),
	HELP("monitor/helps-in-time", monitor_helps, &two_strong, STRONG),
	HELP("monitor/sleeps", monitor_sleeps, &two, 0),
	HELP("monitor/outside", monitor_outside, &two, 0),
	HELP("monitor/outside-in-time", monitor_outside, &two_strong, STRONG),

	WHOLE("rt/start-stop", rt_start_stop, 0),
	WHOLE("rt/outside", rt_outside, 2),
	WHOLE("rt/outside-three", rt_outside, 3),
	WHOLE("rt/submit-races-shutdown", rt_submit_races_shutdown, 0),
	WHOLE("rt/caller", rt_caller, 0),
	WHOLE("rt/late-caller", rt_late_caller, 0),
	WHOLE("rt/waker-one", rt_waker, 1),
	WHOLE("rt/waker", rt_waker, 2),
	WHOLE("rt/cancel-one", rt_cancel, 1),
	WHOLE("rt/cancel", rt_cancel, 2),
	WHOLE("rt/stop-twice", rt_stop_twice, 0),
	WHOLE("rt/shutdown-inside", rt_shutdown_inside, 0),
	WHOLE("rt/inside", rt_inside, 2),
	WHOLE("rt/inside-three", rt_inside, 3),
	WHOLE("rt/limit", rt_limit, 3),
	WHOLE("rt/give-back-one", rt_give_back, 1),
	WHOLE("rt/give-back", rt_give_back, 2),
	WHOLE("rt/inside-fiber", rt_inside_fiber, 2),
	WHOLE("rt/two-runtimes", rt_two_runtimes, 0),
	WHOLE("rt/faults", rt_faults, 0),
	WHOLE("rt/faults-later", rt_faults_later, 2),
	WHOLE("rt/late-spawn-one", rt_late_spawn, 1),
	WHOLE("rt/late-spawn", rt_late_spawn, 2),
	WHOLE("rt/linger", rt_linger, 0),
	WHOLE("rt/need-at-the-end", rt_need_at_the_end, 0),
	WHOLE("rt/help-and-stop", rt_help_and_stop, 0),
	WHOLE("rt/overflow-at-the-end", rt_overflow_at_the_end, 0),

	WHOLE("work/yield", work_yield, 2),
	WHOLE("work/yield-three", work_yield, 3),
	WHOLE("work/spawn", work_spawn, 0),
	HELP("work/help", work_help, &two, 0),
	HELP("work/help-in-time", work_help, &two_strong, STRONG),
	HELP("work/help-three", work_help, &three, 0),
	HELP("work/help-three-in-time", work_help, &three_strong, STRONG),
	HELP("work/help-other-group", work_help, &apart, 0),
	HELP("work/help-other-group-in-time", work_help, &apart_strong, STRONG),
	TURNS("work/turns-one", work_turns, 1),
	TURNS("work/turns", work_turns, 2),
	TURNS("work/transfer-one", work_transfer, 1),
	TURNS("work/transfer", work_transfer, 2),
	TURNS("work/burst-one", work_burst, 1),
	TURNS("work/burst", work_burst, 2),
	TURNS("work/joins-one", work_joins, 1),
	TURNS("work/joins", work_joins, 2),
};

const struct scenarios sched_scenarios = { table,
	sizeof(table) / sizeof(table[0]) };
