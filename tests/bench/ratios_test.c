/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/ratios_test.c - weft is compared with the pool on as many
 * workers, and judged by its time on two; floors are judged by other floors,
 * sleepers by how late they are.
 */
#include "bench/table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/workloads.h"

static struct bench_plan plan;
static struct bench_result results[BENCH_PLAN_MAX];
static char text[16384];

/* One row, with that time. */
static void row(const struct bench_load *load, const struct bench_impl *on,
	unsigned workers, double ns)
{
	results[plan.n] = (struct bench_result){
		.rounds = 1, .ops = 1, .ns = { ns }, .total_ms = ns / 1e6
	};
	bench_plan_row(&plan, load, on, workers, 1);
}

/* Standard output of bench_print_tables. */
static const char *tables(void)
{
	FILE *file = tmpfile();
	int kept;
	size_t n;

	assert_non_null(file);
	fflush(stdout);
	kept = dup(STDOUT_FILENO);
	dup2(fileno(file), STDOUT_FILENO);
	bench_print_tables(&plan, results, 1);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	rewind(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	return text;
}

static void expect(const char *line)
{
	if (strstr(tables(), line) == NULL)
		printf("not there: %s\nin:%s\n", line, text);
	assert_non_null(strstr(text, line));
}

/* yield: at least 8 times the pool. */
static void yields(double pool, const char *line)
{
	plan.n = 0;
	row(&bench_yields, &bench_weft, 1, 10);
	row(&bench_yields, &bench_weft, 2, 10);
	row(&bench_yields, &bench_pool, 1, 30);
	row(&bench_yields, &bench_pool, 2, pool);
	expect(line);
}

static void limits_are_of_two_workers(void **state)
{
	(void)state;
	yields(81,
		"yield               2     3.00     8.10        -     1.00  "
		"      -  reaches 8.0 times the pool\n");
	yields(79.6, "  reaches 8.0 times the pool\n");
	yields(79, "  BELOW 8.0 times the pool\n");
}

/* The earlier experiment has more workers; they are shown, and not judged. */
static void more_workers_are_shown(void **state)
{
	(void)state;
	plan.n = 0;
	row(&bench_different_spawners, &bench_weft, 2, 10);
	row(&bench_different_spawners, &bench_weft, 8, 20);
	row(&bench_different_spawners, &bench_pool, 2, 50);
	row(&bench_different_spawners, &bench_pool, 8, 20);
	expect("different-spawners  8        -     5.00     1.00        -     "
	       "   -  reaches 4.0 times the pool\n");
}

/* A workload without a limit of its own must be as fast as the pool. */
static void the_usual_limit_is_the_pools_time(void **state)
{
	(void)state;
	plan.n = 0;
	row(&bench_coarse, &bench_weft, 2, 100);
	row(&bench_coarse, &bench_pool, 2, 100);
	row(&bench_starve, &bench_weft, 2, 100);
	row(&bench_starve, &bench_pool, 2, 90);
	expect("coarse              2        -     1.00        -        -      "
	       "  -  reaches 1.0 times the pool\n");
	expect("starve              2        -     0.90        -        -      "
	       "  -  BELOW 1.0 times the pool\n");
}

static void without_a_pool_nothing_is_judged(void **state)
{
	(void)state;
	plan.n = 0;
	row(&bench_fib, &bench_weft, 1, 100);
	row(&bench_fib, &bench_weft, 2, 50);
	row(&bench_fib, &bench_pool, 2, 50);
	results[2].err = -ENOMEM;
	expect("fib                 2        -        -        -     2.00      "
	       "  -\n");
	assert_null(strstr(text, "the pool"));
}

/* A name of a policy may be wide; the columns stay aligned. */
static void long_names_widen_the_table(void **state)
{
	static const char words[] = "mutex,steal-one,take-all,wake-go";
	struct bench_impl odd = bench_weft;
	const char *first, *second;

	(void)state;
	plan.n = 0;
	odd.name = words;
	row(&bench_coarse, &bench_weft, 2, 100);
	row(&bench_coarse, &odd, 2, 200);
	first = strstr(tables(), "coarse             weft ");
	second = strstr(text, "coarse             mutex");
	assert_true(first != NULL && second != NULL);
	assert_int_equal(strstr(first, " 2     100.00") - first,
		strstr(second, " 2     200.00") - second);
}

/* A floor, with that time. */
static void floor_row(const char *name, double ns)
{
	const struct bench *floor = bench_floors;

	while (strcmp(floor->name, name) != 0)
		floor++;
	results[plan.n] = (struct bench_result){
		.rounds = 1, .ops = 1, .ns = { ns }, .total_ms = ns / 1e6
	};
	bench_plan_floor(&plan, floor);
}

static void selects(double ready, double waiting)
{
	plan.n = 0;
	floor_row("floor-cas", 2);
	floor_row("floor-recv", 10);
	floor_row("floor-select", ready);
	floor_row("floor-recv-wait", 50);
	floor_row("floor-select-wait", waiting);
}

/* Three receives; 16 compare-and-swaps more than a receive that waits. */
static void floors_are_judged_by_others(void **state)
{
	(void)state;
	selects(29.9, 81.9);
	expect("   within 3.0 x floor-recv\n");
	expect("   within 16.0 above floor-recv-wait\n");
	selects(30.1, 82.1);
	expect("   OVER 3.0 x floor-recv\n");
	expect("   OVER 16.0 above floor-recv-wait\n");
	results[1].err = -ENOMEM;
	(void)tables();
	assert_null(strstr(text, " x floor-recv\n"));
}

static void both_numbers_of_workers_are_judged(void **state)
{
	(void)state;
	plan.n = 0;
	floor_row("floor-cas", 2);
	row(&bench_ping_pong_100, &bench_weft, 1, 41);
	row(&bench_ping_pong_100, &bench_weft, 2, 21);
	expect("  OVER 20.0\n");
	expect("  within 11.0\n");
}

/* Half of the fibers may take half of the CPU time. */
static void sleepers_are_judged(void **state)
{
	struct bench_sleep *s = &results[0].report.sleep[1];

	(void)state;
	plan.n = 0;
	row(&bench_timers, &bench_weft, 2, 20000);
	results[0].ops = 50000;
	*s = (struct bench_sleep){ 1000, 59.9, 1019.9, 5, 1999.9 };
	expect("      59.9 ms of CPU time with warm stacks, within 60\n");
	expect("    1019.9 ms from the release until all have woken, within "
	       "1020\n");
	expect("    1999.9 us late at worst, within 2000\n");
	*s = (struct bench_sleep){ 1000, 60.1, 1020.1, 5, 2000 };
	expect("      60.1 ms of CPU time with warm stacks, OVER 60\n");
	expect("    1020.1 ms from the release until all have woken, OVER "
	       "1020\n");
	expect("    2000.0 us late at worst, OVER 2000\n");
}

static void the_cost_of_deadlines_is_shown(void **state)
{
	(void)state;
	plan.n = 0;
	row(&bench_timeouts, &bench_weft, 1, 5);
	results[0].report.without_ns = 40;
	results[0].report.with_ns = 45.5;
	expect("     40.00 ns a wait without a deadline, in the last round\n"
	       "       45.50 ns a wait with a deadline\n"
	       "        5.50 ns to set and cancel it\n");
}

/*
 * The waits with a deadline were faster, or less memory was resident: noise.
 * Then no number is printed, judged or divided by.
 */
static void noise_is_not_shown_as_a_number(void **state)
{
	(void)state;
	plan.n = 0;
	row(&bench_timeouts, &bench_weft, 2, 0.000001);
	row(&bench_timeouts, &bench_pool, 2, 5);
	results[0].report.without_ns = 45.5;
	results[0].report.with_ns = 40;
	expect("         - ns to set and cancel it: below what can be "
	       "measured\n");
	expect("timeouts           weft   2          -          -         -");
	expect("  below what can be measured\n");
	assert_null(strstr(text, "within"));
	assert_null(strstr(text, "times the pool"));
	assert_null(strstr(text, "-5.50"));
	plan.n = 0;
	row(&bench_million, &bench_weft, 2, 100);
	results[0].report.bytes_each = -3;
	expect("         - bytes resident each: below what can be measured\n");
	assert_null(strstr(text, "-3"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_of_two_workers),
		cmocka_unit_test(more_workers_are_shown),
		cmocka_unit_test(the_usual_limit_is_the_pools_time),
		cmocka_unit_test(without_a_pool_nothing_is_judged),
		cmocka_unit_test(long_names_widen_the_table),
		cmocka_unit_test(floors_are_judged_by_others),
		cmocka_unit_test(both_numbers_of_workers_are_judged),
		cmocka_unit_test(sleepers_are_judged),
		cmocka_unit_test(the_cost_of_deadlines_is_shown),
		cmocka_unit_test(noise_is_not_shown_as_a_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
