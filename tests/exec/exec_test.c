/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/exec_test.c - an executor holds the memory it needs until destroy,
 * and only executors of weft are destroyed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "exec/exec.h"
#include "os/os.h"
#include "stress/sched_kit.h"
#include "support/os_faults.h"

/* The first test: no other executor holds the pool of foreign fibers. */
static void the_pool_goes_with_the_last(void **state)
{
	weft_executor *first, *second;

	(void)state;
	kit_watch();
	os_faults_clear();
	assert_int_equal(weft_manual_create(&first), 0);
	assert_true(os_faults_calls(OS_FAULTS_ALLOC) > 1);
	assert_int_equal(weft_strand_create(&second, first), 0);
	assert_int_equal(weft_executor_destroy(second), 0);
	assert_int_equal(weft_executor_destroy(first), 0);
	assert_true(os_faults_all_returned());
}

static int refuse(weft_executor *e, weft_task *task, weft_hint hint)
{
	(void)e;
	(void)task;
	(void)hint;
	return -EBUSY;
}

static int create(weft_executor **e, int kind)
{
	return kind == 0 ? weft_manual_create(e)
			 : weft_strand_create(e, weft_inline());
}

static void memory_that_is_short_is_an_error(void **state)
{
	weft_executor none = { .submit = refuse }, *e;

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		for (size_t nth = 1;; nth++) {
			int err;

			os_faults_clear();
			os_faults_plan(OS_FAULTS_ALL, nth, 1);
			e = &none;
			err = create(&e, kind);
			if (os_faults_injected() == 0) {
				assert_true(nth > 1);
				assert_int_equal(err, 0);
				break;
			}
			assert_int_equal(err, -ENOMEM);
			assert_ptr_equal(e, &none);
			assert_true(os_faults_all_returned());
		}
		assert_int_equal(weft_executor_destroy(e), 0);
		assert_true(os_faults_all_returned());
	}
	os_faults_clear();
}

static void only_what_was_made_is_destroyed(void **state)
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	weft_executor *e = NULL, user = { .submit = refuse };

	(void)state;
	assert_int_equal(weft_executor_destroy(weft_rt_executor(rt)), -EINVAL);
	assert_int_equal(weft_executor_destroy(weft_inline()), -EINVAL);
	assert_int_equal(weft_executor_destroy(&user), -EINVAL);
	assert_int_equal(weft_strand_create(&e, weft_rt_executor(rt)), 0);
	assert_int_equal(weft_executor_destroy(e), 0);
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pool_goes_with_the_last),
		cmocka_unit_test(memory_that_is_short_is_an_error),
		cmocka_unit_test(only_what_was_made_is_destroyed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
