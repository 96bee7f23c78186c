/* SPDX-License-Identifier: MIT */
/*
 * tests/rt/runtime_test.c - the count of fibers is never too low; stop waits
 * for every fiber, for every accepted task, and for every thread that is inside
 * a call from outside.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/os.h"
#include "sched/runtime.h"
#include "stress/sched_kit.h"

static weft_rt *rt;

/* ------------------------------------------------------------------------ */
/* The count. */

enum { ALWAYS = 5, CHURNERS = 4 };

static weft_group gate;
static _Atomic(bool) over;

static void wait_at_gate(void *arg)
{
	int err = weft_group_wait(&gate, WEFT_FOREVER);

	(void)arg;
	kit_expect(err == 0);
}

static void go_and_end(void *arg)
{
	(void)arg;
	weft_yield();
}

static void *end_here(void *arg)
{
	weft_yield();
	return arg;
}

/* Spawned here, ended there. */
static void *churn(void *arg)
{
	while (!wf_load_rlx(&over)) {
		weft_fiber *f;

		kit_expect(weft_spawn(&f, NULL, end_here, NULL) == 0);
		weft_yield();
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	}
	return arg;
}

static void the_count_is_never_too_low(void **state)
{
	int64_t until = threads_until_ns(300);
	weft_config cfg = { .workers = 4 };
	weft_fiber *f[CHURNERS];
	size_t looks = 0, low = 0;

	(void)state;
	rt = kit_start(&cfg);
	weft_group_add(&gate, 1);
	for (int i = 0; i < ALWAYS; i++)
		assert_int_equal(weft_rt_go(rt, wait_at_gate, NULL), 0);
	for (int i = 0; i < CHURNERS; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &f[i], NULL, churn, NULL), 0);
	for (; threads_now_ns() < until; looks++) {
		uint64_t n = wf_rt_fibers(rt);

		/* Too few by far is a very large number. */
		low += n < ALWAYS + CHURNERS || n > UINT32_MAX;
		/* From outside, too: none of this may make it look lower. */
		if (n < 100)
			assert_int_equal(weft_rt_go(rt, go_and_end, NULL), 0);
	}
	wf_store_rlx(&over, true);
	for (int i = 0; i < CHURNERS; i++)
		assert_int_equal(weft_join(f[i], NULL, WEFT_FOREVER), 0);
	weft_group_done(&gate);
	kit_stop(rt);
	assert_int_equal(low, 0);
}

/* ------------------------------------------------------------------------ */
/* Life. */

static void *stop_myself(void *arg)
{
	kit_expect(weft_rt_stop(arg, WEFT_NOW) == -EDEADLK);
	kit_expect(!wf_load_rlx(&((weft_rt *)arg)->stopping));
	return NULL;
}

static void life_goes_one_way(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_fiber *f;

	(void)state;
	rt = kit_start(&cfg);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, stop_myself, rt), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	assert_int_equal(wf_load_rlx(&rt->outside.callers), 0);
	weft_rt_shutdown(rt);
	assert_true(wf_load_rlx(&rt->stopping));
	assert_false(wf_load_rlx(&rt->quit));
	weft_rt_shutdown(rt);
	assert_int_equal(wf_load_rlx(&rt->outside.callers), WF_OUTSIDE_CLOSED);
	kit_stop(rt);
}

static _Atomic(weft_fiber *) suspended;

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	wf_store_rel(&suspended, f);
	return true;
}

static void wait_for_wake(void *arg)
{
	struct weft_awaiter a = { .commit = publish };
	int err = weft_suspend(&a);

	(void)arg;
	kit_expect(err == 0);
}

static weft_fiber *wait_until_suspended(void)
{
	weft_fiber *f;

	while ((f = wf_load_acq(&suspended)) == NULL)
		wf_os_thread_yield();
	return f;
}

static void a_stop_that_times_out_frees_nothing(void **state)
{
	weft_config cfg = { .workers = 1 };

	(void)state;
	wf_store_rlx(&suspended, NULL);
	rt = kit_start(&cfg);
	assert_int_equal(weft_rt_go(rt, wait_for_wake, NULL), 0);
	(void)wait_until_suspended();
	assert_int_equal(weft_rt_stop(rt, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(
		weft_rt_stop(rt, weft_after(WF_NS_PER_MS)), -ETIMEDOUT);
	assert_int_equal(wf_rt_fibers(rt), 1);
	assert_false(wf_load_rlx(&rt->quit));
	weft_wake(wait_until_suspended(), WEFT_HINT_DEFAULT);
	kit_stop(rt);
}

/* ------------------------------------------------------------------------ */
/* Threads that are inside a call when the last fiber ends. */

static void stop_or_wake(void *arg, unsigned i)
{
	weft_fiber *f = arg;

	if (i == 0)
		kit_expect(weft_rt_stop(rt, WEFT_FOREVER) == 0);
	else
		weft_wake(f, WEFT_HINT_DEFAULT);
}

static void the_waker_of_the_last_is_waited_for(void **state)
{
	size_t n = kit_rounds(400);
	weft_config cfg = { .workers = 1 };

	(void)state;
	for (size_t i = 0; i < n; i++) {
		wf_store_rlx(&suspended, NULL);
		rt = kit_start(&cfg);
		assert_int_equal(weft_rt_go(rt, wait_for_wake, NULL), 0);
		threads_run(2, stop_or_wake, wait_until_suspended());
		kit_settle();
	}
}

/* One joins, which the end of the fiber lets go; the other stops. */
static void stop_or_join(void *arg, unsigned i)
{
	if (i == 0) {
		kit_expect(weft_join(arg, NULL, WEFT_FOREVER) == 0);
	} else {
		while (wf_load_rlx(&rt->outside.callers) == 0)
			wf_os_thread_yield();
		weft_wake(wait_until_suspended(), WEFT_HINT_DEFAULT);
		kit_expect(weft_rt_stop(rt, WEFT_FOREVER) == 0);
	}
}

static void *wait_for_wake_joinable(void *arg)
{
	wait_for_wake(arg);
	return arg;
}

static void the_joiner_of_the_last_is_waited_for(void **state)
{
	size_t n = kit_rounds(400);
	weft_config cfg = { .workers = 1 };
	weft_fiber *f;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		wf_store_rlx(&suspended, NULL);
		rt = kit_start(&cfg);
		assert_int_equal(weft_rt_spawn(rt, &f, NULL,
					 wait_for_wake_joinable, NULL),
			0);
		threads_run(2, stop_or_join, f);
		kit_settle();
	}
}

/* ------------------------------------------------------------------------ */
/* Tasks. */

static _Atomic(size_t) ran;

/* Making a thread later takes locks, so all are there from the beginning. */
static void without_locks_all_threads_are_made_at_once(void **state)
{
	weft_policy policy = { .locks = WEFT_LOCKS_NONE };

	(void)state;
	for (uint32_t workers = 1; workers <= 4; workers++) {
		weft_config cfg = { .workers = workers, .policy = &policy };

		rt = kit_start(&cfg);
		assert_int_equal(wf_load_rlx(&rt->threads), workers);
		for (uint32_t i = 0; i < workers; i++)
			assert_non_null(wf_load_rlx(&rt->procs[i].thread));
		kit_stop(rt);
	}
}

static void count_run(weft_task *task)
{
	(void)task;
	wf_add_rlx(&ran, 1);
}

static void accepted_tasks_run_before_the_end(void **state)
{
	size_t n = kit_rounds(1000);

	(void)state;
	wf_store_rlx(&ran, 0);
	for (size_t i = 0; i < n; i++) {
		weft_task task[3] = { { .run = count_run },
			{ .run = count_run }, { .run = count_run } };
		weft_config cfg = { .workers = 1 + (uint32_t)i % 2 };

		rt = kit_start(&cfg);
		for (volatile size_t j = 0; j < i % 50 * 1000; j++)
			continue;
		for (int j = 0; j < 3; j++)
			assert_int_equal(weft_submit(weft_rt_executor(rt),
						 &task[j], WEFT_HINT_DEFAULT),
				0);
		kit_stop(rt);
		assert_int_equal(wf_load_rlx(&ran), 3 * (i + 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_count_is_never_too_low),
		cmocka_unit_test(life_goes_one_way),
		cmocka_unit_test(a_stop_that_times_out_frees_nothing),
		cmocka_unit_test(the_waker_of_the_last_is_waited_for),
		cmocka_unit_test(the_joiner_of_the_last_is_waited_for),
		cmocka_unit_test(without_locks_all_threads_are_made_at_once),
		cmocka_unit_test(accepted_tasks_run_before_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
