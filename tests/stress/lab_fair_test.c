/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/lab_fair_test.c - on one worker of the laboratory, which choices
 * are fair and which starve a task is as the table says, row by row.
 *
 * A combination that starves is a result, so both are checked: that the fair
 * ones are, and that the others are not.  With one worker all is decided by the
 * order of picks.  A thread outside submits while a task spins: so the task
 * knows that the others are in the global queue.
 *
 * KEEPERS are two fibers or tasks that would keep the worker for ever.  They
 * end when the TARGET has run, or after PICKS runs: then it has starved.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "exec/lab.h"
#include "exec/lab_kinds.h"
#include "os/os.h"
#include "stress/sched_kit.h"

enum { PICKS = 20000, READY_MAX = 600, TURNERS = 8 };

/* ------------------------------------------------------------------------ */
/* The worker, and a helper outside. */

static struct {
	weft_executor *e;
	_Atomic(bool) over;
	/* A task asks, the helper submits count tasks and answers. */
	weft_task *tasks;
	size_t count;
	_Atomic(uint32_t) asked, answered;
} scene;

/* On the worker: these tasks are in the global queue when it returns. */
static void put_into_global(weft_task *tasks, size_t count)
{
	uint32_t nth = wf_load_rlx(&scene.answered) + 1;

	scene.tasks = tasks;
	scene.count = count;
	wf_store_rel(&scene.asked, nth);
	while (wf_load_acq(&scene.answered) != nth)
		wf_os_thread_yield();
}

static void submit(weft_task *task, weft_hint hint)
{
	kit_expect(weft_submit(scene.e, task, hint) == 0);
}

static void help(void)
{
	while (!wf_load_acq(&scene.over)) {
		uint32_t nth = wf_load_acq(&scene.asked);

		if (nth == wf_load_rlx(&scene.answered)) {
			wf_os_thread_yield();
			continue;
		}
		for (size_t i = 0; i < scene.count; i++)
			submit(&scene.tasks[i], WEFT_HINT_DEFAULT);
		wf_store_rel(&scene.answered, nth);
	}
}

static void scene_open(const struct wf_lab_config *c)
{
	memset(&scene, 0, sizeof(scene));
	kit_watch();
	assert_int_equal(wf_lab_create(&scene.e, c), 0);
}

/* Help until the scene is over. */
static void scene_close(void)
{
	help();
	assert_int_equal(weft_executor_destroy(scene.e), 0);
	kit_settle();
}

static void scene_go(void *(*fn)(void *), void *arg)
{
	weft_fiber_attr attr = { .executor = scene.e };
	weft_fiber *f;

	assert_int_equal(weft_spawn(&f, &attr, fn, arg), 0);
	weft_detach(f);
}

/* ------------------------------------------------------------------------ */
/* Keepers and a target. */

static struct {
	weft_hint hint;		/* by which keepers go on */
	bool outside;		/* the target is in the global queue */
	weft_task tasks[2], target, starter;
	size_t runs, ended;
	bool ran, starved;
} keep;

static void run_target(weft_task *task)
{
	(void)task;
	keep.ran = true;
}

static bool keeper_ends(void)
{
	keep.starved |= ++keep.runs > PICKS;
	if (!keep.ran && !keep.starved)
		return false;
	if (++keep.ended == 2)
		wf_store_rel(&scene.over, true);
	return true;
}

static void *yield_on(void *arg)
{
	while (!keeper_ends())
		weft_yield();
	return arg;
}

/* Each of the two submits the other. */
static void submit_on(weft_task *task)
{
	bool second = task == &keep.tasks[1];

	if (keeper_ends())
		/* The other one is queued nowhere, and will not be. */
		(void)keeper_ends();
	else
		submit(&keep.tasks[!second], keep.hint);
}

static void start_keepers(weft_task *task)
{
	(void)task;
	if (keep.hint == WEFT_HINT_YIELD) {
		weft_fiber_attr attr = { .executor = scene.e };
		weft_fiber *f;

		for (size_t i = 0; i < 2; i++) {
			kit_expect(weft_spawn(&f, &attr, yield_on, NULL) == 0);
			weft_detach(f);
		}
	} else {
		submit(&keep.tasks[0], keep.hint);
	}
	if (keep.outside)
		put_into_global(&keep.target, 1);
	else
		submit(&keep.target, WEFT_HINT_DEFAULT);
}

static bool target_runs(
	const struct wf_lab_config *c, weft_hint hint, bool outside)
{
	memset(&keep, 0, sizeof(keep));
	keep.hint = hint;
	keep.outside = outside;
	keep.target.run = run_target;
	keep.starter.run = start_keepers;
	keep.tasks[0].run = keep.tasks[1].run = submit_on;
	scene_open(c);
	submit(&keep.starter, WEFT_HINT_DEFAULT);
	scene_close();
	assert_true(keep.ran);
	return !keep.starved;
}

/* A task from outside runs while fibers yield. */
static bool outside_beside_yielders(const struct wf_lab_config *c)
{
	return target_runs(c, WEFT_HINT_YIELD, true);
}

/* A task from outside runs while tasks submit each other. */
static bool outside_beside_tasks(const struct wf_lab_config *c)
{
	return target_runs(c, WEFT_HINT_DEFAULT, true);
}

/* A task in the local queue runs while fibers yield. */
static bool local_beside_yielders(const struct wf_lab_config *c)
{
	return target_runs(c, WEFT_HINT_YIELD, false);
}

/* A task in the local queue runs while tasks submit each other by NEXT. */
static bool local_beside_slot(const struct wf_lab_config *c)
{
	return target_runs(c, WEFT_HINT_NEXT, false);
}

/* ------------------------------------------------------------------------ */
/* Turns: fibers that yield have about as many. */

static struct {
	_Atomic(bool) begin;
	size_t turns[TURNERS], sum, ended;
	weft_task holder;
} turns;

static void hold(weft_task *task)
{
	(void)task;
	while (!wf_load_acq(&turns.begin))
		wf_os_thread_yield();
}

static void *take_turns(void *arg)
{
	while (turns.sum < PICKS) {
		turns.sum++;
		++*(size_t *)arg;
		weft_yield();
	}
	if (++turns.ended == TURNERS)
		wf_store_rel(&scene.over, true);
	return arg;
}

static bool turns_are_even(const struct wf_lab_config *c)
{
	size_t least = SIZE_MAX, most = 0;

	memset(&turns, 0, sizeof(turns));
	scene_open(c);
	turns.holder.run = hold;
	submit(&turns.holder, WEFT_HINT_DEFAULT);
	for (size_t i = 0; i < TURNERS; i++)
		scene_go(take_turns, &turns.turns[i]);
	wf_store_rel(&turns.begin, true);
	scene_close();
	for (size_t i = 0; i < TURNERS; i++) {
		least = wf_min_size(least, turns.turns[i]);
		most = wf_max_size(most, turns.turns[i]);
	}
	return least >= most / 2;
}

/* ------------------------------------------------------------------------ */
/* Behind all: a yielder runs again after all tasks that were ready. */

static struct {
	struct wf_random random;
	weft_task locals[READY_MAX], globals[READY_MAX], next[2];
	size_t ran;
	bool early;
} behind;

static void count_run(weft_task *task)
{
	(void)task;
	behind.ran++;
}

/*
 * Ready tasks in the local queue and the global one: none, few, more than the
 * 61 of the look, more than the local queue holds.
 */
static const size_t ready[][2] = { { 0, 0 }, { 1, 0 }, { 0, 1 }, { 20, 20 },
	{ 200, 0 }, { 0, 200 }, { 200, 3 }, { 3, 200 }, { 500, 0 },
	{ 500, 500 } };
enum { FIXED = sizeof(ready) / sizeof(ready[0]), TRIALS = FIXED + 20 };

static size_t ready_of(size_t trial, size_t queue)
{
	if (trial < FIXED)
		return ready[trial][queue];
	return wf_random_below(&behind.random, READY_MAX);
}

static size_t fill_queues(size_t trial)
{
	size_t locals = ready_of(trial, 0), globals = ready_of(trial, 1);

	for (size_t i = 0; i < READY_MAX; i++)
		behind.locals[i].run = behind.globals[i].run = count_run;
	for (size_t i = 0; i < locals; i++)
		submit(&behind.locals[i], WEFT_HINT_DEFAULT);
	if (globals > 0)
		put_into_global(behind.globals, globals);
	/* A task in the slot, and one displaced from it. */
	for (size_t i = 0; i < trial % 3; i++) {
		behind.next[i].run = count_run;
		submit(&behind.next[i], WEFT_HINT_NEXT);
	}
	return locals + globals + trial % 3;
}

/* Once it was too early the others may starve: it ends, and lets them run. */
static void *yield_behind_all(void *arg)
{
	for (size_t i = 0; i < TRIALS && !behind.early; i++) {
		size_t wanted = fill_queues(i);

		behind.ran = 0;
		weft_yield();
		behind.early = behind.ran < wanted;
	}
	wf_store_rel(&scene.over, true);
	return arg;
}

static bool yielders_wait_for_all(const struct wf_lab_config *c)
{
	memset(&behind, 0, sizeof(behind));
	wf_random_seed(&behind.random, threads_seed());
	scene_open(c);
	scene_go(yield_behind_all, NULL);
	scene_close();
	return !behind.early;
}

/* ------------------------------------------------------------------------ */
/* The table. */

static const struct {
	const char *name;
	bool (*holds)(const struct wf_lab_config *c);
} properties[] = {
	{ "turns are even", turns_are_even },
	{ "outside runs beside yielders", outside_beside_yielders },
	{ "outside runs beside tasks", outside_beside_tasks },
	{ "local runs beside yielders", local_beside_yielders },
	{ "local runs beside the slot", local_beside_slot },
	{ "yielders wait for all", yielders_wait_for_all },
};
enum { PROPERTIES = sizeof(properties) / sizeof(properties[0]) };

#define LAST 1000000 /* a number that no look reaches */

/*
 * The choices, where 0 is the default (yield to the global queue, take a share,
 * a lock-free ring), and which of the properties hold: + or -.
 *
 * The look at the global queue keeps tasks there from starving, and for that
 * reason takes a yielder from there before its turn.  So with local queues only
 * one row has a + everywhere: there every pick takes one task from the global
 * queue if it can.
 */
static const struct {
	uint32_t every, yield, take, queues, local, capacity, lifo, limit;
	const char *expected;
} rows[] = {
	{ 61, 0, 0, 0, 0, 256, 1, 3, "+++++-" },
	{ 61, 0, WF_LAB_TAKE_ONE, 0, 0, 256, 1, 3, "+++++-" },
	{ 61, WF_LAB_YIELD_LOCAL, 0, 0, 0, 256, 1, 3, "+++++-" },
	{ 61, WF_LAB_YIELD_LOCAL, WF_LAB_TAKE_ONE, 0, WF_LAB_LIST, 256, 1, 3,
		"+++++-" },
	/* No look: tasks from outside wait until the local queue is empty. */
	{ 0, 0, 0, 0, 0, 256, 1, 3, "++-+++" },
	{ LAST, 0, WF_LAB_TAKE_ONE, 0, 0, 256, 1, 3, "++-+++" },
	{ 0, 0, WF_LAB_TAKE_ALL, 0, WF_LAB_RING_LOCKED, 2, 1, 3, "++-+++" },
	{ 0, WF_LAB_YIELD_LOCAL, 0, 0, 0, 256, 1, 3, "+--++-" },
	{ 0, WF_LAB_YIELD_LOCAL, WF_LAB_TAKE_ALL, 0, WF_LAB_LIST, 256, 1, 3,
		"+--++-" },
	/* The worker takes one fiber, or so many as fit, and never others.  A
	 * ring of two sends the local target to the global queue too. */
	{ 0, WF_LAB_YIELD_LOCAL, WF_LAB_TAKE_ONE, 0, 0, 256, 1, 3, "---++-" },
	{ 0, WF_LAB_YIELD_LOCAL, WF_LAB_TAKE_ALL, 0, 0, 2, 1, 3, "----+-" },
	/* A look before every pick: the local queue waits instead. */
	{ 1, 0, 0, 0, 0, 256, 1, 3, "-++-+-" },
	{ 1, 0, WF_LAB_TAKE_ONE, 0, 0, 256, 1, 3, "+++-+-" },
	{ 1, WF_LAB_YIELD_LOCAL, 0, 0, 0, 256, 1, 3, "+++++-" },
	{ 1, WF_LAB_YIELD_LOCAL, WF_LAB_TAKE_ONE, 0, WF_LAB_LIST, 256, 1, 3,
		"++++++" },
	/* The slot without a limit, and no slot. */
	{ 61, 0, 0, 0, 0, 256, 1, 0, "++++--" },
	{ 61, 0, 0, 0, 0, 256, 0, 0, "+++++-" },
	{ 0, 0, 0, 0, 0, 256, 0, 0, "++-+++" },
	/* One queue. */
	{ 61, 0, 0, WF_LAB_GLOBAL, 0, 256, 0, 3, "++++++" },
	{ 0, 0, 0, WF_LAB_GLOBAL, 0, 256, 1, 3, "++++++" },
	{ 0, 0, 0, WF_LAB_GLOBAL, 0, 256, 1, 0, "++++-+" },
	{ 61, 0, 0, WF_LAB_BOUNDED, 0, 256, 0, 3, "++++++" },
	{ 0, 0, 0, WF_LAB_BOUNDED, 0, 256, 1, 3, "++++++" },
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static struct wf_lab_config config_of(size_t row)
{
	struct wf_lab_config c = wf_lab_default;

	c.workers = 1;
	c.global_every = rows[row].every;
	c.yield = rows[row].yield;
	c.take = rows[row].take;
	c.queues = rows[row].queues;
	c.local = rows[row].local;
	c.local_capacity = rows[row].capacity;
	c.bounded_capacity = 16;
	c.lifo = rows[row].lifo;
	c.lifo_limit = rows[row].limit;
	return c;
}

static void each_row_is_as_fair_as_the_table_says(void **state)
{
	size_t wrong = 0;

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		struct wf_lab_config c = config_of(i);
		char found[PROPERTIES + 1] = "", words[300];

		/* Stealing and waking do not matter on one worker. */
		c.steal = i % 2;
		c.victims = i / 2 % 2;
		c.wake = i % 3;
		for (size_t p = 0; p < PROPERTIES; p++)
			found[p] = properties[p].holds(&c) ? '+' : '-';
		printf("%s %s\n", found, lab_words(&c, words, sizeof(words)));
		for (size_t p = 0; p < PROPERTIES; p++) {
			if (found[p] == rows[i].expected[p])
				continue;
			wrong++;
			printf("  expected %c: %s\n", rows[i].expected[p],
				properties[p].name);
		}
	}
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_as_fair_as_the_table_says),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
