/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/steal_test.c - a thief comes to every victim, takes half rounded
 * down, and a lone task only from a holder that computes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/limits.h"
#include "kit.h"
#include "locked.h"
#include "idle/search.h"
#include "sched/handshake.h"
#include "sched/tuning.h"
#include "support/skip.h"
#include "sched/yielders.h"

static struct wf_search search;

/* The thief is processor 0, its victims run; the gate is open. */
static void begin_policy(uint32_t procs, weft_policy policy)
{
	kit_open_policy(procs, 0, &policy);
	wf_store_rlx(&kit.groups[0].gate_open, true);
	wf_search_begin(&search, &kit.procs[0]);
}

static void begin(uint32_t procs)
{
	begin_policy(procs, (weft_policy){ 0 });
}

/* Search for so long that a victim without a pick counts as computing. */
static void wait_long(void)
{
	search.now_ns = search.start_ns + wf_tuning.stuck_ns;
}

static uint64_t stolen(void)
{
	return wf_load_rlx(&kit.procs[0].counters.stolen);
}

/* ------------------------------------------------------------------------ */
/* The order of victims. */

/* Wherever the only task to be had is, one round finds it. */
static void a_round_comes_to_every_victim(void **state)
{
	static const uint32_t counts[] = { 2, 3, 4, 6, 12, 31, 64 };

	(void)state;
	for (size_t c = 0; c < 7; c++) {
		begin(counts[c]);
		for (uint32_t v = 1; v < counts[c]; v++) {
			for (int i = 0; i < 10; i++) {
				kit_fill(v, 2);
				assert_non_null(
					wf_search_round(&search, false));
				kit_empty(&kit.procs[v]);
				assert_null(wf_search_round(&search, true));
			}
		}
		kit_close();
	}
}

/* All victims have tasks: each is robbed first now and then. */
static void the_order_differs_from_round_to_round(void **state)
{
	enum { PROCS = 6 };
	unsigned first[PROCS] = { 0 };

	(void)state;
	begin(PROCS);
	for (int i = 0; i < 1000; i++) {
		for (uint32_t v = 1; v < PROCS; v++)
			kit_fill(v, 2);
		assert_non_null(wf_search_round(&search, false));
		for (uint32_t v = 1; v < PROCS; v++) {
			first[v] += wf_runq_len(&kit.procs[v].runq) == 1;
			kit_empty(&kit.procs[v]);
		}
	}
	for (uint32_t v = 1; v < PROCS; v++)
		assert_true(first[v] > 50);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* How much. */

static void half_rounded_down_is_taken_and_counted(void **state)
{
	struct wf_counters *counts;

	(void)state;
	begin(2);
	counts = &kit.procs[0].counters;
	for (size_t n = 0; n < 20; n++) {
		uint64_t before = stolen(),
			 steals = wf_load_rlx(&counts->steals);
		weft_task *oldest = &kit.tasks[kit.next_task % KIT_TASKS];
		weft_task *task;

		kit_fill(1, n);
		task = wf_search_round(&search, true);
		assert_ptr_equal(task, n > 1 ? oldest : NULL);
		assert_int_equal(stolen() - before, n / 2);
		assert_int_equal(wf_load_rlx(&counts->steals) - steals, n > 1);
		assert_int_equal(wf_runq_len(&kit.procs[1].runq), n - n / 2);
		assert_int_equal(
			wf_runq_len(&kit.procs[0].runq), n > 1 ? n / 2 - 1 : 0);
		kit_empty(&kit.procs[0]);
		kit_empty(&kit.procs[1]);
	}
	assert_int_equal(wf_load_rlx(&counts->runs_stolen), 18);
	assert_int_equal(wf_load_rlx(&counts->ticks), 18);
	assert_int_equal(wf_load_rlx(&kit.procs[1].thieves), 0);
	kit_close();
}

static void a_large_theft_marks_both_queues_for_a_shuffle(void **state)
{
	(void)state;
	begin(2);
	kit_fill(1, 2 * (WF_SHUFFLE_MIN - 1));
	assert_non_null(wf_search_round(&search, false));
	assert_false(wf_load_rlx(&kit.procs[0].to_shuffle));
	assert_false(wf_load_rlx(&kit.procs[1].to_shuffle));
	kit_empty(&kit.procs[0]);
	kit_empty(&kit.procs[1]);
	kit_fill(1, (size_t)(2 * WF_SHUFFLE_MIN));
	assert_non_null(wf_search_round(&search, false));
	assert_true(wf_load_rlx(&kit.procs[0].to_shuffle));
	assert_true(wf_load_rlx(&kit.procs[1].to_shuffle));
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* A lone task: in the queue, or in the slot. */

static void put_lone(bool slot)
{
	if (slot)
		wf_store_rel(&kit.procs[1].slot, wf_entry_of(kit_task()));
	else
		kit_fill(1, 1);
}

static void expect_lone_only_from_a_holder_that_computes(bool slot)
{
	weft_task *lone;

	begin(2);
	lone = &kit.tasks[kit.next_task];
	put_lone(slot);
	/* Its holder may be about to run it; a later round may take it. */
	assert_null(wf_search_round(&search, true));
	assert_true(search.may_unstick);
	wait_long();
	assert_null(wf_search_round(&search, false));
	/* The holder has picked a task since. */
	wf_bump(&kit.procs[1].counters.ticks, 1);
	assert_null(wf_search_round(&search, true));
	assert_false(search.may_unstick);
	wf_search_begin(&search, &kit.procs[0]);
	assert_false(search.may_unstick);
	search.now_ns = search.start_ns + wf_tuning.stuck_ns - 1;
	assert_null(wf_search_round(&search, true));
	wait_long();
	assert_ptr_equal(wf_search_round(&search, true), lone);
	assert_int_equal(wf_proc_backlog(&kit.procs[1]), 0);
	assert_int_equal(stolen(), 1);
	kit_close();
}

static void a_lone_task_stays_with_a_holder_that_picks(void **state)
{
	(void)state;
	expect_lone_only_from_a_holder_that_computes(false);
}

static void a_task_in_the_slot_stays_with_a_holder_that_picks(void **state)
{
	(void)state;
	expect_lone_only_from_a_holder_that_computes(true);
}

/* Each processor is the thief, each other one the victim. */
static void a_lone_task_stays_for_each_thief_and_victim(void **state)
{
	enum { PROCS = 3 };

	(void)state;
	for (uint32_t i = 0; i < PROCS * PROCS; i++) {
		struct wf_proc *thief;
		uint32_t v = i / PROCS;

		if (i % PROCS == v)
			continue;
		begin(PROCS);
		thief = &kit.procs[i % PROCS];
		wf_bump(&kit.procs[v].counters.ticks, 5);
		wf_search_begin(&search, thief);
		wf_bump(&kit.procs[v].counters.ticks, 1);
		kit_fill(v, 1);
		wait_long();
		/* The holder has picked since the search began. */
		assert_null(wf_search_round(&search, true));
		wf_search_begin(&search, thief);
		wait_long();
		assert_non_null(wf_search_round(&search, true));
		kit_close();
	}
}

/* A search that found nothing alone has no reason to wait. */
static void an_empty_victim_is_not_waited_for(void **state)
{
	(void)state;
	begin(3);
	assert_null(wf_search_round(&search, true));
	assert_false(search.may_unstick);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* The tasks that a thief may take. */

static void fine_tasks_stay_behind_a_shut_gate(void **state)
{
	(void)state;
	begin(2);
	wf_store_rlx(&kit.groups[0].gate_open, false);
	assert_false(wf_steal_allowed(&kit.procs[1]));
	kit_fill(1, 8);
	assert_null(wf_search_round(&search, true));
	/* Unless they wait behind a task that has run for long. */
	wait_long();
	assert_non_null(wf_search_round(&search, false));
	assert_int_equal(stolen(), 4);
	assert_false(wf_load_rlx(&kit.procs[0].push_flags));
	kit_close();
}

static void coarse_tasks_do_not_and_the_thief_knows_their_like(void **state)
{
	(void)state;
	begin(2);
	wf_store_rlx(&kit.groups[0].gate_open, false);
	wf_store_rlx(&kit.procs[1].push_flags, true);
	wf_store_rlx(&kit.procs[1].mean_ns, 5000);
	assert_true(wf_steal_allowed(&kit.procs[1]));
	kit_fill(1, 2);
	assert_non_null(wf_search_round(&search, false));
	assert_true(wf_load_rlx(&kit.procs[0].push_flags));
	assert_int_equal(wf_load_rlx(&kit.procs[0].mean_ns), 5000);
	kit_close();
}

static void nothing_is_taken_while_the_holder_takes_alone(void **state)
{
	(void)state;
	begin(2);
	if (!kit.rt.membarrier) {
		kit_close();
		skip_because("no membarrier: all is shared for good");
	}
	kit_fill(1, 8);
	assert_true(wf_take_begin(&kit.procs[1]));
	assert_null(wf_search_round(&search, true));
	wf_take_end(&kit.procs[1]);
	assert_non_null(wf_search_round(&search, true));
	assert_int_equal(wf_load_rlx(&kit.procs[1].thieves), 0);
	kit_close();
}

/* A thief drops a dead ticket and keeps the entries that came with it. */
static void dead_tickets_are_not_run(void **state)
{
	static weft_fiber f;
	wf_entry dead = wf_fiber_ticket(&f, 0);

	(void)state;
	begin(2);
	assert_true(wf_runq_push(&kit.procs[1].runq, dead));
	kit_fill(1, 3);
	assert_null(wf_search_round(&search, false));
	assert_int_equal(wf_runq_len(&kit.procs[0].runq), 1);
	kit_empty(&kit.procs[0]);
	kit_empty(&kit.procs[1]);
	/* The thief claims the fiber of a fresh ticket. */
	wf_store_rlx(&f.state, WF_FIBER_LIVE | WF_FIBER_FRESH);
	assert_true(wf_runq_push(&kit.procs[1].runq, dead));
	kit_fill(1, 1);
	assert_ptr_equal(wf_search_round(&search, false), &f.task);
	assert_int_equal(wf_load_rlx(&f.state), WF_FIBER_LIVE);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* By policy. */

static void one_is_stolen_where_the_policy_says_so(void **state)
{
	(void)state;
	begin_policy(2, (weft_policy){ .steal = WEFT_STEAL_ONE });
	for (size_t n = 0; n < 20; n++) {
		uint64_t before = stolen();
		weft_task *oldest = &kit.tasks[kit.next_task % KIT_TASKS];

		kit_fill(1, n);
		assert_ptr_equal(
			wf_search_round(&search, true), n > 1 ? oldest : NULL);
		assert_int_equal(stolen() - before, n > 1);
		assert_int_equal(
			wf_runq_len(&kit.procs[1].runq), n > 1 ? n - 1 : n);
		assert_int_equal(wf_runq_len(&kit.procs[0].runq), 0);
		kit_empty(&kit.procs[1]);
	}
	kit_close();
}

/* Of yielders: half, the rest of which goes to the global queue; or one. */
static void yielders_are_stolen_by_the_same_measure(void **state)
{
	(void)state;
	for (int one = 0; one < 2; one++) {
		weft_policy policy = {
			.steal = one ? WEFT_STEAL_ONE : WEFT_STEAL_HALF
		};
		struct wf_proc *v;

		begin_policy(2, policy);
		v = &kit.procs[1];
		for (int i = 0; i < 7; i++)
			wf_yielders_add(v, kit_task());
		assert_ptr_equal(wf_search_round(&search, true), kit.tasks);
		assert_int_equal(stolen(), one ? 1 : 3);
		assert_int_equal(wf_load_rlx(&v->yielders.count), one ? 6 : 4);
		assert_int_equal(
			wf_inject_len(&kit.groups[0].inject), one ? 0 : 2);
		while (wf_load_rlx(&v->yielders.count) != 0)
			(void)wf_yielders_take(v);
		kit_close();
	}
}

/* A slot that is shut holds nothing, not even for the last round. */
static void a_slot_that_is_shut_is_left_alone(void **state)
{
	struct wf_proc *v;
	weft_task *lone;

	(void)state;
	begin_policy(2, (weft_policy){ .lifo = WEFT_LIFO_OFF });
	v = &kit.procs[1];
	wait_long();
	assert_null(wf_search_round(&search, true));
	assert_false(search.may_unstick);
	lone = kit_task();
	wf_yielders_add(v, lone);
	assert_ptr_equal(wf_search_round(&search, true), lone);
	assert_true(wf_load_rlx(&v->slot) == 0);
	assert_int_equal(stolen(), 1);
	kit_close();
}

static void search_once(void)
{
	(void)wf_search_round(&search, true);
}

static void a_queue_with_a_mutex_is_robbed_under_it(void **state)
{
	(void)state;
	begin_policy(2, (weft_policy){ .local = WEFT_LOCAL_MUTEX });
	kit_fill(1, 9);
	assert_true(waits_for(&kit.procs[1].runq.lock, search_once));
	assert_int_equal(stolen(), 4);
	kit_close();
}

/* A thief copies its victim's coarse flag and changes no other flag. */
static void a_thief_keeps_its_other_flags(void **state)
{
	(void)state;
	begin(2);
	wf_store_rlx(&kit.procs[0].push_flags, WF_PUSH_POLICY);
	wf_store_rlx(&kit.procs[1].push_flags, WF_PUSH_POLICY | WF_PUSH_COARSE);
	kit_fill(1, 2);
	assert_non_null(wf_search_round(&search, false));
	assert_int_equal(wf_load_rlx(&kit.procs[0].push_flags),
		WF_PUSH_POLICY | WF_PUSH_COARSE);
	kit_empty(&kit.procs[1]);
	/* The flag of the policy does not make the victim's tasks coarse. */
	wf_store_rlx(&kit.groups[0].gate_open, false);
	wf_store_rlx(&kit.procs[1].push_flags, WF_PUSH_POLICY);
	assert_false(wf_steal_allowed(&kit.procs[1]));
	kit_close();
}

/* A thief measures the delay of a fiber as often as a pick does. */
static void delays_of_stolen_fibers_are_measured(void **state)
{
	enum { ROUNDS = 61 * 100 };
	static weft_fiber f[2];
	uint64_t n = 0;

	(void)state;
	begin(2);
	for (int i = 0; i < ROUNDS; i++) {
		for (int j = 0; j < 2; j++) {
			f[j].task.run = wf_fiber_task_run;
			wf_store_rlx(&f[j].ready_us,
				(uint32_t)(wf_os_now_ns() / 1000) | 1);
			assert_true(wf_runq_push(&kit.procs[1].runq,
				wf_entry_of(&f[j].task)));
		}
		assert_non_null(wf_search_round(&search, false));
		kit_empty(&kit.procs[1]);
	}
	for (size_t i = 0; i < WEFT_DELAY_BUCKETS; i++)
		n += wf_load_rlx(&kit.procs[0].counters.delay[i]);
	assert_in_range(n, 50, 200);
	kit_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_round_comes_to_every_victim),
		cmocka_unit_test(the_order_differs_from_round_to_round),
		cmocka_unit_test(half_rounded_down_is_taken_and_counted),
		cmocka_unit_test(a_large_theft_marks_both_queues_for_a_shuffle),
		cmocka_unit_test(a_lone_task_stays_with_a_holder_that_picks),
		cmocka_unit_test(
			a_task_in_the_slot_stays_with_a_holder_that_picks),
		cmocka_unit_test(a_lone_task_stays_for_each_thief_and_victim),
		cmocka_unit_test(an_empty_victim_is_not_waited_for),
		cmocka_unit_test(fine_tasks_stay_behind_a_shut_gate),
		cmocka_unit_test(
			coarse_tasks_do_not_and_the_thief_knows_their_like),
		cmocka_unit_test(nothing_is_taken_while_the_holder_takes_alone),
		cmocka_unit_test(dead_tickets_are_not_run),
		cmocka_unit_test(one_is_stolen_where_the_policy_says_so),
		cmocka_unit_test(yielders_are_stolen_by_the_same_measure),
		cmocka_unit_test(a_slot_that_is_shut_is_left_alone),
		cmocka_unit_test(a_queue_with_a_mutex_is_robbed_under_it),
		cmocka_unit_test(a_thief_keeps_its_other_flags),
		cmocka_unit_test(delays_of_stolen_fibers_are_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
