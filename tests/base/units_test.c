/* SPDX-License-Identifier: MIT */
/*
 * tests/base/units_test.c - sizes and times are computed exactly, and at the
 * ends of their range give the documented value instead of a wrong one.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/units.h"

static void units_are_what_they_are_called(void **state)
{
	(void)state;
	assert_int_equal(WF_KIB, 1024);
	assert_int_equal(WF_MIB, 1024 * WF_KIB);
	assert_int_equal(WF_GIB, 1024 * WF_MIB);
	assert_int_equal(WF_NS_PER_US, 1000);
	assert_int_equal(WF_NS_PER_MS, 1000 * WF_NS_PER_US);
	assert_int_equal(WF_NS_PER_S, 1000 * WF_NS_PER_MS);
}

static void powers_of_two(void **state)
{
	(void)state;
	assert_false(wf_is_pow2(0));
	for (int i = 0; i < 64; i++) {
		uint64_t power = UINT64_C(1) << i;

		assert_true(wf_is_pow2(power));
		assert_int_equal(wf_is_pow2(power - 1), i == 1);
		assert_int_equal(wf_is_pow2(power + 1), i == 0);
	}
	assert_false(wf_is_pow2(UINT64_MAX));
	assert_false(wf_is_pow2(12));
}

static void rounding_up(void **state)
{
	(void)state;
	assert_int_equal(wf_round_up(0, 4096), 0);
	assert_int_equal(wf_round_up(1, 4096), 4096);
	assert_int_equal(wf_round_up(4095, 4096), 4096);
	assert_int_equal(wf_round_up(4096, 4096), 4096);
	assert_int_equal(wf_round_up(4097, 4096), 8192);
	assert_int_equal(wf_round_up(17, 1), 17);
	assert_int_equal(wf_round_up(SIZE_MAX, 1), SIZE_MAX);
}

static void rounding_up_past_the_end_is_0(void **state)
{
	const size_t last = SIZE_MAX - 4095;	/* the last multiple of 4096 */

	(void)state;
	assert_int_equal(wf_round_up(last - 1, 4096), last);
	assert_int_equal(wf_round_up(last, 4096), last);
	assert_int_equal(wf_round_up(last + 1, 4096), 0);
	assert_int_equal(wf_round_up(SIZE_MAX, 4096), 0);
	assert_int_equal(wf_round_up(SIZE_MAX, 2), 0);
}

static void times_add_up(void **state)
{
	(void)state;
	assert_int_equal(wf_time_add(1, 2), 3);
	assert_int_equal(wf_time_add(5, -7), -2);
	assert_int_equal(wf_time_add(INT64_MAX, INT64_MIN), -1);
	assert_int_equal(wf_time_add(INT64_MAX - 1, 1), INT64_MAX);
	assert_int_equal(wf_time_add(INT64_MIN + 1, -1), INT64_MIN);
}

static void times_stop_at_the_ends(void **state)
{
	(void)state;
	assert_int_equal(wf_time_add(INT64_MAX, 1), INT64_MAX);
	assert_int_equal(wf_time_add(1, INT64_MAX), INT64_MAX);
	assert_int_equal(wf_time_add(INT64_MAX, INT64_MAX), INT64_MAX);
	assert_int_equal(wf_time_add(INT64_MIN, -1), INT64_MIN);
	assert_int_equal(wf_time_add(-1, INT64_MIN), INT64_MIN);
	assert_int_equal(wf_time_add(INT64_MIN, INT64_MIN), INT64_MIN);
}

static void least_and_greatest_size(void **state)
{
	(void)state;
	assert_int_equal(wf_min_size(1, 2), 1);
	assert_int_equal(wf_min_size(SIZE_MAX, 0), 0);
	assert_int_equal(wf_min_size(3, 3), 3);
	assert_int_equal(wf_max_size(1, 2), 2);
	assert_int_equal(wf_max_size(SIZE_MAX, 0), SIZE_MAX);
	assert_int_equal(wf_max_size(3, 3), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units_are_what_they_are_called),
		cmocka_unit_test(powers_of_two),
		cmocka_unit_test(rounding_up),
		cmocka_unit_test(rounding_up_past_the_end_is_0),
		cmocka_unit_test(times_add_up),
		cmocka_unit_test(times_stop_at_the_ends),
		cmocka_unit_test(least_and_greatest_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
