/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/resubmit_check_test.c - a debug build ends with one line when a
 * task is queued that is queued already, and leaves run as it was; a release
 * build does not touch the task.
 *
 * This file includes queue/resubmit_check.h twice, as a release build and as a
 * debug build do.  The executors are in tests/api/executor_twice_test.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "os/child.h"

#undef WF_DEBUG
#define wf_resubmit_enter release_enter
#define wf_resubmit_leave release_leave
#include "queue/resubmit_check.h"

#undef WF_BASE_ASSERT_H
#undef WF_QUEUE_RESUBMIT_CHECK_H
#undef wf_debug_assert
#undef wf_check
#undef WF_DEBUGGING
#undef wf_resubmit_enter
#undef wf_resubmit_leave
#define WF_DEBUG 1
#define wf_resubmit_enter debug_enter
#define wf_resubmit_leave debug_leave
#include "queue/resubmit_check.h"

static struct child child;
static unsigned runs;

static void run(weft_task *self)
{
	(void)self;
	runs++;
}

static bool is_marked(const weft_task *task)
{
	return (uintptr_t)task->run & WF_RESUBMIT_QUEUED;
}

/* ------------------------------------------------------------------------ */

static void no_function_has_the_mark(void **state)
{
	weft_task task = { .run = run };

	(void)state;
	assert_true(WF_RESUBMIT_QUEUED == ~(UINTPTR_MAX >> 1));
	assert_false(is_marked(&task));
}

static void a_release_does_not_touch_the_task(void **state)
{
	weft_task next, task = { .run = run, .next_ = &next };

	(void)state;
	release_enter(&task);
	assert_ptr_equal(task.run, run);
	release_enter(&task);
	assert_ptr_equal(task.run, run);
	release_leave(&task);
	assert_ptr_equal(task.run, run);
	assert_ptr_equal(task.next_, &next);
	/* Not even a mark that is there. */
	debug_enter(&task);
	release_enter(&task);
	release_leave(&task);
	assert_true(is_marked(&task));
}

static void a_debug_build_marks_what_is_queued(void **state)
{
	weft_task next, task = { .run = run, .next_ = &next };

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		debug_enter(&task);
		assert_true(is_marked(&task));
		assert_true(((uintptr_t)task.run ^ (uintptr_t)run) ==
			WF_RESUBMIT_QUEUED);
		debug_leave(&task);
		assert_ptr_equal(task.run, run);
		runs = 0;
		task.run(&task);
		assert_int_equal(runs, 1);
	}
	assert_ptr_equal(task.next_, &next);
}

/* An executor may run what it was given past wf_resubmit_enter: a fiber's. */
static void what_was_not_marked_may_be_run(void **state)
{
	weft_task task = { .run = run };

	(void)state;
	debug_leave(&task);
	assert_ptr_equal(task.run, run);
	debug_enter(&task);
	debug_leave(&task);
	debug_leave(&task);
	assert_ptr_equal(task.run, run);
}

static void enter_twice(void *arg)
{
	debug_enter(arg);
	debug_enter(arg);
}

static void enter_once_more(void *arg)
{
	debug_enter(arg);
	debug_leave(arg);
	debug_enter(arg);
}

static void the_second_time_ends_the_program_with_one_line(void **state)
{
	weft_task task = { .run = run };
	char expected[200];
	int line = 0;

	(void)state;
	child_run(&child, enter_twice, &task);
	assert_true(child_killed_by(&child, SIGABRT));
	assert_int_equal(
		sscanf(child.first, "weft: resubmit_check.h:%d:", &line), 1);
	snprintf(expected, sizeof(expected),
		"weft: resubmit_check.h:%d: task %p was submitted again before "
		"it was run\n",
		line, (void *)&task);
	assert_string_equal(child.first, expected);
	child_run(&child, enter_once_more, &task);
	assert_true(child_exited_with(&child, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_function_has_the_mark),
		cmocka_unit_test(a_release_does_not_touch_the_task),
		cmocka_unit_test(a_debug_build_marks_what_is_queued),
		cmocka_unit_test(what_was_not_marked_may_be_run),
		cmocka_unit_test(
			the_second_time_ends_the_program_with_one_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
