/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/monitor_test.c - the monitor sends help for what its header says
 * and for nothing else, and never sleeps while a processor runs (M1).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "sched/kit.h"
#include "idle/monitor.h"
#include "sched/handshake.h"
#include "support/skip.h"
#include "wait/timers.h"

enum { PROCS = 4, NAPS = 400 };

#define MIN_NS (50 * WF_NS_PER_US)
#define MAX_NS WF_NS_PER_MS

static struct wf_group *g;
static struct wf_gate *gate; /* of g */
static int64_t now_ns;

static struct wf_gate *gate_of(uint32_t group)
{
	return &kit.rt.monitor->groups[group].gate;
}

/* Processor `runs' runs, the others sleep; the gates are shut for long. */
static void open_with(uint32_t workers, uint32_t group_size, uint32_t runs)
{
	kit_open(workers, group_size);
	g = kit.groups;
	gate = gate_of(0);
	now_ns = 100 * WF_NS_PER_S;
	kit_run(runs);
	for (uint32_t i = 0; i < kit.rt.group_count; i++) {
		gate_of(i)->phase = WF_GATE_SHUT;
		gate_of(i)->until_ns = now_ns + 1000 * WF_NS_PER_S;
	}
	assert_int_equal(wf_monitor_look(&kit.rt, now_ns, 0), MIN_NS);
}

/* Begin anew, for the next step of one test. */
static void reopen_with(uint32_t workers, uint32_t group_size, uint32_t runs)
{
	kit_close();
	open_with(workers, group_size, runs);
}

static int begin(void **state)
{
	(void)state;
	open_with(PROCS, 0, 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kit_close();
	return 0;
}

/* So much later; processor i has run so many tasks meanwhile. */
static int64_t look_after_of(uint32_t i, int64_t ns, uint64_t ran)
{
	now_ns += ns;
	wf_bump(&kit.procs[i].counters.ticks, ran);
	return wf_monitor_look(&kit.rt, now_ns, ns);
}

static int64_t look_after(int64_t ns, uint64_t ran)
{
	return look_after_of(0, ns, ran);
}

/* The lowest sleeper was woken, and no other. */
static void expect_help(void)
{
	assert_true(kit_was_woken(1));
	assert_int_equal(kit_woken(), 0);
}

/* ------------------------------------------------------------------------ */
/* When the monitor looks. */

static void pauses_double_while_there_is_nothing_to_do(void **state)
{
	int64_t pause = MIN_NS;

	(void)state;
	for (int i = 0; i < 10; i++) {
		int64_t next = look_after(pause, 100);

		assert_int_equal(next, 2 * pause < MAX_NS ? 2 * pause : MAX_NS);
		pause = next;
	}
	assert_int_equal(pause, MAX_NS);
	/* The gate is measured: at least every 100 us. */
	gate->phase = WF_GATE_ALONE;
	kit_fill(0, 2);
	assert_int_equal(look_after(pause, 10000), 100 * WF_NS_PER_US);
	/* A sleeper was woken: soon again. */
	assert_int_equal(look_after(MAX_NS, 0), MIN_NS);
	expect_help();
}

/* ------------------------------------------------------------------------ */
/* For which tasks it sends help. */

/* Tasks of 10 us, and a wake costs 30. */
static void a_coarse_backlog_worth_more_than_two_wakes(void **state)
{
	(void)state;
	kit_fill(0, 6);
	(void)look_after(MIN_NS, 5);
	assert_int_equal(kit_woken(), 0);
	assert_true(wf_load_rlx(&kit.procs[0].push_flags));
	assert_true(wf_load_rlx(&g->coarse));
	assert_int_equal(wf_load_rlx(&kit.procs[0].mean_ns), 10 * WF_NS_PER_US);
	kit_fill(0, 1);
	(void)look_after(MIN_NS, 5);
	expect_help();
}

/* A processor that slept most of the time may have fine tasks. */
static void idle_time_does_not_count_as_run_time(void **state)
{
	(void)state;
	kit_fill(0, 50);
	wf_store_rlx(&kit.procs[0].idle_ns, 40 * WF_NS_PER_US);
	(void)look_after(MIN_NS, 20);
	assert_int_equal(wf_load_rlx(&kit.procs[0].mean_ns), 500);
	assert_false(wf_load_rlx(&kit.procs[0].push_flags));
	assert_int_equal(kit_woken(), 0);
	(void)look_after(MIN_NS, 20);
	assert_int_equal(wf_load_rlx(&kit.procs[0].mean_ns), 2500);
	assert_true(wf_load_rlx(&kit.procs[0].push_flags));
	/* Idle time was counted late; a processor that picks nothing runs. */
	(void)kit_woken();
	wf_store_rlx(&kit.procs[0].idle_ns, WF_NS_PER_S);
	(void)look_after(MIN_NS, 0);
	assert_int_equal(wf_load_rlx(&kit.procs[0].mean_ns), MIN_NS);
	assert_true(wf_load_rlx(&kit.procs[0].push_flags));
}

/* The fibers that it wakes go behind all that is in the global queue. */
static void timers_are_left_alone_while_the_global_queue_is_long(void **state)
{
	_Atomic(int64_t) *next = &kit.procs[0].timers->next;

	(void)state;
	wf_store_rlx(next, now_ns);
	wf_store_rlx(&g->inject.pushed, 1000);
	(void)look_after(2 * WF_NS_PER_MS - 1, 100000);
	assert_int_not_equal(wf_load_rlx(next), 0);
	(void)look_after(1, 100000);
	assert_int_equal(wf_load_rlx(next), 0);
	wf_store_rlx(next, now_ns);
	wf_store_rlx(&g->inject.pushed, 0);
	(void)look_after(WF_NS_PER_MS, 100000);
	assert_int_equal(wf_load_rlx(next), 0);
}

static void tasks_that_wait_behind_one_that_goes_on(void **state)
{
	(void)state;
	(void)look_after(MIN_NS, 1);
	kit_fill(0, 1);
	(void)look_after(MIN_NS, 0);
	expect_help();
	/* Also when the task is in the slot. */
	kit_empty(&kit.procs[0]);
	wf_store_rlx(&kit.procs[0].slot, wf_entry_of(kit_task()));
	(void)look_after(MIN_NS, 0);
	expect_help();
	/* Nothing waits: no help is needed. */
	kit_empty(&kit.procs[0]);
	(void)look_after(MIN_NS, 0);
	assert_int_equal(kit_woken(), 0);
}

/* Tasks of 25 us, and a wake costs 30: one that waits is not worth two. */
static void tasks_that_wait_behind_long_ones_at_every_look(void **state)
{
	(void)state;
	kit_fill(0, 1);
	for (int k = 0; k < 2; k++) {
		for (int i = 1; i < 10; i++) {
			(void)look_after(100 * WF_NS_PER_US, 4);
			assert_int_equal(kit_woken(), 0);
		}
		/* Help may have come in vain: again, but not at once. */
		(void)look_after(100 * WF_NS_PER_US, 4);
		expect_help();
	}
	/* Once nothing waited. */
	for (int i = 1; i < 30; i++) {
		kit_empty(&kit.procs[0]);
		kit_fill(0, i % 9 != 0);
		(void)look_after(100 * WF_NS_PER_US, 4);
		assert_int_equal(kit_woken(), 0);
	}
	/* Tasks of 20 us: no thief could take the one that waits. */
	for (int i = 0; i < 30; i++) {
		(void)look_after(100 * WF_NS_PER_US, 5);
		assert_int_equal(kit_woken(), 0);
	}
}

/* A joiner runs children of 10 us as calls: ticks, but it has not moved. */
static void tasks_that_wait_behind_children_run_as_calls(void **state)
{
	(void)state;
	(void)look_after(MIN_NS, 5);
	kit_fill(0, 1);
	wf_bump(&kit.procs[0].counters.runs_inline, 5);
	(void)look_after(MIN_NS, 5);
	expect_help();
	/* Fine ones are left to the gate. */
	wf_bump(&kit.procs[0].counters.runs_inline, 500);
	(void)look_after(MIN_NS, 500);
	assert_int_equal(kit_woken(), 0);
}

/* Tasks of 4 us, when two processors run, may be fine: see idle/gate.h. */
static void tasks_that_a_trial_made_long_are_fine(void **state)
{
	(void)state;
	kit_fill(0, 50);
	kit_run(1);
	gate->doubt = true;
	(void)look_after(200 * WF_NS_PER_US, 50);
	assert_false(wf_load_rlx(&kit.procs[0].push_flags));
	assert_int_equal(kit_woken(), 0);
	/* These are long in any case. */
	(void)look_after(200 * WF_NS_PER_US, 10);
	assert_true(wf_load_rlx(&kit.procs[0].push_flags));
	assert_true(kit_was_woken(2));
	(void)look_after(200 * WF_NS_PER_US, 50);
	assert_false(wf_load_rlx(&kit.procs[0].push_flags));
	/* One processor runs alone, and its tasks take as long. */
	(void)wf_or_acqrel(&g->sleeping, kit.procs[1].bit);
	(void)look_after(200 * WF_NS_PER_US, 50);
	assert_false(wf_load_rlx(&kit.procs[0].push_flags));
	(void)look_after(200 * WF_NS_PER_US, 50);
	assert_true(wf_load_rlx(&kit.procs[0].push_flags));
	expect_help();
}

static void fine_tasks_only_through_an_open_gate(void **state)
{
	(void)state;
	kit_fill(0, 50);
	(void)look_after(MIN_NS, 1000);
	assert_false(wf_load_rlx(&kit.procs[0].push_flags));
	assert_false(wf_load_rlx(&g->gate_open));
	assert_int_equal(kit_woken(), 0);
	gate->phase = WF_GATE_OPEN;
	(void)look_after(MIN_NS, 1000);
	assert_true(wf_load_rlx(&g->gate_open));
	expect_help();
	/* A task that is alone cannot be stolen. */
	kit_empty(&kit.procs[0]);
	kit_fill(0, 1);
	(void)look_after(MIN_NS, 1000);
	assert_int_equal(kit_woken(), 0);
}

static void a_task_in_a_global_queue_that_stands_still(void **state)
{
	(void)state;
	kit_inject(0, 1);
	(void)look_after(MIN_NS, 100);
	assert_int_equal(kit_woken(), 0);
	wf_store_rlx(&g->sleeping, g->all);
	(void)look_after(MIN_NS, 0);
	assert_true(kit_was_woken(0));
	assert_int_equal(kit_woken(), 0);
}

/* A sleeper should have none; if it has, it is woken, and no other. */
static void a_sleeper_with_something_in_its_queues_is_woken(void **state)
{
	(void)state;
	kit_fill(2, 1);
	assert_int_equal(look_after(MIN_NS, 100), MIN_NS);
	assert_true(kit_was_woken(2));
	assert_int_equal(kit_woken(), 0);
	kit_empty(&kit.procs[2]);
	wf_store_rel(&kit.procs[3].slot, wf_entry_of(kit_task()));
	assert_int_equal(look_after(MIN_NS, 100), MIN_NS);
	assert_true(kit_was_woken(3));
	assert_int_equal(kit_woken(), 0);
	kit_empty(&kit.procs[3]);
	/* Also when all of them sleep. */
	(void)wf_or_acqrel(&g->sleeping, g->all);
	kit_fill(0, 1);
	(void)look_after(MIN_NS, 0);
	assert_true(kit_was_woken(0));
	assert_int_equal(kit_woken(), 0);
	kit_empty(&kit.procs[0]);
	(void)look_after(MIN_NS, 0);
	assert_int_equal(kit_woken(), 0);
}

static void a_searcher_is_help_enough(void **state)
{
	(void)state;
	kit_fill(0, 100);
	wf_store_rlx(&g->searching, 8);
	(void)look_after(MIN_NS, 0);
	assert_int_equal(wf_load_rlx(&g->searching), 8);
	assert_int_equal(kit_woken(), 0);
	wf_store_rlx(&g->searching, 0);
	wf_store_rlx(&g->sleeping, 0);
	(void)look_after(MIN_NS, 0);
	assert_int_equal(kit_woken(), 0);
}

/* A searcher of 2 ms has been stopped: the monitor does not rely on it. */
static void a_searcher_that_was_stopped_does_not_help(void **state)
{
	(void)state;
	kit_fill(0, 100);
	wf_store_rlx(&g->searching, 8);
	(void)look_after(MIN_NS, 0);
	for (int ms = 0; ms < 4; ms++) {
		(void)look_after(WF_NS_PER_MS / 2 - 1, 0);
		assert_int_equal(kit_woken(), 0);
	}
	(void)look_after(3, 0);
	assert_int_equal(kit_woken(), 0);
	(void)look_after(1, 0);
	/* Its place is free for the sleeper that is woken. */
	expect_help();
	assert_int_equal(wf_load_rlx(&g->searching), 0);
}

/* Other searchers, or the same ones anew, have time of their own. */
static void searchers_that_change_were_not_stopped(void **state)
{
	static const uint64_t searching[] = { 8, 12, 8, 4, 0, 4 };

	(void)state;
	kit_run(2);
	kit_run(3);
	for (int i = 0; i < 20; i++) {
		uint64_t now = searching[i % 6];

		kit_empty(&kit.procs[0]);
		kit_fill(0, now != 0 ? 100 : 0);
		wf_store_rlx(&g->searching, now);
		(void)look_after(3 * WF_NS_PER_MS / 2, 0);
		assert_int_equal(kit_woken(), 0);
	}
}

/* All tasks are in one queue: its length is the backlog of each. */
static void a_global_queue_is_the_backlog_of_each(void **state)
{
	(void)state;
	for (int global = 0; global < 2; global++) {
		g->policy.queue = global ? WEFT_QUEUE_GLOBAL
					 : WEFT_QUEUE_STEALING;
		memset(&g->inject, 0, sizeof(g->inject));
		wf_store_rlx(&kit.procs[0].push_flags, WF_PUSH_POLICY);
		wf_store_rlx(&kit.procs[0].mean_ns, 0);
		kit_inject(0, 1);
		(void)look_after(MIN_NS, 5);
		assert_int_equal(wf_load_rlx(&kit.procs[0].push_flags),
			WF_PUSH_POLICY | (global ? WF_PUSH_COARSE : 0));
		assert_int_equal(wf_load_rlx(&kit.procs[0].mean_ns),
			global ? 10 * WF_NS_PER_US : 0);
		if (global)
			expect_help();
		assert_int_equal(kit_woken(), 0);
	}
}

/* By the rules of Go and flare there are no fine tasks. */
static void by_other_rules_all_tasks_are_coarse(void **state)
{
	(void)state;
	for (uint32_t rule = WEFT_WAKE_GO; rule <= WEFT_WAKE_FLARE; rule++) {
		g->policy.wake = rule;
		wf_store_rlx(&g->coarse, true);
		for (uint32_t i = 0; i < PROCS; i++)
			wf_store_rlx(&kit.procs[i].push_flags, WF_PUSH_COARSE);
		kit_fill(0, 50);
		wf_store_rlx(&g->searching, 8);
		(void)look_after(MIN_NS, 1000);
		assert_true(wf_load_rlx(&g->coarse));
		assert_int_equal(
			wf_load_rlx(&kit.procs[0].push_flags), WF_PUSH_COARSE);
		/* Also while all sleep. */
		kit_empty(&kit.procs[0]);
		wf_store_rlx(&g->sleeping, g->all);
		(void)look_after(MIN_NS, 0);
		assert_true(wf_load_rlx(&g->coarse));
		wf_store_rlx(&g->searching, 0);
		kit_run(0);
	}
}

/* The monitor finds tasks in the inbox of a stopped processor. */
static void a_task_in_an_inbox_that_stands_still(void **state)
{
	struct wf_batch batch = { 0 };

	(void)state;
	g->policy.locks = WEFT_LOCKS_NONE;
	wf_batch_add(&batch, kit_task());
	wf_inbox_push(&kit.procs[3].inbox, &batch);
	(void)look_after(MIN_NS, 0);
	expect_help();
}

/* Time in which it did not look does not make tasks coarse. */
static void the_first_look_forgets(void **state)
{
	(void)state;
	kit_fill(0, 100);
	now_ns += WF_NS_PER_S;
	assert_int_equal(wf_monitor_look(&kit.rt, now_ns, 0), MIN_NS);
	(void)look_after(MIN_NS, 1000);
	assert_false(wf_load_rlx(&kit.procs[0].push_flags));
	/* Nor does the time in which a processor slept. */
	kit_empty(&kit.procs[0]);
	wf_store_rlx(&g->sleeping, g->all);
	(void)look_after(WF_NS_PER_S, 0);
	kit_run(0);
	kit_fill(0, 100);
	(void)look_after(MIN_NS, 1000);
	assert_false(wf_load_rlx(&kit.procs[0].push_flags));
	assert_int_equal(kit_woken(), 0);
}

static void a_queue_that_needed_no_help_for_long_is_alone_again(void **state)
{
	struct wf_proc *p = &kit.procs[0];

	(void)state;
	if (!kit.rt.membarrier)
		skip_because("no membarrier: all is shared for good");
	kit_fill(0, 7);
	(void)look_after(MIN_NS, 1);
	expect_help();
	assert_true(wf_handshake_open(p));
	kit_empty(p);
	(void)look_after(WF_NS_PER_MS, 10000);
	assert_true(wf_load_rlx(&p->shared));
	for (int ms = 0; ms < 3; ms++)
		(void)look_after(WF_NS_PER_MS, 10000);
	assert_false(wf_load_rlx(&p->shared));
	assert_false(wf_load_rlx(&p->open));
}

/* Thieves took nothing for long: holders pop without atomics again. */
static void so_is_one_behind_an_open_gate_without_thieves(void **state)
{
	struct wf_proc *p = &kit.procs[0];

	(void)state;
	if (!kit.rt.membarrier)
		skip_because("no membarrier: all is shared for good");
	gate->phase = WF_GATE_OPEN;
	assert_true(wf_handshake_open(p));
	for (int ms = 0; ms < 4; ms++) {
		wf_bump(&kit.procs[1].counters.steals, 1);
		(void)look_after(WF_NS_PER_MS, 10000);
	}
	assert_true(wf_load_rlx(&p->shared));
	for (int ms = 0; ms < 3; ms++)
		(void)look_after(WF_NS_PER_MS, 10000);
	assert_true(wf_load_rlx(&g->gate_open));
	assert_false(wf_load_rlx(&p->shared));
}

/* All processors run already: there is nothing to measure. */
static void the_gate_is_not_measured_without_a_sleeper(void **state)
{
	(void)state;
	gate->phase = WF_GATE_ALONE;
	for (uint32_t i = 1; i < PROCS; i++)
		kit_run(i);
	kit_fill(0, 7);
	for (int i = 0; i < 20; i++)
		(void)look_after(200 * WF_NS_PER_US, 10000);
	assert_int_equal(gate->phase, WF_GATE_ALONE);
	assert_int_equal(gate->alone, 0);
	assert_false(wf_gate_is_busy(gate));
}

/* ------------------------------------------------------------------------ */
/* It looks at every processor and every group, the last one too. */

enum { GROUPS = 3, EACH = 2, ALL = GROUPS * EACH };

static void late_timers_of_each_processor_are_fired(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ALL; i++) {
		_Atomic(int64_t) *next;

		reopen_with(ALL, EACH, (i + 1) % ALL);
		next = &kit.procs[i].timers->next;
		wf_store_rlx(next, now_ns);
		(void)look_after(WF_NS_PER_MS - 1, 0);
		assert_int_not_equal(wf_load_rlx(next), 0);
		(void)look_after(1, 0);
		assert_int_equal(wf_load_rlx(next), 0);
	}
}

/* The pause ends when the timer of any processor would be late. */
static void the_next_look_is_in_time_for_each_processor(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ALL; i++) {
		reopen_with(ALL, EACH, i);
		wf_store_rlx(&kit.procs[i].timers->next,
			now_ns + 200 * WF_NS_PER_US);
		assert_int_equal(look_after_of(i, WF_NS_PER_MS, 100000),
			200 * WF_NS_PER_US);
	}
}

static void each_group_that_is_measured_shortens_the_pause(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ALL; i += EACH) {
		reopen_with(ALL, EACH, i);
		assert_int_equal(
			look_after_of(i, WF_NS_PER_MS, 100000), MAX_NS);
		gate_of(i / EACH)->phase = WF_GATE_ALONE;
		kit_fill(i, 2);
		assert_int_equal(look_after_of(i, WF_NS_PER_MS, 100000),
			100 * WF_NS_PER_US);
	}
}

/*
 * What the monitor has seen of one processor it must not take for another's:
 * the neighbour of the one that runs sleeps, and is forgotten at every look.
 */
static void each_processor_is_judged_by_what_it_did_itself(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ALL; i++) {
		reopen_with(ALL, EACH, i);
		(void)look_after_of(i, MIN_NS, 1);
		assert_int_equal(kit_woken(), 0);
		kit_fill(i, 1);
		(void)look_after_of(i, MIN_NS, 0);
		assert_true(kit_was_woken(i ^ 1));
		assert_int_equal(kit_woken(), 0);
		assert_int_equal(
			wf_load_rlx(&kit.procs[i].mean_ns), MIN_NS);
	}
}

static void the_first_look_forgets_each_processor(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ALL; i++) {
		reopen_with(ALL, EACH, i);
		kit_fill(i, 100);
		now_ns += WF_NS_PER_S;
		assert_int_equal(wf_monitor_look(&kit.rt, now_ns, 0), MIN_NS);
		(void)look_after_of(i, MIN_NS, 1000);
		assert_false(wf_load_rlx(&kit.procs[i].push_flags));
		assert_int_equal(kit_woken(), 0);
	}
}

static void help_comes_from_the_one_that_sleeps_wherever_it_is(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < ALL; i++)
		for (uint32_t asleep = 0; asleep < ALL; asleep++) {
			if (i == asleep)
				continue;
			reopen_with(ALL, EACH, i);
			for (uint32_t k = 0; k < ALL; k++)
				if (k != asleep)
					kit_run(k);
			(void)look_after_of(i, MIN_NS, 1);
			kit_fill(i, 1);
			(void)look_after_of(i, MIN_NS, 0);
			assert_true(kit_was_woken(asleep));
			assert_int_equal(kit_woken(), 0);
		}
}

/* No thief comes: the processor has its queue to itself again. */
static void the_queue_of_each_processor_is_closed(void **state)
{
	(void)state;
	if (!kit.rt.membarrier)
		skip_because("no membarrier: all is shared for good");
	for (uint32_t i = 0; i < ALL; i++) {
		struct wf_proc *p;

		reopen_with(ALL, EACH, i);
		p = &kit.procs[i];
		assert_true(wf_handshake_open(p));
		for (int ms = 0; ms < 4; ms++)
			(void)look_after_of(i, WF_NS_PER_MS, 10000);
		assert_false(wf_load_rlx(&p->shared));
	}
}

/* ------------------------------------------------------------------------ */
/* (M1), with a monitor that runs. */

struct shift {
	size_t naps;
	uint32_t first; /* of the two that nap and run */
	_Atomic(size_t) asleep_on_duty, slept;
};

/* A processor runs: the monitor wakes up, and stays awake. */
static void watch(struct shift *s)
{
	int64_t since = threads_now_ns();

	while (wf_load_rlx(&kit.rt.monitor->asleep) == 1) {
		if (threads_now_ns() - since > 20 * WF_NS_PER_S) {
			wf_add_rlx(&s->asleep_on_duty, 1);
			return;
		}
		wf_os_thread_yield();
	}
}

static void nap(void *arg, unsigned i)
{
	struct shift *s = arg;
	uint32_t self = s->first + i;
	struct wf_proc *p = &kit.procs[self];
	struct wf_random random;

	wf_random_seed(&random, threads_seed() + i);
	for (size_t n = 0; n < s->naps; n++) {
		(void)wf_or_acqrel(&p->group->sleeping, p->bit);
		/* Long enough for the monitor to fall asleep, or almost. */
		kit_pause_us(wf_random_below(&random, 6000));
		wf_add_rlx(&s->slept, wf_load_rlx(&kit.rt.monitor->asleep));
		kit_run(self);
		wf_monitor_wake(&kit.rt);
		for (int k = 0; k < 3; k++) {
			watch(s);
			kit_pause_us(wf_random_below(&random, 200));
		}
	}
	(void)wf_or_acqrel(&p->group->sleeping, p->bit);
}

static void never_sleeps_while(uint32_t first, size_t naps)
{
	struct shift s = { .naps = threads_rounds(naps), .first = first };

	(void)threads_seed();
	assert_int_equal(wf_monitor_start(&kit.rt), 0);
	threads_run(2, nap, &s);
	assert_int_equal(wf_load_rlx(&s.asleep_on_duty), 0);
	/* When no processor runs it falls asleep. */
	for (int ms = 0; ms < 20000; ms++) {
		if (wf_load_rlx(&kit.rt.monitor->asleep) == 1)
			break;
		kit_pause_us(1000);
	}
	assert_int_equal(wf_load_rlx(&kit.rt.monitor->asleep), 1);
	assert_true(s.naps < 20 || wf_load_rlx(&s.slept) > 0);
	wf_monitor_stop(&kit.rt);
}

static void it_never_sleeps_while_a_processor_runs(void **state)
{
	(void)state;
	wf_store_rlx(&g->sleeping, g->all);
	never_sleeps_while(0, NAPS);
}

static void nor_while_one_of_the_last_group_does(void **state)
{
	(void)state;
	reopen_with(ALL, EACH, 0);
	wf_store_rlx(&g->sleeping, g->all);
	never_sleeps_while(ALL - EACH, NAPS / 4);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pauses_double_while_there_is_nothing_to_do),
		TEST(a_coarse_backlog_worth_more_than_two_wakes),
		TEST(idle_time_does_not_count_as_run_time),
		TEST(timers_are_left_alone_while_the_global_queue_is_long),
		TEST(tasks_that_wait_behind_one_that_goes_on),
		TEST(tasks_that_wait_behind_long_ones_at_every_look),
		TEST(tasks_that_wait_behind_children_run_as_calls),
		TEST(tasks_that_a_trial_made_long_are_fine),
		TEST(fine_tasks_only_through_an_open_gate),
		TEST(a_task_in_a_global_queue_that_stands_still),
		TEST(a_sleeper_with_something_in_its_queues_is_woken),
		TEST(a_searcher_is_help_enough),
		TEST(a_searcher_that_was_stopped_does_not_help),
		TEST(searchers_that_change_were_not_stopped),
		TEST(a_global_queue_is_the_backlog_of_each),
		TEST(by_other_rules_all_tasks_are_coarse),
		TEST(a_task_in_an_inbox_that_stands_still),
		TEST(the_first_look_forgets),
		TEST(a_queue_that_needed_no_help_for_long_is_alone_again),
		TEST(so_is_one_behind_an_open_gate_without_thieves),
		TEST(the_gate_is_not_measured_without_a_sleeper),
		TEST(late_timers_of_each_processor_are_fired),
		TEST(the_next_look_is_in_time_for_each_processor),
		TEST(each_group_that_is_measured_shortens_the_pause),
		TEST(each_processor_is_judged_by_what_it_did_itself),
		TEST(the_first_look_forgets_each_processor),
		TEST(help_comes_from_the_one_that_sleeps_wherever_it_is),
		TEST(the_queue_of_each_processor_is_closed),
		TEST(it_never_sleeps_while_a_processor_runs),
		TEST(nor_while_one_of_the_last_group_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
