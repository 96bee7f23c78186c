/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/pick_test.c - the quick pick looks at its sources in the order
 * that sched/pick.h says, runs every task once, counts each as one tick by its
 * source, and drops dead tickets.
 */
#include "pick_kit.h"

#include "base/random.h"
#include "base/units.h"
#include "locked.h"
#include "support/threads.h"

/* ------------------------------------------------------------------------ */
/* Sources, one at a time. */

static void sources_come_in_order(void **state)
{
	(void)state;
	make_rt(1, 16, 61);
	wf_yielders_add(p, &item[1].task); /* nothing was ready: its turn */
	to_global(3);
	to_local(2);
	to_slot(0);
	for (int i = 0; i < 4; i++)
		assert_pick(i);
	assert_pick(-1);
	assert_counter(ticks, 4);
	assert_counter(runs_lifo, 1);
	assert_counter(runs_global, 1);
	assert_counter(grabs, 1);
	free_rt();
}

static void every_so_often_the_global_queue_is_first(void **state)
{
	enum { TICK = 5, LOCAL = 40, GLOBAL = 9 };
	long next_local = 100, next_global = 0;

	(void)state;
	make_rt(1, 64, TICK);
	look_next(); /* as a processor begins */
	for (int i = 0; i < GLOBAL; i++)
		to_global((size_t)i);
	for (int i = 0; i < LOCAL; i++)
		to_local((size_t)(100 + i));
	for (int i = 0; i < LOCAL; i++)
		assert_pick(i % TICK == 0 ? next_global++ : next_local++);
	assert_counter(runs_global, LOCAL / TICK);
	free_rt();
}

static void the_slot_is_picked_lifo_budget_times_in_a_row(void **state)
{
	(void)state;
	make_rt(1, 16, 61);
	to_local(10);
	to_local(11);
	for (int i = 0; i < 3; i++) {
		to_slot((size_t)i);
		assert_pick(i);
	}
	to_slot(3);
	assert_pick(10); /* and 3 is behind 11 */
	to_slot(4);
	assert_pick(4);
	assert_pick(11);
	assert_pick(3);
	assert_counter(runs_lifo, 4);
	/* A pick from elsewhere begins the count anew. */
	to_slot(0);
	assert_pick(0);
	assert_int_equal(p->streak, 1);
	to_local(1);
	assert_pick(1);
	assert_int_equal(p->streak, 0);
	free_rt();
}

static void a_fair_share_comes_from_the_global_queue(void **state)
{
	(void)state;
	make_rt(2, 256, 61);
	/* Fine tasks are not shared while the gate is shut. */
	for (size_t i = 0; i < 11; i++)
		to_global(i);
	assert_pick(0);
	assert_int_equal(wf_runq_len(&p->runq), 10);
	for (int i = 1; i < 11; i++)
		assert_pick(i);
	free_rt();
	make_rt(2, 256, 61);
	wf_store_rlx(&p->group->gate_open, true);
	for (size_t i = 0; i < 11; i++)
		to_global(i);
	assert_pick(0);
	assert_int_equal(wf_runq_len(&p->runq), 5); /* 11 by 2, rounded up */
	assert_int_equal(wf_inject_len(p->inject), 5);
	for (int i = 1; i < 6; i++)
		assert_pick(i);
	assert_counter(runs_global, 1);
	assert_counter(grabs, 1);
	free_rt();
}

static void a_share_is_at_most_half_a_queue(void **state)
{
	(void)state;
	make_rt(1, 8, 61);
	for (size_t i = 0; i < 20; i++)
		to_global(i);
	assert_pick(0);
	assert_int_equal(wf_runq_len(&p->runq), 3);
	assert_int_equal(wf_inject_len(p->inject), 16);
	free_rt();
}

/* ------------------------------------------------------------------------ */
/* Tickets. */

static void dead_tickets_are_dropped(void **state)
{
	(void)state;
	make_rt(1, 16, 61);
	wf_push(p, ticket(0, false));
	wf_push(p, ticket(1, false));
	wf_push(p, ticket(2, true));
	wf_push_next(p, ticket(3, false));
	/* One for an earlier use of the same memory is dead too. */
	wf_push(p, ticket(4, true));
	wf_store_rlx(&item[4].state, WF_FIBER_LIVE | WF_FIBER_FRESH);
	to_local(5);
	assert_pick(2);
	assert_false(wf_load_rlx(&item[2].state) & WF_FIBER_FRESH);
	assert_pick(5);
	assert_pick(-1);
	assert_true(wf_load_rlx(&item[4].state) & WF_FIBER_FRESH);
	assert_counter(ticks, 2);
	assert_counter(runs_lifo, 0);
	free_rt();
}

static void a_yielder_does_not_wait_for_dead_tickets(void **state)
{
	(void)state;
	make_rt(1, 16, 61);
	wf_push(p, ticket(0, false));
	wf_yielders_add(p, &item[1].task);
	assert_false(wf_yielders_ready(p));
	assert_pick(1);
	free_rt();
}

static void started_tasks_are_picked_and_tickets_are_not(void **state)
{
	(void)state;
	make_rt(1, 16, 61);
	wf_push(p, ticket(0, true));
	to_local(1);
	to_slot(2);
	to_global(3);
	/* Before its time: the next look is soon, the turn as planned. */
	agenda_set(p, 10, 10);
	assert_null(wf_pick_started(p, true));
	assert_int_equal(p->agenda.pause, 1);
	assert_int_equal(agenda_turn(p), 10);
	look_next();
	assert_int_equal(number(wf_pick_started(p, false)), 3);
	wf_yielders_add(p, &item[4].task);
	look_next();
	assert_int_equal(number(wf_pick_started(p, false)), 4);
	assert_true(wf_load_rlx(&item[0].state) & WF_FIBER_FRESH);
	assert_pick(2);
	assert_pick(0);
	/* It is not its turn. */
	agenda_set(p, 6, 1);
	assert_null(wf_pick_started(p, false));
	look_next();
	assert_int_equal(number(wf_pick_started(p, false)), 1);
	look_next();
	assert_null(wf_pick_started(p, false));
	assert_counter(ticks, 5);
	free_rt();
}

/* ------------------------------------------------------------------------ */
/* By policy. */

/* How many of 12 tasks one pick takes; 2 processors, local queues of 8. */
static void expect_grab(weft_policy policy, bool open, size_t n)
{
	make_rt_policy(2, 8, 61, policy);
	wf_store_rlx(&p->group->gate_open, open);
	for (size_t i = 0; i < 12; i++)
		to_global(i);
	assert_pick(0);
	assert_int_equal(wf_runq_len(&p->runq), n - 1);
	assert_int_equal(wf_inject_len(p->inject), 12 - n);
	assert_counter(grabs, 1);
	assert_counter(runs_global, 1);
	for (int i = 1; i < 12; i++)
		assert_pick(i);
	assert_pick(-1);
	free_rt();
}

static void as_much_is_taken_as_the_policy_says(void **state)
{
	(void)state;
	for (int open = 0; open < 2; open++) {
		expect_grab((weft_policy){ .take = WEFT_TAKE_SHARE }, open, 4);
		expect_grab((weft_policy){ .take = WEFT_TAKE_ONE }, open, 1);
		expect_grab((weft_policy){ .take = WEFT_TAKE_ALL }, open, 8);
	}
	/* From the only queue there is, one at a time. */
	for (uint32_t take = WEFT_TAKE_SHARE; take <= WEFT_TAKE_ALL; take++)
		expect_grab((weft_policy){ .queue = WEFT_QUEUE_GLOBAL,
				    .take = take },
			true, 1);
}

static void without_a_slot_none_is_looked_at(void **state)
{
	(void)state;
	make_rt_policy(1, 16, 61, (weft_policy){ .lifo = WEFT_LIFO_OFF });
	wf_yielders_add(p, &item[0].task);
	for (size_t i = 1; i < 8; i++)
		to_slot(i);
	for (int i = 0; i < 8; i++) {
		assert_pick(i);
		assert_int_equal(p->streak, 0);
		assert_true(wf_load_rlx(&p->slot) == 0);
	}
	assert_pick(-1);
	assert_counter(runs_lifo, 0);
	assert_counter(ticks, 8);
	free_rt();
}

static weft_task *locked_pick;

static void pick_one(void)
{
	locked_pick = wf_pick_quick(p);
}

/* With a mutex each pick is under it. */
static void a_queue_with_a_mutex_is_picked_from_under_it(void **state)
{
	(void)state;
	make_rt_policy(
		1, 16, 61, (weft_policy){ .local = WEFT_LOCAL_MUTEX });
	to_local(0);
	to_local(1);
	assert_true(waits_for(&p->runq.lock, pick_one));
	assert_int_equal(number(locked_pick), 0);
	assert_pick(1);
	assert_pick(-1);
	free_rt();
}

/* ------------------------------------------------------------------------ */
/* All together. */

static void every_task_is_picked_once_and_counted(void **state)
{
	static uint8_t picked[ITEMS];
	struct wf_random random;
	size_t next = 0, ticks = 0;
	weft_task *task;

	(void)state;
	wf_random_seed(&random, threads_seed());
	memset(picked, 0, sizeof(picked));
	make_rt(2, 8, 7);
	while (next < ITEMS) {
		switch (wf_random_below(&random, 8)) {
		case 0:
			to_global(next++);
			break;
		case 1:
			to_slot(next++);
			break;
		case 2:
			wf_push(p, ticket(next++, true));
			break;
		case 3:
			wf_push_yield(p, &item[next++].task);
			break;
		case 4:
			to_local(next++);
			break;
		default:
			task = wf_pick_quick(p);
			if (task != NULL)
				picked[number(task)]++;
			ticks += task != NULL;
		}
	}
	for (; (task = wf_pick_quick(p)) != NULL; ticks++)
		picked[number(task)]++;
	for (size_t i = 0; i < ITEMS; i++)
		assert_int_equal(picked[i], 1);
	assert_int_equal(ticks, ITEMS);
	assert_counter(ticks, ITEMS);
	free_rt();
}

static void a_look_measures_delays(void **state)
{
	uint64_t all = 0;

	(void)state;
	make_rt(1, 16, 2);
	look_next();
	for (size_t i = 0; i < 4; i++) {
		/* So long ago that a loaded machine makes no difference. */
		uint32_t us = (uint32_t)(wf_os_now_ns() / WF_NS_PER_US);

		wf_store_rlx(&item[i].ready_us, (us - (5u << 18)) | 1);
		to_local(i);
	}
	for (int i = 0; i < 4; i++)
		assert_pick(i);
	for (size_t i = 0; i < WEFT_DELAY_BUCKETS; i++)
		all += wf_load_rlx(&p->counters.delay[i]);
	/* Every second pick, or more often where a pick takes a millisecond. */
	assert_true(all >= 2 && all <= 4);
	assert_counter(delay[21], all); /* from 2^20 us, below 2^21 */
	free_rt();
}

/* Bucket 0: none; n: from 2^(n - 1) us on; the last: all that is longer. */
static void a_delay_counts_in_its_bucket(void **state)
{
	static const struct {
		int64_t us;
		unsigned bucket;
	} table[] = {
		{ -5, 0 }, { 0, 0 }, { 1, 1 }, { 2, 2 }, { 3, 2 }, { 4, 3 },
		{ (1 << 22) - 1, 22 }, { 1 << 22, 23 }, { 1 << 23, 23 },
		{ INT32_MAX, 23 },
	};
	const uint32_t since = 1001;

	(void)state;
	_Static_assert(WEFT_DELAY_BUCKETS == 24, "the table says 23");
	make_rt(1, 8, 61);
	wf_store_rlx(&item[0].ready_us, since);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		_Atomic(uint64_t) *at = &p->counters.delay[table[i].bucket];
		uint64_t before = wf_load_rlx(at);

		wf_pick_measure(
			p, &item[0].task, (since + table[i].us) * 1000);
		assert_int_equal(wf_load_rlx(at), before + 1);
	}
	free_rt();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_come_in_order),
		cmocka_unit_test(every_so_often_the_global_queue_is_first),
		cmocka_unit_test(the_slot_is_picked_lifo_budget_times_in_a_row),
		cmocka_unit_test(a_fair_share_comes_from_the_global_queue),
		cmocka_unit_test(a_share_is_at_most_half_a_queue),
		cmocka_unit_test(dead_tickets_are_dropped),
		cmocka_unit_test(a_yielder_does_not_wait_for_dead_tickets),
		cmocka_unit_test(started_tasks_are_picked_and_tickets_are_not),
		cmocka_unit_test(as_much_is_taken_as_the_policy_says),
		cmocka_unit_test(without_a_slot_none_is_looked_at),
		cmocka_unit_test(a_queue_with_a_mutex_is_picked_from_under_it),
		cmocka_unit_test(every_task_is_picked_once_and_counted),
		cmocka_unit_test(a_look_measures_delays),
		cmocka_unit_test(a_delay_counts_in_its_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
