/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/class_test.c - every size from 0 to 1 GiB has the smallest class
 * that holds it, no other has any, and all slots have the shape they should.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "arch/context.h"
#include "base/random.h"
#include "base/units.h"
#include "stack/class.h"
#include "support/threads.h"

static const size_t pages[] = { 4 * WF_KIB, 16 * WF_KIB, 64 * WF_KIB };
enum { PAGES = sizeof(pages) / sizeof(pages[0]), RANDOM_SIZES = 100000 };

/* The size has a class, which holds it, and the one below does not. */
static void check_fits(size_t bytes, size_t page)
{
	int cls = wf_stack_class_of(bytes, page);
	size_t wanted = bytes ? bytes : WF_STACK_BYTES_DEFAULT;
	unsigned at;

	assert_true(cls >= 0 && cls < WF_STACK_CLASSES);
	at = (unsigned)cls;
	assert_true(wf_stack_class_make(at, page).promised >= wanted);
	if (at > 0)
		assert_true(wf_stack_class_make(at - 1, page).promised <
			wanted);
}

static void each_size_has_the_smallest_class_that_holds_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAGES; i++) {
		const size_t sizes[] = { 0, 1, pages[i] - 1, pages[i],
			pages[i] + 1, 16 * WF_KIB, 16 * WF_KIB + 1, 64 * WF_KIB,
			64 * WF_KIB + 1, WF_MIB, WF_GIB / 2 + 1, WF_GIB - 1,
			WF_GIB };

		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			check_fits(sizes[j], pages[i]);
	}
}

static void the_sizes_that_users_will_give(void **state)
{
	const size_t page = 4 * WF_KIB;
	int cls = wf_stack_class_of(64 * WF_KIB, page);

	(void)state;
	assert_int_equal(cls, wf_stack_class_of(0, page));
	assert_int_equal(wf_stack_class_make((unsigned)cls, page).promised,
		64 * WF_KIB);
	assert_int_equal(wf_stack_class_of(64 * WF_KIB + 1, page), cls + 1);
	assert_int_equal(wf_stack_class_of(1, page), 0);
	assert_int_equal(wf_stack_class_of(WF_GIB, page), WF_STACK_CLASSES - 1);
}

static void too_large_sizes_are_refused(void **state)
{
	static const size_t sizes[] = { WF_GIB + 1, 2 * WF_GIB,
		SIZE_MAX / 2 - 1, SIZE_MAX / 2, SIZE_MAX / 2 + 1, SIZE_MAX - 1,
		SIZE_MAX };

	(void)state;
	for (size_t i = 0; i < PAGES; i++)
		for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			assert_int_equal(
				wf_stack_class_of(sizes[j], pages[i]), -EINVAL);
}

static void a_larger_size_never_has_a_smaller_class(void **state)
{
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, threads_seed());
	for (size_t i = 0; i < threads_rounds(RANDOM_SIZES); i++) {
		uint64_t n = wf_random_next(&r);
		/* All magnitudes are equally likely; 0 means the default. */
		size_t a = (size_t)(1 + (n >> 34 >> (n & 31)));
		size_t b = a + (size_t)(n >> 34 >> (n >> 5 & 31));
		size_t page = pages[n % PAGES];

		check_fits(a, page);
		if (b <= WF_GIB)
			assert_true(wf_stack_class_of(a, page) <=
				wf_stack_class_of(b, page));
	}
}

static void check_shape(unsigned cls, size_t page)
{
	struct wf_stack_class c = wf_stack_class_make(cls, page);

	assert_int_equal(c.promised,
		wf_max_size(WF_STACK_BYTES_MIN, 4 * page) << cls);
	assert_int_equal(c.guard % page, 0);
	assert_int_equal(c.stride % page, 0);
	assert_int_equal(c.stride / page % 2, 1);
	/* A frame that nothing probes cannot step over the guard. */
	assert_true(c.guard >= WF_ARCH_GUARD_BYTES);
	assert_true(c.guard < WF_ARCH_GUARD_BYTES + page);
	/* The slack is a quarter, and nothing is wasted but one page. */
	assert_true(c.stride - c.guard >= c.promised + c.promised / 4);
	assert_true(c.stride - c.guard <=
		c.promised + wf_round_up(c.promised / 4, page) + page);
	/* What a batch promises is small unless one stack is large. */
	assert_in_range(c.batch, 1, 32);
	assert_true(c.batch == 1 || c.batch * c.promised <= 2 * WF_MIB);
}

static void every_slot_has_the_right_shape(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAGES; i++)
		for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++)
			check_shape(cls, pages[i]);
}

static void every_class_is_twice_the_one_before(void **state)
{
	(void)state;
	for (size_t i = 0; i < PAGES; i++) {
		for (unsigned cls = 1; cls < WF_STACK_CLASSES; cls++) {
			struct wf_stack_class a, b;

			a = wf_stack_class_make(cls - 1, pages[i]);
			b = wf_stack_class_make(cls, pages[i]);
			assert_int_equal(b.promised, 2 * a.promised);
			assert_true(b.stride > a.stride);
			assert_true(b.batch <= a.batch);
		}
	}
}

/* Cache lines, and room for at least sixteen of them in half a page. */
static void the_colours_leave_most_of_the_slack(void **state)
{
	size_t colours = (WF_STACK_COLOURS - 1) * WF_CACHE_LINE;

	(void)state;
	assert_true(WF_STACK_COLOURS >= 16);
	for (size_t i = 0; i < PAGES; i++) {
		struct wf_stack_class c = wf_stack_class_make(0, pages[i]);

		assert_true(colours < pages[i] / 2);
		assert_true(c.stride - c.guard - c.promised >= 2 * colours);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			each_size_has_the_smallest_class_that_holds_it),
		cmocka_unit_test(the_sizes_that_users_will_give),
		cmocka_unit_test(too_large_sizes_are_refused),
		cmocka_unit_test(a_larger_size_never_has_a_smaller_class),
		cmocka_unit_test(every_slot_has_the_right_shape),
		cmocka_unit_test(every_class_is_twice_the_one_before),
		cmocka_unit_test(the_colours_leave_most_of_the_slack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
