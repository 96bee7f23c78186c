/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_manual_test.c - a manual executor runs as many tasks as it
 * is told to, in order, and no others.
 */
#include "api/api.h"

#include <weft/weft.h>

#include "os/child.h"

enum { TASKS = 20 };

struct numbered {
	weft_task task;
	weft_executor *e;
	struct numbered *more; /* submit these, too, in run */
	size_t count;
};

static struct numbered tasks[TASKS];
static size_t order[2 * TASKS];
static size_t ran;

static void run_numbered(weft_task *task)
{
	struct numbered *self = (struct numbered *)task;

	if (ran < 2 * TASKS)
		order[ran++] = (size_t)(self - tasks);
	for (size_t i = 0; i < self->count; i++)
		expect_eq(weft_submit(self->e, &self->more[i].task,
				  hints[i % HINTS]),
			0);
}

static weft_executor *begin(void)
{
	weft_executor *e = NULL;

	assert_int_equal(weft_manual_create(&e), 0);
	assert_non_null(e);
	for (size_t i = 0; i < TASKS; i++)
		tasks[i] = (struct numbered){ { .run = run_numbered }, e, NULL,
			0 };
	ran = 0;
	return e;
}

static void submit_tasks(weft_executor *e, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		assert_int_equal(
			weft_submit(e, &tasks[i].task, WEFT_HINT_DEFAULT), 0);
}

static void assert_order(size_t first, size_t n)
{
	assert_int_equal(ran, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(order[i], first + i);
	ran = 0;
}

static void it_runs_as_many_as_it_is_told(void **state)
{
	weft_executor *e = begin();

	(void)state;
	assert_int_equal(weft_manual_run(e, 0), 0);
	assert_int_equal(weft_manual_run(e, 1), 0);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 0);
	submit_tasks(e, 0, TASKS);
	assert_int_equal(weft_manual_run(e, 0), 0);
	assert_order(0, 0);
	assert_int_equal(weft_manual_run(e, 1), 1);
	assert_order(0, 1);
	assert_int_equal(weft_manual_run(e, 7), 7);
	assert_order(1, 7);
	assert_int_equal(weft_manual_run(e, 100), TASKS - 8);
	assert_order(8, TASKS - 8);
	assert_int_equal(weft_manual_run(e, 1), 0);
	assert_int_equal(weft_executor_destroy(e), 0);
}

static void what_is_submitted_meanwhile_counts(void **state)
{
	weft_executor *e = begin();

	(void)state;
	/* 0 submits 2, 3 and 4, of which 4 submits 5. */
	tasks[0].more = &tasks[2];
	tasks[0].count = 3;
	tasks[4].more = &tasks[5];
	tasks[4].count = 1;
	submit_tasks(e, 0, 2);
	assert_int_equal(weft_manual_run(e, 4), 4);
	assert_int_equal(ran, 4);
	assert_int_equal(order[0], 0);
	assert_int_equal(order[1], 1);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 2);
	assert_int_equal(ran, 6);
	assert_int_equal(order[5], 5);
	/* A task that submits itself is not run more often than asked. */
	tasks[6].more = &tasks[6];
	tasks[6].count = 1;
	ran = 0;
	submit_tasks(e, 6, 1);
	assert_int_equal(weft_manual_run(e, 9), 9);
	assert_int_equal(ran, 9);
	tasks[6].count = 0;
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 1);
	assert_int_equal(weft_executor_destroy(e), 0);
	assert_expected();
}

/* ------------------------------------------------------------------------ */

static size_t nested_ran;

static void run_the_others(weft_task *task)
{
	(void)task;
	nested_ran = weft_manual_run(tasks[0].e, 3);
}

static void a_task_may_run_others(void **state)
{
	weft_executor *e = begin();

	(void)state;
	tasks[0].task.run = run_the_others;
	submit_tasks(e, 0, 6);
	assert_int_equal(weft_manual_run(e, 1), 1);
	assert_int_equal(nested_ran, 3);
	assert_order(1, 3);
	assert_int_equal(weft_manual_run(e, 100), 2);
	assert_order(4, 2);
	assert_int_equal(weft_executor_destroy(e), 0);
}

/* ------------------------------------------------------------------------ */

static weft_executor *shared;
static _Atomic(size_t) shared_ran, shared_told;
static weft_task shared_tasks[2000];

static void run_shared(weft_task *task)
{
	(void)task;
	atomic_fetch_add(&shared_ran, 1);
}

static void run_at_once(void *arg, unsigned self)
{
	size_t n;

	(void)arg;
	while ((n = weft_manual_run(shared, 1 + self)) > 0) {
		expect(n <= 1 + self);
		atomic_fetch_add(&shared_told, n);
	}
}

static void several_threads_may_run_it(void **state)
{
	size_t n = rounds(2000);

	(void)state;
	shared = begin();
	for (size_t i = 0; i < n; i++) {
		shared_tasks[i].run = run_shared;
		assert_int_equal(weft_submit(shared, &shared_tasks[i],
					 WEFT_HINT_DEFAULT),
			0);
	}
	threads_run(4, run_at_once, NULL);
	assert_expected();
	assert_int_equal(atomic_load(&shared_ran), n);
	assert_int_equal(atomic_load(&shared_told), n);
	assert_int_equal(weft_executor_destroy(shared), 0);
}

/* ------------------------------------------------------------------------ */

static struct baton baton;
static unsigned steps;

static void *take_steps(void *arg)
{
	steps++;
	weft_yield();
	steps++;
	baton_wait(&baton);
	steps++;
	return arg;
}

/* Each step of a fiber, from wait to wait, counts as one task. */
static void a_fiber_takes_one_step_at_a_time(void **state)
{
	weft_executor *e = begin();
	weft_fiber_attr attr = { .executor = e };
	weft_fiber *f;
	void *result;

	(void)state;
	assert_int_equal(weft_spawn(&f, &attr, take_steps, e), 0);
	assert_int_equal(steps, 0);
	assert_int_equal(state_of(f), WEFT_FIBER_RUNNABLE);
	assert_int_equal(weft_executor_destroy(e), -EBUSY);
	assert_int_equal(weft_manual_run(e, 1), 1);
	assert_int_equal(steps, 1);
	assert_int_equal(weft_executor_destroy(e), -EBUSY);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 1);
	assert_int_equal(steps, 2);
	assert_int_equal(state_of(f), WEFT_FIBER_WAITING);
	/* It waits, and the executor holds nothing that could run. */
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 0);
	assert_int_equal(weft_executor_destroy(e), -EBUSY);
	baton_put(&baton, WEFT_HINT_DEFAULT);
	assert_int_equal(steps, 2);
	assert_int_equal(weft_executor_destroy(e), -EBUSY);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 1);
	assert_int_equal(steps, 3);
	/* It has ended, and its handle is good without the executor. */
	assert_int_equal(weft_executor_destroy(e), 0);
	assert_int_equal(state_of(f), WEFT_FIBER_DONE);
	assert_int_equal(weft_join(f, &result, WEFT_NOW), 0);
	assert_ptr_equal(result, e);
	assert_expected();
}

static void a_task_makes_it_busy(void **state)
{
	weft_executor *e = begin();

	(void)state;
	submit_tasks(e, 0, 1);
	assert_int_equal(weft_executor_destroy(e), -EBUSY);
	assert_int_equal(ran, 0);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 1);
	assert_int_equal(weft_executor_destroy(e), 0);
}

static void run_destroy(weft_task *task)
{
	struct numbered *self = (struct numbered *)task;

	expect_eq(weft_executor_destroy(self->e), -EDEADLK);
}

static void a_task_cannot_destroy_it(void **state)
{
	weft_executor *e = begin();

	(void)state;
	tasks[0].task.run = run_destroy;
	submit_tasks(e, 0, 2);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 2);
	assert_expected();
	assert_int_equal(weft_executor_destroy(e), 0);
}

/* ------------------------------------------------------------------------ */

static void run_inline_by_hand(void *arg)
{
	(void)arg;
	weft_manual_run(weft_inline(), 1);
}

/* Children first: they are forked before any thread was here. */
static void only_a_manual_executor_is_run_by_hand(void **state)
{
	struct child c;

	(void)state;
	child_run(&c, run_inline_by_hand, NULL);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_int_equal(strncmp(c.first, "weft: ", 6), 0);
	assert_non_null(strstr(c.first, "manual"));
	assert_ptr_equal(strchr(c.first, '\n'), c.first + c.first_bytes - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_manual_executor_is_run_by_hand),
		cmocka_unit_test(it_runs_as_many_as_it_is_told),
		cmocka_unit_test(what_is_submitted_meanwhile_counts),
		cmocka_unit_test(a_task_may_run_others),
		cmocka_unit_test(several_threads_may_run_it),
		cmocka_unit_test(a_fiber_takes_one_step_at_a_time),
		cmocka_unit_test(a_task_makes_it_busy),
		cmocka_unit_test(a_task_cannot_destroy_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
