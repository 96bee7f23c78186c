/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/runtime_test.c - fibers are counted wherever they start and end,
 * calls from outside are counted and refused after shutdown, and threads that
 * wait in stop are told.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kit.h"
#include "sched/finish.h"

enum { PROCS = 4 };

static int begin(void **state)
{
	(void)state;
	kit_open(PROCS, 2);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kit_close();
	return 0;
}

/* A fiber may start on one processor, or outside, and end on another. */
static void fibers_are_counted_wherever_they_start_and_end(void **state)
{
	uint64_t live = 0;

	(void)state;
	for (uint32_t i = 0; i < PROCS; i++) {
		wf_bump(&kit.procs[i].counters.spawned, 3);
		wf_bump(&kit.rt.outside.spawned, 2);
		live += 5;
		assert_int_equal(wf_rt_fibers(&kit.rt), live);
		wf_count_end(&kit.procs[(i + 1) % PROCS]);
		wf_count_end(&kit.procs[PROCS - 1]);
		live -= 2;
		assert_int_equal(wf_rt_fibers(&kit.rt), live);
	}
}

static void calls_from_outside_are_counted(void **state)
{
	_Atomic(uint32_t) *callers = &kit.rt.outside.callers;

	(void)state;
	wf_outside_enter(&kit.rt);
	assert_true(wf_outside_accept(&kit.rt));
	assert_int_equal(wf_load_rlx(callers), 2);
	wf_outside_leave(&kit.rt);
	wf_outside_leave(&kit.rt);
	assert_int_equal(wf_load_rlx(callers), 0);
}

/* A call that brings nothing new, say a wake, is still let in. */
static void after_shutdown_nothing_new_is_accepted(void **state)
{
	_Atomic(uint32_t) *callers = &kit.rt.outside.callers;

	(void)state;
	wf_store_rlx(callers, WF_OUTSIDE_CLOSED);
	assert_false(wf_outside_accept(&kit.rt));
	assert_int_equal(wf_load_rlx(callers), WF_OUTSIDE_CLOSED);
	wf_outside_enter(&kit.rt);
	assert_int_equal(wf_load_rlx(callers), WF_OUTSIDE_CLOSED + 1);
	wf_outside_leave(&kit.rt);
	assert_int_equal(wf_load_rlx(callers), WF_OUTSIDE_CLOSED);
}

static void wait_or_tell(void *arg, unsigned i)
{
	uint32_t *seen = arg;

	if (i == 1)
		wf_rt_tell_ended(&kit.rt);
	else
		while (wf_load_acq(&kit.rt.ended) == *seen)
			(void)wf_os_futex_wait(
				&kit.rt.ended, *seen, INT64_MAX);
}

/* A waiter that was not woken would hang here. */
static void a_thread_that_waits_for_an_end_is_told(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		uint32_t seen = wf_load_rlx(&kit.rt.ended);

		threads_run(2, wait_or_tell, &seen);
		assert_int_equal(wf_load_rlx(&kit.rt.ended), seen + 1);
	}
}

static void memory_is_as_the_configuration_says(void **state)
{
	static struct weft_rt rt;

	(void)state;
	rt.config.stack_bytes = 200000;
	rt.config.flags = WEFT_STRICT_GUARDS | WEFT_WIPE_STACKS;
	assert_int_equal(wf_rt_open_memory(&rt), 0);
	assert_true(rt.promised >= 200000 && rt.promised < 400000);
	assert_int_equal(
		rt.promised, rt.stacks.store[rt.cls].shape.promised);
	assert_true(rt.stacks.config.strict_guards && rt.stacks.config.wipe);
	wf_stack_pool_close(&rt.stacks);
	wf_fiber_pool_close(&rt.fibers);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(fibers_are_counted_wherever_they_start_and_end),
		TEST(calls_from_outside_are_counted),
		TEST(after_shutdown_nothing_new_is_accepted),
		TEST(a_thread_that_waits_for_an_end_is_told),
		TEST(memory_is_as_the_configuration_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
