/* SPDX-License-Identifier: MIT */
/*
 * tests/os/cxx_test.c - a program without a C++ runtime has words that stay 0.
 *
 * api/exceptions tests programs with a C++ runtime.  The runtime of a sanitizer
 * brings one; then each thread has words of its own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>

#include "os/cxx.h"

extern struct wf_cxx *__cxa_get_globals(void) __attribute__((weak));

static void *look(void *arg)
{
	*(struct wf_cxx **)arg = wf_os_cxx();
	return NULL;
}

static void words_are_zero_and_only_cxx_has_some_for_each_thread(void **state)
{
	struct wf_cxx *here = wf_os_cxx(), *there = NULL;
	pthread_t thread;

	(void)state;
	assert_non_null(here);
	assert_false(wf_cxx_is_busy(here));
	assert_int_equal(pthread_create(&thread, NULL, look, &there), 0);
	pthread_join(thread, NULL);
	if (__cxa_get_globals != NULL) {
		assert_ptr_equal(here, __cxa_get_globals());
		assert_ptr_not_equal(here, there);
	} else {
		assert_ptr_equal(here, there);
	}
}

static void either_word_is_enough_to_be_busy(void **state)
{
	(void)state;
	assert_false(wf_cxx_is_busy(&(struct wf_cxx){ 0 }));
	assert_true(wf_cxx_is_busy(&(struct wf_cxx){ .caught = 1 }));
	assert_true(wf_cxx_is_busy(&(struct wf_cxx){ .uncaught = 1 }));
	assert_true(wf_cxx_is_busy(
		&(struct wf_cxx){ .caught = UINT64_C(1) << 63 }));
}

static void words_taken_can_be_put_elsewhere(void **state)
{
	struct wf_cxx from = { .caught = 3, .uncaught = 4 }, to = { 0 };

	(void)state;
	wf_cxx_put(&to, wf_cxx_take(&from));
	assert_false(wf_cxx_is_busy(&from));
	assert_int_equal(to.caught, 3);
	assert_int_equal(to.uncaught, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			words_are_zero_and_only_cxx_has_some_for_each_thread),
		cmocka_unit_test(either_word_is_enough_to_be_busy),
		cmocka_unit_test(words_taken_can_be_put_elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
