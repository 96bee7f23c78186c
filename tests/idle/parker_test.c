/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/parker_test.c - a wake ends one sleep, also one that begins later,
 * and a sleep without a wake ends at its time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/units.h"
#include "idle/parker.h"
#include "support/threads.h"

static void a_wake_before_the_sleep_ends_it_at_once(void **state)
{
	struct wf_parker parker = { 0 };

	(void)state;
	wf_parker_wake(&parker);
	assert_true(wf_parker_sleep(&parker, INT64_MAX));
	/* It is used up; and two before a sleep are one. */
	assert_false(wf_parker_sleep(&parker, wf_os_now_ns()));
	wf_parker_wake(&parker);
	wf_parker_wake(&parker);
	assert_true(wf_parker_sleep(&parker, wf_os_now_ns()));
	assert_false(wf_parker_sleep(&parker, wf_os_now_ns()));
}

static void a_sleep_without_a_wake_ends_at_its_time(void **state)
{
	struct wf_parker parker = { 0 };
	int64_t until_ns = wf_os_now_ns() + 5 * WF_NS_PER_MS;

	(void)state;
	assert_false(wf_parker_sleep(&parker, until_ns));
	assert_true(wf_os_now_ns() >= until_ns);
	assert_false(wf_parker_sleep(&parker, 1));
}

/* A wake of the futex alone is not a wake. */
struct nap {
	struct wf_parker parker;
	_Atomic(bool) up;
	bool early, woken;
};

static void nap(void *arg, unsigned i)
{
	struct nap *n = arg;

	if (i == 0) {
		n->woken = wf_parker_sleep(&n->parker, INT64_MAX);
		wf_store_rlx(&n->up, true);
		return;
	}
	for (int k = 0; k < 100; k++) {
		(void)wf_os_futex_wake(&n->parker.word, 1);
		wf_os_thread_yield();
	}
	n->early = wf_load_rlx(&n->up);
	wf_parker_wake(&n->parker);
}

static void a_sleeper_sleeps_on_until_it_is_woken(void **state)
{
	struct nap n = { 0 };

	(void)state;
	threads_run(2, nap, &n);
	assert_true(n.woken);
	assert_false(n.early);
	assert_int_equal(wf_load_rlx(&n.parker.word), 0);
}

/* Two threads wake each other in turn, and see what the other wrote. */
struct relay {
	struct wf_parker parker[2];
	size_t rounds, count;	/* count: by the one that is awake */
	size_t lost;
};

static void relay(void *arg, unsigned i)
{
	struct relay *r = arg;

	for (size_t n = 0; n < r->rounds; n++) {
		if (!wf_parker_sleep(&r->parker[i], INT64_MAX) ||
			r->count != 2 * n + i)
			r->lost++;
		r->count++;
		wf_parker_wake(&r->parker[!i]);
	}
}

static void every_wake_arrives_with_all_that_came_before(void **state)
{
	struct relay r = { .rounds = threads_rounds(20000) };

	(void)state;
	wf_parker_wake(&r.parker[0]);
	threads_run(2, relay, &r);
	assert_int_equal(r.lost, 0);
	assert_int_equal(r.count, 2 * r.rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wake_before_the_sleep_ends_it_at_once),
		cmocka_unit_test(a_sleep_without_a_wake_ends_at_its_time),
		cmocka_unit_test(a_sleeper_sleeps_on_until_it_is_woken),
		cmocka_unit_test(every_wake_arrives_with_all_that_came_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
