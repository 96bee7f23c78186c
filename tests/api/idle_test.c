/* SPDX-License-Identifier: MIT */
/*
 * tests/api/idle_test.c - weft_rt_wait_idle returns when nothing is ready or
 * running, not before, and soon after (R2.12).
 *
 * tests/stress/idle_test.c does it ten thousand times.
 */
#include "api/api.h"

#include <pthread.h>

#include <weft/weft.h>

/* Everything returns "at once" within this, on a busy machine. */
#define SOON_NS (5 * NS_PER_S)

static const char *const policies[] = { "ws", "global-fifo", "bounded", "mutex",
	"steal-one", "take-one", "take-all", "offload-one", "no-lifo",
	"wake-go", "wake-flare", "lock-free", "lock-free,no-lifo,wake-flare",
	"bounded,wake-flare", "global-fifo,wake-go", "mutex,take-all,no-lifo" };
enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

static weft_rt *rt_with(unsigned workers, const char *words)
{
	weft_policy policy;
	weft_config cfg = { .workers = workers, .policy = &policy };

	assert_int_equal(weft_policy_parse(&policy, words, NULL, 0), 0);
	return rt_begin(&cfg);
}

/* ------------------------------------------------------------------------ */
/* Idle runtimes, and waiting fibers. */

static void assert_idle(weft_rt *rt)
{
	assert_int_equal(weft_rt_wait_idle(rt, WEFT_FOREVER), 0);
	assert_int_equal(weft_rt_wait_idle(rt, WEFT_NOW), 0);
	assert_int_equal(weft_rt_wait_idle(rt, -5), 0);
	assert_int_equal(weft_rt_wait_idle(rt, weft_now() - NS_PER_S), 0);
	assert_int_equal(weft_rt_wait_idle(rt, weft_after(NS_PER_S)), 0);
}

static void an_idle_runtime_is_idle_at_once(void **state)
{
	static const unsigned workers[] = { 1, 2, 8, 64, 70 };

	(void)state;
	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
		weft_rt *rt = rt_workers(workers[i]);
		int64_t begin = weft_now();

		/* Just begun, and when its threads sleep. */
		assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
		assert_idle(rt);
		nap_ns(10 * NS_PER_MS);
		assert_idle(rt);
		assert_true(weft_now() - begin < SOON_NS);
		rt_end(rt);
	}
}

static struct {
	struct baton batons[100];
	weft_group gate;
	_Atomic(unsigned) waiting, gone;
} parked;

static void *wait_for_baton(void *arg)
{
	baton_wait(arg);
	atomic_fetch_add(&parked.gone, 1);
	return arg;
}

static void wait_for_gate(void *arg)
{
	(void)arg;
	expect_eq(weft_group_wait(&parked.gate, WEFT_FOREVER), 0);
	atomic_fetch_add(&parked.gone, 1);
}

/* An idle runtime has run all that was ready: its fibers wait. */
static void waiting_fibers_do_not_keep_it_busy(void **state)
{
	(void)state;
	for (size_t round = 0; round < rounds(20); round++) {
		weft_rt *rt = rt_workers(1 + round % 4);
		weft_fiber *f[100];

		memset(&parked, 0, sizeof(parked));
		weft_group_add(&parked.gate, 1);
		for (size_t i = 0; i < 100; i++) {
			assert_int_equal(
				weft_rt_spawn(rt, &f[i], NULL, wait_for_baton,
					&parked.batons[i]),
				0);
			assert_int_equal(
				weft_rt_go(rt, wait_for_gate, NULL), 0);
		}
		assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
		for (size_t i = 0; i < 100; i++)
			assert_int_equal(state_of(f[i]), WEFT_FIBER_WAITING);
		assert_int_equal(atomic_load(&parked.gone), 0);
		for (size_t i = 0; i < 100; i++)
			baton_put(&parked.batons[i], hints[i % HINTS]);
		assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
		assert_int_equal(atomic_load(&parked.gone), 100);
		weft_group_done(&parked.gate);
		assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
		assert_int_equal(atomic_load(&parked.gone), 200);
		for (size_t i = 0; i < 100; i++)
			assert_int_equal(weft_join(f[i], NULL, WEFT_NOW), 0);
		rt_end(rt);
		assert_expected();
	}
}

/* ------------------------------------------------------------------------ */
/* Busy runtimes. */

static struct {
	_Atomic(bool) stop;
	_Atomic(bool) running;
	weft_task task;
	weft_executor *e;
} busy;

static void yield_on(void *arg)
{
	(void)arg;
	atomic_store(&busy.running, true);
	while (!atomic_load(&busy.stop))
		weft_yield();
}

static void submit_on(weft_task *task)
{
	atomic_store(&busy.running, true);
	if (!atomic_load(&busy.stop))
		expect_eq(weft_submit(busy.e, task, WEFT_HINT_DEFAULT), 0);
}

static void nap_on(weft_task *task)
{
	(void)task;
	atomic_store(&busy.running, true);
	while (!atomic_load(&busy.stop))
		nap_ns(NS_PER_MS);
}

/* In three ways: a yielding fiber, a task that submits itself, a long task. */
static void keep_busy(weft_rt *rt, unsigned way)
{
	atomic_store(&busy.stop, false);
	atomic_store(&busy.running, false);
	busy.e = weft_rt_executor(rt);
	busy.task.run = way == 1 ? submit_on : nap_on;
	if (way == 0)
		assert_int_equal(weft_rt_go(rt, yield_on, NULL), 0);
	else
		assert_int_equal(
			weft_submit(busy.e, &busy.task, WEFT_HINT_DEFAULT), 0);
}

static void assert_busy_until(weft_rt *rt, int64_t ns)
{
	weft_time deadline = weft_after(ns), end;

	assert_int_equal(weft_rt_wait_idle(rt, deadline), -ETIMEDOUT);
	end = weft_now();
	assert_true(end >= deadline);
	assert_true(end - deadline < SOON_NS);
}

static void *stop_busy(void *arg)
{
	nap_ns(20 * NS_PER_MS);
	atomic_store(&busy.stop, true);
	return arg;
}

static void busy_in_way(unsigned workers, unsigned way)
{
	weft_rt *rt = rt_workers(workers);
	pthread_t stopper;

	keep_busy(rt, way);
	/* Also before the fiber or task has begun: it is ready. */
	assert_int_equal(weft_rt_wait_idle(rt, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(weft_rt_wait_idle(rt, -1), -ETIMEDOUT);
	assert_true(await(atomic_load(&busy.running)));
	for (size_t i = 0; i < rounds(1000); i++)
		assert_int_equal(weft_rt_wait_idle(rt, WEFT_NOW), -ETIMEDOUT);
	assert_busy_until(rt, 1);
	assert_busy_until(rt, NS_PER_MS);
	assert_busy_until(rt, 30 * NS_PER_MS);
	assert_int_equal(pthread_create(&stopper, NULL, stop_busy, NULL), 0);
	assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
	assert_true(atomic_load(&busy.stop));
	assert_idle(rt);
	assert_int_equal(pthread_join(stopper, NULL), 0);
	rt_end(rt);
	assert_expected();
}

static void a_busy_runtime_is_not_idle(void **state)
{
	static const unsigned workers[] = { 1, 2, 8, 70 };

	(void)state;
	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++)
		for (unsigned way = 0; way < 3; way++)
			busy_in_way(workers[i], way);
}

/* A searcher that looks for work for a second does not keep rt busy. */
static void a_searching_runtime_is_idle(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		weft_config cfg = { .workers = workers, .spin_ns = NS_PER_S };
		weft_rt *rt = rt_begin(&cfg);
		int64_t begin;

		keep_busy(rt, 1);
		assert_true(await(atomic_load(&busy.running)));
		begin = weft_now();
		atomic_store(&busy.stop, true);
		assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
		printf("%u workers that spin: idle after %.1f us\n", workers,
			(double)(weft_now() - begin) / 1e3);
		assert_true(weft_now() - begin < NS_PER_S / 2);
		rt_end(rt);
	}
	assert_expected();
}

/* ------------------------------------------------------------------------ */
/* Where it may not be called. */

static struct {
	weft_rt *rt;
	weft_executor *strand;
	_Atomic(unsigned) refused;
} inner;

static void *wait_inside(void *arg)
{
	expect_eq(weft_rt_wait_idle(inner.rt, WEFT_FOREVER), -EDEADLK);
	expect_eq(weft_rt_wait_idle(inner.rt, WEFT_NOW), -EDEADLK);
	atomic_fetch_add(&inner.refused, 1);
	return arg;
}

static void wait_in_task(weft_task *task)
{
	wait_inside(task);
}

static void its_own_fibers_and_tasks_cannot_wait(void **state)
{
	static weft_task task = { .run = wait_in_task };
	static weft_task on_strand = { .run = wait_in_task };
	weft_fiber *f;

	(void)state;
	inner.rt = rt_workers(2);
	assert_int_equal(
		weft_strand_create(&inner.strand, weft_rt_executor(inner.rt)),
		0);
	assert_int_equal(
		weft_rt_spawn(inner.rt, &f, NULL, wait_inside, NULL), 0);
	assert_int_equal(weft_submit(weft_rt_executor(inner.rt), &task,
				 WEFT_HINT_DEFAULT),
		0);
	/* A strand's tasks are tasks of the executor under it. */
	assert_int_equal(
		weft_submit(inner.strand, &on_strand, WEFT_HINT_DEFAULT), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_int_equal(weft_rt_wait_idle(inner.rt, PATIENCE), 0);
	assert_int_equal(atomic_load(&inner.refused), 3);
	assert_int_equal(weft_executor_destroy(inner.strand), 0);
	rt_end(inner.rt);
	assert_expected();
}

/* A fiber of another runtime may wait. */
static void *wait_next_door(void *arg)
{
	expect_eq(weft_rt_wait_idle(arg, weft_after(NS_PER_MS)), -ETIMEDOUT);
	atomic_store(&busy.stop, true);
	expect_eq(weft_rt_wait_idle(arg, WEFT_FOREVER), 0);
	return NULL;
}

static void a_fiber_of_another_runtime_may_wait(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	keep_busy(rt, 0);
	assert_true(await(atomic_load(&busy.running)));
	play(1, wait_next_door, rt);
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Several waiters, and every policy. */

enum { TREE = 500, LOOKERS = 3 };

static struct {
	weft_rt *rt;
	weft_task tasks[TREE];
	_Atomic(size_t) ran;
} tree;

static void run_node(weft_task *task)
{
	size_t first = 2 * (size_t)(task - tree.tasks) + 1;

	for (size_t i = first; i < first + 2 && i < TREE; i++)
		expect_eq(weft_submit(weft_rt_executor(tree.rt), &tree.tasks[i],
				  hints[i % HINTS]),
			0);
	atomic_fetch_add(&tree.ran, 1);
}

/* Each waiter sees all that ran before. */
static void look_when_idle(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	expect_eq(weft_rt_wait_idle(tree.rt, PATIENCE), 0);
	expect_eq(atomic_load(&tree.ran), TREE);
}

static void grow(weft_rt *rt)
{
	tree.rt = rt;
	atomic_store(&tree.ran, 0);
	for (size_t i = 0; i < TREE; i++)
		tree.tasks[i].run = run_node;
	assert_int_equal(weft_submit(weft_rt_executor(rt), &tree.tasks[0],
				 WEFT_HINT_DEFAULT),
		0);
}

static void several_may_wait(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		weft_rt *rt = rt_workers(workers);

		for (size_t i = 0; i < rounds(100); i++) {
			grow(rt);
			threads_run(LOOKERS, look_when_idle, NULL);
			assert_expected();
		}
		rt_end(rt);
	}
}

static void every_policy_becomes_idle(void **state)
{
	(void)state;
	for (size_t i = 0; i < POLICIES; i++) {
		for (unsigned workers = 1; workers <= 4; workers *= 2) {
			weft_rt *rt = rt_with(workers, policies[i]);

			for (size_t j = 0; j < rounds(60); j++) {
				grow(rt);
				look_when_idle(NULL, 0);
			}
			keep_busy(rt, i % 3);
			assert_true(await(atomic_load(&busy.running)));
			assert_int_equal(
				weft_rt_wait_idle(rt, WEFT_NOW), -ETIMEDOUT);
			atomic_store(&busy.stop, true);
			assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
			rt_end(rt);
			assert_expected();
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_runtime_is_idle_at_once),
		cmocka_unit_test(waiting_fibers_do_not_keep_it_busy),
		cmocka_unit_test(a_busy_runtime_is_not_idle),
		cmocka_unit_test(a_searching_runtime_is_idle),
		cmocka_unit_test(its_own_fibers_and_tasks_cannot_wait),
		cmocka_unit_test(a_fiber_of_another_runtime_may_wait),
		cmocka_unit_test(several_may_wait),
		cmocka_unit_test(every_policy_becomes_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
