/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/clock_test.c - every lane of a clock counts: in the join, in
 * "within" and in "reached".
 */
#include "sim/sim_kit.h"

#include "base/random.h"
#include "sim/clock.h"

#define ROUNDS 10000

/* Compares two clocks lane by lane. */
static bool within(const wf_clock *a, const wf_clock *b)
{
	for (int i = 0; i < WF_SIM_LANES; i++)
		if ((*a)[i] > (*b)[i])
			return false;
	return true;
}

static bool reached(const wf_clock *a, const wf_clock *b)
{
	for (int i = 0; i < WF_SIM_LANES; i++)
		if ((*a)[i] >= (*b)[i])
			return true;
	return false;
}

static void fill(wf_clock *c, int32_t v)
{
	for (int i = 0; i < WF_SIM_LANES; i++)
		(*c)[i] = v;
}

/* Values are few, so that many lanes are equal. */
static void draw(wf_clock *c, struct wf_random *r, uint32_t below)
{
	for (int i = 0; i < WF_SIM_LANES; i++)
		(*c)[i] = (int32_t)wf_random_below(r, below);
}

static void threads_and_one_more_lane(void **state)
{
	(void)state;
	assert_int_equal(sizeof(wf_clock), 64);
	assert_int_equal(WF_SIM_THREADS, WF_SIM_LANES - 1);
	assert_int_equal(WF_SIM_SEQ, WF_SIM_THREADS);
}

static void join_takes_the_later_of_each_lane(void **state)
{
	struct wf_random random = { .state = 1 };

	(void)state;
	for (int n = 0; n < ROUNDS; n++) {
		wf_clock a, b, c;

		draw(&a, &random, 1000);
		draw(&b, &random, 1000);
		c = a;
		wf_clock_join(&c, &b);
		for (int i = 0; i < WF_SIM_LANES; i++)
			assert_int_equal(c[i], a[i] > b[i] ? a[i] : b[i]);
	}
}

static void one_lane_beyond_is_not_within(void **state)
{
	(void)state;
	for (int i = 0; i < WF_SIM_LANES; i++) {
		wf_clock a, b;

		fill(&a, 7);
		fill(&b, 7);
		assert_true(wf_clock_within(&a, &b));
		a[i]++;
		assert_false(wf_clock_within(&a, &b));
		assert_true(wf_clock_within(&b, &a));
	}
}

static void one_lane_is_enough_to_reach(void **state)
{
	(void)state;
	for (int i = 0; i < WF_SIM_LANES; i++) {
		wf_clock a, b;

		fill(&a, 7);
		fill(&b, INT32_MAX);
		assert_false(wf_clock_reached(&a, &b));
		b[i] = 8;
		assert_false(wf_clock_reached(&a, &b));
		b[i] = 7;
		assert_true(wf_clock_reached(&a, &b));
		b[i] = 0;
		assert_true(wf_clock_reached(&a, &b));
	}
}

static void agrees_with_lane_by_lane(void **state)
{
	struct wf_random random = { .state = 2 };
	unsigned in = 0, out = 0, yes = 0, no = 0;

	(void)state;
	for (int n = 0; n < ROUNDS; n++) {
		wf_clock a, b;

		/* Both answers must be common enough. */
		draw(&a, &random, n % 2 == 0 ? 20 : 2);
		draw(&b, &random, 20);
		if (n % 3 == 0)
			for (int i = 0; i < WF_SIM_LANES; i++)
				b[i] += 18;
		assert_int_equal(wf_clock_within(&a, &b), within(&a, &b));
		assert_int_equal(wf_clock_reached(&a, &b), reached(&a, &b));
		*(within(&a, &b) ? &in : &out) += 1;
		*(reached(&a, &b) ? &yes : &no) += 1;
	}
	assert_true(in > 100 && out > 100 && yes > 100 && no > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_and_one_more_lane),
		cmocka_unit_test(join_takes_the_later_of_each_lane),
		cmocka_unit_test(one_lane_beyond_is_not_within),
		cmocka_unit_test(one_lane_is_enough_to_reach),
		cmocka_unit_test(agrees_with_lane_by_lane),
	};

	return cmocka_run_group_tests(tests, kit_setup, NULL);
}
