/* SPDX-License-Identifier: MIT */
/*
 * tests/wait/timers_test.c - where a fiber's timer is, what key it has, and
 * what becomes of it when its time has come: the table in the header.
 *
 * One worker, so that a test sees all timers in one place; the fibers wait for
 * groups, with a deadline.  What they look at is their own.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "idle/serve.h"
#include "sched/runtime.h"
#include "sched/serve.h"
#include "sched/thread.h"
#include "wait/timers.h"
#include "stress/sched_kit.h"

#define SOON_NS (2 * WF_NS_PER_MS)
#define LATER_NS (500 * WF_NS_PER_S)

static struct wf_timers *timers_of(weft_rt *rt)
{
	return rt->procs[0].timers;
}

static weft_group never;

static int await(weft_group *g, int64_t ns)
{
	return weft_group_wait(g, weft_after(ns));
}

/* Wait, be woken in time by a fiber that was started for it. */
static void done(void *arg)
{
	weft_group_done(arg);
}

static void be_woken(int64_t ns)
{
	weft_group g = { 0 };

	weft_group_add(&g, 1);
	kit_expect(weft_go(done, &g) == 0);
	kit_expect(await(&g, ns) == 0);
}

/*
 * Be woken shortly before a deadline, so that the timer is still set.  Returns
 * the deadline.  If we are stopped past it, try again with a later one.
 */
static weft_time be_woken_soon(void)
{
	weft_fiber *f = weft_self();
	weft_time until = 0;

	for (int64_t ns = SOON_NS; ns < 20 * WF_NS_PER_S; ns *= 2) {
		weft_group g = { 0 };
		bool set;
		int err;

		weft_group_add(&g, 1);
		kit_expect(weft_go(done, &g) == 0);
		until = weft_after(ns);
		err = weft_group_wait(&g, until);
		set = wf_load_rlx(&f->timer.in) != NULL;
		if (weft_now() < until) {
			kit_expect(err == 0 && set);
			return until;
		}
		kit_expect(weft_group_wait(&g, WEFT_FOREVER) == 0);
	}
	kit_expect(!"in time");
	return until;
}

/* ------------------------------------------------------------------------ */
/* Where it is. */

static void *stays(void *arg)
{
	weft_fiber *f = weft_self();
	struct wf_timers *timers = timers_of(arg);
	int64_t key;

	kit_expect(wf_load_rlx(&f->timer.in) == NULL);
	be_woken(LATER_NS);
	kit_expect(wf_load_rlx(&f->timer.in) == &timers->wheel);
	key = f->timer.key;
	kit_expect(wf_timers_next(timers) == key);
	kit_expect(key >= weft_now() &&
		key <= weft_after(LATER_NS) + WF_NS_PER_MS);
	/* Again and again, with deadlines further on: it is not touched. */
	for (int i = 1; i < 5; i++) {
		be_woken(LATER_NS + i * WF_NS_PER_MS);
		kit_expect(f->timer.key == key);
		kit_expect(wf_load_rlx(&f->until) > key);
	}
	/* Without a deadline neither. */
	{
		weft_group g = { 0 };

		weft_group_add(&g, 1);
		kit_expect(weft_go(done, &g) == 0);
		kit_expect(weft_group_wait(&g, WEFT_FOREVER) == 0);
	}
	kit_expect(f->timer.key == key);
	return NULL;
}

static void a_wait_that_was_woken_leaves_its_timer(void **state)
{
	(void)state;
	kit_play(stays, 1);
}

static void *moves(void *arg)
{
	weft_fiber *f = weft_self();
	struct wf_timers *timers = timers_of(arg);
	int64_t key;

	be_woken(LATER_NS);
	key = f->timer.key;
	be_woken(LATER_NS / 2);
	kit_expect(f->timer.key < key);
	kit_expect(wf_load_rlx(&f->timer.in) == &timers->wheel);
	kit_expect(wf_timers_next(timers) == f->timer.key);
	/* And by that the wait does end; if it begins before. */
	for (int i = 0; i < 50 && wf_load_rlx(&f->timer.in) != NULL; i++)
		kit_expect(await(&never, SOON_NS) == -ETIMEDOUT);
	kit_expect(wf_load_rlx(&f->timer.in) == NULL);
	kit_expect(wf_timers_next(timers) > weft_now());
	return NULL;
}

static void an_earlier_deadline_moves_it(void **state)
{
	(void)state;
	kit_play(moves, 1);
}

/* ------------------------------------------------------------------------ */
/* When its time has come. */

static _Atomic(bool) over;

static void yield_on(void *arg)
{
	while (!wf_load_rlx(&over))
		weft_yield();
	weft_group_done(arg);
}

/* It is set for soon; the wait that goes on then has a later deadline. */
static void *goes_on(void *arg)
{
	weft_fiber *f = weft_self();
	weft_time later;

	(void)arg;
	later = be_woken_soon() + 3 * SOON_NS;
	kit_expect(weft_group_wait(&never, later) == -ETIMEDOUT);
	kit_expect(weft_now() >= later);
	kit_expect(wf_load_rlx(&f->timer.in) == NULL);
	return NULL;
}

/* One that does not sleep meanwhile, and so does not set it right before. */
static void *goes_on_beside(void *arg)
{
	weft_group ended = { 0 };

	wf_store_rlx(&over, false);
	weft_group_add(&ended, 1);
	kit_expect(weft_go(yield_on, &ended) == 0);
	(void)goes_on(arg);
	wf_store_rlx(&over, true);
	kit_expect(weft_group_wait(&ended, WEFT_FOREVER) == 0);
	return NULL;
}

static void a_timer_that_is_too_early_is_set_again(void **state)
{
	(void)state;
	kit_play(goes_on, 1);
	kit_play(goes_on_beside, 1);
}

static void *computes(void *arg)
{
	weft_fiber *f = weft_self();
	weft_time give_up = weft_after(20 * WF_NS_PER_S);

	(void)arg;
	be_woken_soon();
	/* It fires while we run, and is gone. */
	while (wf_load_rlx(&f->timer.in) != NULL && weft_now() < give_up)
		weft_yield();
	kit_expect(wf_load_rlx(&f->timer.in) == NULL);
	be_woken_soon();
	return NULL;
}

static void a_timer_without_a_wait_is_dropped(void **state)
{
	(void)state;
	kit_play(computes, 1);
}

/* Before a processor sleeps, so that it does not wake up for them. */
static void *leaves_some(void *arg)
{
	(void)arg;
	be_woken(LATER_NS);
	return NULL;
}

static void timers_of_ended_fibers_go_when_it_is_idle(void **state)
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	struct wf_timers *timers = timers_of(rt);
	weft_fiber *f[20];

	(void)state;
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &f[i], NULL, leaves_some, NULL), 0);
	for (size_t i = 0; i < 20; i++)
		assert_int_equal(weft_join(f[i], NULL, WEFT_FOREVER), 0);
	assert_int_equal(weft_rt_wait_idle(rt, WEFT_FOREVER), 0);
	assert_true(wf_timers_next(timers) == INT64_MAX);
	assert_null(wf_heap_first(&timers->wheel.heap));
	kit_stop(rt);
}

/* A stopped runtime leaves whatever is in its timers; nothing depends on it. */
static void *armed(void *arg)
{
	(void)arg;
	kit_expect(await(&never, LATER_NS) == -ECANCELED);
	return NULL;
}

static void timers_need_not_be_empty_at_the_end(void **state)
{
	weft_config cfg = { .workers = 2 };

	(void)state;
	for (int n = 0; n < 20; n++) {
		weft_rt *rt = kit_start(&cfg);

		for (int i = 0; i < 10; i++) {
			weft_fiber *f;

			assert_int_equal(
				weft_rt_spawn(rt, &f, NULL, armed, NULL), 0);
			weft_detach(f);
		}
		kit_stop(rt);
	}
}

/* ------------------------------------------------------------------------ */
/* Many at once, more than are fired under the lock in one go. */

static _Atomic(uint32_t) begun, fired;

static void crowd_main(void *arg)
{
	weft_time at = *(weft_time *)arg;

	(void)wf_add_rlx(&begun, 1);
	kit_expect(weft_group_wait(&never, at) == -ETIMEDOUT);
	kit_expect(weft_now() >= at);
	(void)wf_add_rlx(&fired, 1);
}

static void *crowd(void *arg)
{
	enum { MANY = 1000 };
	weft_time at = weft_after(30 * WF_NS_PER_MS);
	weft_time give_up = weft_after(20 * WF_NS_PER_S);

	(void)arg;
	wf_store_rlx(&fired, 0);
	for (int i = 0; i < MANY; i++)
		kit_expect(weft_go(crowd_main, &at) == 0);
	while (wf_load_rlx(&fired) < MANY && weft_now() < give_up)
		(void)weft_sleep(WF_NS_PER_MS);
	kit_expect(wf_load_rlx(&fired) == MANY);
	return NULL;
}

static void all_that_are_due_fire(void **state)
{
	(void)state;
	kit_play(crowd, 1);
	kit_play(crowd, 2);
}

/*
 * Some of many timers are DEAD: their fibers were woken in time, and wait for
 * something else without a deadline.  One call fires all others, wherever the
 * dead ones are among those that it takes out together.
 */
enum { MIXED = 300, ALL_ALIVE = MIXED };

static weft_group woken, ever;
static weft_time common;
static bool is_dead[MIXED];

static void *dead_or_alive(void *arg)
{
	if (*(bool *)arg) {
		kit_expect(weft_group_wait(&woken, common) == 0);
		kit_expect(weft_group_wait(&ever, WEFT_FOREVER) == 0);
	} else {
		kit_expect(weft_group_wait(&ever, common) == -ETIMEDOUT);
	}
	return NULL;
}

static bool was_fired(weft_fiber *f)
{
	uint64_t wait = wf_load_rlx(&f->wait);

	return (wait & WF_WAIT_PHASE) == WF_WAIT_CLAIMED &&
		(wait & WF_WAIT_LATE);
}

static void start_mixed(weft_fiber **f)
{
	common = weft_after(LATER_NS);
	weft_group_add(&woken, 1);
	weft_group_add(&ever, 1);
	for (int i = 0; i < MIXED; i++)
		kit_expect(weft_spawn(&f[i], NULL, dead_or_alive,
				   &is_dead[i]) == 0);
	weft_yield();
	weft_group_done(&woken);
	weft_yield();
}

static void *fire_mixed(void *arg)
{
	static weft_fiber *f[MIXED];
	struct wf_timers *timers = timers_of(arg);

	start_mixed(f);
	for (int i = 0; i < MIXED; i++)
		kit_expect(wf_load_rlx(&f[i]->timer.in) == &timers->wheel);
	(void)wf_serve_timers(timers, common + WF_NS_PER_S, SIZE_MAX);
	kit_expect(wf_timers_next(timers) == INT64_MAX);
	for (int i = 0; i < MIXED; i++) {
		kit_expect(wf_load_rlx(&f[i]->timer.in) == NULL);
		kit_expect(was_fired(f[i]) == !is_dead[i]);
	}
	weft_group_done(&ever);
	for (int i = 0; i < MIXED; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	return NULL;
}

/* One dead one at this place (ALL_ALIVE: none), and each nth. */
static void play_mixed(int at, int nth)
{
	for (int i = 0; i < MIXED; i++)
		is_dead[i] = i == at || (nth > 0 && i % nth == 0);
	kit_play(fire_mixed, 1);
}

static void dead_timers_do_not_hold_up_live_ones(void **state)
{
	static const int at[] = { ALL_ALIVE, 0, 1, 63, 64, 65, 127, 128, 191,
		MIXED - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++)
		play_mixed(at[i], 0);
	for (int nth = 1; nth < 4; nth++)
		play_mixed(ALL_ALIVE, nth);
}

/*
 * The first may be late by a 256th of its wait; a second fiber that is due by
 * then ends with it, though the key of its timer is later.  False: it took so
 * long that the monitor may have fired the timers.
 */
static bool end_together(void)
{
	weft_time at = weft_after(100 * WF_NS_PER_MS);
	struct wf_proc *p = wf_enter()->proc;
	int64_t slack_ns = 100 * WF_NS_PER_MS / 256, key;
	weft_time later = at + slack_ns / 2;
	bool early, both, in_time;

	wf_store_rlx(&fired, 0);
	kit_expect(weft_go(crowd_main, &at) == 0);
	kit_expect(weft_go(crowd_main, &later) == 0);
	weft_yield();
	key = wf_timers_next(p->timers);
	early = wf_serve_timers(p->timers, at - 1, SIZE_MAX);
	while (weft_now() < later)
		continue;
	both = wf_serve_timers(p->timers, later, SIZE_MAX) &&
		wf_timers_next(p->timers) == INT64_MAX;
	in_time = weft_now() < later + WF_NS_PER_MS / 2;
	if (in_time) {
		kit_expect(key > at && key <= at + 2 * slack_ns);
		kit_expect(!early && both);
	}
	while (wf_load_rlx(&fired) < 2)
		weft_yield();
	return in_time;
}

static void *together(void *arg)
{
	int tries = 50;

	while (!end_together() && tries > 0)
		tries--;
	kit_expect(tries > 0);
	return arg;
}

static void fibers_that_are_due_end_together(void **state)
{
	(void)state;
	kit_play(together, 1);
}

static void wait_long(void *arg)
{
	(void)wf_add_rlx(&begun, 1);
	kit_expect(weft_group_wait(&never, *(weft_time *)arg) == -ETIMEDOUT);
	(void)wf_add_rlx(&fired, 1);
}

/*
 * More are due than there is room for: they wait where they are.  It is long
 * before their time, of which only we say that it has come; else the monitor,
 * if we are slow, would send them elsewhere.
 */
static void *in_turn(void *arg)
{
	enum { MANY = 1000 };
	weft_time at = weft_after(1000 * WF_NS_PER_S);
	struct wf_proc *p = wf_enter()->proc;
	uint64_t before;

	wf_store_rlx(&begun, 0);
	wf_store_rlx(&fired, 0);
	for (int i = 0; i < MANY; i++)
		kit_expect(weft_go(wait_long, &at) == 0);
	while (wf_load_rlx(&begun) < MANY)
		weft_yield();
	before = wf_load_rlx(&p->counters.offloads);
	while (wf_load_rlx(&fired) < MANY) {
		kit_expect(wf_serve(p, at + WF_NS_PER_S));
		weft_yield();
	}
	kit_expect(wf_load_rlx(&p->counters.offloads) == before);
	return arg;
}

static void expired_timers_do_not_overflow_the_local_queue(void **state)
{
	(void)state;
	kit_play(in_turn, 1);
}

static int begin(void **state)
{
	(void)state;
	if (never.state_ == 0)
		weft_group_add(&never, 1);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_that_was_woken_leaves_its_timer),
		cmocka_unit_test(an_earlier_deadline_moves_it),
		cmocka_unit_test(a_timer_that_is_too_early_is_set_again),
		cmocka_unit_test(a_timer_without_a_wait_is_dropped),
		cmocka_unit_test(timers_of_ended_fibers_go_when_it_is_idle),
		cmocka_unit_test(timers_need_not_be_empty_at_the_end),
		cmocka_unit_test(all_that_are_due_fire),
		cmocka_unit_test(dead_timers_do_not_hold_up_live_ones),
		cmocka_unit_test(
			expired_timers_do_not_overflow_the_local_queue),
		cmocka_unit_test(fibers_that_are_due_end_together),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
