/* SPDX-License-Identifier: MIT */
/*
 * tests/os/time_test.c - a deadline computed from now is neither in the past by
 * mistake nor wrapped around, however far away it is.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <time.h>

#include <weft/time.h>

#include "base/units.h"

/* The result for ns must be that much after some moment of the call. */
static void check_after(int64_t ns)
{
	weft_time before = weft_now();
	weft_time at = weft_after(ns);
	weft_time after = weft_now();

	assert_true(before + ns <= at);
	assert_true(at <= after + ns);
}

static void now_grows_between_its_ends(void **state)
{
	const struct timespec nap = { .tv_nsec = 2 * WF_NS_PER_MS };
	weft_time last = weft_now();

	(void)state;
	assert_true(last > WEFT_NOW && last < WEFT_FOREVER);
	for (int i = 0; i < 1000; i++) {
		weft_time now = weft_now();

		assert_true(now >= last);
		last = now;
	}
	nanosleep(&nap, NULL);
	assert_true(weft_now() >= last + 2 * WF_NS_PER_MS);
}

static void after_is_that_much_later(void **state)
{
	(void)state;
	check_after(1);
	check_after(WF_NS_PER_MS);
	check_after(1000000 * WF_NS_PER_S);
}

static void after_nothing_or_less_has_passed(void **state)
{
	(void)state;
	check_after(0);
	check_after(-1);
	assert_true(weft_after(0) <= weft_now());
	assert_true(weft_after(-1) < weft_now());
	assert_true(weft_after(-1) > WEFT_NOW);
}

static void before_the_clock_began_is_now(void **state)
{
	(void)state;
	assert_int_equal(weft_after(-2 * weft_now()), WEFT_NOW);
	assert_int_equal(weft_after(INT64_MIN), WEFT_NOW);
	assert_int_equal(weft_after(INT64_MIN + 1), WEFT_NOW);
}

static void too_far_away_is_forever(void **state)
{
	(void)state;
	assert_int_equal(weft_after(INT64_MAX), WEFT_FOREVER);
	assert_int_equal(weft_after(INT64_MAX - 1), WEFT_FOREVER);
	assert_int_equal(weft_after(INT64_MAX - weft_now()), WEFT_FOREVER);
	assert_true(weft_after(INT64_MAX / 2) < WEFT_FOREVER);
}

static void later_is_never_now(void **state)
{
	(void)state;
	for (int i = 0; i < 63; i++)
		assert_true(weft_after(INT64_C(1) << i) > WEFT_NOW);
	assert_true(weft_after(INT64_MAX) > WEFT_NOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(now_grows_between_its_ends),
		cmocka_unit_test(after_is_that_much_later),
		cmocka_unit_test(after_nothing_or_less_has_passed),
		cmocka_unit_test(before_the_clock_began_is_now),
		cmocka_unit_test(too_far_away_is_forever),
		cmocka_unit_test(later_is_never_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
