/* SPDX-License-Identifier: MIT */
/*
 * tests/support/cross/cmocka.h - a stand-in for cmocka in cross builds.
 *
 * Debian has no cmocka for the architectures we cross-compile to and run
 * under qemu, and building it for each would need its sources.  This is the
 * part of its API that our tests use, with the same names, output and meaning;
 * natively the tests use the real one.  A group returns its number of failures.
 *
 * As there, a failed assertion jumps out of the test, so one that is made on
 * another thread or fiber is undefined.  Unlike there, signals are not caught
 * and leaks are not looked for.
 */
#ifndef WEFT_TESTS_CROSS_CMOCKA_H
#define WEFT_TESTS_CROSS_CMOCKA_H

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test_func)(void **state);
	int (*setup_func)(void **state);
	int (*teardown_func)(void **state);
	void *initial_state;
};

enum cm_result { CM_PASSED, CM_FAILED, CM_SKIPPED };

static jmp_buf cm_end; /* where a test that fails or skips goes on */

__attribute__((noreturn, unused, format(printf, 3, 4))) static void
cm_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "[  ERROR   ] --- ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n%s:%d: error: Failure!\n", file, line);
	va_end(args);
	longjmp(cm_end, CM_FAILED);
}

__attribute__((unused)) static void cm_check_eq(uintmax_t a, uintmax_t b,
	int equal, const char *text, const char *file, int line)
{
	if ((a == b) != equal)
		cm_fail(file, line, "%s: %#jx, %#jx", text, a, b);
}

#define fail_msg(...) cm_fail(__FILE__, __LINE__, __VA_ARGS__)
#define fail()        fail_msg("fail()")
#define skip()        longjmp(cm_end, CM_SKIPPED)

#define assert_true(c)  ((c) ? (void)0 : fail_msg("%s", #c))
#define assert_false(c) ((c) ? fail_msg("!(%s)", #c) : (void)0)
#define assert_int_equal(a, b)                                              \
	cm_check_eq((uintmax_t)(a), (uintmax_t)(b), 1, #a " == " #b, __FILE__, \
		__LINE__)
#define assert_int_not_equal(a, b)                                          \
	cm_check_eq((uintmax_t)(a), (uintmax_t)(b), 0, #a " != " #b, __FILE__, \
		__LINE__)
#define assert_ptr_equal(a, b) \
	assert_int_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_ptr_not_equal(a, b) \
	assert_int_not_equal((uintptr_t)(a), (uintptr_t)(b))
#define assert_null(p)     assert_ptr_equal(p, NULL)
#define assert_non_null(p) assert_ptr_not_equal(p, NULL)
#define assert_string_equal(a, b)                                 \
	do {                                                      \
		const char *cm_a = (a), *cm_b = (b);              \
		if (strcmp(cm_a, cm_b) != 0)                      \
			fail_msg("\"%s\" != \"%s\"", cm_a, cm_b); \
	} while (0)
#define assert_memory_equal(a, b, n)                          \
	do {                                                  \
		if (memcmp(a, b, n) != 0)                     \
			fail_msg("%s and %s differ", #a, #b); \
	} while (0)
#define assert_in_range(v, low, high)                                        \
	do {                                                                 \
		uintmax_t cm_v = (uintmax_t)(v);                             \
		if (cm_v < (uintmax_t)(low) || cm_v > (uintmax_t)(high))     \
			fail_msg("%s: %#jx not in %s to %s", #v, cm_v, #low, \
				#high);                                      \
	} while (0)

#define cmocka_unit_test(f) { #f, f, NULL, NULL, NULL }
#define cmocka_unit_test_setup(f, setup) { #f, f, setup, NULL, NULL }
#define cmocka_unit_test_teardown(f, teardown) { #f, f, NULL, teardown, NULL }
#define cmocka_unit_test_setup_teardown(f, setup, teardown) \
	{ #f, f, setup, teardown, NULL }
#define cmocka_run_group_tests(tests, setup, teardown)                  \
	cm_run_group(#tests, tests, sizeof(tests) / sizeof((tests)[0]), \
		setup, teardown)

/* setjmp() in a function of its own: no variable of it changes after. */
__attribute__((unused)) static enum cm_result cm_call(
	void (*test)(void **state), void **state)
{
	switch (setjmp(cm_end)) {
	case CM_PASSED:
		test(state);
		return CM_PASSED;
	case CM_SKIPPED:
		return CM_SKIPPED;
	default:
		return CM_FAILED;
	}
}

__attribute__((unused)) static enum cm_result cm_run_test(
	const struct CMUnitTest *test, void *group_state)
{
	void *state = test->initial_state ? test->initial_state : group_state;
	enum cm_result result;

	if (test->setup_func && test->setup_func(&state) != 0)
		return CM_FAILED;
	result = cm_call(test->test_func, &state);
	if (test->teardown_func && test->teardown_func(&state) != 0)
		return CM_FAILED;
	return result;
}

__attribute__((unused)) static int cm_run_group(const char *group,
	const struct CMUnitTest *tests, size_t count,
	int (*setup)(void **state), int (*teardown)(void **state))
{
	static const char *const words[] = { "[       OK ]", "[  FAILED  ]",
		"[  SKIPPED ]" };
	int totals[3] = { 0, 0, 0 };
	void *state = NULL;

	printf("[==========] Running %zu test(s).\n", count);
	if (setup && setup(&state) != 0) {
		printf("[  FAILED  ] GROUP SETUP: %s\n", group);
		return (int)count;
	}
	for (size_t i = 0; i < count; i++) {
		enum cm_result result;

		printf("[ RUN      ] %s\n", tests[i].name);
		fflush(stdout);
		result = cm_run_test(&tests[i], state);
		printf("%s %s\n", words[result], tests[i].name);
		totals[result]++;
	}
	if (teardown && teardown(&state) != 0) {
		printf("[  FAILED  ] GROUP TEARDOWN: %s\n", group);
		totals[CM_FAILED]++;
	}
	printf("[==========] %zu test(s) run.\n", count);
	printf("[  PASSED  ] %d test(s).\n", totals[CM_PASSED]);
	if (totals[CM_FAILED])
		printf("[  FAILED  ] %d test(s).\n", totals[CM_FAILED]);
	return totals[CM_FAILED];
}

#endif
