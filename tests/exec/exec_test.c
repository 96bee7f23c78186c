/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/exec_test.c - an executor holds the memory it needs until destroy,
 * only executors of weft are destroyed, and a leaver is told once.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

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

/* ------------------------------------------------------------------------ */
/* A leaver is told at any moment, and its frame is not touched after that. */

static struct {
	_Atomic(struct wf_leaver *) leaver;
	_Atomic(size_t) round;
	size_t rounds;
} race;

/* A second at most, however busy the machine is: the round of SIZE_MAX ends. */
static bool begins(_Atomic(size_t) *round, size_t n)
{
	size_t seen;

	while ((seen = wf_load_acq(round)) < n)
		wf_os_thread_yield();
	return seen != SIZE_MAX;
}

static void leave_often(void)
{
	int64_t until = threads_until_ns(1000);

	for (size_t n = 1; n <= race.rounds && threads_now_ns() < until; n++) {
		struct wf_leaver l;

		wf_leaver_begin(&l);
		wf_store_rlx(&race.leaver, &l);
		wf_store_rel(&race.round, n);
		for (volatile size_t i = 0; i < n % 64 * 8; i++)
			continue;
		wf_leaver_wait(&l);
		/* A teller that still reads it finds garbage. */
		memset(&l, 0xff, sizeof(l));
	}
	wf_store_rel(&race.round, SIZE_MAX);
}

static void leave_or_tell(void *arg, unsigned i)
{
	(void)arg;
	if (i == 0)
		leave_often();
	else
		for (size_t n = 1; begins(&race.round, n); n++)
			wf_leaver_tell(wf_load_rlx(&race.leaver));
}

static void a_thread_is_told(void **state)
{
	(void)state;
	kit_watch();
	wf_store_rlx(&race.round, 0);
	race.rounds = kit_rounds(20000);
	threads_run(2, leave_or_tell, NULL);
}

static void *leave_in_fiber(void *arg)
{
	leave_often();
	return arg;
}

static void tell(void *arg)
{
	leave_or_tell(arg, 1);
}

static void a_fiber_is_told(void **state)
{
	struct wf_os_thread teller;

	(void)state;
	wf_store_rlx(&race.round, 0);
	race.rounds = kit_rounds(20000);
	assert_int_equal(wf_os_thread_start(&teller, tell, NULL, 0, NULL), 0);
	kit_play(leave_in_fiber, 1);
	wf_os_thread_join(&teller);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pool_goes_with_the_last),
		cmocka_unit_test(memory_that_is_short_is_an_error),
		cmocka_unit_test(only_what_was_made_is_destroyed),
		cmocka_unit_test(a_thread_is_told),
		cmocka_unit_test(a_fiber_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
