/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_user_test.c - a user's own executor may refuse a task: its
 * answer is passed on, and all is as before (R1.8).
 */
#include "api/api.h"

#include <pthread.h>

#include <weft/weft.h>

#include "os/child.h"

/* Holds one task until it is run; refuses with answer if that is not 0. */
static struct {
	weft_executor e;
	int answer;
	weft_hint hint;
	unsigned submits;
	weft_task *held;
} one;

static int submit_one(weft_executor *e, weft_task *task, weft_hint hint)
{
	one.submits++;
	one.hint = hint;
	if (e != &one.e || one.answer)
		return one.answer ? one.answer : -EFAULT;
	if (one.held)
		return -EBUSY;
	one.held = task;
	return 0;
}

static void one_begin(void)
{
	memset(&one, 0, sizeof(one));
	one.e.submit = submit_one;
}

/* Run the task it holds; false: it holds none. */
static bool one_run(void)
{
	weft_task *task = one.held;

	one.held = NULL;
	if (task)
		weft_task_run(&one.e, task);
	return task != NULL;
}

static unsigned ran;

static void count_run(weft_task *task)
{
	(void)task;
	ran++;
}

static void count_call(void *arg)
{
	*(unsigned *)arg += 1;
}

static void *count_fiber(void *arg)
{
	*(unsigned *)arg += 1;
	return arg;
}

/* ------------------------------------------------------------------------ */

static void its_hints_and_answers_are_passed_on(void **state)
{
	static const int answers[] = { -ESHUTDOWN, -EAGAIN, -EINVAL };
	weft_task task = { .run = count_run };

	(void)state;
	one_begin();
	ran = 0;
	for (size_t i = 0; i < HINTS; i++) {
		one.answer = 0;
		assert_int_equal(weft_submit(&one.e, &task, hints[i]), 0);
		assert_int_equal(one.hint, hints[i]);
		assert_true(one_run());
		one.answer = answers[i];
		assert_int_equal(
			weft_submit(&one.e, &task, hints[i]), answers[i]);
		assert_int_equal(
			weft_submit_fn(&one.e, count_call, &ran), answers[i]);
		assert_false(one_run());
	}
	assert_int_equal(ran, HINTS);
	/* Bad arguments are refused before they reach it. */
	one.submits = 0;
	assert_int_equal(weft_submit(&one.e, &task, (weft_hint)7), -EINVAL);
	assert_int_equal(weft_submit_fn(&one.e, NULL, NULL), -EINVAL);
	assert_int_equal(one.submits, 0);
}

/* Again and again, with stacks of every size: no memory is used up. */
static void a_refused_fiber_leaves_nothing_behind(void **state)
{
	static const size_t stacks[] = { 0, 4096, 100000, 1 << 20 };
	weft_fiber *untouched = (weft_fiber *)&one, *f = untouched;
	unsigned runs = 0;

	(void)state;
	one_begin();
	for (size_t i = 0; i < rounds(2000); i++) {
		weft_fiber_attr attr = { .executor = &one.e,
			.stack_bytes = stacks[i % 4] };

		one.answer = -EAGAIN;
		assert_int_equal(
			weft_spawn(&f, &attr, count_fiber, &runs), -EAGAIN);
		assert_ptr_equal(f, untouched);
	}
	for (size_t i = 0; i < 4; i++) {
		weft_fiber_attr attr = { .executor = &one.e,
			.stack_bytes = stacks[i] };

		one.answer = 0;
		assert_int_equal(weft_spawn(&f, &attr, count_fiber, &runs), 0);
		assert_true(one_run());
		assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	}
	assert_int_equal(runs, 4);
}

/* ------------------------------------------------------------------------ */

static void start_fibers(weft_task *task)
{
	weft_fiber *f = NULL;

	(void)task;
	one.answer = -EAGAIN;
	expect_eq(weft_go(count_call, &ran), -EAGAIN);
	expect_eq(weft_spawn(&f, NULL, count_fiber, &ran), -EAGAIN);
	expect(f == NULL);
	one.answer = 0;
	expect_eq(weft_go(count_call, &ran), 0);
	/* It has room for one. */
	expect_eq(weft_go(count_call, &ran), -EBUSY);
}

static void fibers_of_its_tasks_are_refused_too(void **state)
{
	weft_task task = { .run = start_fibers };

	(void)state;
	one_begin();
	ran = 0;
	assert_int_equal(weft_submit(&one.e, &task, WEFT_HINT_DEFAULT), 0);
	assert_true(one_run());
	assert_true(one_run());
	assert_false(one_run());
	assert_expected();
	assert_int_equal(ran, 1);
}

/* ------------------------------------------------------------------------ */

static weft_fiber *waits;

static bool commit_publishes(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	waits = f;
	return true;
}

static void *wait_once(void *arg)
{
	struct weft_awaiter a = { .commit = commit_publishes };

	expect_eq(weft_suspend(&a), 0);
	return arg;
}

/* In a child process: the refused fiber could never go on. */
static void refuse_a_wake(void *arg)
{
	weft_fiber_attr attr = { .executor = &one.e };
	weft_fiber *f;

	(void)arg;
	one_begin();
	if (weft_spawn(&f, &attr, wait_once, NULL) != 0 || !one_run())
		_exit(2);
	one.answer = -ESHUTDOWN;
	weft_wake(waits, WEFT_HINT_DEFAULT);
}

static void *yield_once(void *arg)
{
	one.answer = -ESHUTDOWN;
	weft_yield();
	return arg;
}

static void refuse_a_yield(void *arg)
{
	weft_fiber_attr attr = { .executor = &one.e };
	weft_fiber *f;

	(void)arg;
	one_begin();
	if (weft_spawn(&f, &attr, yield_once, NULL) != 0)
		_exit(2);
	one_run();
}

static void assert_ends(void (*fn)(void *))
{
	char name[32];
	struct child c;

	snprintf(name, sizeof(name), "%p", (void *)&one.e);
	child_run(&c, fn, NULL);
	if (!child_killed_by(&c, SIGABRT))
		fail_msg("status %#x: %s", (unsigned)c.status, c.text);
	assert_int_equal(strncmp(c.first, "weft: ", 6), 0);
	assert_non_null(strstr(c.first, "refused"));
	assert_non_null(strstr(c.first, name));
	assert_ptr_equal(strchr(c.first, '\n'), c.first + c.first_bytes - 1);
}

/* Children first: they are forked before any thread was here. */
static void it_must_not_refuse_a_wake(void **state)
{
	(void)state;
	assert_ends(refuse_a_wake);
	assert_ends(refuse_a_yield);
}

/* ------------------------------------------------------------------------ */

static struct {
	weft_executor *outer, *inner;
	weft_fiber *on_outer, *on_inner;
} nested;

static void run_within(weft_task *task)
{
	(void)task;
	expect(weft_self() == NULL);
	expect_eq(weft_spawn(&nested.on_inner, NULL, echo, NULL), 0);
}

/* A task that runs a task of another executor. */
static void run_another(weft_task *task)
{
	weft_task inner = { .run = run_within };

	(void)task;
	weft_task_run(&one.e, &inner);
	expect_eq(weft_spawn(&nested.on_outer, NULL, echo, NULL), 0);
}

static void tasks_may_be_run_within_tasks(void **state)
{
	weft_task task = { .run = run_another };

	(void)state;
	one_begin();
	assert_int_equal(weft_manual_create(&nested.outer), 0);
	assert_int_equal(
		weft_submit(nested.outer, &task, WEFT_HINT_DEFAULT), 0);
	assert_int_equal(weft_manual_run(nested.outer, 1), 1);
	assert_expected();
	/* Each fiber is on the executor of the task that spawned it. */
	assert_int_equal(weft_manual_run(nested.outer, SIZE_MAX), 1);
	assert_int_equal(weft_join(nested.on_outer, NULL, WEFT_NOW), 0);
	assert_int_equal(
		weft_join(nested.on_inner, NULL, WEFT_NOW), -ETIMEDOUT);
	assert_true(one_run());
	assert_int_equal(weft_join(nested.on_inner, NULL, WEFT_NOW), 0);
	assert_int_equal(weft_executor_destroy(nested.outer), 0);
}

/* ------------------------------------------------------------------------ */
/* An executor that runs the task on another thread before submit returns. */

static weft_executor eager;

static void *run_eagerly(void *task)
{
	weft_task_run(&eager, task);
	return NULL;
}

static int submit_eagerly(weft_executor *e, weft_task *task, weft_hint hint)
{
	pthread_t thread;

	(void)e;
	(void)hint;
	if (pthread_create(&thread, NULL, run_eagerly, task) != 0)
		return -EAGAIN;
	return -pthread_join(thread, NULL);
}

static weft_scope eager_scope;
static weft_event eager_go;
static unsigned ended;

static int ends_at_once(void *arg)
{
	(void)arg;
	ended++;
	return 0;
}

/* The owner waits for us by now, and for the fiber we start. */
static int starts_another(void *arg)
{
	int err = weft_event_wait(&eager_go, WEFT_FOREVER);

	(void)arg;
	if (!err)
		err = weft_scope_go(&eager_scope, ends_at_once, NULL);
	ended++;
	return err;
}

static void *owns_scope(void *arg)
{
	if (weft_scope_open(&eager_scope, WEFT_FOREVER) != 0)
		return NULL;
	if (weft_scope_go(&eager_scope, starts_another, NULL) == 0)
		*(unsigned *)arg = 1;
	if (weft_scope_close(&eager_scope) != 0)
		return NULL;
	*(unsigned *)arg += ended;
	return arg;
}

static void a_member_counts_before_it_can_end(void **state)
{
	weft_fiber_attr attr = { .executor = &eager };
	unsigned seen = 0;
	void *result = NULL;
	weft_fiber *f;

	(void)state;
	eager.submit = submit_eagerly;
	assert_int_equal(weft_spawn(&f, &attr, owns_scope, &seen), 0);
	assert_int_equal(seen, 1);
	weft_event_set(&eager_go);
	assert_int_equal(weft_join(f, &result, WEFT_FOREVER), 0);
	assert_ptr_equal(result, &seen);
	assert_int_equal(seen, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_must_not_refuse_a_wake),
		cmocka_unit_test(its_hints_and_answers_are_passed_on),
		cmocka_unit_test(a_refused_fiber_leaves_nothing_behind),
		cmocka_unit_test(fibers_of_its_tasks_are_refused_too),
		cmocka_unit_test(tasks_may_be_run_within_tasks),
		cmocka_unit_test(a_member_counts_before_it_can_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
