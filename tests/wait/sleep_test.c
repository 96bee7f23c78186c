/* SPDX-License-Identifier: MIT */
/*
 * tests/wait/sleep_test.c - what a sleeper looks like, which deadline ended the
 * sleep, and what happens when the thread for timers cannot be made.
 *
 * tests/api/time_test.c tests that it sleeps as long as it should.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "fiber/fiber.h"
#include "sched/foreign.h"
#include "stress/sched_kit.h"
#include "support/os_faults.h"

static void *long_sleep(void *arg)
{
	*(int *)arg = weft_sleep(1000 * WF_NS_PER_S);
	return NULL;
}

static void a_sleeper_can_be_seen(void **state)
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber_info info;
	weft_fiber *f;
	int result = 1;

	(void)state;
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, long_sleep, &result), 0);
	do
		weft_fiber_look(f, &info);
	while (info.state != WEFT_FIBER_WAITING);
	assert_string_equal(info.waits_for, "sleep");
	assert_null(info.waits_on);
	(void)weft_cancel(f);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	assert_int_equal(result, -ECANCELED);
	kit_stop(rt);
}

/* The limit of a fiber is its own: here it sets one itself. */
static int under(int64_t limit_ns, int64_t ns, bool shield)
{
	weft_fiber *f = weft_self();
	weft_time now = weft_now();
	int err;

	f->limit = now + limit_ns;
	f->own |= WF_OWN_LIMIT | (shield ? WF_OWN_SHIELD : 0);
	err = weft_sleep_until(now + ns);
	if (err == 0)
		kit_expect(weft_now() >= now + ns);
	else
		kit_expect(weft_now() >= now + limit_ns);
	f->own &= ~(WF_OWN_LIMIT | WF_OWN_SHIELD);
	return err;
}

static void *limits(void *arg)
{
	const int64_t ms = WF_NS_PER_MS, s = WF_NS_PER_S;

	(void)arg;
	kit_expect(under(2 * ms, 100 * s, false) == -ETIMEDOUT);
	kit_expect(under(2 * ms, 3 * ms, true) == 0);
	kit_expect(under(100 * s, 2 * ms, false) == 0);
	kit_expect(under(2 * ms, 2 * ms, false) == 0);
	/* It has passed: then nothing that would wait waits. */
	kit_expect(under(-1, 100 * s, false) == -ETIMEDOUT);
	kit_expect(under(-1, -1, false) == 0);
	kit_expect(under(-2 * ms, -ms, false) == 0);
	kit_expect(under(-1, 2 * ms, true) == 0);
	return NULL;
}

static void it_tells_whose_deadline_came(void **state)
{
	(void)state;
	kit_play(limits, 1);
}

/* ------------------------------------------------------------------------ */
/* Abroad. */

static int64_t nap_ns;

static void *nap(void *arg)
{
	int *result = arg;

	result[0] = weft_sleep(nap_ns);
	result[1] = weft_sleep(0);
	return NULL;
}

static void spawn_and_join(weft_executor *e, int64_t ns, int *result)
{
	weft_fiber_attr attr = { .executor = e };
	weft_fiber *f = NULL;

	nap_ns = ns;
	result[0] = result[1] = 1;
	assert_int_equal(weft_spawn(&f, &attr, nap, result), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
}

/* The timer thread may be the last holder of the pool: allow a moment. */
static void assert_nothing_left(void)
{
	weft_time give_up = weft_after(20 * WF_NS_PER_S);

	while (!os_faults_all_returned() && weft_now() < give_up)
		kit_pause_us(1000);
	assert_true(os_faults_all_returned());
}

static void without_a_thread_it_does_not_sleep(void **state)
{
	weft_executor *e = weft_inline();
	struct weft_rt *pool;
	int result[2];

	(void)state;
	assert_int_equal(wf_foreign_pool_hold(&pool), 0);
	os_faults_plan(OS_FAULTS_THREAD, 1, OS_FAULTS_FOREVER);
	/* So long that the sleep cannot end before the thread is needed. */
	spawn_and_join(e, 20 * WF_NS_PER_S, result);
	assert_int_equal(result[0], -EAGAIN);
	assert_int_equal(result[1], 0);
	os_faults_repair();
	/* The next sleeper gets the thread. */
	spawn_and_join(e, WF_NS_PER_MS, result);
	assert_int_equal(result[0], 0);
	assert_int_equal(result[1], 0);
	wf_foreign_pool_drop();
	assert_nothing_left();
}

static void the_timer_thread_ends_with_the_foreign_pool(void **state)
{
	int result[2];

	(void)state;
	for (int i = 0; i < 20; i++) {
		spawn_and_join(weft_inline(), WF_NS_PER_MS, result);
		assert_int_equal(result[0], 0);
	}
	assert_nothing_left();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sleeper_can_be_seen),
		cmocka_unit_test(it_tells_whose_deadline_came),
		cmocka_unit_test(without_a_thread_it_does_not_sleep),
		cmocka_unit_test(the_timer_thread_ends_with_the_foreign_pool),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
