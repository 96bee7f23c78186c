/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_suite.h - what every executor must do, whatever it is.
 *
 * Code that is written against weft_executor cannot tell which kind it has, and
 * this suite cannot either (R1.7).  The kinds are in executor_kit.h.
 */
#ifndef WEFT_TESTS_API_EXECUTOR_SUITE_H
#define WEFT_TESTS_API_EXECUTOR_SUITE_H

#include "api/executor_fibers.h"
#include "api/executor_kit.h"
#include "api/executor_tasks.h"

struct check {
	const char *name;
	void (*fn)(struct subject *s);
};

#define CHECK(fn) { #fn, fn }

static const struct check checks[] = {
	CHECK(every_task_runs_once),
	CHECK(several_threads_submit),
	CHECK(tasks_submit_tasks),
	CHECK(a_task_submits_itself),
	CHECK(a_task_frees_itself),
	CHECK(an_unknown_hint_is_refused),
	CHECK(functions_run),
	CHECK(functions_submit_functions),
	CHECK(a_task_is_not_a_fiber),
	CHECK(a_task_starts_fibers),
	CHECK(a_fiber_submits_tasks),
	CHECK(fibers_are_joined_outside),
	CHECK(fibers_join_fibers),
	CHECK(a_join_may_come_late_or_early),
	CHECK(a_fiber_may_be_detached),
	CHECK(a_fiber_cannot_join_itself),
	CHECK(fibers_know_their_handle_and_name),
	CHECK(stacks_are_as_large_as_asked),
	CHECK(every_fiber_gets_a_turn),
	CHECK(yield_gives_way),
	CHECK(checkpoint_gives_way),
	CHECK(commit_refuses_or_wakes),
	CHECK(threads_wake_fibers),
	CHECK(fibers_wake_fibers),
	CHECK(next_is_made_ready),
	CHECK(thousands_of_fibers_wait),
	CHECK(fibers_wait_for_groups),
	CHECK(fibers_of_two_executors_join_each_other),
};

/* ------------------------------------------------------------------------ */
/* The end of an executor. */

enum { END_TASKS = 100, END_FIBERS = 20, END_LATE = 3 };

static struct {
	weft_task tasks[END_TASKS];
	struct baton batons[END_FIBERS + END_LATE];
	weft_task late[END_LATE];
	_Atomic(unsigned) ran, started, ended;
} ends;

static void run_slowly(weft_task *task)
{
	(void)task;
	nap_ns(10 * NS_PER_US);
	atomic_fetch_add(&ends.ran, 1);
}

static void *end_when_woken(void *arg)
{
	baton_wait(arg);
	weft_yield();
	atomic_fetch_add(&ends.ended, 1);
	return arg;
}

static void go_when_woken(void *arg)
{
	end_when_woken(arg);
}

/* It runs after the end has begun; the end waits for its fiber, too. */
static void start_late(weft_task *task)
{
	size_t i = END_FIBERS + (size_t)(task - ends.late);
	int err;

	nap_ns(500 * NS_PER_US);
	err = weft_go(go_when_woken, &ends.batons[i]);
	if (err == 0)
		atomic_fetch_add(&ends.started, 1);
	else
		expect_eq(err, -ESHUTDOWN);
}

static void *wake_for_the_end(void *arg)
{
	nap_ns(5 * NS_PER_MS);
	for (size_t i = 0; i < END_FIBERS + END_LATE; i++) {
		nap_ns((int64_t)i * 10 * NS_PER_US);
		baton_put(&ends.batons[i], hints[i % HINTS]);
	}
	return arg;
}

/*
 * The end waits until all tasks have run and all fibers have ended.  The test
 * does not wait for the waker of the last fiber to leave weft_wake: weft must.
 */
static void the_end_waits(const struct kind *kind, size_t fibers)
{
	struct subject *s = subject_make(kind);
	pthread_t waker;

	memset(&ends, 0, sizeof(ends));
	for (size_t i = 0; i < fibers; i++)
		weft_detach(spawn_on(s->e, end_when_woken, &ends.batons[i]));
	for (size_t i = 0; i < END_TASKS; i++) {
		ends.tasks[i].run = run_slowly;
		assert_int_equal(
			weft_submit(s->e, &ends.tasks[i], hints[i % HINTS]), 0);
	}
	for (size_t i = 0; i < END_LATE; i++) {
		ends.late[i].run = start_late;
		assert_int_equal(
			weft_submit(s->e, &ends.late[i], WEFT_HINT_DEFAULT), 0);
	}
	assert_expected();
	assert_int_equal(
		pthread_create(&waker, NULL, wake_for_the_end, NULL), 0);
	subject_unmake(s);
	assert_int_equal(atomic_load(&ends.ended),
		fibers + atomic_load(&ends.started));
	assert_int_equal(atomic_load(&ends.ran), END_TASKS);
	assert_int_equal(pthread_join(waker, NULL), 0);
	assert_expected();
}

/* ------------------------------------------------------------------------ */

/* A cmocka test; its state is the kind. */
static void executor_suite(void **state)
{
	const struct kind *kind = *state;
	struct subject *s = subject_make(kind);

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		/* The last line names the check that hangs or fails. */
		printf("%s: %s\n", kind->name, checks[i].name);
		fflush(stdout);
		checks[i].fn(s);
		assert_expected();
	}
	subject_unmake(s);
	for (size_t i = 0; kind->ops->waits && i < rounds(10) + 1; i++)
		the_end_waits(kind, i % 2 ? END_FIBERS : 0);
}

#endif
