/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/plan_test.c - every workload gets its rows, each once, and the
 * rows they are compared with are there but hidden.
 */
#include "bench/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "bench/workloads.h"

static struct bench_plan plan;

static void empty(void)
{
	memset(&plan, 0, sizeof(plan));
}

static void a_row_for_each_number_of_workers(void **state)
{
	const struct bench_wish wish = { .scale = 0.5 };
	const struct bench *b;

	(void)state;
	empty();
	bench_plan_load(&plan, &bench_spawn_join, &wish, false);
	bench_plan_load(&plan, &bench_spawn_join, &wish, false);
	assert_int_equal(plan.n, 4);
	b = bench_plan_find(&plan, &bench_spawn_join, &bench_weft, 1);
	assert_non_null(b);
	assert_true(b->scale == 0.5 && b->limit == 8 && !b->hidden);
	b = bench_plan_find(&plan, &bench_spawn_join, &bench_weft, 2);
	assert_non_null(b);
	assert_true(b->limit == 0);
	b = bench_plan_find(&plan, &bench_spawn_join, &bench_pool, 1);
	assert_non_null(b);
	assert_true(b->limit == 0);
	assert_non_null(
		bench_plan_find(&plan, &bench_spawn_join, &bench_pool, 2));
}

static void wishes_decide_the_rows(void **state)
{
	struct bench_wish wish = { .workers = 3, .scale = 1 };

	(void)state;
	empty();
	bench_plan_load(&plan, &bench_spawn_join, &wish, true);
	assert_int_equal(plan.n, 2);
	assert_int_equal(plan.row[0].workers, 3);

	/* A long workload runs in part, unless it is named. */
	wish.workers = 0;
	bench_plan_load(&plan, &bench_idle, &wish, false);
	assert_true(plan.row[2].part > 0 && plan.row[2].part < 1);
	empty();
	bench_plan_load(&plan, &bench_idle, &wish, true);
	assert_true(plan.row[0].part == 0);
	empty();

	/* Several implementations, in the order they were asked for. */
	wish.impl[0] = &bench_pool;
	wish.impl[1] = &bench_weft;
	wish.n_impls = 2;
	bench_plan_load(&plan, &bench_yields, &wish, false);
	assert_int_equal(plan.n, 4);
	assert_ptr_equal(plan.row[0].on, &bench_pool);
	assert_ptr_equal(plan.row[2].on, &bench_weft);
}

/* A workload that the implementation cannot run has a row only if named. */
static void a_workload_that_cannot_run_is_left_out(void **state)
{
	const struct bench_impl simple = { .name = "simple" };
	struct bench_wish wish = { .workers = 1, .scale = 1 };

	(void)state;
	empty();
	wish.impl[0] = &simple;
	wish.n_impls = 1;
	bench_plan_load(&plan, &bench_yields, &wish, false);
	assert_int_equal(plan.n, 0);
	bench_plan_load(&plan, &bench_yields, &wish, true);
	assert_int_equal(plan.n, 1);
	assert_ptr_equal(plan.row[0].on, &simple);
}

/* The smaller limit of the workload and the implementation. */
static void the_smaller_limit_of_rounds_holds(void **state)
{
	static const unsigned few[][3] = { { 0, 0, 0 }, { 0, 5, 5 },
		{ 5, 0, 5 }, { 3, 5, 3 }, { 5, 3, 3 } };

	(void)state;
	for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
		const struct bench_load load = { .rounds = few[i][0] };
		const struct bench_impl on = { .rounds = few[i][1] };

		empty();
		bench_plan_row(&plan, &load, &on, 1, 1);
		assert_int_equal(plan.row[0].rounds, few[i][2]);
	}
}

/* Only weft with one or two workers has a limit. */
static void limits_are_for_one_and_two_workers(void **state)
{
	static const struct {
		const struct bench_impl *on;
		unsigned workers;
		double limit;
	} rows[] = { { &bench_weft, 1, 20 }, { &bench_weft, 2, 11 },
		{ &bench_weft, 4, 0 }, { &bench_pool, 1, 0 },
		{ &bench_pool, 2, 0 } };

	(void)state;
	empty();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bench_plan_row(&plan, &bench_ping_pong_100, rows[i].on,
			rows[i].workers, 1);
		assert_true(plan.row[i].limit == rows[i].limit);
	}
}

static const struct bench *floor_named(const char *name)
{
	const struct bench *floor = bench_floors;

	while (strcmp(floor->name, name) != 0)
		floor++;
	return floor;
}

/* A floor brings the floors that it is measured by. */
static void floors_have_their_base(void **state)
{
	const struct bench *b;

	(void)state;
	empty();
	bench_plan_floor(&plan, floor_named("floor-add"));
	bench_plan_complete(&plan);
	assert_int_equal(plan.n, 1);
	bench_plan_floor(&plan, floor_named("floor-select-wait"));
	bench_plan_complete(&plan);
	assert_int_equal(plan.n, 4);
	b = bench_plan_named(&plan, "floor-recv-wait");
	assert_true(b != NULL && b->hidden);
	b = bench_plan_named(&plan, "floor-cas");
	assert_true(b != NULL && b->hidden);
}

static void rows_compared_with_are_hidden(void **state)
{
	const struct bench_wish wish = { .scale = 1 };
	const struct bench *b;

	(void)state;
	empty();
	bench_plan_complete(&plan);
	assert_int_equal(plan.n, 0);
	bench_plan_load(&plan, &bench_fib, &wish, false);
	bench_plan_load(&plan, &bench_million, &wish, false);
	b = bench_plan_find(&plan, &bench_fib, &bench_plain, 1);
	assert_non_null(b);
	assert_true(b->hidden);
	bench_plan_complete(&plan);
	b = bench_plan_named(&plan, "floor-cas");
	assert_true(b != NULL && b->hidden);
	b = bench_plan_named(&plan, "floor-fault");
	assert_true(b != NULL && b->hidden);
}

/* floor-cas was asked for: it is shown, and once. */
static void everything_fits(void **state)
{
	const struct bench_wish wish = { .scale = 1 };
	size_t n;

	(void)state;
	empty();
	for (const struct bench *b = bench_floors; b->name; b++)
		bench_plan_floor(&plan, b);
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		bench_plan_load(&plan, bench_loads[i], &wish, false);
	n = plan.n;
	bench_plan_complete(&plan);
	assert_int_equal(plan.n, n);
	assert_false(bench_plan_named(&plan, "floor-cas")->hidden);
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		assert_non_null(bench_plan_named(&plan, bench_loads[i]->name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_for_each_number_of_workers),
		cmocka_unit_test(wishes_decide_the_rows),
		cmocka_unit_test(a_workload_that_cannot_run_is_left_out),
		cmocka_unit_test(the_smaller_limit_of_rounds_holds),
		cmocka_unit_test(limits_are_for_one_and_two_workers),
		cmocka_unit_test(floors_have_their_base),
		cmocka_unit_test(rows_compared_with_are_hidden),
		cmocka_unit_test(everything_fits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
