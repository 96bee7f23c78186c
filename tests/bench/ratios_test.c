/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/ratios_test.c - weft is compared with the pool on as many
 * workers, and judged by what it has on two.
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

/* The documents have more workers; they are shown, and not judged. */
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

/* Whatever has no limit of its own is at least as fast. */
static void nothing_is_slower(void **state)
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

/* Names of policies are wider than others; the columns stay columns. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_of_two_workers),
		cmocka_unit_test(more_workers_are_shown),
		cmocka_unit_test(nothing_is_slower),
		cmocka_unit_test(without_a_pool_nothing_is_judged),
		cmocka_unit_test(long_names_widen_the_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
