/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/manual_test.c - a manual executor runs the oldest first, as many
 * as it is told, on the thread that tells it, and is destroyed at rest only.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/child.h"
#include "os/os.h"
#include "stress/sched_kit.h"

static weft_executor *open_manual(void)
{
	weft_executor *e = NULL;

	kit_watch();
	assert_int_equal(weft_manual_create(&e), 0);
	assert_non_null(e);
	return e;
}

/* A task that writes down its number. */
struct numbered {
	weft_task task; /* must be first */
	size_t number;
};

enum { TASKS = 100 };

static struct numbered tasks[TASKS];
static size_t order[2 * TASKS], ran;

static void note(weft_task *task)
{
	order[ran++] = ((struct numbered *)task)->number;
}

/* The hint is advice, which this executor ignores. */
static void submit_all(weft_executor *e, size_t n)
{
	ran = 0;
	for (size_t i = 0; i < n; i++) {
		tasks[i] = (struct numbered){ { .run = note }, i };
		assert_int_equal(
			weft_submit(e, &tasks[i].task, (weft_hint)(i % 3)), 0);
	}
}

static void expect_order(size_t n)
{
	assert_int_equal(ran, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(order[i], i);
}

static void it_runs_as_many_as_told_in_order(void **state)
{
	weft_executor *e = open_manual();

	(void)state;
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 0);
	submit_all(e, 10);
	assert_int_equal(ran, 0);
	assert_int_equal(weft_manual_run(e, 0), 0);
	assert_int_equal(weft_manual_run(e, 3), 3);
	expect_order(3);
	assert_int_equal(weft_manual_run(e, 1), 1);
	assert_int_equal(weft_manual_run(e, 100), 6);
	expect_order(10);
	assert_int_equal(weft_manual_run(e, 100), 0);
	assert_int_equal(weft_executor_destroy(e), 0);
}

static weft_executor *self;
static size_t inner;

/* Submit three more, and run two of all that are there. */
static void run_inside(weft_task *task)
{
	note(task);
	for (size_t i = 7; i < 10; i++)
		kit_expect(weft_submit(self, &tasks[i].task,
				   WEFT_HINT_DEFAULT) == 0);
	inner = weft_manual_run(self, 2);
}

static void a_task_may_submit_and_run(void **state)
{
	weft_executor *e = self = open_manual();

	(void)state;
	submit_all(e, 0);
	for (size_t i = 0; i < 10; i++)
		tasks[i] = (struct numbered){ { .run = note }, i };
	tasks[0].task.run = run_inside;
	for (size_t i = 0; i < 7; i++)
		assert_int_equal(
			weft_submit(e, &tasks[i].task, WEFT_HINT_DEFAULT), 0);
	/* The inner call counts the tasks that it ran. */
	assert_int_equal(weft_manual_run(e, 5), 5);
	assert_int_equal(inner, 2);
	expect_order(7);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 3);
	expect_order(10);
	assert_int_equal(weft_executor_destroy(e), 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* Busy, or not. */

static int answers[2];

static void *destroy_inside(void *arg)
{
	answers[1] = weft_executor_destroy(arg);
	return NULL;
}

static void destroy_in_task(weft_task *task)
{
	(void)task;
	answers[0] = weft_executor_destroy(self);
}

static void it_cannot_be_destroyed_from_inside(void **state)
{
	weft_executor *e = self = open_manual();
	weft_fiber_attr attr = { .executor = e };
	weft_task task = { .run = destroy_in_task };
	weft_fiber *f;

	(void)state;
	answers[0] = answers[1] = 1;
	assert_int_equal(weft_submit(e, &task, WEFT_HINT_DEFAULT), 0);
	assert_int_equal(weft_spawn(&f, &attr, destroy_inside, e), 0);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 2);
	assert_int_equal(answers[0], -EDEADLK);
	assert_int_equal(answers[1], -EDEADLK);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	assert_int_equal(weft_executor_destroy(e), 0);
}

static weft_group gate;

static void *wait_at_gate(void *arg)
{
	kit_expect(weft_group_wait(&gate, WEFT_FOREVER) == 0);
	ran++;
	return arg;
}

static void a_task_or_a_fiber_makes_it_busy(void **state)
{
	weft_executor *e = open_manual();
	weft_fiber_attr attr = { .executor = e };
	weft_fiber *f;

	(void)state;
	submit_all(e, 1);
	assert_int_equal(weft_executor_destroy(e), -EBUSY);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 1);
	weft_group_add(&gate, 1);
	ran = 0;
	assert_int_equal(weft_spawn(&f, &attr, wait_at_gate, NULL), 0);
	assert_int_equal(weft_executor_destroy(e), -EBUSY);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 1);
	assert_int_equal(ran, 0);
	assert_int_equal(weft_executor_destroy(e), -EBUSY); /* it waits */
	weft_group_done(&gate);
	assert_int_equal(ran, 0);
	assert_int_equal(weft_executor_destroy(e), -EBUSY); /* it is ready */
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 1);
	assert_int_equal(ran, 1);
	/* It has ended but is not joined: the executor is at rest. */
	assert_int_equal(weft_executor_destroy(e), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* Fibers. */

static void *step(void *arg)
{
	size_t n = (size_t)arg;

	order[ran++] = n;
	weft_yield();
	order[ran++] = 3 + n;
	weft_yield();
	order[ran++] = 6 + n;
	return arg;
}

static void fibers_take_turns(void **state)
{
	weft_executor *e = open_manual();
	weft_fiber_attr attr = { .executor = e };
	weft_fiber *f[3];

	(void)state;
	ran = 0;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(weft_spawn(&f[i], &attr, step, (void *)i), 0);
	assert_int_equal(weft_manual_run(e, 4), 4);
	expect_order(4);
	assert_int_equal(weft_manual_run(e, SIZE_MAX), 5);
	expect_order(9);
	for (size_t i = 0; i < 3; i++) {
		void *result;

		assert_int_equal(weft_join(f[i], &result, WEFT_FOREVER), 0);
		assert_int_equal((size_t)result, i);
	}
	assert_int_equal(weft_executor_destroy(e), 0);
}

static void run_another(void *arg)
{
	weft_executor *pool = NULL;

	if (weft_pool_create(&pool, 1) == 0)
		(void)weft_manual_run(arg ? weft_inline() : pool, 1);
}

static void what_is_not_manual_cannot_be_run(void **state)
{
	struct child c;

	(void)state;
	for (uintptr_t i = 0; i < 2; i++) {
		child_run(&c, run_another, (void *)i);
		assert_true(child_killed_by(&c, SIGABRT));
		assert_non_null(strstr(c.text, "is not a manual executor"));
	}
}

/* ------------------------------------------------------------------------ */
/* Several threads. */

enum { RUNNERS = 4 };

static struct {
	weft_executor *e;
	struct numbered *tasks;
	size_t count;
	struct threads_goal goal;
	struct threads_ledger ledger;
	_Atomic(unsigned) names;
} crowd;

static _Thread_local unsigned my_name;

static void mark(weft_task *task)
{
	threads_ledger_mark(
		&crowd.ledger, my_name, ((struct numbered *)task)->number);
	threads_goal_add(&crowd.goal, 1);
}

static void submit_and_run(void *arg, unsigned i)
{
	struct threads_patience patience = { 0 };

	(void)arg;
	my_name = i;
	for (size_t j = i; j < crowd.count; j += RUNNERS) {
		kit_expect(weft_submit(crowd.e, &crowd.tasks[j].task,
				   WEFT_HINT_DEFAULT) == 0);
		if (j % 3 == 0)
			(void)weft_manual_run(crowd.e, j % 5);
	}
	while (!threads_goal_over(&crowd.goal))
		if (weft_manual_run(crowd.e, SIZE_MAX) == 0)
			threads_goal_idle(&crowd.goal, &patience);
}

static void several_threads_run_each_task_once(void **state)
{
	size_t n = crowd.count = kit_rounds(100000);

	(void)state;
	crowd.e = open_manual();
	crowd.tasks = calloc(n, sizeof(*crowd.tasks));
	assert_non_null(crowd.tasks);
	for (size_t i = 0; i < n; i++)
		crowd.tasks[i] = (struct numbered){ { .run = mark }, i };
	crowd.goal = (struct threads_goal){ .wanted = n };
	threads_ledger_open(&crowd.ledger, RUNNERS, n);
	threads_run(RUNNERS, submit_and_run, NULL);
	assert_int_equal(threads_ledger_close(&crowd.ledger), 0);
	assert_int_equal(weft_executor_destroy(crowd.e), 0);
	free(crowd.tasks);
	kit_settle();
}

/* As long as one of them runs a task it is busy, and then it may be freed. */
static struct {
	_Atomic(weft_executor *) e;
	_Atomic(size_t) round, arrived, left;
	size_t rounds;
	struct numbered tasks[2];
	size_t done[2]; /* by the task; destroy orders it */
} race;

/* In even rounds both at once, in odd ones one after the other. */
static void meet(weft_task *task)
{
	size_t i = ((struct numbered *)task)->number;
	size_t n = wf_load_rlx(&race.round);

	wf_add_rlx(&race.arrived, 1);
	while (n % 2 == 0 && wf_load_rlx(&race.arrived) < 2)
		wf_os_thread_yield();
	/* Either of the two is done before the other. */
	for (size_t j = 0; i == n / 2 % 2 && j < 3; j++)
		wf_os_thread_yield();
	race.done[i] = n;
	(void)wf_sub_rlx(&race.left, 1);
}

static void new_round(size_t n)
{
	weft_executor *e = NULL;

	kit_expect(weft_manual_create(&e) == 0);
	wf_store_rlx(&race.arrived, 0);
	wf_store_rlx(&race.left, 2);
	for (size_t i = 0; i < 2; i++) {
		race.tasks[i] = (struct numbered){ { .run = meet }, i };
		kit_expect(weft_submit(e, &race.tasks[i].task,
				   WEFT_HINT_DEFAULT) == 0);
	}
	wf_store_rlx(&race.e, e);
	wf_store_rel(&race.round, n);
}

/* A second at most, however busy the machine is: the round of SIZE_MAX ends. */
static bool begins(_Atomic(size_t) *round, size_t n)
{
	size_t seen;

	while ((seen = wf_load_acq(round)) < n)
		wf_os_thread_yield();
	return seen != SIZE_MAX;
}

static void destroy_at_rest(weft_executor *e)
{
	int err;

	do {
		err = weft_executor_destroy(e);
		kit_expect(err == 0 || err == -EBUSY);
		kit_expect(err != 0 || wf_load_rlx(&race.left) == 0);
		wf_os_thread_yield();
	} while (err);
}

static void run_one(size_t n, bool after)
{
	while (n % 2 && after && wf_load_rlx(&race.left) == 2)
		wf_os_thread_yield();
	if (n % 2 && after)
		wf_os_thread_yield();
	kit_expect(weft_manual_run(wf_load_rlx(&race.e), 1) == 1);
}

static void destroy_or_run(void *arg, unsigned i)
{
	int64_t until = threads_until_ns(1000);

	(void)arg;
	if (i != 0) {
		for (size_t n = 1; begins(&race.round, n); n++)
			run_one(n, i == 2);
		return;
	}
	for (size_t n = 1; n <= race.rounds && threads_now_ns() < until; n++) {
		new_round(n);
		destroy_at_rest(wf_load_rlx(&race.e));
		kit_expect(race.done[0] == n && race.done[1] == n);
	}
	wf_store_rel(&race.round, SIZE_MAX);
}

static void it_is_busy_until_the_last_has_run(void **state)
{
	(void)state;
	kit_watch();
	race.rounds = kit_rounds(5000);
	threads_run(3, destroy_or_run, NULL);
	kit_settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_as_many_as_told_in_order),
		cmocka_unit_test(a_task_may_submit_and_run),
		cmocka_unit_test(it_cannot_be_destroyed_from_inside),
		cmocka_unit_test(a_task_or_a_fiber_makes_it_busy),
		cmocka_unit_test(fibers_take_turns),
		cmocka_unit_test(what_is_not_manual_cannot_be_run),
		cmocka_unit_test(several_threads_run_each_task_once),
		cmocka_unit_test(it_is_busy_until_the_last_has_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
