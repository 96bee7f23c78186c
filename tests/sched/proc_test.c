/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/proc_test.c - a processor is opened with empty queues and an
 * agenda that stops at once, and is closed only when its queues are empty.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "os/child.h"
#include "sched/proc.h"
#include "sched/yielders.h"
#include "stack/pool.h"

enum { CAPACITY = 16, TASKS = 4 };

static struct wf_proc proc;
static struct wf_inject inject;
static struct wf_stack_pool pool;
static _Atomic(wf_entry) slots[CAPACITY];
static weft_task tasks[TASKS];

static int begin(void **state)
{
	struct wf_stack_config zero = { 0 };

	(void)state;
	memset(&inject, 0, sizeof(inject));
	wf_stack_pool_open(&pool, &zero);
	return wf_proc_open(
		&proc, NULL, &inject, NULL, 5, 69, &pool, slots, CAPACITY);
}

static int end(void **state)
{
	(void)state;
	while (wf_runq_pop(&proc.runq) != 0)
		continue;
	wf_store_rlx(&proc.slot, 0);
	wf_store_rlx(&proc.yielders.count, 0);
	wf_proc_close(&proc);
	wf_stack_pool_close(&pool);
	return 0;
}

static void it_is_opened_empty_and_stops_at_the_first_pick(void **state)
{
	(void)state;
	assert_int_equal(proc.bit, 1u << 5);
	assert_int_equal(proc.id, 69);
	assert_int_equal(wf_proc_backlog(&proc), 0);
	assert_true(wf_agenda_stops(&proc.agenda));
	assert_true(wf_agenda_is_turn(&proc.agenda));
	assert_true(wf_agenda_is_look(&proc.agenda));
}

static void the_backlog_counts_all_three_places(void **state)
{
	(void)state;
	wf_store_rlx(&proc.slot, wf_entry_of(&tasks[0]));
	assert_int_equal(wf_proc_backlog(&proc), 1);
	assert_true(wf_runq_push(&proc.runq, wf_entry_of(&tasks[1])));
	assert_true(wf_runq_push(&proc.runq, wf_entry_of(&tasks[2])));
	assert_int_equal(wf_proc_backlog(&proc), 3);
	wf_yielders_add(&proc, &tasks[3]);
	assert_int_equal(wf_proc_backlog(&proc), 4);
}

static void close_with_a_task(void *arg)
{
	wf_store_rlx(&proc.slot, wf_entry_of(&tasks[0]));
	wf_proc_close(arg);
}

static void it_cannot_be_closed_with_a_task_in_it(void **state)
{
	struct child c;

	(void)state;
	child_run(&c, close_with_a_task, &proc);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "processor 69"));
}

static void a_pick_counts_as_a_tick_and_by_its_source(void **state)
{
	_Atomic(uint64_t) *lifo = &proc.counters.runs_lifo;

	(void)state;
	assert_ptr_equal(wf_proc_picked(&proc, lifo, tasks), tasks);
	assert_ptr_equal(wf_proc_picked(&proc, NULL, tasks), tasks);
	assert_int_equal(wf_load_rlx(&proc.counters.ticks), 2);
	assert_int_equal(wf_load_rlx(lifo), 1);
	/* A child run as a call is a tick, but no task in a queue sees it. */
	wf_bump(&proc.counters.runs_inline, 1);
	assert_int_equal(wf_proc_picks(&proc), 1);
}

static void the_clock_is_read_once_and_kept(void **state)
{
	int64_t before = wf_os_now_ns(), now;

	(void)state;
	now = wf_proc_time(&proc); /* it was never set */
	assert_true(now >= before && now <= wf_os_now_ns());
	wf_proc_clock(&proc, 7000);
	assert_int_equal(wf_proc_time(&proc), 7000);
	assert_int_equal(proc.clock_us, 7 | WF_READY_UNKNOWN);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_opened_empty_and_stops_at_the_first_pick),
		TEST(the_backlog_counts_all_three_places),
		TEST(it_cannot_be_closed_with_a_task_in_it),
		TEST(a_pick_counts_as_a_tick_and_by_its_source),
		TEST(the_clock_is_read_once_and_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
