/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/shuffle_test.c - a marked queue is shuffled at the next stop that
 * allows it; no task is lost, and none is shuffled twice.
 */
#include "pick_kit.h"

#include "sched/shuffle.h"

enum { MANY = 100 };

/*
 * Pick n tasks, which must be the first n items in any order, each once.
 * Returns how many were not picked in the order of their numbers.
 */
static size_t pick_strays(size_t n)
{
	bool seen[MANY] = { false };
	size_t strays = 0;

	for (size_t i = 0; i < n; i++) {
		long got = number(wf_pick_quick(p));

		assert_true(got >= 0 && got < MANY);
		assert_false(seen[got]);
		seen[got] = true;
		strays += (size_t)got != i;
	}
	return strays;
}

/* Fill the queue and mark it; the next pick stops. */
static void fill_and_mark(void)
{
	for (size_t i = 0; i < MANY; i++)
		to_local(i);
	wf_store_rlx(&p->to_shuffle, true);
	look_next();
}

static void a_marked_queue_is_shuffled_and_nothing_is_lost(void **state)
{
	(void)state;
	make_rt(1, 256, 61);
	fill_and_mark();
	assert_true(pick_strays(MANY) > MANY / 2);
	assert_false(wf_load_rlx(&p->to_shuffle));
	assert_null(wf_pick_quick(p));
	free_rt();
}

static void it_stays_as_it_is_while_thieves_may_take(void **state)
{
	(void)state;
	make_rt(1, 256, 61);
	wf_store_rlx(&p->shared, true);
	fill_and_mark();
	assert_int_equal(pick_strays(MANY), 0);
	assert_true(wf_load_rlx(&p->to_shuffle));
	wf_store_rlx(&p->shared, false);
	fill_and_mark();
	assert_true(pick_strays(MANY) > 0);
	free_rt();
}

static void it_stays_as_it_is_while_tasks_are_coarse(void **state)
{
	(void)state;
	make_rt(1, 256, 61);
	wf_store_rlx(&p->push_flags, WF_PUSH_COARSE);
	fill_and_mark();
	assert_int_equal(pick_strays(MANY), 0);
	assert_true(wf_load_rlx(&p->to_shuffle));
	free_rt();
}

/* The yielder runs after the tasks that were ready when it yielded. */
static void it_stays_as_it_is_while_a_yielder_waits(void **state)
{
	(void)state;
	make_rt(1, 256, 61);
	for (size_t i = 0; i < MANY / 2; i++)
		to_local(i);
	wf_push_yield(p, &item[MANY].task);
	for (size_t i = MANY / 2; i < MANY; i++)
		to_local(i);
	wf_store_rlx(&p->to_shuffle, true);
	look_next();
	assert_int_equal(pick_strays(MANY / 2), 0);
	assert_pick(MANY);
	free_rt();
}

/* The turns count places of the local queue. */
static void it_stays_as_it_is_while_queues_take_turns(void **state)
{
	(void)state;
	make_rt(1, 256, 61);
	fill_and_mark();
	p->turn.of = WF_TURN_LOCAL;
	wf_shuffle(p);
	assert_true(wf_load_rlx(&p->to_shuffle));
	p->turn.of = WF_TURN_NONE;
	wf_store_rlx(&p->to_shuffle, false);
	assert_int_equal(pick_strays(MANY), 0);
	free_rt();
}

static void no_task_is_shuffled_twice(void **state)
{
	wf_entry second;

	(void)state;
	make_rt(1, 256, 61);
	fill_and_mark();
	assert_non_null(wf_pick_quick(p));
	for (size_t i = 1; i < MANY; i++) {
		second = wf_runq_peek(&p->runq);
		wf_store_rlx(&p->to_shuffle, true);
		look_next();
		assert_ptr_equal(wf_pick_quick(p), wf_entry_task(second));
	}
	assert_true(wf_load_rlx(&p->to_shuffle));
	free_rt();
}

static void only_a_large_theft_marks_both_processors(void **state)
{
	struct wf_proc *other;

	(void)state;
	make_rt(2, 256, 61);
	other = &rt->procs[1];
	wf_shuffle_mark(p, other, WF_SHUFFLE_MIN - 1);
	assert_false(wf_load_rlx(&p->to_shuffle));
	assert_false(wf_load_rlx(&other->to_shuffle));
	wf_shuffle_mark(p, other, WF_SHUFFLE_MIN);
	assert_true(wf_load_rlx(&p->to_shuffle));
	assert_true(wf_load_rlx(&other->to_shuffle));
	free_rt();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_marked_queue_is_shuffled_and_nothing_is_lost),
		cmocka_unit_test(it_stays_as_it_is_while_thieves_may_take),
		cmocka_unit_test(it_stays_as_it_is_while_tasks_are_coarse),
		cmocka_unit_test(it_stays_as_it_is_while_a_yielder_waits),
		cmocka_unit_test(it_stays_as_it_is_while_queues_take_turns),
		cmocka_unit_test(no_task_is_shuffled_twice),
		cmocka_unit_test(only_a_large_theft_marks_both_processors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
