/* SPDX-License-Identifier: MIT */
/*
 * tests/os/clock_test.c - the clock is the monotonic one, greater than 0, and
 * goes backwards on no thread.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <time.h>

#include "base/atomic.h"
#include "base/units.h"
#include "os/os.h"

#define LOOKS 20000

static int64_t system_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * WF_NS_PER_S + t.tv_nsec;
}

static void it_is_the_monotonic_clock_in_nanoseconds(void **state)
{
	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t before = system_clock();
		int64_t now = wf_os_now_ns();

		assert_true(now > 0);
		assert_true(before <= now);
		assert_true(now <= system_clock());
	}
}

static void it_counts_the_time_slept(void **state)
{
	const struct timespec nap = { .tv_nsec = 20 * WF_NS_PER_MS };
	int64_t before = wf_os_now_ns();

	(void)state;
	nanosleep(&nap, NULL);
	assert_true(wf_os_now_ns() - before >= 20 * WF_NS_PER_MS);
}

/* What one thread has seen is past for every other. */
static _Atomic(int64_t) latest;
static _Atomic(int) backwards;

static void *looker(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOOKS; i++) {
		int64_t seen = wf_load_acq(&latest);
		int64_t now = wf_os_now_ns();

		if (now < seen)
			wf_add_rlx(&backwards, 1);
		wf_store_rel(&latest, now);
	}
	return NULL;
}

static void it_goes_backwards_on_no_thread(void **state)
{
	pthread_t threads[3];

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, looker, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(wf_load_rlx(&backwards), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_the_monotonic_clock_in_nanoseconds),
		cmocka_unit_test(it_counts_the_time_slept),
		cmocka_unit_test(it_goes_backwards_on_no_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
