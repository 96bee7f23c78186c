/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/amutex_test.c - an asynchronous mutex is handed over in order, to
 * each task where it asked to run (A1 to A5 of sync/amutex.c), loses none that
 * an executor refuses, and allocates only for executors without a place.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <weft/amutex.h>

#include "base/assert.h"
#include "os/child.h"
#include "stress/sched_kit.h"
#include "support/os_faults.h"
#include "support/skip.h"

enum { TASKS = 100, PLACES = 6, EXECUTORS = PLACES + 2 };

/* An executor that holds tasks until they are run by hand, or refuses them. */
struct shelf {
	weft_executor base; /* must be first */
	weft_task *first, *last;
	size_t held;
	weft_hint hint;
	bool refuses;
};

static struct shelf shelf[EXECUTORS];
static weft_amutex m;

struct numbered {
	weft_task task; /* must be first */
	size_t number;
};

static struct numbered tasks[TASKS];
static size_t order[TASKS], ran;
static bool unlocks;

static int shelf_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct shelf *s = (struct shelf *)e;

	s->hint = hint;
	if (s->refuses)
		return -ENETDOWN;
	task->next_ = NULL;
	if (s->held++ == 0)
		s->first = task;
	else
		s->last->next_ = task;
	s->last = task;
	return 0;
}

static size_t shelf_run(struct shelf *s)
{
	size_t n = 0;

	for (; s->held > 0; n++) {
		weft_task *task = s->first;

		s->held--;
		s->first = task->next_;
		weft_task_run(&s->base, task);
	}
	return n;
}

static void note(weft_task *task)
{
	order[ran++] = ((struct numbered *)task)->number;
	if (unlocks)
		weft_amutex_unlock(&m);
}

static int set_up(void **state)
{
	(void)state;
	kit_watch();
	os_faults_clear();
	memset(&m, 0, sizeof(m));
	memset(shelf, 0, sizeof(shelf));
	for (size_t i = 0; i < EXECUTORS; i++)
		shelf[i].base.submit = shelf_submit;
	for (size_t i = 0; i < TASKS; i++)
		tasks[i] = (struct numbered){ { .run = note }, i };
	ran = 0;
	unlocks = false;
	return 0;
}

static int lock(size_t i, struct shelf *s)
{
	return weft_amutex_lock(&m, &tasks[i].task, &s->base);
}

static void assert_free(void)
{
	assert_int_equal(m.word_, 0);
	assert_int_equal(m.aside_, 0);
	assert_true(os_faults_all_returned());
}

static void assert_order(size_t n)
{
	assert_int_equal(ran, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(order[i], i);
}

/* ------------------------------------------------------------------------ */
/* One after the other. */

static void a_free_one_is_had_at_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(lock(i, &shelf[0]), 0);
		assert_int_equal(shelf[0].hint, WEFT_HINT_DEFAULT);
		assert_int_equal(shelf_run(&shelf[0]), 1);
		assert_order(i + 1);
		weft_amutex_unlock(&m);
		assert_free();
	}
}

/* It stays locked after the task has run, until it is unlocked. */
static void one_after_the_other_has_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(lock(i, &shelf[0]), 0);
	for (size_t i = 1; i <= 5; i++) {
		assert_int_equal(shelf_run(&shelf[0]), 1);
		assert_int_equal(shelf_run(&shelf[0]), 0);
		assert_order(i);
		/* A newcomer stands behind those that were taken before. */
		assert_int_equal(lock(4 + i, &shelf[0]), 0);
		weft_amutex_unlock(&m);
		assert_int_equal(shelf[0].hint, WEFT_HINT_NEXT);
	}
	unlocks = true;
	assert_int_equal(shelf_run(&shelf[0]), 5);
	assert_order(10);
	assert_free();
}

static void each_runs_where_it_asked_to(void **state)
{
	(void)state;
	unlocks = true;
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(lock(i, &shelf[i % 3]), 0);
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(shelf_run(&shelf[i % 3]), 1);
	assert_order(12);
	assert_free();
}

/* The stack does not grow with the number of waiters. */
static void many_wait_for_the_inline_executor(void **state)
{
	(void)state;
	unlocks = true;
	assert_int_equal(lock(0, &shelf[0]), 0);
	for (size_t i = 1; i < TASKS; i++)
		assert_int_equal(
			weft_amutex_lock(&m, &tasks[i].task, weft_inline()), 0);
	assert_int_equal(shelf_run(&shelf[0]), 1);
	assert_order(TASKS);
	assert_free();
}

/* ------------------------------------------------------------------------ */
/* Refused. */

static void a_task_without_a_function_is_refused(void **state)
{
	(void)state;
	tasks[0].task.run = NULL;
	assert_int_equal(lock(0, &shelf[0]), -EINVAL);
	assert_free();
}

/* Refused by lock: the mutex is free again, and the task its locker's. */
static void a_refusal_gives_it_back(void **state)
{
	(void)state;
	shelf[0].refuses = true;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(lock(0, &shelf[0]), -ENETDOWN);
	assert_free();
	shelf[0].refuses = false;
	unlocks = true;
	assert_int_equal(lock(0, &shelf[0]), 0);
	assert_int_equal(shelf_run(&shelf[0]), 1);
	assert_order(1);
	assert_free();
}

/* Refused by unlock: they were accepted, and run there, in order. */
static void waiters_that_are_refused_run_all_the_same(void **state)
{
	(void)state;
	unlocks = true;
	for (size_t i = 0; i < TASKS; i++)
		assert_int_equal(lock(i, &shelf[i > 0]), 0);
	shelf[1].refuses = true;
	assert_int_equal(shelf_run(&shelf[0]), 1);
	assert_order(TASKS);
	assert_free();
}

/* ------------------------------------------------------------------------ */
/* Places. */

/* Tasks 1, 2, ... of n executors wait behind task 0. */
static void fill(size_t n)
{
	assert_int_equal(lock(0, &shelf[0]), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(lock(1 + i, &shelf[i]), 0);
}

static void some_executors_need_no_memory(void **state)
{
	(void)state;
	unlocks = true;
	os_faults_plan(OS_FAULTS_ALL, 1, OS_FAULTS_FOREVER);
	fill(PLACES);
	for (size_t i = 0; i < PLACES; i++)
		assert_int_equal(lock(1 + PLACES + i, &shelf[i]), 0);
	assert_int_equal(os_faults_calls(OS_FAULTS_ALL), 0);
	assert_int_equal(shelf_run(&shelf[0]), 2);
	for (size_t i = 1; i < PLACES; i++)
		assert_int_equal(shelf_run(&shelf[i]), 1);
	for (size_t i = 0; i < PLACES; i++)
		assert_int_equal(shelf_run(&shelf[i]), 1);
	assert_order(2 * PLACES + 1);
	assert_free();
}

/* In order with all others, and where they asked to run. */
static void waiters_of_others_have_records(void **state)
{
	(void)state;
	unlocks = true;
	fill(EXECUTORS);
	assert_int_equal(os_faults_calls(OS_FAULTS_ALLOC), EXECUTORS - PLACES);
	assert_int_equal(lock(1 + EXECUTORS, &shelf[0]), 0);
	assert_int_equal(os_faults_calls(OS_FAULTS_ALLOC), EXECUTORS - PLACES);
	assert_int_equal(shelf_run(&shelf[0]), 2);
	for (size_t i = 1; i < EXECUTORS; i++)
		assert_int_equal(shelf_run(&shelf[i]), 1);
	assert_int_equal(shelf_run(&shelf[0]), 1);
	assert_order(2 + EXECUTORS);
	assert_free();
}

static void a_record_may_not_be_had(void **state)
{
	(void)state;
	unlocks = true;
	fill(PLACES);
	os_faults_plan(OS_FAULTS_ALL, 1, 1);
	assert_int_equal(lock(1 + PLACES, &shelf[PLACES]), -ENOMEM);
	/* The task is ours, and nothing has changed. */
	assert_int_equal(lock(1 + PLACES, &shelf[PLACES]), 0);
	assert_int_equal(shelf_run(&shelf[0]), 2);
	for (size_t i = 1; i <= PLACES; i++)
		assert_int_equal(shelf_run(&shelf[i]), 1);
	assert_order(2 + PLACES);
	assert_free();
}

/* ------------------------------------------------------------------------ */
/* Freed, and misused. */

static weft_amutex *made;

static void free_it(weft_task *task)
{
	(void)task;
	free(made);
	ran++;
}

static void the_next_holder_may_free_it(void **state)
{
	weft_task first = { .run = note }, next = { .run = free_it };

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		made = calloc(1, sizeof(*made));
		assert_non_null(made);
		ran = 0;
		assert_int_equal(
			weft_amutex_lock(made, &first, &shelf[0].base), 0);
		assert_int_equal(
			weft_amutex_lock(made, &next, weft_inline()), 0);
		weft_amutex_unlock(made);
		assert_int_equal(ran, 1);
		shelf[0].held = 0;
	}
}

static void unlock_free(void *arg)
{
	(void)arg;
	weft_amutex_unlock(&m);
}

static void an_unlock_of_a_free_one_is_found(void **state)
{
	struct child c;

	(void)state;
	child_run(&c, unlock_free, NULL);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "no task holds it"));
}

static void lock_twice(void *arg)
{
	(void)arg;
	(void)!lock(0, &shelf[0]);
	(void)!lock(1, &shelf[0]);
	(void)!lock(1, &shelf[0]);
}

static void a_task_that_waits_twice_is_found(void **state)
{
	struct child c;

	(void)state;
	if (!WF_DEBUGGING)
		skip_because("only debug builds of the library look");
	child_run(&c, lock_twice, NULL);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "was submitted again"));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_free_one_is_had_at_once),
		TEST(one_after_the_other_has_it),
		TEST(each_runs_where_it_asked_to),
		TEST(many_wait_for_the_inline_executor),
		TEST(a_task_without_a_function_is_refused),
		TEST(a_refusal_gives_it_back),
		TEST(waiters_that_are_refused_run_all_the_same),
		TEST(some_executors_need_no_memory),
		TEST(waiters_of_others_have_records),
		TEST(a_record_may_not_be_had),
		TEST(the_next_holder_may_free_it),
		TEST(an_unlock_of_a_free_one_is_found),
		TEST(a_task_that_waits_twice_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
