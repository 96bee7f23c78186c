/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/thread_test.c - a caller finds the thread it is on, also in
 * tasks of foreign executors, and a plain thread finds none.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/runtime.h"
#include "sched/thread.h"

static struct weft_rt rt, other;

static int end(void **state)
{
	(void)state;
	wf_os_self_set(NULL);
	return 0;
}

static void a_plain_thread_is_on_none(void **state)
{
	(void)state;
	assert_null(wf_here());
	assert_null(wf_enter());
	wf_leave(NULL);
	assert_null(wf_thread_in(&rt));
}

static void a_thread_of_a_runtime_is_found_there_only(void **state)
{
	struct wf_thread t = { .rt = &rt };

	(void)state;
	wf_os_self_set(&t);
	assert_ptr_equal(wf_here(), &t);
	assert_ptr_equal(wf_enter(), &t);
	wf_leave(&t);
	assert_ptr_equal(wf_thread_in(&rt), &t);
	assert_null(wf_thread_in(&other));
}

/* A task of a foreign executor runs a second one: the thread is below both. */
static void visits_hide_no_thread(void **state)
{
	struct wf_thread t = { .rt = &rt };
	struct wf_thread outer = { .rt = &other, .foreign = true, .host = &t };
	struct wf_thread inner = { .rt = &other,
		.foreign = true,
		.host = &outer };

	(void)state;
	wf_os_self_set(&inner);
	assert_ptr_equal(wf_here(), &inner);
	assert_ptr_equal(wf_thread_in(&rt), &t);
	assert_null(wf_thread_in(&other));
	outer.host = NULL; /* the visit began on a plain thread */
	assert_null(wf_thread_in(&rt));
}

static void a_filled_budget_is_full(void **state)
{
	struct wf_thread t = { .budget = 3, .budget_full = 64, .inlines = 9 };

	(void)state;
	wf_budget_fill(&t);
	assert_int_equal(t.budget, 64);
	assert_int_equal(t.inlines, 0);
}

#define TEST(name) cmocka_unit_test_teardown(name, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_plain_thread_is_on_none),
		TEST(a_thread_of_a_runtime_is_found_there_only),
		TEST(visits_hide_no_thread),
		TEST(a_filled_budget_is_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
