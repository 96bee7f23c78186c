/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/workloads_test.c - every workload comes to its end with the right
 * result, on every implementation that can run it, with one and more workers,
 * and what it tells makes sense.
 */
#include "bench/workloads.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/plan.h"

/* Small enough for a sanitizer or an emulator. */
#define SCALE 0.001

static int measure(const struct bench_load *load, const struct bench_impl *on,
	unsigned workers, struct bench_sample *s)
{
	const struct bench b = {
		.name = load->name,
		.workers = workers,
		.load = load,
		.on = on,
		.scale = SCALE,
	};

	*s = (struct bench_sample){ 0 };
	return bench_load_measure(&b, s);
}

static void check_sample(const struct bench_load *load,
	const struct bench_impl *on, unsigned workers)
{
	struct bench_sample s;
	int err = measure(load, on, workers, &s);

	if (err || s.ops == 0)
		printf("%s on %s, %u workers: error %d, %llu operations\n",
			load->name, on->name, workers, err,
			(unsigned long long)s.ops);
	assert_int_equal(err, 0);
	assert_true(s.ops > 0);
	assert_true(s.ns > 0);
	assert_true(s.cpu_ns > 0);
	assert_true(s.user_ns >= 0);
	assert_true(s.peak_rss_kb > 0);
	if (on != &bench_weft)
		return;
	assert_true(s.from.ticks > 0);
	assert_int_equal(s.from.ticks,
		s.from.lifo + s.from.local + s.from.global + s.from.stolen);
	assert_true(s.from.wakes_futile <= s.from.wakes);
}

static void on_weft(void **state)
{
	static const unsigned workers[] = { 1, 2, 4 };

	(void)state;
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		for (size_t k = 0; k < sizeof(workers) / sizeof(*workers); k++)
			check_sample(bench_loads[i], &bench_weft, workers[k]);
}

static void on_the_pool(void **state)
{
	struct bench_sample s;
	size_t ran = 0;

	(void)state;
	for (size_t i = 0; bench_loads[i] != NULL; i++) {
		if (!bench_fits(bench_loads[i], &bench_pool)) {
			assert_int_equal(
				measure(bench_loads[i], &bench_pool, 1, &s),
				-ENOTSUP);
			continue;
		}
		check_sample(bench_loads[i], &bench_pool, 1);
		check_sample(bench_loads[i], &bench_pool, 3);
		ran++;
	}
	/* spawn-join, chained-spawn, remote-spawn, coarse and idle. */
	assert_int_equal(ran, 5);
}

static void by_plain_calls(void **state)
{
	(void)state;
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		if (bench_loads[i]->plain != NULL)
			check_sample(bench_loads[i], &bench_plain, 1);
}

/* The same operations, whatever runs them. */
static void operations_are_counted(void **state)
{
	struct bench_sample s;

	(void)state;
	assert_int_equal(measure(&bench_spawn_tree, &bench_weft, 1, &s), 0);
	assert_int_equal(s.ops, 2047);
	assert_int_equal(measure(&bench_spawn_tree, &bench_plain, 1, &s), 0);
	assert_int_equal(s.ops, 2047);
	/* fib(17) is 1,597: 2 x fib(18) - 1 calls. */
	assert_int_equal(measure(&bench_fib, &bench_weft, 1, &s), 0);
	assert_int_equal(s.ops, 2 * 2584 - 1);
	assert_int_equal(measure(&bench_spawn_join, &bench_weft, 1, &s), 0);
	assert_int_equal(s.ops, 1000);
	assert_int_equal(measure(&bench_yields, &bench_weft, 1, &s), 0);
	assert_int_equal(s.ops, 1000);
	assert_int_equal(measure(&bench_switch2, &bench_weft, 1, &s), 0);
	assert_int_equal(s.ops, 2000);
}

static void some_tell_more(void **state)
{
	struct bench_sample s;

	(void)state;
	assert_int_equal(measure(&bench_million, &bench_weft, 1, &s), 0);
	assert_int_equal(s.facts.parked, 1000);
	assert_true(s.facts.mappings > 0);
	/* A fiber that waits holds at least one page of stack. */
	assert_true(s.facts.bytes_each > 1000);
	assert_int_equal(measure(&bench_coarse, &bench_weft, 1, &s), 0);
	assert_int_equal(s.user_ns, 200000);
	assert_true(s.cpu_ns >= s.user_ns);
	assert_int_equal(measure(&bench_slow_thread, &bench_weft, 1, &s), 0);
	assert_true(s.user_ns >= 100000 && s.user_ns % 100000 == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_weft),
		cmocka_unit_test(on_the_pool),
		cmocka_unit_test(by_plain_calls),
		cmocka_unit_test(operations_are_counted),
		cmocka_unit_test(some_tell_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
