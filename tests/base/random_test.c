/* SPDX-License-Identifier: MIT */
/*
 * tests/base/random_test.c - the generator is SplitMix64, the same for the same
 * seed, and its numbers below n are all of them and evenly spread.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"

static void it_gives_the_known_answers(void **state)
{
	static const uint64_t known[] = {
		UINT64_C(6457827717110365317),
		UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423),
		UINT64_C(4593380528125082431),
		UINT64_C(16408922859458223821),
	};
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, 0);
	assert_true(wf_random_next(&r) == UINT64_C(0xe220a8397b1dcdaf));
	wf_random_seed(&r, 1234567);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_true(wf_random_next(&r) == known[i]);
}

static void one_seed_gives_one_sequence(void **state)
{
	struct wf_random a, b, other;
	int same = 0;

	(void)state;
	wf_random_seed(&a, 42);
	wf_random_seed(&b, 42);
	wf_random_seed(&other, 43);
	for (int i = 0; i < 1000; i++) {
		uint64_t next = wf_random_next(&a);

		assert_true(next == wf_random_next(&b));
		same += next == wf_random_next(&other);
	}
	assert_int_equal(same, 0);
}

static void every_number_below_n_is_reached_and_no_other(void **state)
{
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, 1);
	for (uint32_t n = 1; n <= 64; n++) {
		uint64_t reached = 0;

		for (int i = 0; i < 64 * 32; i++) {
			uint32_t below = wf_random_below(&r, n);

			assert_true(below < n);
			reached |= UINT64_C(1) << below;
		}
		assert_true(reached == UINT64_MAX >> (64 - n));
	}
}

static void a_large_n_has_all_its_range(void **state)
{
	struct wf_random r;
	uint32_t low = UINT32_MAX, high = 0;

	(void)state;
	wf_random_seed(&r, 2);
	for (int i = 0; i < 10000; i++) {
		uint32_t below = wf_random_below(&r, UINT32_MAX);

		assert_true(below < UINT32_MAX);
		low = below < low ? below : low;
		high = below > high ? below : high;
	}
	assert_true(low < UINT32_MAX / 1000);
	assert_true(high > UINT32_MAX - UINT32_MAX / 1000);
}

/*
 * Chi-square.  The seed is fixed, so this cannot fail by chance; with n - 1
 * degrees of freedom even a random one would exceed 3 n once in millions.
 */
static void numbers_below_n_are_evenly_spread(void **state)
{
	static const uint32_t ns[] = { 10, 16, 61 };

	(void)state;
	for (size_t k = 0; k < sizeof(ns) / sizeof(ns[0]); k++) {
		uint32_t n = ns[k], count[64] = { 0 };
		const double expected = 2000;
		double chi_square = 0;
		struct wf_random r;

		wf_random_seed(&r, n);
		for (uint32_t i = 0; i < 2000 * n; i++)
			count[wf_random_below(&r, n)]++;
		for (uint32_t i = 0; i < n; i++) {
			double off = count[i] - expected;

			chi_square += off * off / expected;
		}
		assert_true(chi_square > n / 8.0 && chi_square < 3.0 * n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_gives_the_known_answers),
		cmocka_unit_test(one_seed_gives_one_sequence),
		cmocka_unit_test(every_number_below_n_is_reached_and_no_other),
		cmocka_unit_test(a_large_n_has_all_its_range),
		cmocka_unit_test(numbers_below_n_are_evenly_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
