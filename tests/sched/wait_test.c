/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/wait_test.c - of all who would end a wait exactly one does, and
 * who waited learns which kind it was; who is held goes on only when it was
 * released, also if it was about to leave.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "os/os.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/wait.h"
#include "stress/sched_kit.h"

static struct wf_waiter waiter;

/* Claim only: who is held stays so. */
static enum wf_taken claim(struct wf_waiter *w)
{
	struct wf_batch ready = { 0 };
	enum wf_taken taken = wf_waiter_claim(w, &ready);

	kit_expect(ready.count == (taken == WF_TAKEN_READY));
	wf_make_all_ready(&ready, WEFT_HINT_DEFAULT);
	return taken;
}

/* ------------------------------------------------------------------------ */
/* Threads. */

static void a_thread_gives_up_for_good(void **state)
{
	struct wf_waiter w;

	(void)state;
	assert_int_equal(wf_waiter_begin(&w, "test", NULL), 0);
	assert_null(w.fiber);
	assert_int_equal(wf_waiter_sleep(&w, WEFT_NOW), -ETIMEDOUT);
	assert_true(wf_waiter_leave(&w));
	assert_int_equal(claim(&w), WF_TAKEN_NOT);
	assert_false(wf_waiter_wake(&w, WEFT_HINT_DEFAULT));

	assert_int_equal(wf_waiter_begin(&w, "test", NULL), 0);
	assert_true(wf_waiter_wake(&w, WEFT_HINT_DEFAULT));
	assert_int_equal(claim(&w), WF_TAKEN_NOT);
	assert_int_equal(wf_waiter_sleep(&w, WEFT_NOW), 0);
	/* Woken after its time was up, but before it left. */
	assert_int_equal(wf_waiter_begin(&w, "test", NULL), 0);
	assert_int_equal(wf_waiter_sleep(&w, WEFT_NOW), -ETIMEDOUT);
	assert_true(wf_waiter_wake(&w, WEFT_HINT_DEFAULT));
	assert_false(wf_waiter_leave(&w));
	wf_waiter_drop(&w); /* nothing to do for a thread */
}

static _Atomic(bool) released, woken_early;

static void claimed_or_claimer(void *arg, unsigned i)
{
	int64_t soon = weft_after(WF_NS_PER_MS);

	(void)arg;
	if (i == 0) {
		/* Its time is up long before it is released. */
		int err = wf_waiter_sleep(&waiter, soon);

		kit_expect(err == 0);
		wf_store_rlx(&woken_early, !wf_load_rlx(&released));
	} else {
		kit_pause_us(20 * 1000);
		wf_store_rlx(&released, true);
		wf_waiter_release(&waiter);
	}
}

static void a_claimed_thread_waits_for_its_release(void **state)
{
	(void)state;
	assert_int_equal(wf_waiter_begin(&waiter, "test", NULL), 0);
	assert_int_equal(claim(&waiter), WF_TAKEN_HELD);
	threads_run(2, claimed_or_claimer, NULL);
	assert_false(wf_load_rlx(&woken_early));
	kit_settle();
}

static struct {
	_Atomic(size_t) go, done; /* rounds */
	_Atomic(bool) won;
	int64_t deadline;
	size_t rounds;
} race;

static void wait_or_wake(void *arg, unsigned i)
{
	size_t *ends = arg;

	for (size_t n = 1; n <= race.rounds; n++) {
		if (i == 0) {
			int err = wf_waiter_begin(&waiter, "test", NULL);

			kit_expect(err == 0);
			race.deadline = weft_after(20 * WF_NS_PER_US);
			wf_store_rel(&race.go, n);
			err = wf_waiter_sleep(&waiter, race.deadline);
			if (err != 0 && !wf_waiter_leave(&waiter))
				err = 0;
			while (wf_load_acq(&race.done) != n)
				wf_os_thread_yield();
			kit_expect((err == 0) == wf_load_rlx(&race.won));
			kit_expect(err == 0 || err == -ETIMEDOUT);
			ends[err == 0]++;
			continue;
		}
		while (wf_load_acq(&race.go) != n)
			wf_os_thread_yield();
		while (weft_now() < race.deadline + (int64_t)(n % 60) * 1000)
			continue;
		wf_store_rlx(&race.won, wf_waiter_wake(&waiter, 0));
		wf_store_rel(&race.done, n);
	}
}

static void a_deadline_and_a_wake_have_one_winner(void **state)
{
	size_t ends[2] = { 0 };

	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(2000);
	threads_run(2, wait_or_wake, ends);
	kit_settle();
	assert_int_equal(ends[0] + ends[1], race.rounds);
}

/* ------------------------------------------------------------------------ */
/* Fibers, every end of a wait. */

static int slept;
static bool left;

static void *sleeper(void *arg)
{
	int err = wf_waiter_begin(&waiter, "test", &waiter);

	kit_expect(err == 0);
	slept = wf_waiter_sleep(&waiter, WEFT_FOREVER);
	left = slept != 0 && wf_waiter_leave(&waiter);
	kit_expect(wf_load_rlx(&weft_self()->waits_for) == NULL);
	kit_expect(claim(&waiter) == WF_TAKEN_NOT);
	/* What cancellation ended stays so, anything else can wait anew. */
	err = wf_waiter_begin(&waiter, "test", NULL);
	kit_expect(err == slept);
	if (err == 0)
		wf_waiter_drop(&waiter);
	return arg;
}

static void cancel(weft_fiber *f)
{
	if (wf_wait_cancel(f) == WF_CLAIM_WAKE)
		wf_make_ready(f, WEFT_HINT_DEFAULT);
}

/* Woken; claimed; cancelled; cancelled, and claimed before it could leave. */
static void end_it(weft_fiber *f, int how)
{
	if (how == 0)
		kit_expect(wf_waiter_wake(&waiter, WEFT_HINT_NEXT));
	if (how == 1)
		kit_expect(claim(&waiter) == WF_TAKEN_READY);
	if (how >= 2)
		cancel(f);
	if (how == 3) {
		kit_expect(claim(&waiter) == WF_TAKEN_HELD);
		wf_waiter_release(&waiter);
	}
	if (how != 2)
		kit_expect(claim(&waiter) == WF_TAKEN_NOT);
}

static void *ends_of_others(void *arg)
{
	weft_fiber *f;

	(void)arg;
	for (int how = 0; how < 4; how++) {
		kit_expect(weft_spawn(&f, NULL, sleeper, NULL) == 0);
		weft_yield();
		kit_expect(strcmp(wf_load_rlx(&f->waits_for), "test") == 0);
		end_it(f, how);
		weft_yield();
		kit_expect(slept == (how >= 2 ? -ECANCELED : 0));
		kit_expect(left == (how == 2));
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	}
	return NULL;
}

static void *ends_of_my_own(void *arg)
{
	struct wf_waiter w;
	weft_rt *rt = arg;

	/* Claimed before it sleeps: it does not, and nobody makes it ready. */
	kit_expect(wf_waiter_begin(&w, "test", NULL) == 0);
	kit_expect(w.fiber == weft_self());
	kit_expect(claim(&w) == WF_TAKEN_HELD);
	wf_waiter_release(&w);
	kit_expect(wf_waiter_sleep(&w, WEFT_FOREVER) == 0);
	/* Dropped: nobody can end it any more. */
	kit_expect(wf_waiter_begin(&w, "test", NULL) == 0);
	wf_waiter_drop(&w);
	kit_expect(wf_load_rlx(&weft_self()->waits_for) == NULL);
	kit_expect(wf_wait_claim(w.fiber, w.epoch) == WF_CLAIM_LOST);
	/* Cancelled between the two. */
	kit_expect(wf_waiter_begin(&w, "test", NULL) == 0);
	cancel(weft_self());
	kit_expect(wf_waiter_sleep(&w, WEFT_FOREVER) == -ECANCELED);
	kit_expect(wf_waiter_leave(&w));
	kit_expect(wf_waiter_begin(&w, "test", NULL) == -ECANCELED);
	weft_rt_shutdown(rt);
	kit_expect(wf_waiter_begin(&w, "test", NULL) == -ECANCELED);
	return NULL;
}

/* A fiber that shutdown did not find is not cancelled, but may not wait. */
static void *not_found_by_shutdown(void *arg)
{
	struct weft_rt *rt = arg;
	struct wf_waiter w;

	wf_store_rlx(&rt->stopping, true);
	kit_expect(wf_waiter_begin(&w, "test", NULL) == -ECANCELED);
	kit_expect(!wf_fiber_is_cancelled(weft_self()));
	wf_store_rlx(&rt->stopping, false);
	kit_expect(wf_waiter_begin(&w, "test", NULL) == 0);
	wf_waiter_drop(&w);
	return NULL;
}

static void every_wait_of_a_fiber_ends_as_it_should(void **state)
{
	(void)state;
	kit_play(ends_of_others, 1);
	kit_play(ends_of_my_own, 1);
	kit_play(not_found_by_shutdown, 1);
}

/* ------------------------------------------------------------------------ */
/* Fibers, several wakers at once. */

enum { WAKERS = 3 };

static struct {
	_Atomic(size_t) round; /* that may be claimed */
	_Atomic(size_t) wins, tried;
	size_t rounds;
	weft_rt *rt;
	weft_fiber *fiber;
} crowd;

static void *wait_often(void *arg)
{
	for (size_t i = 1; i <= crowd.rounds; i++) {
		int err = wf_waiter_begin(&waiter, "test", NULL);

		kit_expect(err == 0);
		wf_store_rel(&crowd.round, i);
		err = wf_waiter_sleep(&waiter, WEFT_FOREVER);
		kit_expect(err == 0);
		/* The waiter stays until the last of them has looked at it. */
		while (wf_load_acq(&crowd.tried) != i * WAKERS)
			wf_os_thread_yield();
		kit_expect(wf_load_rlx(&crowd.wins) == i);
	}
	return arg;
}

static void wake_often(void *arg, unsigned who)
{
	(void)arg;
	(void)who;
	for (size_t i = 1; i <= crowd.rounds; i++) {
		while (wf_load_acq(&crowd.round) < i)
			wf_os_thread_yield();
		if (wf_waiter_wake(&waiter, WEFT_HINT_DEFAULT))
			wf_add_rlx(&crowd.wins, 1);
		wf_add_acqrel(&crowd.tried, 1);
	}
}

static void of_many_wakers_one_wins(void **state)
{
	weft_config cfg = { .workers = 1 };

	(void)state;
	crowd.rounds = kit_rounds(2000);
	crowd.rt = kit_start(&cfg);
	assert_int_equal(
		weft_rt_spawn(crowd.rt, &crowd.fiber, NULL, wait_often, NULL),
		0);
	threads_run(WAKERS, wake_often, NULL);
	assert_int_equal(weft_join(crowd.fiber, NULL, WEFT_FOREVER), 0);
	assert_int_equal(wf_load_rlx(&crowd.wins), crowd.rounds);
	kit_stop(crowd.rt);
}

/* ------------------------------------------------------------------------ */
/* Deadlines. */

static void *deadlines(void *in_fiber)
{
	int later = in_fiber ? -ENOTSUP : 0;

	kit_expect(wf_deadline_check(WEFT_FOREVER) == 0);
	kit_expect(wf_deadline_check(WEFT_NOW) == -ETIMEDOUT);
	kit_expect(wf_deadline_check(-1) == -ETIMEDOUT);
	kit_expect(wf_deadline_check(INT64_MIN) == -ETIMEDOUT);
	kit_expect(wf_deadline_check(weft_now()) == -ETIMEDOUT);
	kit_expect(wf_deadline_check(weft_after(3600 * WF_NS_PER_S)) == later);
	kit_expect(wf_deadline_check(WEFT_FOREVER - 1) == later);
	return NULL;
}

static void a_deadline_is_past_or_not(void **state)
{
	(void)state;
	(void)deadlines(NULL);
	kit_play(deadlines, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_gives_up_for_good),
		cmocka_unit_test(a_claimed_thread_waits_for_its_release),
		cmocka_unit_test(a_deadline_and_a_wake_have_one_winner),
		cmocka_unit_test(every_wait_of_a_fiber_ends_as_it_should),
		cmocka_unit_test(of_many_wakers_one_wins),
		cmocka_unit_test(a_deadline_is_past_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
