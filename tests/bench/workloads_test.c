/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/workloads_test.c - every workload comes to its end with the right
 * result, on every implementation that can run it, with one and more workers,
 * and its figures are plausible.
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

#include <weft/time.h>

#include "base/atomic.h"
#include "bench/policies.h"

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
	if (on->run != bench_weft.run)
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
	(void)state;
	for (size_t i = 0; bench_loads[i] != NULL; i++) {
		check_sample(bench_loads[i], &bench_pool, 1);
		check_sample(bench_loads[i], &bench_pool, 3);
	}
}

/*
 * Each policy runs one workload of the experiment.  tests/cli runs every policy
 * on every workload.
 */
static void with_every_policy(void **state)
{
	static struct bench_policies x;

	(void)state;
	assert_int_equal(bench_policies_open(&x), 0);
	assert_int_equal(bench_policies_add_usual(&x), 0);
	assert_int_equal(bench_policies_add_usual_loads(&x), 0);
	for (size_t i = 0; i < x.n; i++) {
		const struct bench_load *load = x.load[i % x.n_loads];

		check_sample(load, x.variant[i].on,
			bench_policies_workers(&x, load));
	}
}

static struct bench_sources sources(
	const struct bench_load *load, const char *words)
{
	const struct bench_impl *on = NULL;
	struct bench_sample s;
	char why[300];

	assert_int_equal(bench_impl_find(words, &on, why, sizeof(why)), 0);
	assert_int_equal(measure(load, on, 1, &s), 0);
	return s.from;
}

/* The words reach the scheduler: tasks come from other queues. */
static void policies_make_a_difference(void **state)
{
	struct bench_sources s;

	(void)state;
	s = sources(&bench_single_spawner, "ws");
	assert_true(s.local > s.ticks / 2);
	s = sources(&bench_single_spawner, "global-fifo");
	assert_true(s.global > s.ticks / 2);
	s = sources(&bench_starve, "ws");
	assert_true(s.lifo > 0);
	s = sources(&bench_starve, "no-lifo");
	assert_int_equal(s.lifo, 0);
}

/* Plain tasks cannot run workloads that wait. */
static void a_workload_that_cannot_run_is_refused(void **state)
{
	struct bench_impl simple = bench_pool;
	struct bench_sample s;

	(void)state;
	simple.can = 0;
	assert_int_equal(measure(&bench_yields, &simple, 1, &s), -ENOTSUP);
	assert_int_equal(measure(&bench_fib, &simple, 1, &s), -ENOTSUP);
	assert_int_equal(measure(&bench_starve, &simple, 1, &s), -ENOTSUP);
	check_sample(&bench_coarse, &simple, 1);
}

static _Atomic(uint64_t) starts;
static uint64_t last_start;

static int start_so_many(void (*fn)(void *), void *arg)
{
	if (wf_add_rlx(&starts, 1) == last_start)
		return -ENOMEM;
	return weft_go(fn, arg);
}

/* The number of fibers, or the error if one cannot be started. */
static int64_t measure_starts(const struct bench_load *load, uint64_t last)
{
	struct bench_impl odd = bench_weft;
	struct bench_sample s;
	int err;

	odd.go = start_so_many;
	wf_store_rlx(&starts, 0);
	last_start = last;
	err = measure(load, &odd, 2, &s);
	return err ? err : (int64_t)wf_load_rlx(&starts);
}

/* A late fiber, or one in the middle, fails: others must not wait for it. */
static void cannot_start(const struct bench_load *load)
{
	/* Fibers of a subprocess are not counted here. */
	int64_t n = load->subprocess ? 100 : measure_starts(load, UINT64_MAX);
	const int64_t at[] = { n - 1, n - 2, n / 2 };

	assert_true(n >= 3);
	for (size_t k = 0; k < sizeof(at) / sizeof(at[0]); k++) {
		int64_t err = measure_starts(load, (uint64_t)at[k]);

		if (err != -ENOMEM)
			printf("%s without fiber %d of %d: %d\n", load->name,
				(int)at[k], (int)n, (int)err);
		assert_int_equal(err, -ENOMEM);
	}
}

static void a_fiber_that_cannot_start_is_not_waited_for(void **state)
{
	(void)state;
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		if (bench_loads[i]->needs & BENCH_SUSPEND)
			cannot_start(bench_loads[i]);
}

static void by_plain_calls(void **state)
{
	(void)state;
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		if (bench_loads[i]->plain != NULL)
			check_sample(bench_loads[i], &bench_plain, 1);
}

/* Every implementation counts the same operations. */
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
	assert_int_equal(measure(&bench_pairs, &bench_weft, 1, &s), 0);
	assert_int_equal(s.ops, 200);
}

/* At a thousandth of the size. */
static void messages_and_sections_are_counted(void **state)
{
	static const struct {
		const struct bench_load *load;
		uint64_t ops;
	} small[] = {
		{ &bench_mutexes, 2 * 100 * 2 },
		{ &bench_mutexes_pthread, 2 * 100 * 2 },
		{ &bench_mutexes_strand, 2 * 100 * 2 },
		{ &bench_mutexes_inline, 2 * 100 * 2 },
		{ &bench_mutexes_async, 2 * 100 * 2 },
		{ &bench_channels, 50 * 20 },
		{ &bench_ping_pong_1, 1000 },
		{ &bench_ping_pong_100, 100 * 20 },
		{ &bench_prodcons_0, 1000 },
		{ &bench_prodcons_10, 1000 },
		{ &bench_prodcons_100, 1000 },
		{ &bench_mutex_free, 2 * 1000 },
		{ &bench_mutex_slack, 20 * 100 },
		{ &bench_mutex_work, 2 * 1000 },
		{ &bench_rwlock_10, 2 * 1000 },
		{ &bench_rwlock_1, 2 * 1000 },
		{ &bench_ring, 5000 },
		{ &bench_sieve, 2 },
		{ &bench_timers, 100 },
		{ &bench_timeouts, 10000 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(small) / sizeof(small[0]); i++) {
		struct bench_sample s;

		assert_int_equal(measure(small[i].load, &bench_weft, 2, &s), 0);
		if (s.ops != small[i].ops)
			printf("%s\n", small[i].load->name);
		assert_int_equal(s.ops, small[i].ops);
	}
}

/* part, scale and the implementation's share are multiplied. */
static void parts_are_smaller(void **state)
{
	struct bench b = { .workers = 1,
		.load = &bench_spawn_join,
		.on = &bench_weft,
		.scale = 0.01,
		.part = 0.5 };
	struct bench_sample s = { 0 };

	(void)state;
	assert_int_equal(bench_load_measure(&b, &s), 0);
	assert_int_equal(s.ops, 5000);
	b.on = &bench_pool;
	assert_int_equal(bench_load_measure(&b, &s), 0);
	assert_int_equal(s.ops, 1000);
}

static void some_workloads_report_more(void **state)
{
	struct bench_sample s;

	(void)state;
	assert_int_equal(measure(&bench_million, &bench_weft, 1, &s), 0);
	assert_int_equal(s.report.parked, 1000);
	assert_true(s.report.mappings > 0);
	/* A fiber that waits holds at least one page of stack. */
	assert_true(s.report.bytes_each > 1000);
	assert_int_equal(measure(&bench_coarse, &bench_weft, 1, &s), 0);
	assert_int_equal(s.user_ns, 200000);
	assert_true(s.cpu_ns >= s.user_ns);
	assert_int_equal(measure(&bench_slow_thread, &bench_weft, 1, &s), 0);
	assert_true(s.user_ns >= 100000 && s.user_ns % 100000 == 0);
	assert_int_equal(measure(&bench_ping_pong_hog, &bench_weft, 1, &s), 0);
	assert_true(s.user_ns >= 1000000 && s.user_ns % 1000000 == 0);
	assert_true(s.report.middle_us > 0);
	assert_true(s.report.middle_us <= s.report.most_us);
	assert_true(s.report.most_us <= s.report.worst_us);
}

/* Twice 100 sleepers, for up to 10 ms. */
static void sleepers_tell_how_late_they_are(void **state)
{
	struct bench_sample s;
	weft_time begin = weft_now();

	(void)state;
	assert_int_equal(measure(&bench_timers, &bench_weft, 2, &s), 0);
	assert_true(weft_now() - begin >= 2 * 9000000LL);
	for (int i = 0; i < 2; i++) {
		const struct bench_sleep *f = &s.report.sleep[i];

		assert_true(f->cpu_ms > 0);
		assert_true(f->longest_ms == 10 && f->done_ms >= 9);
		assert_true(f->late_us > 0 && f->late_us <= f->worst_us);
	}
	assert_true(s.ns == (int64_t)(s.report.sleep[1].done_ms * 1e6 + 0.5));
}

static void deadlines_have_their_price(void **state)
{
	struct bench_sample s;
	double ns;

	(void)state;
	assert_int_equal(measure(&bench_timeouts, &bench_weft, 1, &s), 0);
	assert_true(s.report.without_ns > 0 && s.report.with_ns > 0);
	ns = (s.report.with_ns - s.report.without_ns) * (double)s.ops;
	assert_int_equal(s.ns, ns < 1 ? 1 : (int64_t)ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_weft),
		cmocka_unit_test(on_the_pool),
		cmocka_unit_test(with_every_policy),
		cmocka_unit_test(policies_make_a_difference),
		cmocka_unit_test(a_workload_that_cannot_run_is_refused),
		cmocka_unit_test(a_fiber_that_cannot_start_is_not_waited_for),
		cmocka_unit_test(by_plain_calls),
		cmocka_unit_test(operations_are_counted),
		cmocka_unit_test(messages_and_sections_are_counted),
		cmocka_unit_test(parts_are_smaller),
		cmocka_unit_test(some_workloads_report_more),
		cmocka_unit_test(sleepers_tell_how_late_they_are),
		cmocka_unit_test(deadlines_have_their_price),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
