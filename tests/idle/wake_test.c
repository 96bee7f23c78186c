/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/wake_test.c - a wake goes to the lowest sleeper and is counted as
 * a searcher, and tasks that are not worth a wake wake no sleeper.
 *
 * tests/idle/park_test.c is about wakes that meet a processor going to sleep.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/idle.h"
#include "sched/kit.h"
#include "sched/submit.h"
#include "sched/tuning.h"
#include "sched/yielders.h"
#include "idle/gate.h"
#include "idle/monitor.h"
#include "idle/wake.h"
#include "sched/yielders.h"

enum { PROCS = 4 };

static struct wf_group *g;

static int begin(void **state)
{
	(void)state;
	kit_open(PROCS, 0);
	g = kit.groups;
	return 0;
}

static int end(void **state)
{
	(void)state;
	kit_close();
	return 0;
}

static void set_mean(uint32_t i, uint64_t ns)
{
	wf_store_rlx(&kit.procs[i].mean_ns, ns);
	wf_store_rlx(&kit.procs[i].push_flags,
		ns >= (uint64_t)wf_tuning.coarse_ns ? WF_PUSH_COARSE : 0);
}

/* ------------------------------------------------------------------------ */
/* One sleeper. */

static void the_lowest_sleeper_is_woken(void **state)
{
	(void)state;
	for (uint64_t asleep = 1; asleep <= g->all; asleep++) {
		unsigned lowest = (unsigned)__builtin_ctzll(asleep);

		wf_store_rlx(&g->sleeping, asleep);
		wf_store_rlx(&g->searching, 0);
		assert_true(wf_wake_one(g));
		assert_int_equal(wf_load_rlx(&g->sleeping),
			asleep & ~(UINT64_C(1) << lowest));
		assert_int_equal(
			wf_load_rlx(&g->searching), UINT64_C(1) << lowest);
		assert_true(wf_load_rlx(&kit.procs[lowest].woken_ns) > 0);
		assert_true(kit_was_woken(lowest));
		assert_int_equal(kit_woken(), 0);
	}
}

/* As many search as may: the sleeper is woken, and not counted. */
static void no_waker_exceeds_the_limit(void **state)
{
	(void)state;
	assert_int_equal(g->max_searchers, 2);
	/* Of the others, 1 to 3. */
	for (uint64_t searching = 0; searching < g->all; searching += 2) {
		bool full = __builtin_popcountll(searching) >= 2;

		wf_store_rlx(&g->sleeping, 1);
		wf_store_rlx(&g->searching, searching);
		assert_true(wf_wake_one(g));
		assert_int_equal(
			wf_load_rlx(&g->searching), searching | !full);
		assert_true(kit_was_woken(0));
	}
}

static void without_a_sleeper_none_is_woken(void **state)
{
	(void)state;
	wf_store_rlx(&g->sleeping, 0);
	assert_false(wf_wake_one(g));
	wf_wake_all(g);
	wf_wake_for_outside(g);
	assert_int_equal(wf_load_rlx(&g->searching), 0);
	assert_int_equal(kit_woken(), 0);
}

static void all_are_woken(void **state)
{
	(void)state;
	kit_run(1);
	wf_wake_all(g);
	assert_int_equal(wf_load_rlx(&g->sleeping), 0);
	assert_false(kit_was_woken(1));
	assert_int_equal(kit_woken(), PROCS - 1);
}

/* No thread can be made: the processor sleeps on, and another is woken. */
static void a_processor_without_a_thread_goes_back_to_sleep(void **state)
{
	(void)state;
	kit.rt.config.max_threads = 0;
	kit_run(0);
	wf_store_rlx(&kit.procs[1].thread, NULL);
	assert_true(wf_wake_one(g));
	assert_int_equal(wf_load_rlx(&g->sleeping), g->all & ~UINT64_C(5));
	assert_int_equal(wf_load_rlx(&g->searching), 4);
	assert_null(wf_load_rlx(&kit.procs[1].thread));
	assert_int_equal(wf_load_rlx(&kit.rt.threads), 0);
	assert_int_equal(wf_load_rlx(&kit.rt.thread_fails), 1);
	assert_true(kit_was_woken(2));
	assert_int_equal(kit_woken(), 0);
}

/*
 * None has a thread, and none gets one: all sleep on, and the system is asked
 * neither for each of them nor at once again.  If this takes a second, it is
 * asked about ten times.
 */
static void where_no_thread_can_be_made_all_sleep_on(void **state)
{
	(void)state;
	kit.rt.config.max_threads = 0;
	for (uint32_t i = 0; i < PROCS; i++)
		wf_store_rlx(&kit.procs[i].thread, NULL);
	for (int i = 0; i < 1000; i++) {
		assert_false(wf_wake_one(g));
		assert_int_equal(wf_load_rlx(&g->sleeping), g->all);
		assert_int_equal(wf_load_rlx(&g->searching), 0);
	}
	assert_in_range(wf_load_rlx(&kit.rt.thread_fails), 1, 12);
}

/* For the end of the runtime no thread is made, only to end again. */
static void all_that_have_threads_are_woken(void **state)
{
	(void)state;
	wf_store_rlx(&kit.procs[0].thread, NULL);
	wf_store_rlx(&kit.procs[2].thread, NULL);
	wf_wake_all(g);
	assert_true(kit_was_woken(1));
	assert_true(kit_was_woken(3));
	assert_int_equal(kit_woken(), 0);
	assert_int_equal(wf_load_rlx(&kit.rt.threads), 0);
}

/* ------------------------------------------------------------------------ */
/* Tasks that are worth a wake. */

/* All sets of sleepers and searchers, with fine and with coarse tasks. */
static void a_task_from_outside(void **state)
{
	(void)state;
	for (uint64_t asleep = 0; asleep <= g->all; asleep++) {
		for (uint64_t i = 0; i < 4; i++) {
			uint64_t searching = i & 1 ? ~asleep & g->all : 0;
			bool coarse = i & 2;
			bool wakes = asleep != 0 && searching == 0 &&
				(asleep == g->all || coarse);

			wf_store_rlx(&g->sleeping, asleep);
			wf_store_rlx(&g->searching, searching);
			wf_store_rlx(&g->coarse, coarse);
			wf_wake_for_outside(g);
			assert_int_equal(kit_woken(), wakes);
		}
	}
}

static void a_neighbour_group_stands_in(void **state)
{
	(void)state;
	kit_close();
	kit_open(PROCS, 2);
	g = kit.groups;
	assert_int_equal(kit.rt.group_count, 2);
	kit.rt.config.max_threads = 0;
	wf_store_rlx(&kit.procs[0].thread, NULL);
	wf_store_rlx(&kit.procs[1].thread, NULL);
	/* Nothing waits there: no help is needed. */
	wf_wake_for_outside(&kit.groups[0]);
	assert_int_equal(kit_woken(), 0);
	kit_inject(0, 1);
	wf_wake_for_outside(&kit.groups[0]);
	assert_true(kit_was_woken(2));
	assert_int_equal(kit_woken(), 0);
	assert_int_equal(
		wf_load_rlx(&kit.groups[0].sleeping), kit.groups[0].all);
}

/* Of three groups only one other has a thread; whichever it is, it comes. */
static void any_other_group_stands_in(void **state)
{
	enum { GROUPS = 3, EACH = 2 };

	(void)state;
	for (uint32_t i = 0; i < GROUPS * GROUPS; i++) {
		uint32_t needs = i % GROUPS, stands_in = i / GROUPS;

		if (needs == stands_in)
			continue;
		kit_close();
		kit_open(GROUPS * EACH, EACH);
		g = kit.groups;
		kit.rt.config.max_threads = 0;
		for (uint32_t k = 0; k < GROUPS * EACH; k++)
			if (k / EACH != stands_in)
				wf_store_rlx(&kit.procs[k].thread, NULL);
		kit_inject(needs, 1);
		wf_wake_for_outside(&kit.groups[needs]);
		assert_true(kit_was_woken(stands_in * EACH));
		assert_int_equal(kit_woken(), 0);
	}
}

/* A wake costs 30 us here, so a backlog must be worth more than 60. */
static void coarse_tasks_from_inside(void **state)
{
	(void)state;
	kit_run(0);
	set_mean(0, 10 * WF_NS_PER_US);
	for (size_t n = 1; n <= 10; n++) {
		kit_fill(0, 1);
		wf_wake_for_push(&kit.procs[0]);
		assert_int_equal(kit_woken(), n > 6);
	}
	wf_store_rlx(&g->searching, 8);
	wf_wake_for_push(&kit.procs[0]);
	assert_int_equal(kit_woken(), 0);
	wf_store_rlx(&g->searching, 0);
	wf_store_rlx(&g->sleeping, 0);
	wf_wake_for_push(&kit.procs[0]);
	assert_int_equal(kit_woken(), 0);
}

static void expect_next(size_t backlog, bool coarse, bool open, bool wakes)
{
	struct wf_proc *p = &kit.procs[0];

	kit_empty(p);
	kit_fill(0, backlog);
	wf_store_rlx(&p->push_flags, coarse);
	wf_store_rlx(&g->gate_open, open);
	wf_wake_next(p);
	assert_int_equal(kit_woken(), wakes);
}

/* The last searcher wakes the next if more is left. */
static void a_searcher_that_found_something(void **state)
{
	(void)state;
	kit_run(0);
	for (size_t n = 0; n < 4; n++) {
		expect_next(n, false, false, false);
		expect_next(n, true, false, n > 0);
		expect_next(n, false, true, n > 1);
	}
	wf_store_rlx(&g->searching, 2);
	expect_next(5, true, true, false);
	wf_store_rlx(&g->searching, 0);
	wf_store_rlx(&g->sleeping, 0);
	expect_next(5, true, true, false);
}

/* ------------------------------------------------------------------------ */
/* By other rules: all tasks are coarse. */

static void set_rule(uint32_t wake)
{
	g->policy.wake = wake;
	wf_store_rlx(&g->coarse, true);
	for (uint32_t i = 0; i < PROCS; i++)
		wf_store_rlx(&kit.procs[i].push_flags, WF_PUSH_COARSE);
}

/* Each task wakes one sleeper, wherever it comes from. */
static void a_task_wakes_by_other_rules(void **state)
{
	(void)state;
	for (uint32_t rule = WEFT_WAKE_GO; rule <= WEFT_WAKE_FLARE; rule++) {
		set_rule(rule);
		kit_run(0);
		wf_wake_for_push(&kit.procs[0]);
		assert_true(kit_was_woken(1));
		assert_int_equal(kit_woken(), 0);
		wf_wake_for_outside(g);
		assert_true(kit_was_woken(1));
		assert_int_equal(kit_woken(), 0);
		wf_push(&kit.procs[0], wf_entry_of(kit_task()));
		assert_true(kit_was_woken(1));
		assert_int_equal(wf_runq_len(&kit.procs[0].runq), 1);
		wf_push_yield(&kit.procs[0], kit_task());
		assert_int_equal(kit_woken(), 1);
		(void)wf_yielders_take(&kit.procs[0]);
		wf_store_rlx(&g->sleeping, 0);
		wf_wake_for_push(&kit.procs[0]);
		wf_wake_for_outside(g);
		assert_int_equal(kit_woken(), 0);
		kit_empty(&kit.procs[0]);
		wf_store_rlx(&g->sleeping, g->all);
	}
}

/* Go: a searcher stands for all, and goes on to. */
static void by_gos_rule_a_searcher_stands_for_all(void **state)
{
	(void)state;
	set_rule(WEFT_WAKE_GO);
	kit_run(0);
	kit_run(3);
	wf_store_rlx(&g->searching, 8);
	for (int i = 0; i < 3; i++) {
		wf_wake_for_push(&kit.procs[0]);
		wf_wake_for_outside(g);
	}
	assert_int_equal(wf_load_rlx(&g->searching), 8);
	assert_int_equal(kit_woken(), 0);
	/* One that is woken is counted as one. */
	wf_store_rlx(&g->searching, 0);
	wf_wake_for_push(&kit.procs[0]);
	assert_int_equal(wf_load_rlx(&g->searching), 2);
	wf_wake_for_push(&kit.procs[0]);
	assert_int_equal(kit_woken(), 1);
}

/* Flare: a searcher stands for one task, then for no more. */
static void expect_claims(void (*submit)(void))
{
	wf_store_rlx(&g->sleeping, 6);
	wf_store_rlx(&g->searching, 9);
	submit();
	assert_int_equal(wf_load_rlx(&g->searching), 8);
	assert_int_equal(kit_woken(), 0);
	submit();
	assert_int_equal(wf_load_rlx(&g->searching), 0);
	assert_int_equal(kit_woken(), 0);
	assert_int_equal(wf_load_rlx(&g->sleeping), 6);
	/* A woken processor serves one task, too: the next wakes another. */
	submit();
	assert_int_equal(wf_load_rlx(&g->searching), 0);
	assert_int_equal(wf_load_rlx(&g->sleeping), 4);
	submit();
	assert_int_equal(wf_load_rlx(&g->searching), 0);
	assert_int_equal(wf_load_rlx(&g->sleeping), 0);
	assert_true(kit_was_woken(1));
	assert_true(kit_was_woken(2));
	assert_int_equal(kit_woken(), 0);
	/* With no sleeper no searcher is claimed: all are awake. */
	wf_store_rlx(&g->sleeping, 0);
	wf_store_rlx(&g->searching, 9);
	submit();
	assert_int_equal(wf_load_rlx(&g->searching), 9);
}

static void submit_inside(void)
{
	wf_wake_for_push(&kit.procs[0]);
}

static void submit_outside(void)
{
	wf_wake_for_outside(g);
}

static void by_flares_rule_one_searcher_is_claimed(void **state)
{
	(void)state;
	set_rule(WEFT_WAKE_FLARE);
	expect_claims(submit_inside);
	expect_claims(submit_outside);
}

/* The default claims no searcher. */
static void by_the_gates_rule_no_searcher_is_claimed(void **state)
{
	(void)state;
	wf_store_rlx(&g->coarse, true);
	wf_store_rlx(&g->searching, 9);
	wf_store_rlx(&g->sleeping, 6);
	submit_outside();
	set_mean(0, WF_NS_PER_MS);
	kit_fill(0, 2);
	submit_inside();
	assert_int_equal(wf_load_rlx(&g->searching), 9);
	assert_int_equal(kit_woken(), 0);
}

/* Flags that are fixed say nothing about the tasks. */
static void apart_is_not_coarse(void **state)
{
	(void)state;
	kit_run(0);
	set_mean(0, WF_NS_PER_MS);
	wf_store_rlx(&kit.procs[0].push_flags, WF_PUSH_POLICY);
	kit_fill(0, 10);
	wf_wake_for_push(&kit.procs[0]);
	wf_wake_next(&kit.procs[0]);
	assert_int_equal(kit_woken(), 0);
	wf_store_rlx(&kit.procs[0].push_flags, WF_PUSH_POLICY | WF_PUSH_COARSE);
	wf_wake_for_push(&kit.procs[0]);
	assert_int_equal(kit_woken(), 1);
}

/* If all tasks are in the global queue, the gate's rule weighs those. */
static void a_global_queue_is_weighed(void **state)
{
	struct wf_proc *p = &kit.procs[0];

	(void)state;
	for (int global = 0; global < 2; global++) {
		g->policy.queue = global ? WEFT_QUEUE_GLOBAL
					 : WEFT_QUEUE_STEALING;
		wf_store_rlx(&g->sleeping, g->all);
		kit_run(0);
		wf_store_rlx(&p->mean_ns, 10 * WF_NS_PER_US);
		wf_store_rlx(&p->push_flags, WF_PUSH_POLICY | WF_PUSH_COARSE);
		memset(&g->inject, 0, sizeof(g->inject));
		wf_wake_next(p);
		assert_int_equal(kit_woken(), 0);
		for (size_t n = 1; n <= 10; n++) {
			kit_inject(0, 1);
			wf_wake_for_push(p);
			assert_int_equal(kit_woken(), global && n > 6);
		}
		wf_wake_next(p);
		assert_int_equal(kit_woken(), global);
	}
}

/* Go wakes the next whatever is left; flare, if something is. */
static void a_searcher_that_found_something_by_other_rules(void **state)
{
	(void)state;
	set_rule(WEFT_WAKE_GO);
	kit_run(0);
	wf_wake_next(&kit.procs[0]);
	assert_true(kit_was_woken(1));
	wf_store_rlx(&g->searching, 8);
	wf_wake_next(&kit.procs[0]);
	wf_store_rlx(&g->searching, 0);
	set_rule(WEFT_WAKE_FLARE);
	wf_wake_next(&kit.procs[0]);
	assert_int_equal(kit_woken(), 0);
	kit_fill(0, 1);
	wf_wake_next(&kit.procs[0]);
	assert_true(kit_was_woken(1));
	assert_int_equal(kit_woken(), 0);
}

/* Without locks a sleeper may have been stopped: the monitor watches it. */
static void without_locks_the_monitor_is_woken_too(void **state)
{
	(void)state;
	for (int started = 0; started < 2; started++) {
		for (int free = 0; free < 2; free++) {
			g->policy.locks = free ? WEFT_LOCKS_NONE
					       : WEFT_LOCKS_SHORT;
			kit.rt.monitor->started = started;
			wf_store_rlx(&kit.rt.monitor->asleep, 1);
			assert_true(wf_wake_one(g));
			assert_int_equal(wf_load_rlx(&kit.rt.monitor->asleep),
				!(started && free));
			assert_int_equal(kit_woken(), 1);
		}
	}
	kit.rt.monitor->started = false;
}

/* ------------------------------------------------------------------------ */
/* Several wakers at once never wake the same sleep twice. */

struct crowd {
	size_t rounds;
	_Atomic(size_t) sent, received;
	_Atomic(uint32_t) at_work;
};

/* The threads of the processors: one that is woken sleeps again. */
static void sleepers(struct crowd *c)
{
	bool over;

	do {
		over = wf_load_acq(&c->at_work) == 0;
		wf_add_rlx(&c->received, kit_woken());
		wf_os_thread_yield();
	} while (!over);
}

static void crowd_run(void *arg, unsigned i)
{
	struct crowd *c = arg;

	if (i == 0) {
		sleepers(c);
		return;
	}
	for (size_t n = 0; n < c->rounds; n++) {
		if (wf_wake_one(g))
			wf_add_rlx(&c->sent, 1);
		else
			wf_os_thread_yield();
	}
	wf_sub_acqrel(&c->at_work, 1);
}

static void each_wake_is_of_one_sleeper(void **state)
{
	struct crowd c = { .rounds = threads_rounds(20000), .at_work = 3 };

	(void)state;
	threads_run(4, crowd_run, &c);
	assert_true(wf_load_rlx(&c.sent) > 0);
	assert_int_equal(wf_load_rlx(&c.sent), wf_load_rlx(&c.received));
	assert_int_equal(wf_load_rlx(&g->sleeping), g->all);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_lowest_sleeper_is_woken),
		TEST(no_waker_exceeds_the_limit),
		TEST(without_a_sleeper_none_is_woken),
		TEST(all_are_woken),
		TEST(all_that_have_threads_are_woken),
		TEST(a_processor_without_a_thread_goes_back_to_sleep),
		TEST(where_no_thread_can_be_made_all_sleep_on),
		TEST(a_task_from_outside),
		TEST(a_neighbour_group_stands_in),
		TEST(any_other_group_stands_in),
		TEST(coarse_tasks_from_inside),
		TEST(a_searcher_that_found_something),
		TEST(a_task_wakes_by_other_rules),
		TEST(by_gos_rule_a_searcher_stands_for_all),
		TEST(by_flares_rule_one_searcher_is_claimed),
		TEST(by_the_gates_rule_no_searcher_is_claimed),
		TEST(apart_is_not_coarse),
		TEST(a_global_queue_is_weighed),
		TEST(a_searcher_that_found_something_by_other_rules),
		TEST(without_locks_the_monitor_is_woken_too),
		TEST(each_wake_is_of_one_sleeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
