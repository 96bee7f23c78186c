/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/steal_test.c - a thief comes to every victim, takes half rounded
 * down, and what is alone only from an owner that computes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/limits.h"
#include "kit.h"
#include "locked.h"
#include "sched/handshake.h"
#include "sched/steal.h"
#include "support/skip.h"

static struct wf_search search;

/* The thief is processor 0, its victims run; the gate is open. */
static void begin(uint32_t procs)
{
	kit_open(procs, 0);
	wf_store_rlx(&kit.groups[0].gate_open, true);
	wf_search_begin(&search, &kit.procs[0]);
}

/* The search goes on for so long that whoever has not picked computes. */
static void wait_long(void)
{
	search.now_ns = search.start_ns + WF_STUCK_NS;
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

/* With something everywhere, each victim is the first one now and then. */
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
	struct wf_counters *counts = &kit.procs[0].counters;

	(void)state;
	begin(2);
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

/* ------------------------------------------------------------------------ */
/* What is alone: in the queue, or in the slot. */

/* Many that were divided are to be mixed by both; a few are not. */
static void many_are_known_to_be_divided(void **state)
{
	(void)state;
	begin(2);
	kit_fill(1, 2 * (WF_MIX_MIN - 1));
	assert_non_null(wf_search_round(&search, false));
	assert_false(wf_load_rlx(&kit.procs[0].divided));
	assert_false(wf_load_rlx(&kit.procs[1].divided));
	kit_empty(&kit.procs[0]);
	kit_empty(&kit.procs[1]);
	kit_fill(1, (size_t)(2 * WF_MIX_MIN));
	assert_non_null(wf_search_round(&search, false));
	assert_true(wf_load_rlx(&kit.procs[0].divided));
	assert_true(wf_load_rlx(&kit.procs[1].divided));
	kit_empty(&kit.procs[0]);
	kit_empty(&kit.procs[1]);
	kit_close();
}

static void put_alone(bool slot)
{
	if (slot)
		wf_store_rel(&kit.procs[1].slot, wf_entry_of(kit_task()));
	else
		kit_fill(1, 1);
}

static void expect_alone_only_from_who_computes(bool slot)
{
	weft_task *lone;

	begin(2);
	lone = &kit.tasks[kit.next_task];
	put_alone(slot);
	/* Its owner may be about to run it: it may be had by waiting. */
	assert_null(wf_search_round(&search, true));
	assert_true(search.lone);
	wait_long();
	assert_null(wf_search_round(&search, false));
	/* The owner has picked something since. */
	wf_bump(&kit.procs[1].counters.ticks, 1);
	assert_null(wf_search_round(&search, true));
	assert_false(search.lone);
	wf_search_begin(&search, &kit.procs[0]);
	assert_false(search.lone);
	search.now_ns = search.start_ns + WF_STUCK_NS - 1;
	assert_null(wf_search_round(&search, true));
	wait_long();
	assert_ptr_equal(wf_search_round(&search, true), lone);
	assert_int_equal(wf_proc_backlog(&kit.procs[1]), 0);
	assert_int_equal(stolen(), 1);
	kit_close();
}

static void a_lone_task_stays_with_an_owner_that_picks(void **state)
{
	(void)state;
	expect_alone_only_from_who_computes(false);
}

static void so_does_the_one_in_the_slot(void **state)
{
	(void)state;
	expect_alone_only_from_who_computes(true);
}

/* Each may be the thief, and each other one the victim. */
static void so_with_each_thief_and_victim(void **state)
{
	enum { PROCS = 3 };

	(void)state;
	for (uint32_t i = 0; i < PROCS * PROCS; i++) {
		struct wf_proc *thief = &kit.procs[i % PROCS];
		uint32_t v = i / PROCS;

		if (i % PROCS == v)
			continue;
		begin(PROCS);
		wf_bump(&kit.procs[v].counters.ticks, 5);
		wf_search_begin(&search, thief);
		wf_bump(&kit.procs[v].counters.ticks, 1);
		kit_fill(v, 1);
		wait_long();
		/* The owner has picked since the search began. */
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
	assert_false(search.lone);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* What may be taken. */

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
	assert_false(wf_load_rlx(&kit.procs[0].coarse));
	kit_close();
}

static void coarse_tasks_do_not_and_the_thief_knows_their_like(void **state)
{
	(void)state;
	begin(2);
	wf_store_rlx(&kit.groups[0].gate_open, false);
	wf_store_rlx(&kit.procs[1].coarse, true);
	wf_store_rlx(&kit.procs[1].mean_ns, 5000);
	assert_true(wf_steal_allowed(&kit.procs[1]));
	kit_fill(1, 2);
	assert_non_null(wf_search_round(&search, false));
	assert_true(wf_load_rlx(&kit.procs[0].coarse));
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

/* A dead ticket is no task; what came with it stays with the thief. */
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
	/* One that is fresh is claimed by who takes it. */
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
	begin(2);
	kit.groups[0].policy.steal = WEFT_STEAL_ONE;
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
		struct wf_proc *v = &kit.procs[1];

		begin(2);
		kit.groups[0].policy.steal = one ? WEFT_STEAL_ONE
						 : WEFT_STEAL_HALF;
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
	struct wf_proc *v = &kit.procs[1];
	weft_task *lone;

	(void)state;
	begin(2);
	wf_store_rlx(&v->slot, WF_SLOT_SHUT);
	wait_long();
	assert_null(wf_search_round(&search, true));
	assert_false(search.lone);
	lone = kit_task();
	wf_yielders_add(v, lone);
	assert_ptr_equal(wf_search_round(&search, true), lone);
	assert_true(wf_load_rlx(&v->slot) == WF_SLOT_SHUT);
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
	begin(2);
	kit.groups[0].policy.local = WEFT_LOCAL_MUTEX;
	assert_true(wf_share_open(&kit.procs[1]));
	kit_fill(1, 9);
	assert_true(waits_for(&kit.procs[1].runq.lock, search_once));
	assert_int_equal(stolen(), 4);
	kit_close();
}

/* What a thief learns of its victim's tasks changes no fixed flag. */
static void a_thief_keeps_what_is_fixed(void **state)
{
	(void)state;
	begin(2);
	wf_store_rlx(&kit.procs[0].coarse, WF_APART);
	wf_store_rlx(&kit.procs[1].coarse, WF_APART | WF_COARSE);
	kit_fill(1, 2);
	assert_non_null(wf_search_round(&search, false));
	assert_int_equal(
		wf_load_rlx(&kit.procs[0].coarse), WF_APART | WF_COARSE);
	kit_empty(&kit.procs[1]);
	/* Only apart: that says nothing of its tasks. */
	wf_store_rlx(&kit.groups[0].gate_open, false);
	wf_store_rlx(&kit.procs[1].coarse, WF_APART);
	assert_false(wf_steal_allowed(&kit.procs[1]));
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* Other groups. */

static void the_queues_of_other_groups_are_looked_at(void **state)
{
	(void)state;
	for (uint32_t other = 1; other < 3; other++) {
		kit_open(6, 2);
		assert_int_equal(kit.rt.group_count, 3);
		wf_search_begin(&search, &kit.procs[0]);
		assert_null(wf_search_abroad(&search));
		/* Its own global queue is not abroad. */
		kit_inject(0, 4);
		assert_null(wf_search_abroad(&search));
		kit_inject(other, 4);
		assert_non_null(wf_search_abroad(&search));
		assert_true(wf_inject_len(&kit.groups[other].inject) < 4);
		do
			kit_empty(&kit.procs[0]);
		while (wf_search_abroad(&search) != NULL);
		assert_int_equal(wf_inject_len(&kit.groups[0].inject), 4);
		/* Fine tasks do not travel that far, coarse ones do. */
		kit_fill(2 * other + 1, 4);
		assert_null(wf_search_abroad(&search));
		wf_store_rlx(&kit.procs[2 * other + 1].coarse, true);
		assert_non_null(wf_search_abroad(&search));
		kit_close();
	}
}

/* Behind tasks of 20 us nothing is left alone, wherever it waits. */
static void what_is_alone_abroad_is_taken_behind_long_tasks(void **state)
{
	struct wf_proc *v = &kit.procs[2];
	wf_entry e;

	(void)state;
	kit_open(4, 2);
	wf_search_begin(&search, &kit.procs[0]);
	wf_store_rlx(&v->coarse, WF_COARSE);
	wf_store_rlx(&v->mean_ns, WF_STUCK_NS - 1);
	kit_fill(2, 1);
	assert_null(wf_search_abroad(&search));
	wf_store_rlx(&v->mean_ns, WF_STUCK_NS);
	assert_non_null(wf_search_abroad(&search));
	assert_int_equal(wf_runq_len(&v->runq), 0);
	e = wf_entry_of(kit_task());
	wf_store_rel(&v->slot, e);
	assert_ptr_equal(wf_search_abroad(&search), wf_entry_task(e));
	/* If they are fine, the mean is of the time before. */
	wf_store_rlx(&v->coarse, 0);
	kit_fill(2, 1);
	assert_null(wf_search_abroad(&search));
	kit_close();
}

/* Who has nothing to spare is not even asked to share it. */
static void where_nothing_is_nobody_is_made_to_share(void **state)
{
	struct wf_proc *v = &kit.procs[2];

	(void)state;
	kit_open(4, 2);
	if (!kit.rt.membarrier) {
		kit_close();
		skip_because("no membarrier: all is shared for good");
	}
	wf_search_begin(&search, &kit.procs[0]);
	wf_store_rlx(&v->coarse, WF_COARSE);
	for (size_t n = 0; n < 2; n++) {
		assert_null(wf_search_abroad(&search));
		assert_false(wf_load_rlx(&v->shared));
		kit_fill(2, 1);
	}
	assert_non_null(wf_search_abroad(&search));
	assert_true(wf_load_rlx(&v->shared));
	kit_close();
}

/* Who steals a fiber measures its delay as often as who picks one. */
static void what_is_stolen_is_measured(void **state)
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
		cmocka_unit_test(many_are_known_to_be_divided),
		cmocka_unit_test(a_lone_task_stays_with_an_owner_that_picks),
		cmocka_unit_test(so_does_the_one_in_the_slot),
		cmocka_unit_test(so_with_each_thief_and_victim),
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
		cmocka_unit_test(a_thief_keeps_what_is_fixed),
		cmocka_unit_test(the_queues_of_other_groups_are_looked_at),
		cmocka_unit_test(
			what_is_alone_abroad_is_taken_behind_long_tasks),
		cmocka_unit_test(where_nothing_is_nobody_is_made_to_share),
		cmocka_unit_test(what_is_stolen_is_measured),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
