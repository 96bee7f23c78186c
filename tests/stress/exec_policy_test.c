/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/exec_policy_test.c - what holds for every policy: on one worker
 * a fiber that yields runs again only after all that was ready (R2.8, R2.16);
 * and a bounded queue that is full loses nothing and keeps the order.
 *
 * With one worker all is decided by the order of picks.  A thread outside
 * submits while a fiber spins: so the fiber knows that the tasks are in the
 * global queue.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sched.h>

#include "api/api.h"
#include "base/random.h"
#include "stress/policies.h"
#include "support/threads.h"

#include <weft/weft.h>

/* ------------------------------------------------------------------------ */
/* One worker, and a helper outside. */

static struct scene {
	weft_rt *rt;
	weft_executor *e;
	_Atomic(bool) over;

	/* A fiber asks, the helper submits count tasks and answers. */
	weft_task *tasks;
	size_t count;
	_Atomic(uint32_t) asked, answered;
} scene;

/* In a fiber: these tasks are in the global queue when it returns. */
static void put_into_global(weft_task *tasks, size_t count)
{
	uint32_t nth = atomic_load(&scene.answered) + 1;

	scene.tasks = tasks;
	scene.count = count;
	atomic_store(&scene.asked, nth);
	while (atomic_load(&scene.answered) != nth)
		sched_yield();
}

static void help(void)
{
	int64_t give_up = PATIENCE;

	while (!atomic_load(&scene.over) && weft_now() < give_up) {
		uint32_t nth = atomic_load(&scene.asked);

		if (nth == atomic_load(&scene.answered)) {
			sched_yield();
			continue;
		}
		for (size_t i = 0; i < scene.count; i++)
			expect_eq(weft_submit(scene.e, &scene.tasks[i],
					  WEFT_HINT_DEFAULT),
				0);
		atomic_store(&scene.answered, nth);
	}
}

/* Run fn as the first fiber of a runtime; help until the scene is over. */
static void play_scene(
	const weft_config *cfg, const char *words, void (*fn)(void *))
{
	memset(&scene, 0, sizeof(scene));
	scene.rt = rt_begin(cfg);
	scene.e = weft_rt_executor(scene.rt);
	assert_int_equal(weft_rt_go(scene.rt, fn, NULL), 0);
	help();
	if (!atomic_load(&scene.over))
		fail_msg("%s: it hangs", words);
	rt_end(scene.rt);
}

/* ------------------------------------------------------------------------ */
/* Yield gives way to all that is ready. */

enum { READY_MAX = 600, OTHERS = 3, TRIALS = 24 };

static struct yielding {
	struct wf_random random;
	weft_task locals[READY_MAX], globals[READY_MAX], as_yielder;
	size_t ran, wanted;
	size_t yielder_after; /* tasks that had run before it */
	size_t turns[OTHERS];
	bool over;
	size_t trials;
	weft_group ended;
} yielding;

static void count_run(weft_task *task)
{
	(void)task;
	yielding.ran++;
}

static void *count_fiber(void *arg)
{
	yielding.ran++;
	return arg;
}

static void note_yielder(weft_task *task)
{
	(void)task;
	yielding.yielder_after = yielding.ran;
}

static void yield_too(void *arg)
{
	size_t *turns = arg;

	while (!yielding.over) {
		*turns += 1;
		weft_yield();
	}
	weft_group_done(&yielding.ended);
}

/* None, few, more than the tick (61), more than the local queue (256). */
static size_t some(size_t trial)
{
	static const uint32_t below[] = { 2, 40, 140, READY_MAX };

	return wf_random_below(&yielding.random, below[trial % 4]);
}

static void fill_queues(size_t trial)
{
	size_t locals = some(trial), globals = some(trial / 4 + trial);
	weft_fiber_attr next = { .hint = WEFT_HINT_NEXT };
	weft_fiber *f = NULL;

	yielding.ran = 0;
	yielding.wanted = locals + globals + trial % 3;
	for (size_t i = 0; i < locals; i++) {
		yielding.locals[i].run = count_run;
		expect_eq(weft_submit(scene.e, &yielding.locals[i],
				  WEFT_HINT_DEFAULT),
			0);
	}
	for (size_t i = 0; i < globals; i++)
		yielding.globals[i].run = count_run;
	if (globals > 0)
		put_into_global(yielding.globals, globals);
	/* A task in the slot, and one displaced from it. */
	for (size_t i = 0; i < trial % 3; i++) {
		expect_eq(weft_spawn(&f, &next, count_fiber, NULL), 0);
		weft_detach(f);
	}
}

static void one_yield(size_t trial)
{
	size_t turns[OTHERS];

	fill_queues(trial);
	memcpy(turns, yielding.turns, sizeof(turns));
	yielding.yielder_after = SIZE_MAX;
	yielding.as_yielder.run = note_yielder;
	expect_eq(
		weft_submit(scene.e, &yielding.as_yielder, WEFT_HINT_YIELD), 0);
	weft_yield();
	expect_eq(yielding.ran, yielding.wanted);
	expect_eq(yielding.yielder_after, yielding.wanted);
	for (size_t i = 0; i < OTHERS; i++) {
		expect(yielding.turns[i] >= turns[i] + 1);
		expect(yielding.turns[i] <= turns[i] + 2);
	}
}

static void yield_to_all(void *arg)
{
	(void)arg;
	weft_group_add(&yielding.ended, OTHERS);
	for (size_t i = 0; i < OTHERS; i++)
		expect_eq(weft_go(yield_too, &yielding.turns[i]), 0);
	weft_yield();
	for (size_t i = 0; i < yielding.trials; i++)
		one_yield(i);
	yielding.over = true;
	expect_eq(weft_group_wait(&yielding.ended, WEFT_FOREVER), 0);
	atomic_store(&scene.over, true);
}

static void yield_is_fair_with(
	size_t nth, const weft_policy *policy, const char *words)
{
	weft_config cfg = { .workers = 1, .policy = policy };

	cfg.local_capacity = (uint32_t[]){ 0, 2, 16 }[nth % 3];
	memset(&yielding, 0, sizeof(yielding));
	yielding.trials = rounds(TRIALS);
	wf_random_seed(&yielding.random, threads_seed() + nth);
	play_scene(&cfg, words, yield_to_all);
	if (atomic_load(&first_wrong.complete))
		printf("policy %s, local_capacity %u\n", words,
			cfg.local_capacity);
	assert_expected();
}

static void yield_gives_way_to_all_by_every_policy(void **state)
{
	size_t tried = 0;

	(void)state;
	for (size_t n = 0; n < POLICIES; n++) {
		weft_policy policy;
		char words[120];

		/* Slow builds take every seventh; all fields still change. */
		if (rounds(100) < 100 && n % 7 != 0)
			continue;
		if (!policy_nth(n, &policy, words, sizeof(words)))
			continue;
		yield_is_fair_with(n, &policy, words);
		tried++;
	}
	printf("%zu policies\n", tried);
	assert_true(tried >= 60);
}

/* ------------------------------------------------------------------------ */
/* The order of one queue. */

enum { LINE = 4000 };

static struct {
	weft_task tasks[LINE];
	size_t next;
	weft_executor *e;
	_Atomic(bool) go_on;
	weft_group left;
} line;

static void run_in_line(weft_task *task)
{
	expect_eq(task - line.tasks, line.next++);
	weft_group_done(&line.left);
}

static void submit_line(void)
{
	for (size_t i = 0; i < LINE; i++) {
		line.tasks[i].run = run_in_line;
		expect_eq(
			weft_submit(line.e, &line.tasks[i], WEFT_HINT_DEFAULT),
			0);
	}
}

static void submit_line_inside(weft_task *task)
{
	(void)task;
	submit_line();
}

static void hold_the_worker(weft_task *task)
{
	(void)task;
	while (!atomic_load(&line.go_on))
		nap_ns(100 * NS_PER_US);
}

/* way 0, 1: from outside, worker held or not; 2: from inside. */
static void submit_in_way(unsigned way)
{
	static weft_task task;

	line.next = 0;
	atomic_store(&line.go_on, false);
	weft_group_add(&line.left, LINE);
	task.run = way == 0 ? hold_the_worker : submit_line_inside;
	if (way != 1)
		assert_int_equal(
			weft_submit(line.e, &task, WEFT_HINT_DEFAULT), 0);
	if (way < 2)
		submit_line();
	atomic_store(&line.go_on, true);
	assert_int_equal(weft_group_wait(&line.left, PATIENCE), 0);
	assert_expected();
	assert_int_equal(line.next, LINE);
}

static void one_queue_is_first_in_first_out(void **state)
{
	static const uint32_t capacities[] = { 2, 4, 64, 0 };

	(void)state;
	for (unsigned i = 0; i < 15; i++) {
		weft_policy policy = { .queue = i < 12 ? WEFT_QUEUE_BOUNDED
						       : WEFT_QUEUE_GLOBAL };
		weft_config cfg = { .workers = 1, .policy = &policy };
		weft_rt *rt;

		if (i < 12)
			policy.bounded_capacity = capacities[i / 3];
		rt = rt_begin(&cfg);
		line.e = weft_rt_executor(rt);
		submit_in_way(i % 3);
		rt_end(rt);
	}
}

/* ------------------------------------------------------------------------ */
/* Full all the time. */

enum { FLOOD = 6000, FLOOD_THREADS = 3, FLOOD_FIBERS = 50 };

struct drop {
	weft_task task;
	_Atomic(unsigned) ran;
};

static struct {
	struct drop drops[FLOOD_THREADS][FLOOD];
	size_t each;
	weft_rt *rt;
	weft_executor *e;
	weft_group left;
} flood;

static void run_drop(weft_task *task)
{
	struct drop *drop = (struct drop *)task;
	size_t i = (size_t)(drop - flood.drops[0]) % FLOOD;

	atomic_fetch_add(&drop->ran, 1);
	/* The second half of each row comes from inside. */
	if (i < flood.each / 2)
		expect_eq(weft_submit(flood.e, &drop[flood.each / 2].task,
				  hints[i % HINTS]),
			0);
	weft_group_done(&flood.left);
}

static void pour(void *arg, unsigned self)
{
	(void)arg;
	for (size_t i = 0; i < flood.each; i++)
		flood.drops[self][i].task.run = run_drop;
	for (size_t i = 0; i < flood.each / 2; i++)
		expect_eq(weft_submit(flood.e, &flood.drops[self][i].task,
				  hints[i % HINTS]),
			0);
}

static void yield_in_flood(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < 20; i++)
		weft_yield();
	weft_group_done(&flood.left);
}

static void flood_with(uint32_t capacity, unsigned workers, const char *words)
{
	weft_policy policy;
	weft_config cfg = { .workers = workers, .policy = &policy };
	weft_metrics m;

	assert_int_equal(weft_policy_parse(&policy, words, NULL, 0), 0);
	policy.bounded_capacity = capacity;
	memset(&flood, 0, sizeof(flood));
	flood.each = rounds(FLOOD) / 2 * 2;
	flood.rt = rt_begin(&cfg);
	flood.e = weft_rt_executor(flood.rt);
	weft_group_add(&flood.left,
		(int64_t)(FLOOD_THREADS * flood.each + FLOOD_FIBERS));
	for (size_t i = 0; i < FLOOD_FIBERS; i++)
		assert_int_equal(weft_rt_go(flood.rt, yield_in_flood, NULL), 0);
	threads_run(FLOOD_THREADS, pour, NULL);
	assert_int_equal(weft_group_wait(&flood.left, PATIENCE), 0);
	assert_int_equal(weft_rt_wait_idle(flood.rt, PATIENCE), 0);
	assert_int_equal(weft_metrics_read(flood.rt, &m, sizeof(m)), 0);
	assert_in_range(m.overflows, 1, 2 * FLOOD_THREADS * FLOOD);
	rt_end(flood.rt);
	assert_expected();
	for (size_t i = 0; i < FLOOD_THREADS; i++)
		for (size_t j = 0; j < flood.each; j++)
			assert_int_equal(
				atomic_load(&flood.drops[i][j].ran), 1);
}

static void a_full_queue_loses_nothing(void **state)
{
	static const char *const words[] = { "bounded", "bounded,wake-flare",
		"bounded,no-lifo,wake-go" };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		for (unsigned workers = 1; workers <= 4; workers *= 2)
			for (uint32_t capacity = 2; capacity <= 4;
				capacity += 2)
				flood_with(capacity, workers, words[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yield_gives_way_to_all_by_every_policy),
		cmocka_unit_test(one_queue_is_first_in_first_out),
		cmocka_unit_test(a_full_queue_loses_nothing),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
