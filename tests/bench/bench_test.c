/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/bench_test.c - rounds alternate, the median is the median, a
 * bench that fails is reported and not run again, one that wants fewer rounds
 * gets them, and the samples of all rounds are combined.
 */
#include "bench/bench.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char order[32];
static const int64_t times[] = { 500, 100, 300, 200, 400 };
static int calls;

static int slow_and_fast(uint64_t *ops, int64_t *ns)
{
	strcat(order, "a");
	*ns = times[calls++] * (int64_t)*ops;
	return 0;
}

static int does_half(uint64_t *ops, int64_t *ns)
{
	strcat(order, "b");
	*ops /= 2;
	*ns = 1000;
	return 0;
}

static int fails(uint64_t *ops, int64_t *ns)
{
	(void)ops;
	(void)ns;
	strcat(order, "c");
	return -EAGAIN;
}

static void rounds_alternate(void **state)
{
	const struct bench a = { .name = "a", .ops = 10, .run = slow_and_fast };
	const struct bench b = { .name = "b", .ops = 20, .run = does_half };
	const struct bench c = { .name = "c", .ops = 1, .run = fails };
	const struct bench *all[] = { &a, &b, &c };
	struct bench_result r[3];

	(void)state;
	bench_run(all, 3, 5, false, r);
	assert_string_equal(order, "abcabababab");

	assert_int_equal(r[0].rounds, 5);
	assert_int_equal((int)bench_median(&r[0]), 300);
	assert_int_equal((int)bench_min(&r[0]), 100);

	assert_int_equal(r[1].ops, 10);
	assert_int_equal((int)bench_median(&r[1]), 100);

	assert_int_equal(r[2].err, -EAGAIN);
	assert_int_equal(r[2].rounds, 0);
}

/* Each round takes longer, and has more of everything, than the one before. */
static int grows(const struct bench *b, struct bench_sample *s)
{
	uint64_t n = (uint64_t)++calls;

	strcat(order, b->name);
	*s = (struct bench_sample){
		.ops = 10,
		.ns = (int64_t)(100 * n),
		.cpu_ns = (int64_t)n * 2000000,
		.user_ns = (int64_t)n * 1000000,
		.peak_rss_kb = (long)n,
		.from = { n, n, n, n, n, n, n },
		.report = { .parked = n },
	};
	return 0;
}

static void samples_are_combined(void **state)
{
	const struct bench a = { .name = "a", .measure = grows };
	const struct bench b = { .name = "b", .measure = grows, .rounds = 1 };
	const struct bench *all[] = { &a, &b };
	struct bench_result r[2];
	const uint64_t *sum;

	(void)state;
	order[0] = '\0';
	calls = 0;
	bench_run(all, 2, 3, false, r);
	assert_string_equal(order, "abaa");

	/* a had calls 1, 3 and 4. */
	assert_int_equal(r[0].rounds, 3);
	assert_int_equal((int)bench_median(&r[0]), 30);
	assert_int_equal((int)(r[0].total_ms * 1e6), 300);
	assert_int_equal((int)(r[0].cpu_ms * 30), 160);
	assert_int_equal((int)(r[0].user_ms * 30), 80);
	/* Per operation, of ten; the median of three rounds. */
	assert_int_equal((int)bench_cpu_median(&r[0]), 600000);
	assert_int_equal(r[0].peak_rss_kb, 4);
	assert_int_equal(r[0].report.parked, 4);
	sum = &r[0].from.ticks;
	for (size_t i = 0; i < sizeof(r[0].from) / sizeof(*sum); i++)
		assert_int_equal(sum[i], 8);

	assert_int_equal(r[1].rounds, 1);
	assert_int_equal(r[1].from.wakes_futile, 2);
}

/* The longest first, then the shortest. */
static int varies(const struct bench *b, struct bench_sample *s)
{
	(void)b;
	*s = (struct bench_sample){ .ops = 10,
		.ns = 1,
		.cpu_ns = times[calls++] };
	return 0;
}

static void cpu_time_has_a_median_too(void **state)
{
	const struct bench a = { .name = "a", .measure = varies };
	const struct bench *all[] = { &a };
	struct bench_result r;

	(void)state;
	calls = 0;
	bench_run(all, 1, 3, false, &r);
	assert_int_equal((int)bench_cpu_median(&r), 30);
}

/* Two of five rounds are the first and one in the middle. */
static void few_rounds_are_spread(void **state)
{
	const struct bench a = { .name = "a", .measure = grows };
	const struct bench b = { .name = "b", .measure = grows, .rounds = 2 };
	const struct bench c = { .name = "c", .measure = grows, .rounds = 9 };
	const struct bench *all[] = { &a, &b, &c };
	struct bench_result r[3];

	(void)state;
	order[0] = '\0';
	bench_run(all, 3, 5, false, r);
	assert_string_equal(order, "abcacacabcac");
	assert_int_equal(r[1].rounds, 2);
	assert_int_equal(r[2].rounds, 5);
}

static void every_floor_works(void **state)
{
	(void)state;
	for (const struct bench *b = bench_floors; b->name; b++) {
		uint64_t ops = 1000;
		int64_t ns = -1;
		int err = b->run(&ops, &ns);

		if (err == -ENODEV) {
			printf("%s needs two CPUs, here is one\n", b->name);
			continue;
		}
		assert_int_equal(err, 0);
		assert_true(ops > 0 && ops <= 1000);
		assert_true(ns > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounds_alternate),
		cmocka_unit_test(samples_are_combined),
		cmocka_unit_test(cpu_time_has_a_median_too),
		cmocka_unit_test(few_rounds_are_spread),
		cmocka_unit_test(every_floor_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
