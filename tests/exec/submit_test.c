/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/submit_test.c - weft_submit_fn frees before it calls, and a task
 * of a user's executor is run as one of that executor.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "exec/exec.h"
#include "os/os.h"
#include "exec/foreign.h"
#include "stress/sched_kit.h"
#include "support/os_faults.h"

/* ------------------------------------------------------------------------ */
/* A function as a task. */

static size_t called, left_before;

static void count_call(void *arg)
{
	kit_expect(arg == &called);
	kit_expect(os_faults_calls(OS_FAULTS_ALLOC) == 1);
	/* All that was allocated since the clear is free: that is, the task. */
	kit_expect(os_faults_all_returned());
	called++;
}

static void play_fn(weft_executor *e)
{
	os_faults_clear();
	called = 0;
	assert_int_equal(weft_submit_fn(e, count_call, &called), 0);
}

static void a_function_is_called_once_and_owns_nothing(void **state)
{
	weft_executor *e;

	(void)state;
	kit_watch();
	play_fn(weft_inline());
	assert_int_equal(called, 1);
	assert_int_equal(weft_manual_create(&e), 0);
	play_fn(e);
	assert_int_equal(called, 0);
	assert_false(os_faults_all_returned());
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 1);
	assert_int_equal(called, 1);
	os_faults_clear();
	assert_int_equal(weft_executor_destroy(e), 0);
	kit_settle();
}

static int refuse(weft_executor *e, weft_task *task, weft_hint hint)
{
	(void)e;
	(void)task;
	(void)hint;
	left_before++;
	return -EBUSY;
}

static void on_an_error_nothing_is_left(void **state)
{
	weft_executor refuser = { .submit = refuse };

	(void)state;
	os_faults_clear();
	assert_int_equal(weft_submit_fn(&refuser, NULL, NULL), -EINVAL);
	assert_int_equal(left_before, 0);
	assert_int_equal(weft_submit_fn(&refuser, count_call, NULL), -EBUSY);
	assert_int_equal(left_before, 1);
	assert_true(os_faults_all_returned());
	os_faults_plan(OS_FAULTS_ALLOC, 1, 1);
	assert_int_equal(weft_submit_fn(&refuser, count_call, NULL), -ENOMEM);
	assert_int_equal(left_before, 1);
	assert_true(os_faults_all_returned());
	os_faults_clear();
}

/* ------------------------------------------------------------------------ */
/* A user's executor: a stack, unlike all executors of weft. */

static struct stack {
	weft_executor base; /* must be first */
	weft_task *top;
} stack;

static int stack_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct stack *s = (struct stack *)e;

	(void)hint;
	task->next_ = s->top;
	s->top = task;
	return 0;
}

static size_t stack_run(void)
{
	size_t n = 0;

	for (; stack.top != NULL; n++) {
		weft_task *task = stack.top;

		stack.top = task->next_;
		weft_task_run(&stack.base, task);
	}
	return n;
}

static size_t steps;
static weft_group gate;

static void child_fiber(void *arg)
{
	kit_expect(weft_self() != NULL);
	kit_expect(wf_foreign_is_inside(&stack.base));
	weft_yield();
	kit_expect(weft_group_wait(&gate, WEFT_FOREVER) == 0);
	*(size_t *)arg += 1;
}

static void start_child(weft_task *task)
{
	(void)task;
	kit_expect(weft_self() == NULL);
	kit_expect(wf_foreign_is_inside(&stack.base));
	kit_expect(weft_go(child_fiber, &steps) == 0);
}

static void play_stack(void)
{
	weft_task task = { .run = start_child };

	stack.base.submit = stack_submit;
	steps = 0;
	weft_group_add(&gate, 1);
	kit_expect(weft_submit(&stack.base, &task, WEFT_HINT_DEFAULT) == 0);
	kit_expect(stack_run() == 3); /* it; its fiber; once more after yield */
	kit_expect(!wf_foreign_is_inside(&stack.base));
	kit_expect(steps == 0);
	weft_group_done(&gate);
	kit_expect(stack_run() == 1);
	kit_expect(steps == 1);
}

static void a_task_is_run_as_one_of_its_executor(void **state)
{
	(void)state;
	kit_watch();
	play_stack();
	kit_settle();
}

static void *play_in_fiber(void *arg)
{
	weft_fiber *self = weft_self();

	(void)arg;
	play_stack();
	kit_expect(weft_self() == self);
	return NULL;
}

/* Also in a fiber, whose place a task takes for the time of its run. */
static void so_it_is_in_a_fiber_of_a_runtime(void **state)
{
	(void)state;
	kit_play(play_in_fiber, 1);
}

static struct wf_thread *stand_ins[2];

static void look(weft_task *task)
{
	(void)task;
	stand_ins[1] = stand_ins[0];
	stand_ins[0] = wf_enter();
}

static void look_and_run(weft_task *task)
{
	weft_task inner = { .run = look };

	look(task);
	weft_task_run(&stack.base, &inner);
}

static void fiber_looks(void *arg)
{
	(void)arg;
	look_and_run(NULL);
	/* A task run in a fiber has a stand-in of its own. */
	kit_expect(stand_ins[0] != stand_ins[1]);
	kit_expect(wf_enter() == stand_ins[1]);
	steps++;
}

static void start_looker(weft_task *task)
{
	(void)task;
	kit_expect(weft_go(fiber_looks, NULL) == 0);
}

static void a_foreign_run_is_used_again(void **state)
{
	weft_task outer = { .run = look_and_run };

	(void)state;
	stack.base.submit = stack_submit;
	weft_task_run(&stack.base, &outer);
	assert_non_null(stand_ins[0]);
	assert_ptr_equal(stand_ins[0], stand_ins[1]);
	assert_null(wf_enter());
	outer.run = start_looker;
	steps = 0;
	weft_task_run(&stack.base, &outer);
	assert_int_equal(stack_run(), 1);
	assert_int_equal(steps, 1);
	kit_settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_called_once_and_owns_nothing),
		cmocka_unit_test(on_an_error_nothing_is_left),
		cmocka_unit_test(a_task_is_run_as_one_of_its_executor),
		cmocka_unit_test(so_it_is_in_a_fiber_of_a_runtime),
		cmocka_unit_test(a_foreign_run_is_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
