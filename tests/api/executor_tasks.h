/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_tasks.h - what every executor does with tasks.
 *
 * A part of executor_suite.h.  No check here knows the kind of the executor.
 */
#ifndef WEFT_TESTS_API_EXECUTOR_TASKS_H
#define WEFT_TESTS_API_EXECUTOR_TASKS_H

#include "api/executor_kit.h"

/* A task with plain fields: the submit orders them. */
struct item {
	weft_task task;
	struct subject *subject;
	unsigned before;	/* written before each submit */
	unsigned ran;
	unsigned wanted;	/* how often it runs in all */
};

enum { ITEMS_MAX = 10000 };

static struct item items[ITEMS_MAX];
static weft_group items_left;

/* n items, each of which runs once. */
static void items_begin(struct subject *s, size_t n, void (*run)(weft_task *))
{
	assert_true(n <= ITEMS_MAX);
	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){ .task.run = run,
			.subject = s,
			.before = 1,
			.wanted = 1 };
	weft_group_add(&items_left, (int64_t)n);
}

/* All n have run, as often as they should. */
static void items_end(size_t n)
{
	int err = weft_group_wait(&items_left, PATIENCE);

	assert_expected();
	assert_int_equal(err, 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(items[i].ran, items[i].wanted);
}

static void submit_item(struct item *item, weft_hint hint)
{
	expect_eq(weft_submit(item->subject->e, &item->task, hint), 0);
}

/* An item runs; the run functions begin with this. */
static struct item *item_runs(weft_task *task)
{
	struct item *item = (struct item *)task;

	item->ran++;
	expect_eq(item->before, item->ran);
	expect(runs_this(item->subject));
	return item;
}

static void run_once(weft_task *task)
{
	item_runs(task);
	weft_group_done(&items_left);
}

static void every_task_runs_once(struct subject *s)
{
	size_t n = rounds(3000);

	items_begin(s, n, run_once);
	for (size_t i = 0; i < n; i++)
		submit_item(&items[i], hints[i % HINTS]);
	items_end(n);
}

/* ------------------------------------------------------------------------ */

enum { OUTSIDERS = 4 };

static size_t outsiders_each;

static void submit_some(void *arg, unsigned self)
{
	(void)arg;
	for (size_t i = 0; i < outsiders_each; i++)
		submit_item(&items[self * outsiders_each + i],
			hints[(i + self) % HINTS]);
}

static void several_threads_submit(struct subject *s)
{
	outsiders_each = rounds(800);
	items_begin(s, OUTSIDERS * outsiders_each, run_once);
	threads_run(OUTSIDERS, submit_some, NULL);
	items_end(OUTSIDERS * outsiders_each);
}

/* ------------------------------------------------------------------------ */

static size_t tree_size;

static void run_node(weft_task *task)
{
	struct item *item = item_runs(task);
	size_t first = 2 * (size_t)(item - items) + 1;

	for (size_t i = first; i < first + 2 && i < tree_size; i++)
		submit_item(&items[i], hints[i % HINTS]);
	weft_group_done(&items_left);
}

/* Half of them are leaves, and all come from one. */
static void tasks_submit_tasks(struct subject *s)
{
	tree_size = rounds(ITEMS_MAX);
	items_begin(s, tree_size, run_node);
	submit_item(&items[0], WEFT_HINT_DEFAULT);
	items_end(tree_size);
}

/* ------------------------------------------------------------------------ */

static void run_again(weft_task *task)
{
	struct item *item = item_runs(task);

	if (item->ran == item->wanted) {
		weft_group_done(&items_left);
		return;
	}
	item->before++;
	submit_item(item, hints[item->ran % HINTS]);
}

static void a_task_submits_itself(struct subject *s)
{
	enum { SELVES = 5 };

	items_begin(s, SELVES, run_again);
	for (size_t i = 0; i < SELVES; i++)
		items[i].wanted = (unsigned)rounds(1000);
	for (size_t i = 0; i < SELVES; i++)
		submit_item(&items[i], WEFT_HINT_DEFAULT);
	items_end(SELVES);
}

/* ------------------------------------------------------------------------ */

/* If the executor touches the task after this, a sanitizer sees it, or it jumps
 * to the poisoned run function. */
static void run_and_free(weft_task *task)
{
	memset(task, 0xA5, sizeof(*task));
	free(task);
	weft_group_done(&items_left);
}

static void a_task_frees_itself(struct subject *s)
{
	size_t n = rounds(1000);
	int err;

	weft_group_add(&items_left, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		weft_task *task = malloc(sizeof(*task));

		assert_non_null(task);
		task->run = run_and_free;
		assert_int_equal(weft_submit(s->e, task, hints[i % HINTS]), 0);
	}
	err = weft_group_wait(&items_left, PATIENCE);
	assert_int_equal(err, 0);
}

/* ------------------------------------------------------------------------ */

/* A task that was refused is still ours, and can be submitted. */
static void an_unknown_hint_is_refused(struct subject *s)
{
	static const int unknown[] = { WEFT_HINT_YIELD + 1, -1, 1000 };

	items_begin(s, 1, run_once);
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_int_equal(weft_submit(s->e, &items[0].task,
					 (weft_hint)unknown[i]),
			-EINVAL);
	assert_int_equal(items[0].ran, 0);
	submit_item(&items[0], WEFT_HINT_DEFAULT);
	items_end(1);
}

/* ------------------------------------------------------------------------ */

static void run_fn(void *arg)
{
	run_once(arg);
}

static void functions_run(struct subject *s)
{
	size_t n = rounds(1000);

	items_begin(s, n, NULL);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(
			weft_submit_fn(s->e, run_fn, &items[i].task), 0);
	items_end(n);
	assert_int_equal(weft_submit_fn(s->e, NULL, &items[0]), -EINVAL);
}

static void run_more_fns(void *arg)
{
	struct item *item = arg;
	size_t first = 2 * (size_t)(item - items) + 1;

	item_runs(&item->task);
	for (size_t i = first; i < first + 2 && i < tree_size; i++)
		expect_eq(weft_submit_fn(
				  item->subject->e, run_more_fns, &items[i]),
			0);
	weft_group_done(&items_left);
}

static void functions_submit_functions(struct subject *s)
{
	tree_size = rounds(1000);
	items_begin(s, tree_size, NULL);
	assert_int_equal(weft_submit_fn(s->e, run_more_fns, &items[0]), 0);
	items_end(tree_size);
}

/* ------------------------------------------------------------------------ */

static bool never_called(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	(void)f;
	expect(false);
	return false;
}

/* A plain task is not a fiber: weft_suspend refuses it, yields do nothing. */
static void run_plain(weft_task *task)
{
	struct weft_awaiter a = { .commit = never_called };
	weft_group none = { 0 }, one = { 0 };

	expect(weft_self() == NULL);
	expect(!weft_cancelled());
	expect_eq(weft_suspend(&a), -EPERM);
	expect_eq(weft_group_wait(&none, WEFT_FOREVER), 0);
	weft_group_add(&one, 1);
	expect_eq(weft_group_wait(&one, WEFT_NOW), -ETIMEDOUT);
	weft_yield();
	for (unsigned i = 0; i < 300; i++)
		weft_checkpoint();
	expect(weft_self() == NULL);
	run_once(task);
}

static void a_task_is_not_a_fiber(struct subject *s)
{
	items_begin(s, 10, run_plain);
	for (size_t i = 0; i < 10; i++)
		submit_item(&items[i], hints[i % HINTS]);
	items_end(10);
	assert_null(weft_self());
}

/* ------------------------------------------------------------------------ */

/* Items 3i, 3i + 1 and 3i + 2: a task, and the two fibers it starts. */
static void be_started(void *arg)
{
	struct item *item = arg;

	expect(weft_self() != NULL);
	item_runs(&item->task);
	weft_yield();
	expect(runs_this(item->subject));
	weft_group_done(&items_left);
}

static void *be_spawned(void *arg)
{
	be_started(arg);
	return NULL;
}

static void run_and_start(weft_task *task)
{
	struct item *item = item_runs(task);
	weft_fiber *f = NULL;

	expect_eq(weft_go(be_started, item + 1), 0);
	expect_eq(weft_spawn(&f, NULL, be_spawned, item + 2), 0);
	expect(f != NULL && weft_self() == NULL);
	if (f != NULL)
		weft_detach(f);
	weft_group_done(&items_left);
}

/* The fibers are on the executor that runs the task. */
static void a_task_starts_fibers(struct subject *s)
{
	size_t n = 3 * rounds(200);

	items_begin(s, n, run_and_start);
	for (size_t i = 0; i < n; i += 3)
		submit_item(&items[i], WEFT_HINT_DEFAULT);
	items_end(n);
}

/* ------------------------------------------------------------------------ */

static void *submit_and_wait(void *arg)
{
	struct subject *s = arg;
	size_t n = rounds(500);

	for (size_t round = 0; round < 3; round++) {
		for (size_t i = 0; i < n; i++) {
			items[i].wanted = items[i].before = (unsigned)round + 1;
			submit_item(&items[i], hints[i % HINTS]);
		}
		expect_eq(weft_group_wait(&items_left, WEFT_FOREVER), 0);
		expect(runs_this(s));
		if (round < 2)
			weft_group_add(&items_left, (int64_t)n);
	}
	return arg;
}

/* A fiber submits tasks and waits for them to have run. */
static void a_fiber_submits_tasks(struct subject *s)
{
	weft_fiber_attr attr = { .executor = s->e };
	weft_fiber *f = NULL;
	void *result = NULL;

	items_begin(s, rounds(500), run_once);
	assert_int_equal(weft_spawn(&f, &attr, submit_and_wait, s), 0);
	assert_int_equal(weft_join(f, &result, PATIENCE), 0);
	assert_ptr_equal(result, s);
	items_end(rounds(500));
}

#endif
