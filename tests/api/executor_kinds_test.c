/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_kinds_test.c - every kind of executor passes one suite
 * (R1.2, R1.3, R1.7, R1.8).
 */
#include "api/executor_suite.h"

int main(void)
{
	struct CMUnitTest tests[KINDS] = { 0 };

	for (size_t i = 0; i < KINDS; i++) {
		tests[i].name = kinds[i].name;
		tests[i].test_func = executor_suite;
		tests[i].initial_state = (void *)&kinds[i];
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
