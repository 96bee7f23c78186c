/* SPDX-License-Identifier: MIT */
/*
 * tests/base/spares_test.c - spares give back the blocks they were given, each
 * once, and keep no more than WF_SPARES_MAX.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/spares.h"

static struct wf_spare blocks[WF_SPARES_MAX + 1];

static void an_empty_one_gives_nothing(void **state)
{
	struct wf_spares s = { 0 };

	(void)state;
	assert_null(wf_spares_take(&s));
	assert_null(wf_spares_take(&s));
	assert_true(wf_spares_give(&s, &blocks[0]));
	assert_ptr_equal(wf_spares_take(&s), &blocks[0]);
	assert_null(wf_spares_take(&s));
}

static void it_keeps_so_many_and_gives_each_once(void **state)
{
	bool seen[WF_SPARES_MAX] = { false };
	struct wf_spares s = { 0 };

	(void)state;
	for (size_t i = 0; i < WF_SPARES_MAX; i++)
		assert_true(wf_spares_give(&s, &blocks[i]));
	assert_false(wf_spares_give(&s, &blocks[WF_SPARES_MAX]));
	for (size_t i = 0; i < WF_SPARES_MAX; i++) {
		struct wf_spare *block = wf_spares_take(&s);

		assert_true(block >= blocks &&
			block < blocks + WF_SPARES_MAX);
		assert_false(seen[block - blocks]);
		seen[block - blocks] = true;
	}
	assert_null(wf_spares_take(&s));
	assert_true(wf_spares_give(&s, &blocks[WF_SPARES_MAX]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_one_gives_nothing),
		cmocka_unit_test(it_keeps_so_many_and_gives_each_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
