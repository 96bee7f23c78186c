/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_inline_test.c - the inline executor runs a task in the
 * call that submits it, and then the tasks submitted meanwhile, in order.
 */
#include "api/api.h"

#include <unistd.h>

#include <weft/weft.h>

/* A tree of tasks: each submits its children.  No task runs in another. */
enum { NODES = 1000, CHILDREN = 3 };

static struct {
	weft_task tasks[NODES];
	size_t order[NODES];
	size_t ran;
	int depth, depth_max;
} tree;

static void run_node(weft_task *task)
{
	size_t self = (size_t)(task - tree.tasks);
	size_t first = CHILDREN * self + 1;

	tree.depth++;
	if (tree.depth > tree.depth_max)
		tree.depth_max = tree.depth;
	if (tree.ran < NODES)
		tree.order[tree.ran++] = self;
	for (size_t i = first; i < first + CHILDREN && i < NODES; i++) {
		size_t before = tree.ran;

		expect_eq(weft_submit(weft_inline(), &tree.tasks[i],
				  hints[i % HINTS]),
			0);
		/* The child waits until this task is done. */
		expect_eq(tree.ran, before);
	}
	tree.depth--;
}

static void run_the_tree(void)
{
	memset(&tree, 0, sizeof(tree));
	for (size_t i = 0; i < NODES; i++)
		tree.tasks[i].run = run_node;
	expect_eq(weft_submit(weft_inline(), &tree.tasks[0], WEFT_HINT_DEFAULT),
		0);
	/* All of it has run when the outermost call returns, in order. */
	expect_eq(tree.ran, NODES);
	expect_eq(tree.depth_max, 1);
	for (size_t i = 0; i < NODES; i++)
		expect_eq(tree.order[i], i);
}

static void nested_submits_are_queued(void **state)
{
	(void)state;
	run_the_tree();
	assert_expected();
}

static void *run_the_tree_in_fiber(void *arg)
{
	weft_fiber *self = weft_self();

	run_the_tree();
	expect(weft_self() == self);
	weft_yield();
	expect(weft_self() == self);
	return arg;
}

static void a_fiber_of_a_runtime_may_use_it(void **state)
{
	(void)state;
	play(1, run_the_tree_in_fiber, NULL);
	play(2, run_the_tree_in_fiber, NULL);
}

static void run_the_tree_as_task(void *arg)
{
	run_the_tree();
	weft_group_done(arg);
}

static void a_task_of_a_pool_may_use_it(void **state)
{
	weft_group done = { 0 };
	weft_executor *pool;

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 1), 0);
	weft_group_add(&done, 1);
	assert_int_equal(weft_submit_fn(pool, run_the_tree_as_task, &done), 0);
	assert_int_equal(weft_group_wait(&done, PATIENCE), 0);
	assert_int_equal(weft_executor_destroy(pool), 0);
	assert_expected();
}

/* ------------------------------------------------------------------------ */

static struct {
	weft_fiber *outer;
	bool task_ran, fiber_ran;
} within;

static void run_in_the_call(void *arg)
{
	weft_fiber *self = weft_self();

	(void)arg;
	expect(self != NULL && self != within.outer);
	weft_yield();
	expect(weft_self() == self);
	within.fiber_ran = true;
}

static void run_a_task_in_the_call(weft_task *task)
{
	(void)task;
	expect(weft_self() == NULL);
	expect_eq(weft_go(run_in_the_call, NULL), 0);
	expect(!within.fiber_ran);
	within.task_ran = true;
}

/* An inline task that a fiber submits is not a fiber; its fibers run inline. */
static void *submit_within(void *arg)
{
	weft_task task = { .run = run_a_task_in_the_call };

	within.outer = weft_self();
	for (size_t i = 0; i < rounds(1000); i++) {
		within.task_ran = within.fiber_ran = false;
		expect_eq(weft_submit(weft_inline(), &task, WEFT_HINT_DEFAULT),
			0);
		expect(within.task_ran && within.fiber_ran);
		expect(weft_self() == within.outer);
	}
	return arg;
}

static void what_a_task_starts_runs_in_the_call_too(void **state)
{
	(void)state;
	submit_within(NULL);
	assert_expected();
	play(1, submit_within, NULL);
	play(3, submit_within, NULL);
}

/* ------------------------------------------------------------------------ */

static struct {
	struct baton baton;
	pid_t before, after; /* its thread */
	_Atomic(bool) over;
} moved;

static void *wait_inline(void *arg)
{
	moved.before = gettid();
	baton_wait(&moved.baton);
	moved.after = gettid();
	atomic_store(&moved.over, true);
	return arg;
}

static void wake_inline(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	baton_put(&moved.baton, WEFT_HINT_DEFAULT);
	/* The fiber went on in that call. */
	expect(atomic_load(&moved.over));
	expect(moved.after == gettid());
}

static void a_fiber_goes_on_where_it_is_woken(void **state)
{
	weft_fiber_attr attr = { .executor = weft_inline() };

	(void)state;
	for (size_t i = 0; i < rounds(200); i++) {
		weft_fiber *f;
		void *result;

		atomic_store(&moved.over, false);
		assert_int_equal(weft_spawn(&f, &attr, wait_inline, &moved), 0);
		assert_true(moved.before == gettid());
		assert_false(atomic_load(&moved.over));
		assert_int_equal(weft_join(f, NULL, WEFT_NOW), -ETIMEDOUT);
		threads_run(1, wake_inline, NULL);
		assert_expected();
		assert_int_equal(weft_join(f, &result, WEFT_NOW), 0);
		assert_ptr_equal(result, &moved);
	}
}

/* Started by a fiber of a runtime, woken by a thread, joined by the fiber. */
static void *wait_for_inline(void *arg)
{
	weft_fiber_attr attr = { .executor = weft_inline() };
	weft_fiber *f = NULL;

	expect_eq(weft_spawn(&f, &attr, wait_inline, &moved), 0);
	expect(join(f) == &moved);
	expect(atomic_load(&moved.over));
	return arg;
}

static void a_fiber_joins_one_that_is_inline(void **state)
{
	weft_rt *rt = rt_workers(1);

	(void)state;
	for (size_t i = 0; i < rounds(200); i++) {
		weft_fiber *f;

		atomic_store(&moved.over, false);
		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, wait_for_inline, NULL), 0);
		assert_true(await(atomic_load(&moved.baton.word) > BATON_DOWN));
		threads_run(1, wake_inline, NULL);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_expected();
	}
	rt_end(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nested_submits_are_queued),
		cmocka_unit_test(a_fiber_of_a_runtime_may_use_it),
		cmocka_unit_test(a_task_of_a_pool_may_use_it),
		cmocka_unit_test(what_a_task_starts_runs_in_the_call_too),
		cmocka_unit_test(a_fiber_goes_on_where_it_is_woken),
		cmocka_unit_test(a_fiber_joins_one_that_is_inline),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
