/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/inline_test.c - the inline executor runs a task before submit
 * returns; tasks submitted meanwhile run after it, in order, on no deeper
 * stack.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "numbered.h"
#include "os/os.h"
#include "stress/sched_kit.h"

static void submit(size_t i)
{
	kit_expect(weft_submit(weft_inline(), &tasks[i].task,
			   WEFT_HINT_DEFAULT) == 0);
}

static void it_runs_at_once(void **state)
{
	(void)state;
	prepare();
	for (size_t i = 0; i < 3; i++) {
		submit(i);
		assert_int_equal(ran, i + 1);
	}
	expect_order(3);
}

/* 0 submits 1 and 2; 1 submits 3. */
static void submit_more(weft_task *task)
{
	size_t i = ((struct numbered *)task)->number;

	note(task);
	submit(i == 0 ? 1 : 3);
	if (i == 0)
		submit(2);
	kit_expect(ran == i + 1);
}

static void what_comes_meanwhile_waits(void **state)
{
	(void)state;
	prepare();
	tasks[0].task.run = tasks[1].task.run = submit_more;
	submit(0);
	expect_order(4);
	submit(4); /* and the queue is gone */
	expect_order(5);
}

static size_t chain_left;
static uintptr_t chain_low, chain_high;

static void chain(weft_task *task)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0);

	if (here < chain_low)
		chain_low = here;
	if (here > chain_high)
		chain_high = here;
	if (--chain_left > 0)
		kit_expect(
			weft_submit(weft_inline(), task, WEFT_HINT_NEXT) == 0);
}

static void the_stack_does_not_grow(void **state)
{
	(void)state;
	prepare();
	chain_left = kit_rounds(1000000);
	chain_low = UINTPTR_MAX;
	chain_high = 0;
	tasks[0].task.run = chain;
	submit(0);
	assert_int_equal(chain_left, 0);
	assert_true(chain_high - chain_low == 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* With others between. */

static weft_executor *manual, *strand;

static void run_others(weft_task *task)
{
	note(task);
	kit_expect(weft_submit(manual, &tasks[1].task, WEFT_HINT_DEFAULT) == 0);
	kit_expect(weft_submit(strand, &tasks[4].task, WEFT_HINT_DEFAULT) == 0);
	kit_expect(ran == 1); /* the strand's is inline: it waits */
	kit_expect(weft_manual_run(manual, SIZE_MAX) == 1);
	kit_expect(ran == 3);
}

/* In a task of the manual one, and still in the inline call. */
static void submit_from_between(weft_task *task)
{
	note(task);
	submit(5);
	tasks[2].task.run(&tasks[2].task);
}

/* A task of the strand: the thread is in three foreign runs. */
static void submit_from_strand(weft_task *task)
{
	(void)task;
	order[ran++] = 3;
	submit(6);
	order[ran++] = 4;
}

static void others_between_are_walked_over(void **state)
{
	(void)state;
	prepare();
	assert_int_equal(weft_manual_create(&manual), 0);
	assert_int_equal(weft_strand_create(&strand, weft_inline()), 0);
	tasks[0].task.run = run_others;
	tasks[1].task.run = submit_from_between;
	tasks[4].task.run = submit_from_strand;
	submit(0);
	/* 4 was submitted, through the strand, before 5, and 6 by it. */
	expect_order(7);
	assert_int_equal(weft_executor_destroy(strand), 0);
	assert_int_equal(weft_executor_destroy(manual), 0);
}

static _Thread_local size_t mine;
static _Atomic(size_t) sum;

static void count_mine(weft_task *task)
{
	struct numbered *t = (struct numbered *)task;

	mine++;
	if (t->number-- > 0)
		kit_expect(weft_submit(weft_inline(), task,
				   WEFT_HINT_DEFAULT) == 0);
}

static void count_here(void *arg, unsigned i)
{
	struct numbered t = { { .run = count_mine }, 0 };

	(void)arg;
	(void)i;
	for (size_t j = 0; j < 1000; j++) {
		mine = 0;
		t.number = 4;
		kit_expect(weft_submit(weft_inline(), &t.task,
				   WEFT_HINT_DEFAULT) == 0);
		kit_expect(mine == 5);
		wf_add_rlx(&sum, mine);
	}
}

static void each_thread_runs_its_own(void **state)
{
	(void)state;
	kit_watch();
	wf_store_rlx(&sum, 0);
	threads_run(4, count_here, NULL);
	assert_int_equal(wf_load_rlx(&sum), 4 * 1000 * 5);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* Fibers. */

static weft_group gate;

static void *wait_at_gate(void *arg)
{
	order[ran++] = 0;
	kit_expect(weft_group_wait(&gate, WEFT_FOREVER) == 0);
	order[ran++] = 2;
	weft_yield();
	order[ran++] = 3;
	return arg;
}

static void a_fiber_runs_until_it_waits(void **state)
{
	weft_fiber_attr attr = { .executor = weft_inline() };
	weft_fiber *f;

	(void)state;
	prepare();
	weft_group_add(&gate, 1);
	assert_int_equal(weft_spawn(&f, &attr, wait_at_gate, NULL), 0);
	assert_int_equal(ran, 1);
	submit(1);		/* it waits, and is not waited for */
	weft_group_done(&gate); /* it goes on in the call that wakes it */
	expect_order(4);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
}

static void child_fiber(void *arg)
{
	order[ran++] = (size_t)arg;
	kit_expect(weft_self() != NULL);
}

static void go_from_task(weft_task *task)
{
	note(task);
	kit_expect(weft_self() == NULL);
	kit_expect(weft_go(child_fiber, (void *)1) == 0);
	kit_expect(ran == 1);
}

static void a_task_starts_fibers_here(void **state)
{
	(void)state;
	prepare();
	tasks[0].task.run = go_from_task;
	submit(0);
	expect_order(2);
}

/* In a fiber of a runtime a task is still none of the runtime's fibers. */
static void *submit_in_fiber(void *arg)
{
	weft_fiber *self = weft_self();

	(void)arg;
	prepare();
	tasks[0].task.run = go_from_task;
	submit(0);
	kit_expect(ran == 2);
	kit_expect(weft_self() == self);
	weft_yield();
	kit_expect(weft_self() == self);
	return NULL;
}

static void it_works_in_a_fiber(void **state)
{
	(void)state;
	kit_play(submit_in_fiber, 1);
	expect_order(2);
}

static void it_is_always_there(void **state)
{
	weft_task task = { .run = note };

	(void)state;
	assert_ptr_equal(weft_inline(), weft_inline());
	assert_int_equal(weft_executor_destroy(weft_inline()), -EINVAL);
	assert_int_equal(
		weft_submit(weft_inline(), &task, (weft_hint)3), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_at_once),
		cmocka_unit_test(what_comes_meanwhile_waits),
		cmocka_unit_test(the_stack_does_not_grow),
		cmocka_unit_test(others_between_are_walked_over),
		cmocka_unit_test(each_thread_runs_its_own),
		cmocka_unit_test(a_fiber_runs_until_it_waits),
		cmocka_unit_test(a_task_starts_fibers_here),
		cmocka_unit_test(it_works_in_a_fiber),
		cmocka_unit_test(it_is_always_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
