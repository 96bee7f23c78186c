/* SPDX-License-Identifier: MIT */
/*
 * tests/os/random_test.c - seeds differ from call to call, in every bit, and
 * also where the system has none to give.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdbool.h>
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>

#include "base/units.h"
#include "os/os.h"

#define SEEDS 64

static bool early_at_boot;

ssize_t __real_getrandom(void *buf, size_t bytes, unsigned flags);
ssize_t __wrap_getrandom(void *buf, size_t bytes, unsigned flags);

ssize_t __wrap_getrandom(void *buf, size_t bytes, unsigned flags)
{
	if (early_at_boot) {
		errno = EAGAIN;
		return -1;
	}
	return __real_getrandom(buf, bytes, flags);
}

static void no_two_seeds_are_the_same(void **state)
{
	uint64_t seeds[SEEDS];

	(void)state;
	for (int i = 0; i < SEEDS; i++) {
		seeds[i] = wf_os_random();
		for (int j = 0; j < i; j++)
			assert_true(seeds[i] != seeds[j]);
	}
}

/* By chance this fails in one of 2^57 runs. */
static void every_bit_is_sometimes_0_and_sometimes_1(void **state)
{
	uint64_t ever = 0, always = UINT64_MAX;

	(void)state;
	for (int i = 0; i < SEEDS; i++) {
		uint64_t seed = wf_os_random();

		ever |= seed;
		always &= seed;
	}
	assert_true(ever == UINT64_MAX);
	assert_true(always == 0);
}

static void without_the_system_seeds_differ_by_time(void **state)
{
	const struct timespec nap = { .tv_nsec = WF_NS_PER_MS };
	uint64_t first, second;

	(void)state;
	early_at_boot = true;
	first = wf_os_random();
	nanosleep(&nap, NULL);
	second = wf_os_random();
	early_at_boot = false;
	assert_true(first != 0);
	assert_true(first != second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_two_seeds_are_the_same),
		cmocka_unit_test(every_bit_is_sometimes_0_and_sometimes_1),
		cmocka_unit_test(without_the_system_seeds_differ_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
