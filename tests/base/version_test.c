/* SPDX-License-Identifier: MIT */
/*
 * tests/base/version_test.c - the linked version is that of the headers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include <weft/version.h>

static void the_string_is_made_of_the_macros(void **state)
{
	char expected[64];

	(void)state;
	snprintf(expected, sizeof(expected), "%d.%d.%d", WEFT_VERSION_MAJOR,
		WEFT_VERSION_MINOR, WEFT_VERSION_PATCH);
	assert_string_equal(weft_version(), expected);
}

static void the_number_is_made_of_the_macros(void **state)
{
	(void)state;
	assert_int_equal(WEFT_VERSION / 10000, WEFT_VERSION_MAJOR);
	assert_int_equal(WEFT_VERSION / 100 % 100, WEFT_VERSION_MINOR);
	assert_int_equal(WEFT_VERSION % 100, WEFT_VERSION_PATCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_string_is_made_of_the_macros),
		cmocka_unit_test(the_number_is_made_of_the_macros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
