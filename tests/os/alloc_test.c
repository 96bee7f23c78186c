/* SPDX-License-Identifier: MIT */
/*
 * tests/os/alloc_test.c - small memory comes zeroed and aligned, or not at all.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "os/os.h"

/* A sanitizer ends the program when memory runs out, unless told not to. */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED const char *__asan_default_options(void);
EXPORTED const char *__tsan_default_options(void);

const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

const char *__tsan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool is_zero(const char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (p[i] != 0)
			return false;
	return true;
}

/* Again and again, so that memory that was used and freed comes back. */
static void memory_is_zeroed(void **state)
{
	(void)state;
	for (int again = 0; again < 10; again++) {
		for (size_t bytes = 1; bytes < 100000; bytes *= 3) {
			char *p = wf_os_alloc(bytes);

			assert_non_null(p);
			assert_int_equal((uintptr_t)p % WF_FALSE_SHARING, 0);
			assert_true(is_zero(p, bytes));
			memset(p, 0xff, bytes);
			wf_os_free(p);
		}
	}
}

static void two_pieces_do_not_overlap(void **state)
{
	char *a = wf_os_alloc(100), *b = wf_os_alloc(100);

	(void)state;
	memset(a, 1, 100);
	assert_true(is_zero(b, 100));
	wf_os_free(a);
	assert_true(is_zero(b, 100));
	wf_os_free(b);
}

/* Not quite SIZE_MAX: valgrind takes that for a negative size, an error. */
static void too_much_is_null(void **state)
{
	(void)state;
	assert_null(wf_os_alloc(SIZE_MAX / 4));
}

static void nothing_can_be_freed(void **state)
{
	(void)state;
	wf_os_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed),
		cmocka_unit_test(two_pieces_do_not_overlap),
		cmocka_unit_test(too_much_is_null),
		cmocka_unit_test(nothing_can_be_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
