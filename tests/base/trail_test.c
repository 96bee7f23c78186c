/* SPDX-License-Identifier: MIT */
/*
 * tests/base/trail_test.c - a trail returns the element that was added
 * WF_TRAIL_STEPS before, and NULL to the first ones.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/trail.h"

static void the_element_some_steps_before(void **state)
{
	struct wf_trail t = { 0 };
	char x[5 * WF_TRAIL_STEPS];

	(void)state;
	for (size_t i = 0; i < sizeof(x); i++) {
		void *before = wf_trail_add(&t, &x[i]);

		if (i < WF_TRAIL_STEPS)
			assert_null(before);
		else
			assert_ptr_equal(before, &x[i - WF_TRAIL_STEPS]);
	}
}

static void a_count_of_zero_is_empty(void **state)
{
	struct wf_trail t;
	char x;

	(void)state;
	for (size_t i = 0; i < WF_TRAIL_STEPS; i++)
		t.latest[i] = &t;
	t.count = 0;
	for (size_t i = 0; i < WF_TRAIL_STEPS; i++)
		assert_null(wf_trail_add(&t, &x));
	assert_ptr_equal(wf_trail_add(&t, &x), &x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_element_some_steps_before),
		cmocka_unit_test(a_count_of_zero_is_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
