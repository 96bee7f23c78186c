/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/switch_test.c - the side that arrives commits the fiber that left
 * and learns when its commit refused; a fiber with a stack is entered there,
 * and any other task on a clean loop.
 *
 * The switch itself is in tests/sched/run_test.c: it needs threads that run.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kit.h"
#include "sched/switch.h"

static weft_fiber left, next;

static weft_fiber *committed;
static bool accepts;

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	committed = f;
	return accepts;
}

static void nothing_is_done_for_nobody(void **state)
{
	struct wf_thread t = { .after = WF_AFTER_NOTHING, .left = &left };

	(void)state;
	assert_null(wf_arrive(&t));
	assert_null(committed);
}

static void a_commit_is_asked_once(void **state)
{
	struct weft_awaiter a = { .commit = commit };
	struct wf_thread t = {
		.after = WF_AFTER_COMMIT, .left = &left, .awaiter = &a
	};

	(void)state;
	accepts = true;
	assert_null(wf_arrive(&t));
	assert_ptr_equal(committed, &left);
	assert_null(t.refused);
	committed = NULL;
	assert_null(wf_arrive(&t));
	assert_null(committed);
}

static void a_fiber_whose_commit_refused_must_run(void **state)
{
	struct weft_awaiter a = { .commit = commit };
	struct wf_thread t = {
		.after = WF_AFTER_COMMIT, .left = &left, .awaiter = &a
	};

	(void)state;
	accepts = false;
	assert_ptr_equal(wf_arrive(&t), &left);
	assert_ptr_equal(t.refused, &left);
	assert_int_equal(t.after, WF_AFTER_NOTHING);
}

static void a_fiber_with_a_stack_is_entered_there(void **state)
{
	struct wf_stack stack = { 0 };
	struct wf_thread t = { 0 };

	(void)state;
	next = (weft_fiber){ .task.run = wf_fiber_task_run, .stack = &stack };
	assert_ptr_equal(wf_destination(&t, &next.task), &next.context);
	assert_ptr_equal(t.stack, &stack);
	assert_null(t.handed);
}

/* A fresh fiber, a plain task and no task at all: each needs a clean loop. */
static void all_others_are_handed_to_a_clean_loop(void **state)
{
	weft_task plain = { .run = kit_task_run };
	weft_task *tasks[] = { &next.task, &plain, NULL };

	(void)state;
	kit_open(1, 0);
	assert_int_equal(wf_stack_pool_promise(
				 &kit.rt.stacks, kit.rt.cls, 1),
		0);
	next = (weft_fiber){ .task.run = wf_fiber_task_run };
	for (size_t i = 0; i < 3; i++) {
		struct wf_thread *t = &kit.threads[0];

		assert_ptr_equal(wf_destination(t, tasks[i]), &t->clean);
		assert_non_null(t->stack);
		assert_ptr_equal(t->handed, tasks[i]);
		wf_stack_give(&t->proc->stacks, t->stack);
	}
	wf_stack_pool_release(&kit.rt.stacks, kit.rt.cls, 1);
	kit_close();
}

static void a_fiber_keeps_the_first_stack_it_owned(void **state)
{
	struct wf_stack first = { 0 }, second = { 0 };
	struct wf_thread t = { .stack = &first };

	(void)state;
	next = (weft_fiber){ 0 };
	wf_own_stack(&t, &next);
	assert_ptr_equal(next.stack, &first);
	t.stack = &second;
	wf_own_stack(&t, &next);
	assert_ptr_equal(next.stack, &first);
}

static int begin(void **state)
{
	(void)state;
	committed = NULL;
	return 0;
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_done_for_nobody),
		TEST(a_commit_is_asked_once),
		TEST(a_fiber_whose_commit_refused_must_run),
		TEST(a_fiber_with_a_stack_is_entered_there),
		TEST(all_others_are_handed_to_a_clean_loop),
		TEST(a_fiber_keeps_the_first_stack_it_owned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
