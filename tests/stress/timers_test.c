/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/timers_test.c - deadlines of every kind against wakes and
 * cancellations from everywhere: each wait ends once, by one of them, and never
 * by its deadline before that has come.
 *
 * A permit that was given is taken by a wait that says so, or it is still there
 * in the end; so a wake that is lost, or counts twice, is seen.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "stress/sched_kit.h"

enum { FIBERS = 64, WAKERS = 3, WAITS = 400 };

static struct place {
	weft_sem sem;
	uint64_t taken;
	_Atomic(uint64_t) given;
} places[FIBERS];

static _Atomic(uint32_t) waiting; /* fibers that have not ended */

/* Some time: past, now, soon, the same as others have, far, never. */
static weft_time some_deadline(struct wf_random *r)
{
	weft_time now = weft_now();

	switch (wf_random_below(r, 10)) {
	case 0:
		return WEFT_NOW;
	case 1:
		return now - wf_random_below(r, 1000);
	case 2:
		return now + 1 + wf_random_below(r, 1000);
	case 3:
		return WEFT_FOREVER - wf_random_below(r, 2);
	case 4:
		return now + WF_NS_PER_S * 100;
	case 5:
		return (now | 0x3ffff) + 1;
	default:
		return now + wf_random_below(r, 3 * WF_NS_PER_MS);
	}
}

/* One wait at p, whose result is checked.  Was it cancelled? */
static bool wait_at(struct place *p, struct wf_random *r)
{
	weft_time deadline = some_deadline(r);
	int err = weft_sem_acquire(&p->sem, deadline);

	if (err == 0)
		p->taken++;
	else if (err == -ETIMEDOUT)
		kit_expect(weft_now() >= deadline);
	else
		kit_expect(err == -ECANCELED);
	return err == -ECANCELED;
}

static void waits(void *arg)
{
	struct place *p = arg;
	struct wf_random r;
	size_t n = kit_rounds(WAITS);

	wf_random_seed(&r, threads_seed() + (uint64_t)(p - places));
	for (size_t i = 0; i < n; i++) {
		kit_expect(!wait_at(p, &r));
		if (wf_random_below(&r, 8) == 0)
			kit_expect(
				weft_sleep(wf_random_below(&r, 100000)) == 0);
		if (wf_random_below(&r, 8) == 0)
			weft_yield();
	}
	(void)wf_sub_rlx(&waiting, 1);
}

/* Wake at random, for as long as fibers wait. */
static void wakes(struct wf_random *r)
{
	while (wf_load_rlx(&waiting) != 0 && !kit_failed()) {
		struct place *p = &places[wf_random_below(r, FIBERS)];

		(void)wf_add_rlx(&p->given, 1);
		weft_sem_release(&p->sem, 1);
		if (wf_random_below(r, 4) == 0)
			(void)weft_sleep(wf_random_below(r, 50000));
		else
			weft_yield();
	}
}

static void wakes_inside(void *arg)
{
	struct wf_random r;

	wf_random_seed(&r, threads_seed() ^ (uintptr_t)arg);
	wakes(&r);
}

static void wakes_outside(void *arg, unsigned i)
{
	(void)arg;
	wakes_inside((void *)(uintptr_t)(1000 + i));
}

static void begin_places(void)
{
	memset(places, 0, sizeof(places));
	wf_store_rlx(&waiting, FIBERS);
}

/* Each permit that was given was taken, or is there. */
static void check_places(void)
{
	for (size_t i = 0; i < FIBERS; i++) {
		struct place *p = &places[i];
		uint64_t left = 0;

		while (weft_sem_acquire(&p->sem, WEFT_NOW) == 0)
			left++;
		assert_int_equal(p->taken + left, wf_load_rlx(&p->given));
	}
}

static void each_wait_ends_once(void **state)
{
	static const unsigned workers[] = { 1, 2, 4 };

	(void)state;
	for (size_t n = 0; n < 3; n++) {
		weft_config cfg = { .workers = workers[n] };
		weft_rt *rt = kit_start(&cfg);

		begin_places();
		for (size_t i = 0; i < FIBERS; i++)
			assert_int_equal(weft_rt_go(rt, waits, &places[i]), 0);
		for (uintptr_t i = 0; i < WAKERS; i++)
			assert_int_equal(
				weft_rt_go(rt, wakes_inside, (void *)i), 0);
		threads_run(1, wakes_outside, NULL);
		while (wf_load_rlx(&waiting) != 0 && !kit_failed())
			kit_pause_us(1000);
		kit_settle();
		assert_int_equal(weft_rt_wait_idle(rt, WEFT_FOREVER), 0);
		check_places();
		kit_stop(rt);
	}
}

/* ------------------------------------------------------------------------ */
/* On a foreign executor: its timers, set by several threads. */

static void *waits_on_a_pool(void *arg)
{
	waits(arg);
	return NULL;
}

static void each_wait_on_a_pool_ends_once(void **state)
{
	weft_fiber_attr attr = { 0 };

	(void)state;
	kit_watch();
	assert_int_equal(weft_pool_create(&attr.executor, 3), 0);
	begin_places();
	for (size_t i = 0; i < FIBERS; i++) {
		weft_fiber *f;

		assert_int_equal(
			weft_spawn(&f, &attr, waits_on_a_pool, &places[i]), 0);
		weft_detach(f);
	}
	threads_run(2, wakes_outside, NULL);
	assert_int_equal(weft_executor_destroy(attr.executor), 0);
	kit_settle();
	check_places();
}

/* ------------------------------------------------------------------------ */
/* Short lives: descriptors are used again while old timers are pending. */

static _Atomic(uint64_t) ends[3];

static void *lives_shortly(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	struct wf_random r;
	struct place p = { 0 };
	bool cancelled = false;

	wf_random_seed(&r, seed);
	for (int i = 0; i < 3 && !cancelled; i++) {
		weft_time deadline = weft_after(wf_random_below(&r, 4) == 0
				? 100 * WF_NS_PER_S
				: wf_random_below(&r, WF_NS_PER_MS));
		int err = weft_sem_acquire(&p.sem, deadline);

		cancelled = err == -ECANCELED;
		if (!cancelled) {
			kit_expect(err == -ETIMEDOUT);
			kit_expect(weft_now() >= deadline);
		}
	}
	(void)wf_add_rlx(&ends[cancelled], 1);
	return NULL;
}

static void *cancels(void *arg)
{
	size_t n = kit_rounds(3000);
	struct wf_random r;

	wf_random_seed(&r, threads_seed() + (uintptr_t)arg);
	for (size_t i = 0; i < n; i++) {
		weft_fiber *f[4];

		for (size_t k = 0; k < 4; k++)
			kit_expect(weft_spawn(&f[k], NULL, lives_shortly,
					   (void *)(wf_random_next(&r) >> 1)) ==
				0);
		weft_yield();
		if (wf_random_below(&r, 2) == 0)
			(void)weft_sleep(wf_random_below(&r, 500000));
		for (size_t k = 0; k < 4; k++) {
			(void)weft_cancel(f[k]);
			kit_expect(weft_join(f[k], NULL, WEFT_FOREVER) == 0);
		}
	}
	return NULL;
}

static void *families(void *arg)
{
	weft_fiber *f[4];

	(void)arg;
	for (uintptr_t i = 0; i < 4; i++)
		kit_expect(weft_spawn(&f[i], NULL, cancels, (void *)i) == 0);
	for (size_t i = 0; i < 4; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	return NULL;
}

static void old_timers_end_no_new_wait(void **state)
{
	(void)state;
	wf_store_rlx(&ends[0], 0);
	wf_store_rlx(&ends[1], 0);
	kit_play(families, 3);
	assert_int_equal(wf_load_rlx(&ends[0]) + wf_load_rlx(&ends[1]),
		4 * 4 * kit_rounds(3000));
	assert_true(wf_load_rlx(&ends[1]) > 0);
}

/* ------------------------------------------------------------------------ */
/* Many sleepers. */

static _Atomic(uint64_t) woken;

static void sleeps(void *arg)
{
	weft_time at = weft_now() + (int64_t)(uintptr_t)arg;

	kit_expect(weft_sleep_until(at) == 0);
	kit_expect(weft_now() >= at);
	(void)wf_add_rlx(&woken, 1);
}

static void *many(void *arg)
{
	size_t n = kit_stacks(wf_max_size(20000 / KIT_SLOWER, 100));
	struct wf_random r;

	(void)arg;
	wf_random_seed(&r, threads_seed());
	wf_store_rlx(&woken, 0);
	for (size_t i = 0; i < n; i++)
		kit_expect(weft_go(sleeps,
				   (void *)(uintptr_t)wf_random_below(
					   &r, 300 * WF_NS_PER_MS)) == 0);
	while (wf_load_rlx(&woken) < n && !kit_failed())
		(void)weft_sleep(WF_NS_PER_MS);
	return NULL;
}

static void many_sleep_at_once(void **state)
{
	(void)state;
	kit_play(many, 1);
	kit_play(many, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_wait_ends_once),
		cmocka_unit_test(each_wait_on_a_pool_ends_once),
		cmocka_unit_test(old_timers_end_no_new_wait),
		cmocka_unit_test(many_sleep_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
