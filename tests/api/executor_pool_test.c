/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_pool_test.c - a pool has the threads it was given, all of
 * which run, and runs tasks in the order of the submits.
 */
#include "api/api.h"

#include <pthread.h>
#include <sched.h>

#include <weft/weft.h>

static weft_executor *pool_of(unsigned threads)
{
	weft_executor *e = NULL;

	assert_int_equal(weft_pool_create(&e, threads), 0);
	assert_non_null(e);
	return e;
}

/* ------------------------------------------------------------------------ */

static struct {
	pthread_barrier_t all;
	weft_group left;
	_Atomic(unsigned) running, most;
} meeting;

static void meet(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&meeting.all);
	weft_group_done(&meeting.left);
}

static void run_beside_others(void *arg)
{
	unsigned now = atomic_fetch_add(&meeting.running, 1) + 1;
	unsigned most = atomic_load(&meeting.most);

	(void)arg;
	while (now > most &&
		!atomic_compare_exchange_weak(&meeting.most, &most, now))
		continue;
	nap_ns(NS_PER_MS);
	atomic_fetch_sub(&meeting.running, 1);
	weft_group_done(&meeting.left);
}

/* As many tasks as threads wait for each other; never more run at once. */
static void assert_threads(weft_executor *e, unsigned threads)
{
	assert_int_equal(pthread_barrier_init(&meeting.all, NULL, threads), 0);
	weft_group_add(&meeting.left, threads);
	for (unsigned i = 0; i < threads; i++)
		assert_int_equal(weft_submit_fn(e, meet, NULL), 0);
	assert_int_equal(weft_group_wait(&meeting.left, PATIENCE), 0);
	assert_int_equal(pthread_barrier_destroy(&meeting.all), 0);
	atomic_store(&meeting.most, 0);
	weft_group_add(&meeting.left, 4 * threads);
	for (unsigned i = 0; i < 4 * threads; i++)
		assert_int_equal(weft_submit_fn(e, run_beside_others, NULL), 0);
	assert_int_equal(weft_group_wait(&meeting.left, PATIENCE), 0);
	assert_in_range(atomic_load(&meeting.most), 1, threads);
}

static void it_has_the_threads_it_was_given(void **state)
{
	static const unsigned threads[] = { 1, 2, 5, 30 };

	(void)state;
	for (size_t i = 0; i < sizeof(threads) / sizeof(threads[0]); i++) {
		weft_executor *e = pool_of(threads[i]);

		assert_threads(e, threads[i]);
		assert_int_equal(weft_executor_destroy(e), 0);
	}
}

static void by_default_it_has_one_for_each_cpu(void **state)
{
	weft_executor *e = pool_of(0);
	cpu_set_t cpus;

	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(cpus), &cpus), 0);
	assert_threads(e, (unsigned)CPU_COUNT(&cpus));
	assert_int_equal(weft_executor_destroy(e), 0);
}

static void too_many_threads_are_refused(void **state)
{
	static const unsigned many[] = { 4097, 1000000, UINT32_MAX };
	weft_executor *untouched = weft_inline(), *e = untouched;

	(void)state;
	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		assert_int_equal(weft_pool_create(&e, many[i]), -EINVAL);
	assert_ptr_equal(e, untouched);
}

/* ------------------------------------------------------------------------ */

enum { LINE = 1000 };

static struct {
	weft_task tasks[LINE];
	size_t next;
} line;

static void run_in_line(weft_task *task)
{
	expect_eq(task - line.tasks, line.next++);
}

static void first_in_is_first_out(void **state)
{
	weft_executor *e = pool_of(1);

	(void)state;
	for (size_t i = 0; i < LINE; i++) {
		line.tasks[i].run = run_in_line;
		assert_int_equal(
			weft_submit(e, &line.tasks[i], WEFT_HINT_DEFAULT), 0);
	}
	assert_int_equal(weft_executor_destroy(e), 0);
	assert_expected();
	assert_int_equal(line.next, LINE);
}

/* ------------------------------------------------------------------------ */

static _Atomic(unsigned) came;

static void come(void *arg)
{
	(void)arg;
	atomic_fetch_add(&came, 1);
}

/* Made and unmade again and again, idle, at work, and just begun. */
static void pools_come_and_go(void **state)
{
	size_t n = rounds(300), submitted = 0;

	(void)state;
	atomic_store(&came, 0);
	for (size_t i = 0; i < n; i++) {
		weft_executor *e = pool_of(1 + i % 4);

		for (size_t j = 0; j < i % 5; j++)
			assert_int_equal(weft_submit_fn(e, come, NULL), 0);
		submitted += i % 5;
		if (i % 3 == 0)
			nap_ns(100 * NS_PER_US);
		assert_int_equal(weft_executor_destroy(e), 0);
	}
	assert_int_equal(atomic_load(&came), submitted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_the_threads_it_was_given),
		cmocka_unit_test(by_default_it_has_one_for_each_cpu),
		cmocka_unit_test(too_many_threads_are_refused),
		cmocka_unit_test(first_in_is_first_out),
		cmocka_unit_test(pools_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
