/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_destroy_test.c - which fibers, tasks and threads may
 * destroy an executor, and when.
 *
 * executor_suite.h tests for every kind that the destroy waits for all tasks.
 */
#include "api/executor_kit.h"

#include <weft/weft.h>

/* ------------------------------------------------------------------------ */
/* Executors that weft_executor_destroy refuses. */

static _Atomic(unsigned) user_runs;

static void count_run(weft_task *task)
{
	(void)task;
	atomic_fetch_add(&user_runs, 1);
}

/* The destroy is refused, and the executor still runs tasks. */
static void assert_not_destroyed(weft_executor *e)
{
	static weft_task task = { .run = count_run };
	unsigned before = atomic_load(&user_runs);

	assert_int_equal(weft_executor_destroy(e), -EINVAL);
	assert_int_equal(weft_submit(e, &task, WEFT_HINT_DEFAULT), 0);
	assert_int_equal(weft_executor_destroy(e), -EINVAL);
	assert_true(await(atomic_load(&user_runs) == before + 1));
}

static void some_executors_cannot_be_destroyed(void **state)
{
	static const size_t which[] = { RT_1, RT_2, INLINE, USER_FIFO,
		USER_LIFO };

	(void)state;
	for (size_t i = 0; i < sizeof(which) / sizeof(which[0]); i++) {
		struct subject *s = subject_make(&kinds[which[i]]);

		assert_not_destroyed(s->e);
		subject_unmake(s);
	}
}

/* ------------------------------------------------------------------------ */
/* A task or fiber of the executor would wait for itself. */

static struct {
	struct subject *subject;
	weft_executor *e; /* the destroy of it is refused */
	unsigned refused;
	weft_group left;
} inside;

static void destroy_inside(weft_task *task)
{
	(void)task;
	expect_eq(weft_executor_destroy(inside.e), -EDEADLK);
	inside.refused++;
	weft_group_done(&inside.left);
}

static void *destroy_in_fiber(void *arg)
{
	destroy_inside(NULL);
	weft_yield();
	expect_eq(weft_executor_destroy(inside.e), -EDEADLK);
	return arg;
}

static void assert_deadlock(struct subject *s, weft_executor *e)
{
	weft_fiber_attr attr = { .executor = s->e };
	weft_task task = { .run = destroy_inside };
	weft_fiber *f;

	inside.subject = s;
	inside.e = e;
	inside.refused = 0;
	weft_group_add(&inside.left, 1);
	assert_int_equal(weft_submit(s->e, &task, WEFT_HINT_DEFAULT), 0);
	assert_int_equal(weft_group_wait(&inside.left, PATIENCE), 0);
	assert_expected();
	weft_group_add(&inside.left, 1);
	assert_int_equal(weft_spawn(&f, &attr, destroy_in_fiber, NULL), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_int_equal(weft_group_wait(&inside.left, PATIENCE), 0);
	assert_expected();
	assert_int_equal(inside.refused, 2);
}

static void no_task_destroys_its_own_executor(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct subject *s;

		if (i != POOL_1 && i != POOL_4 && i != MANUAL &&
			i != MANUAL_BY_FIBER && i < KINDS_BELOW)
			continue;
		s = subject_make(&kinds[i]);
		assert_deadlock(s, s->e);
		/* The executor under the strand runs that task, too. */
		if (i == KINDS_BELOW + POOL_1 || i == KINDS_BELOW + MANUAL ||
			i >= KINDS_STRANDS)
			assert_deadlock(s, s->under->e);
		subject_unmake(s);
	}
}

/* ------------------------------------------------------------------------ */
/* While a fiber destroys, other fibers of its worker run. */

static struct {
	weft_executor *e;
	struct baton baton;
	unsigned steps;
	bool gone;
} gone;

static void *wait_on_it(void *arg)
{
	baton_wait(&gone.baton);
	return arg;
}

static void *wake_it_later(void *arg)
{
	for (; gone.steps < 10; gone.steps++) {
		expect(!gone.gone);
		weft_yield();
	}
	baton_put(&gone.baton, WEFT_HINT_DEFAULT);
	return arg;
}

static void *destroy_by_fiber(void *arg)
{
	weft_fiber *f = NULL, *waker = spawn(wake_it_later, NULL);
	weft_fiber_attr attr = { .executor = gone.e };

	expect_eq(weft_spawn(&f, &attr, wait_on_it, &gone), 0);
	expect_eq(weft_executor_destroy(gone.e), 0);
	gone.gone = true;
	expect_eq(gone.steps, 10);
	expect(join(f) == &gone);
	join(waker);
	return arg;
}

static void a_fiber_that_destroys_it_lets_others_run(void **state)
{
	weft_executor *pool;

	(void)state;
	for (size_t i = 0; i < rounds(100); i++) {
		memset(&gone, 0, sizeof(gone));
		assert_int_equal(weft_pool_create(&pool, 1 + i % 2), 0);
		gone.e = pool;
		if (i % 3 == 0)
			assert_int_equal(weft_strand_create(&gone.e, pool), 0);
		play(1, destroy_by_fiber, NULL);
		if (gone.e != pool)
			assert_int_equal(weft_executor_destroy(pool), 0);
	}
}

/* ------------------------------------------------------------------------ */
/* Fibers outlive the executor as handles. */

static void *spawn_here(void *arg)
{
	return spawn(echo, arg);
}

static void handles_outlive_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < KINDS; i++) {
		struct subject *s = subject_make(&kinds[i]);
		weft_fiber_attr attr = { .executor = s->e };
		bool waits = kinds[i].ops->waits && s->rt == NULL;
		weft_fiber *f, *child;

		assert_int_equal(weft_spawn(&f, &attr, spawn_here, s), 0);
		if (waits)
			subject_unmake(s);
		assert_int_equal(weft_join(f, (void **)&child, PATIENCE), 0);
		assert_expected();
		assert_non_null(child);
		assert_int_equal(weft_join(child, (void **)&f, PATIENCE), 0);
		assert_ptr_equal(f, s);
		if (!waits)
			subject_unmake(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(some_executors_cannot_be_destroyed),
		cmocka_unit_test(no_task_destroys_its_own_executor),
		cmocka_unit_test(a_fiber_that_destroys_it_lets_others_run),
		cmocka_unit_test(handles_outlive_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
