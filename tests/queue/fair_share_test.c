/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/fair_share_test.c - a share is the fair part, rounded up, and at
 * most what fits.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "queue/fair_share.h"

/* The least number by which as many sharers as there are get everything. */
static void the_share_is_the_fair_part_rounded_up(void **state)
{
	(void)state;
	for (size_t count = 0; count <= 100; count++) {
		for (size_t sharers = 1; sharers <= 101; sharers++) {
			size_t share = wf_fair_share(count, sharers, SIZE_MAX);

			assert_true(share * sharers >= count);
			if (count > 0)
				assert_true((share - 1) * sharers < count);
			else
				assert_int_equal(share, 0);
		}
	}
}

static void a_share_is_at_most_max(void **state)
{
	(void)state;
	for (size_t count = 0; count <= 20; count++) {
		for (size_t max = 0; max <= 21; max++) {
			size_t fair = wf_fair_share(count, 3, SIZE_MAX);

			assert_int_equal(wf_fair_share(count, 3, max),
				fair < max ? fair : max);
		}
	}
}

static void huge_numbers_do_not_overflow(void **state)
{
	(void)state;
	assert_int_equal(wf_fair_share(SIZE_MAX, 1, SIZE_MAX), SIZE_MAX);
	assert_int_equal(
		wf_fair_share(SIZE_MAX, 2, SIZE_MAX), SIZE_MAX / 2 + 1);
	assert_int_equal(wf_fair_share(SIZE_MAX, SIZE_MAX, SIZE_MAX), 1);
	assert_int_equal(wf_fair_share(1, SIZE_MAX, SIZE_MAX), 1);
	assert_int_equal(wf_fair_share(SIZE_MAX, 1, 256), 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_share_is_the_fair_part_rounded_up),
		cmocka_unit_test(a_share_is_at_most_max),
		cmocka_unit_test(huge_numbers_do_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
