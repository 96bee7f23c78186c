/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/pool_test.c - a pool runs each task once, on all its threads, and
 * its end comes after the last task and the last fiber.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "base/assert.h"
#include "fiber/fiber.h"
#include "os/child.h"
#include "os/os.h"
#include "stress/sched_kit.h"
#include "support/os_faults.h"
#include "support/skip.h"

struct numbered {
	weft_task task; /* must be first */
	size_t number;
};

static weft_executor *open_pool(unsigned threads)
{
	weft_executor *e = NULL;

	kit_watch();
	assert_int_equal(weft_pool_create(&e, threads), 0);
	assert_non_null(e);
	return e;
}

static void close_pool(weft_executor *e)
{
	assert_int_equal(weft_executor_destroy(e), 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* Threads. */

static _Atomic(size_t) here, most;

/* Everybody waits until all that there should be are here. */
static void meet(weft_task *task)
{
	(void)task;
	wf_add_rlx(&here, 1);
	while (wf_load_rlx(&here) < wf_load_rlx(&most))
		wf_os_thread_yield();
}

static void play_meeting(unsigned threads, size_t expected)
{
	weft_executor *e = open_pool(threads);
	weft_task *tasks = calloc(expected, sizeof(*tasks));

	assert_non_null(tasks);
	wf_store_rlx(&here, 0);
	wf_store_rlx(&most, expected);
	for (size_t i = 0; i < expected; i++) {
		tasks[i].run = meet;
		assert_int_equal(
			weft_submit(e, &tasks[i], WEFT_HINT_DEFAULT), 0);
	}
	close_pool(e);
	assert_int_equal(wf_load_rlx(&here), expected);
	free(tasks);
}

static void as_many_run_at_once_as_there_are_threads(void **state)
{
	(void)state;
	play_meeting(1, 1);
	play_meeting(5, 5);
	play_meeting(0, wf_os_cpus_default());
}

static void more_threads_than_4096_are_too_many(void **state)
{
	weft_executor *e = (weft_executor *)&here;

	(void)state;
	assert_int_equal(weft_pool_create(&e, 4097), -EINVAL);
	assert_int_equal(weft_pool_create(&e, UINT32_MAX), -EINVAL);
	assert_ptr_equal(e, &here);
}

static void nothing_is_left_when_a_thread_cannot_be_made(void **state)
{
	weft_executor *e;

	(void)state;
	for (size_t nth = 1; nth <= 4; nth++) {
		os_faults_clear();
		os_faults_plan(OS_FAULTS_THREAD, nth, 1);
		e = (weft_executor *)&here;
		assert_int_equal(weft_pool_create(&e, 4), -EAGAIN);
		assert_ptr_equal(e, &here);
		assert_int_equal(os_faults_calls(OS_FAULTS_THREAD), nth);
		assert_true(os_faults_all_returned());
	}
	/* Any other call, one after the other, until none is left to fail. */
	for (size_t nth = 1;; nth++) {
		int err;

		os_faults_clear();
		os_faults_plan(OS_FAULTS_ALL & ~OS_FAULTS_THREAD, nth, 1);
		err = weft_pool_create(&e, 2);
		if (os_faults_injected() == 0) {
			assert_int_equal(err, 0);
			assert_true(nth > 1);
			break;
		}
		/* A thread needs some too, or can do without an alternate. */
		if (!err)
			assert_int_equal(weft_executor_destroy(e), 0);
		else
			assert_true(err == -ENOMEM || err == -EAGAIN);
		assert_true(os_faults_all_returned());
	}
	assert_int_equal(weft_executor_destroy(e), 0);
	assert_true(os_faults_all_returned());
	os_faults_clear();
}

/* ------------------------------------------------------------------------ */
/* Tasks. */

static size_t order[100], ran;

static void note(weft_task *task)
{
	order[ran++] = ((struct numbered *)task)->number;
}

static void one_thread_runs_them_in_order(void **state)
{
	weft_executor *e = open_pool(1);
	struct numbered tasks[100];

	(void)state;
	ran = 0;
	for (size_t i = 0; i < 100; i++) {
		tasks[i] = (struct numbered){ { .run = note }, i };
		assert_int_equal(
			weft_submit(e, &tasks[i].task, (weft_hint)(i % 3)), 0);
	}
	close_pool(e);
	assert_int_equal(ran, 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(order[i], i);
}

enum { PRODUCERS = 3, THREADS = 3 };

static struct {
	weft_executor *e;
	struct numbered *tasks;
	size_t count;
	_Atomic(uint32_t) *runs;
	_Atomic(size_t) ran;
} crowd;

/* Each but the last of its line submits the next of it. */
static void count_one(weft_task *task)
{
	struct numbered *t = (struct numbered *)task;

	wf_add_rlx(&crowd.runs[t->number], 1);
	wf_add_rlx(&crowd.ran, 1);
	if (t->number % 4 != 3)
		kit_expect(weft_submit(crowd.e, &t[1].task,
				   WEFT_HINT_DEFAULT) == 0);
}

static void produce(void *arg, unsigned i)
{
	(void)arg;
	for (size_t j = i * 4; j < crowd.count; j += PRODUCERS * 4) {
		kit_expect(weft_submit(crowd.e, &crowd.tasks[j].task,
				   WEFT_HINT_DEFAULT) == 0);
		/* Let the threads become idle, now and then. */
		if (j % 256 == 0)
			wf_os_thread_yield();
	}
}

static void each_task_runs_once(void **state)
{
	size_t n = crowd.count = kit_rounds(100000) * 4;

	(void)state;
	crowd.e = open_pool(THREADS);
	crowd.tasks = calloc(n, sizeof(*crowd.tasks));
	crowd.runs = calloc(n, sizeof(*crowd.runs));
	assert_non_null(crowd.tasks);
	assert_non_null(crowd.runs);
	for (size_t i = 0; i < n; i++)
		crowd.tasks[i] = (struct numbered){ { .run = count_one }, i };
	threads_run(PRODUCERS, produce, NULL);
	/* Many are still queued, and three of four not submitted yet. */
	close_pool(crowd.e);
	assert_int_equal(wf_load_rlx(&crowd.ran), n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(wf_load_rlx(&crowd.runs[i]), 1);
	free(crowd.tasks);
	free(crowd.runs);
}

static void submit_twice(void *arg)
{
	weft_executor *e;
	weft_task first = { .run = meet }, task = { .run = meet };

	(void)arg;
	/* The first keeps the only thread, so that the other stays queued. */
	wf_store_rlx(&here, 0);
	wf_store_rlx(&most, 2);
	if (weft_pool_create(&e, 1) != 0)
		return;
	(void)!weft_submit(e, &first, WEFT_HINT_DEFAULT);
	(void)!weft_submit(e, &task, WEFT_HINT_DEFAULT);
	(void)!weft_submit(e, &task, WEFT_HINT_DEFAULT);
}

static void a_task_submitted_twice_is_found(void **state)
{
	struct child c;

	(void)state;
	if (!WF_DEBUGGING)
		skip_because("only debug builds of the library look");
	child_run(&c, submit_twice, NULL);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "was submitted again"));
}

/* ------------------------------------------------------------------------ */
/* Fibers, and destroy. */

static _Atomic(int) answers[2];

static void destroy_in_task(void *arg)
{
	wf_store_rlx(&answers[0], weft_executor_destroy(arg));
}

static void *destroy_in_fiber(void *arg)
{
	wf_store_rlx(&answers[1], weft_executor_destroy(arg));
	return NULL;
}

static void it_cannot_be_destroyed_from_inside(void **state)
{
	weft_executor *e = open_pool(2), *strand;
	weft_fiber_attr attr = { .executor = e };
	weft_fiber *f;

	(void)state;
	assert_int_equal(weft_submit_fn(e, destroy_in_task, e), 0);
	assert_int_equal(weft_spawn(&f, &attr, destroy_in_fiber, e), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	/* Nor from a task or fiber that runs on it, at any depth. */
	assert_int_equal(weft_strand_create(&strand, e), 0);
	attr.executor = strand;
	assert_int_equal(wf_load_rlx(&answers[1]), -EDEADLK);
	wf_store_rlx(&answers[1], 0);
	assert_int_equal(weft_spawn(&f, &attr, destroy_in_fiber, e), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	assert_int_equal(weft_executor_destroy(strand), 0);
	close_pool(e);
	assert_int_equal(wf_load_rlx(&answers[0]), -EDEADLK);
	assert_int_equal(wf_load_rlx(&answers[1]), -EDEADLK);
}

static weft_group gate;
static _Atomic(size_t) at_gate, passed;

static void wait_at_gate(void *arg)
{
	(void)arg;
	wf_add_rlx(&at_gate, 1);
	kit_expect(weft_group_wait(&gate, WEFT_FOREVER) == 0);
	weft_yield();
	wf_add_rlx(&passed, 1);
}

enum { FIBERS = 20 };

static void start_fibers(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < FIBERS; i++)
		kit_expect(weft_go(wait_at_gate, NULL) == 0);
}

static void open_gate(void *arg)
{
	(void)arg;
	while (wf_load_rlx(&at_gate) < FIBERS)
		wf_os_thread_yield();
	kit_pause_us(1000);
	kit_expect(wf_load_rlx(&passed) == 0);
	weft_group_done(&gate);
}

/* All threads sleep while the fibers wait, and so does the leaver. */
static void destroy_waits_for_fibers(void **state)
{
	size_t rounds = kit_rounds(100);

	(void)state;
	for (size_t i = 0; i < rounds; i++) {
		weft_executor *e = open_pool(2);
		struct wf_os_thread opener;

		wf_store_rlx(&at_gate, 0);
		wf_store_rlx(&passed, 0);
		weft_group_add(&gate, 1);
		assert_int_equal(weft_submit_fn(e, start_fibers, NULL), 0);
		assert_int_equal(
			wf_os_thread_start(&opener, open_gate, NULL, 0, NULL),
			0);
		close_pool(e);
		assert_int_equal(wf_load_rlx(&passed), FIBERS);
		wf_os_thread_join(&opener);
	}
}

static void open_later(void *arg)
{
	for (int i = 0; i < 5; i++)
		weft_yield();
	weft_group_done(arg);
}

/* The fiber that destroys waits; its thread does not. */
static void *destroy_from_fiber(void *arg)
{
	(void)arg;
	for (int i = 0; i < 40; i++) {
		weft_executor *e = NULL;

		if (i == 20)
			(void)weft_cancel(weft_self());
		kit_expect(weft_pool_create(&e, 1) == 0);
		wf_store_rlx(&passed, 0);
		weft_group_add(&gate, 1);
		kit_expect(weft_submit_fn(e, start_fibers, NULL) == 0);
		kit_expect(weft_go(open_later, &gate) == 0);
		kit_expect(weft_executor_destroy(e) == 0);
		kit_expect(wf_load_rlx(&passed) == FIBERS);
	}
	return NULL;
}

static void a_fiber_may_destroy_it(void **state)
{
	(void)state;
	kit_play(destroy_from_fiber, 1);
}

/* The last submitter or waker is still in its call when the pool is freed. */
static struct {
	_Atomic(size_t) round, ran;
	size_t rounds;
} race;

static void *run_once(void *arg)
{
	kit_expect(weft_group_wait(arg, WEFT_FOREVER) == 0);
	wf_add_rlx(&race.ran, 1);
	return NULL;
}

/* A second at most, however busy the machine is: the round of SIZE_MAX ends. */
static bool begins(_Atomic(size_t) *round, size_t n)
{
	size_t seen;

	while ((seen = wf_load_acq(round)) < n)
		wf_os_thread_yield();
	return seen != SIZE_MAX;
}

static weft_group last_gate;

static void destroy_soon(size_t n)
{
	weft_executor *e = NULL;
	weft_fiber_attr attr;
	weft_fiber *f;

	kit_expect(weft_pool_create(&e, 1 + n % 2) == 0);
	attr = (weft_fiber_attr){ .executor = e };
	weft_group_add(&last_gate, 1);
	kit_expect(weft_spawn(&f, &attr, run_once, &last_gate) == 0);
	weft_detach(f);
	wf_store_rel(&race.round, n);
	kit_expect(weft_executor_destroy(e) == 0);
	kit_expect(wf_load_rlx(&race.ran) == n);
}

static void destroy_or_wake(void *arg, unsigned i)
{
	int64_t until = threads_until_ns(1000);

	(void)arg;
	if (i != 0) {
		for (size_t n = 1; begins(&race.round, n); n++)
			weft_group_done(&last_gate);
		return;
	}
	for (size_t n = 1; n <= race.rounds && threads_now_ns() < until; n++)
		destroy_soon(n);
	wf_store_rel(&race.round, SIZE_MAX);
}

static void it_is_not_touched_after_its_end(void **state)
{
	(void)state;
	kit_watch();
	race.rounds = kit_rounds(1000);
	threads_run(2, destroy_or_wake, NULL);
	kit_settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_many_run_at_once_as_there_are_threads),
		cmocka_unit_test(more_threads_than_4096_are_too_many),
		cmocka_unit_test(nothing_is_left_when_a_thread_cannot_be_made),
		cmocka_unit_test(one_thread_runs_them_in_order),
		cmocka_unit_test(each_task_runs_once),
		cmocka_unit_test(a_task_submitted_twice_is_found),
		cmocka_unit_test(it_cannot_be_destroyed_from_inside),
		cmocka_unit_test(destroy_waits_for_fibers),
		cmocka_unit_test(a_fiber_may_destroy_it),
		cmocka_unit_test(it_is_not_touched_after_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
