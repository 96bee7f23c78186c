/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/submit_test.c - weft_submit_fn frees before it calls, a task of a
 * user's executor is run as one of it, and only what was made is destroyed.
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
/* A user's executor: a stack, so that it is nobody else's. */

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
	kit_expect(wf_visit_is_inside(&stack.base));
	weft_yield();
	kit_expect(weft_group_wait(&gate, WEFT_FOREVER) == 0);
	*(size_t *)arg += 1;
}

static void start_child(weft_task *task)
{
	(void)task;
	kit_expect(weft_self() == NULL);
	kit_expect(wf_visit_is_inside(&stack.base));
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
	kit_expect(!wf_visit_is_inside(&stack.base));
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

static struct wf_thread *visitors[2];

static void look(weft_task *task)
{
	(void)task;
	visitors[1] = visitors[0];
	visitors[0] = wf_enter();
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
	/* In a fiber a task is no part of it: it has a visitor of its own. */
	kit_expect(visitors[0] != visitors[1]);
	kit_expect(wf_enter() == visitors[1]);
	steps++;
}

static void start_looker(weft_task *task)
{
	(void)task;
	kit_expect(weft_go(fiber_looks, NULL) == 0);
}

static void a_visit_is_used_again(void **state)
{
	weft_task outer = { .run = look_and_run };

	(void)state;
	stack.base.submit = stack_submit;
	weft_task_run(&stack.base, &outer);
	assert_non_null(visitors[0]);
	assert_ptr_equal(visitors[0], visitors[1]);
	assert_null(wf_enter());
	outer.run = start_looker;
	steps = 0;
	weft_task_run(&stack.base, &outer);
	assert_int_equal(stack_run(), 1);
	assert_int_equal(steps, 1);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* The beginning and the end. */

/* The first test: nobody else holds the home. */
static void the_home_goes_with_the_last(void **state)
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

static int create(weft_executor **e, int kind)
{
	return kind == 0 ? weft_manual_create(e)
			 : weft_strand_create(e, weft_inline());
}

static void memory_that_is_short_is_an_error(void **state)
{
	weft_executor *e;

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		for (size_t nth = 1;; nth++) {
			int err;

			os_faults_clear();
			os_faults_plan(OS_FAULTS_ALL, nth, 1);
			e = &stack.base;
			err = create(&e, kind);
			if (os_faults_injected() == 0) {
				assert_true(nth > 1);
				assert_int_equal(err, 0);
				break;
			}
			assert_int_equal(err, -ENOMEM);
			assert_ptr_equal(e, &stack.base);
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
/* Who destroys is told at any moment, and its frame is not touched then. */

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
		/* Who still looks at it finds something else. */
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
		cmocka_unit_test(the_home_goes_with_the_last),
		cmocka_unit_test(a_function_is_called_once_and_owns_nothing),
		cmocka_unit_test(on_an_error_nothing_is_left),
		cmocka_unit_test(a_task_is_run_as_one_of_its_executor),
		cmocka_unit_test(so_it_is_in_a_fiber_of_a_runtime),
		cmocka_unit_test(a_visit_is_used_again),
		cmocka_unit_test(memory_that_is_short_is_an_error),
		cmocka_unit_test(only_what_was_made_is_destroyed),
		cmocka_unit_test(a_thread_is_told),
		cmocka_unit_test(a_fiber_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
