/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/threads_test.c - threads start when there is work for them, end
 * when there is none for long, and a start that fails leaves nothing behind.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include <weft/weft.h>

#include "base/units.h"
#include "idle/wake.h"
#include "sched/idle.h"
#include "sched/runtime.h"
#include "sched/thread.h"
#include "sched/threads.h"
#include "support/os_faults.h"
#include "support/threads.h"

enum { WORKERS = 3 };

static weft_rt *rt;

static void pause_ms(unsigned ms)
{
	struct timespec t = { .tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&t, &t) != 0)
		continue;
}

static int begin(void **state)
{
	(void)state;
	os_faults_clear();
	return weft_rt_start(&rt, &(weft_config){ .workers = WORKERS });
}

/* Every thread was joined and freed. */
static int end(void **state)
{
	(void)state;
	os_faults_repair();
	if (weft_rt_stop(rt, WEFT_FOREVER) != 0)
		return -1;
	return os_faults_all_returned() ? 0 : -1;
}

/* Look again and again, for half a minute. */
static bool in_time(bool (*is)(void))
{
	int64_t until = threads_now_ns() + 30 * WF_NS_PER_S;

	while (!is())
		if (threads_now_ns() > until)
			return false;
		else
			pause_ms(1);
	return true;
}

static bool all_sleep(void)
{
	return wf_load_rlx(&rt->groups->sleeping) == rt->groups->all;
}

static bool one_is_left(void)
{
	return all_sleep() && wf_load_rlx(&rt->threads) == 1;
}

/* ------------------------------------------------------------------------ */
/* Coming and going. */

/* Tasks that wait for each other need a thread each. */
static _Atomic(uint32_t) came, met, parties, left;
static _Atomic(uint32_t) counted; /* threads, when all were there */

static void meet(weft_task *task)
{
	(void)task;
	(void)wf_add_rlx(&came, 1);
	while (wf_load_rlx(&came) < wf_load_rlx(&parties))
		wf_os_thread_yield();
	wf_store_rlx(&counted, wf_load_rlx(&rt->threads));
	/* [pair: test.met] The task is the test's again. */
	(void)wf_add_rel(&met, 1);
	while (wf_load_rlx(&met) < wf_load_rlx(&parties))
		wf_os_thread_yield();
	(void)wf_add_rlx(&left, 1);
}

/* Have all tasks left the last meeting? */
static bool have_left(void)
{
	return wf_load_rlx(&left) == wf_load_rlx(&met);
}

static bool have_met(void)
{
	/* [pair: test.met] */
	return wf_load_acq(&met) >= wf_load_rlx(&parties);
}

static void gather(uint32_t n)
{
	static weft_task tasks[WORKERS];
	bool all_came;

	assert_true(in_time(have_left));
	wf_store_rlx(&came, 0);
	wf_store_rlx(&met, 0);
	wf_store_rlx(&left, 0);
	wf_store_rlx(&parties, n);
	for (uint32_t i = 0; i < n; i++) {
		tasks[i].run = meet;
		assert_int_equal(weft_submit(weft_rt_executor(rt), &tasks[i],
					 WEFT_HINT_DEFAULT),
			0);
	}
	all_came = in_time(have_met);
	wf_store_rlx(&parties, 0); /* if not, the waiting tasks end */
	assert_true(all_came);
}

static void one_thread_is_there_from_the_start(void **state)
{
	(void)state;
	assert_true(in_time(all_sleep));
	assert_int_equal(wf_load_rlx(&rt->threads), 1);
	assert_non_null(wf_load_rlx(&rt->procs[0].thread));
	for (unsigned i = 1; i < WORKERS; i++)
		assert_null(wf_load_rlx(&rt->procs[i].thread));
}

static void threads_end_when_idle_and_come_back(void **state)
{
	struct wf_thread *first;

	(void)state;
	rt->linger_ns = 5 * WF_NS_PER_MS;
	assert_true(in_time(all_sleep));
	first = wf_load_rlx(&rt->procs[0].thread);
	for (int i = 0; i < 5; i++) {
		gather(WORKERS);
		/* Now some may have ended again. */
		assert_true(wf_load_rlx(&counted) >= WORKERS);
		assert_true(in_time(one_is_left));
		/* It is the first, and the processors know of no other. */
		assert_ptr_equal(wf_load_rlx(&rt->procs[0].thread), first);
		for (unsigned p = 1; p < WORKERS; p++)
			assert_null(wf_load_rlx(&rt->procs[p].thread));
	}
	wf_threads_reap(rt);
	assert_null(rt->threads_ended);
	wf_threads_reap(rt);
}

/* A thread that lingers is used again: there are not more than processors. */
static void threads_that_linger_are_used_again(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++)
		gather(WORKERS);
	assert_int_equal(wf_load_rlx(&rt->threads), WORKERS);
	assert_true(in_time(all_sleep));
	assert_int_equal(wf_load_rlx(&rt->threads), WORKERS);
}

/* ------------------------------------------------------------------------ */
/* No thread can be made. */

/* Processor 2, taken as a waker does; refused; and put back. */
static void expect_refused(int err)
{
	struct wf_proc *p = &rt->procs[2];
	uint64_t fails = wf_load_rlx(&rt->thread_fails);

	(void)wf_and_acqrel(&p->group->sleeping, ~p->bit);
	assert_int_equal(wf_thread_start(rt, p), err);
	assert_false(wf_load_rlx(&p->group->sleeping) & p->bit);
	(void)wf_or_acqrel(&p->group->sleeping, p->bit);
	assert_null(wf_load_rlx(&p->thread));
	assert_int_equal(wf_load_rlx(&rt->threads), 1);
	assert_int_equal(wf_load_rlx(&rt->thread_fails), fails + 1);
}

static void a_thread_that_cannot_be_made_leaves_nothing(void **state)
{
	(void)state;
	assert_true(in_time(all_sleep));
	os_faults_plan(OS_FAULTS_THREAD, 1, 1);
	expect_refused(-EAGAIN);
	os_faults_plan(OS_FAULTS_ALLOC, 1, 1);
	expect_refused(-ENOMEM);
	os_faults_repair();
	rt->config.max_threads = 1;
	expect_refused(-EAGAIN);
	rt->config.max_threads = WORKERS;
	gather(WORKERS);
}

/* Its waker puts the bit back, and what there is runs all the same. */
static void without_more_threads_the_first_runs_everything(void **state)
{
	(void)state;
	assert_true(in_time(all_sleep));
	os_faults_plan(OS_FAULTS_THREAD, 1, OS_FAULTS_FOREVER);
	for (int i = 0; i < 10; i++)
		gather(1);
	assert_true(in_time(all_sleep));
	assert_true(wf_wake_one(rt->groups)); /* the first: it has a thread */
	assert_true(in_time(all_sleep));
	assert_int_equal(wf_load_rlx(&rt->threads), 1);
	os_faults_repair();
	gather(WORKERS);
}

/*
 * Tasks wait that only more threads could run, and there are none: the system
 * is asked again after 1 ms, 2 ms, and so on.  When it has some they come.
 */
static void a_refused_thread_is_asked_for_after_a_pause(void **state)
{
	weft_task tasks[WORKERS] = { { .run = meet }, { .run = meet },
		{ .run = meet } };
	size_t asked;

	(void)state;
	assert_true(in_time(have_left));
	assert_true(in_time(all_sleep));
	wf_store_rlx(&came, 0);
	wf_store_rlx(&met, 0);
	wf_store_rlx(&left, 0);
	wf_store_rlx(&parties, WORKERS);
	os_faults_plan(OS_FAULTS_THREAD, 1, OS_FAULTS_FOREVER);
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(weft_submit(weft_rt_executor(rt), &tasks[i],
					 WEFT_HINT_DEFAULT),
			0);
	pause_ms(300);
	asked = os_faults_calls(OS_FAULTS_THREAD);
	assert_int_equal(wf_load_rlx(&came), 1);
	os_faults_repair();
	assert_true(in_time(have_met));
	assert_true(in_time(have_left));
	/* 300 ms are 9 pauses; two threads may have asked at first. */
	assert_in_range(asked, 2, 20);
	assert_int_equal(wf_load_rlx(&rt->ask_ns), 0);
}

/* ------------------------------------------------------------------------ */
/* The door. */

static _Atomic(unsigned) wrong;

static void *look_inside(void *arg)
{
	struct wf_thread *t = wf_enter();

	(void)arg;
	if (t == NULL || t->rt != rt || t->current != weft_self() ||
		wf_load_rlx(&t->proc->thread) != t || t->stack == NULL)
		(void)wf_add_rlx(&wrong, 1);
	wf_leave(t);
	return NULL;
}

static void look_inside_task(weft_task *task)
{
	struct wf_thread *t = wf_enter();

	(void)task;
	if (t == NULL || t->rt != rt || t->current != NULL)
		(void)wf_add_rlx(&wrong, 1);
	/* [pair: test.met] */
	(void)wf_add_rel(&met, 1);
}

static void a_thread_knows_itself_and_what_runs(void **state)
{
	weft_task task = { .run = look_inside_task };
	weft_fiber *f;

	(void)state;
	wf_store_rlx(&wrong, 0);
	wf_store_rlx(&met, 0);
	wf_store_rlx(&parties, 1);
	assert_null(wf_enter());
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, look_inside, NULL), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	assert_int_equal(
		weft_submit(weft_rt_executor(rt), &task, WEFT_HINT_DEFAULT), 0);
	assert_true(in_time(have_met));
	assert_int_equal(wf_load_rlx(&wrong), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(one_thread_is_there_from_the_start),
		TEST(threads_end_when_idle_and_come_back),
		TEST(threads_that_linger_are_used_again),
		TEST(a_thread_that_cannot_be_made_leaves_nothing),
		TEST(without_more_threads_the_first_runs_everything),
		TEST(a_refused_thread_is_asked_for_after_a_pause),
		TEST(a_thread_knows_itself_and_what_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
