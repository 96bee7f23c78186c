/* SPDX-License-Identifier: MIT */
/*
 * tests/api/time_test.c - a sleep is never too short, in fibers and threads, on
 * any executor; only a cancellation or a scope's deadline ends it early; and
 * other fibers go on meanwhile.
 */
#include "api/api.h"

#include <pthread.h>
#include <signal.h>

enum { SOME = 40 };

#define LONG_NS (1000 * NS_PER_S)

/* Sleep for ns, and check that it took that long; the sleep's result. */
static int nap(int64_t ns)
{
	weft_time before = weft_now();
	int err = weft_sleep(ns);

	if (err == 0 && ns > 0)
		expect(weft_now() - before >= ns);
	return err;
}

/* ------------------------------------------------------------------------ */
/* Never too short. */

static void *times(void *arg)
{
	static const int64_t ns[] = { 1, 1000, 20 * NS_PER_US, 300 * NS_PER_US,
		NS_PER_MS, 1500 * NS_PER_US, 20 * NS_PER_MS };

	(void)arg;
	for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
		weft_time at = weft_after(ns[i]);

		expect_eq(nap(ns[i]), 0);
		expect_eq(weft_sleep_until(at), 0);
		expect(weft_now() >= at);
	}
	return NULL;
}

static void a_fiber_sleeps_as_long_as_it_should(void **state)
{
	(void)state;
	play(1, times, NULL);
	play(3, times, NULL);
}

static void a_thread_sleeps_as_long_as_it_should(void **state)
{
	(void)state;
	(void)times(NULL);
	assert_expected();
}

/* A sleep whose time has passed returns 0 at once, also when cancelled. */
static void *no_time(void *arg)
{
	static const weft_time past[] = { WEFT_NOW, -1, 1, INT64_MIN,
		INT64_MIN + 1 };
	weft_time before = weft_now();

	(void)arg;
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++)
		expect_eq(weft_sleep_until(past[i]), 0);
	expect_eq(weft_sleep_until(before), 0);
	expect_eq(weft_sleep(0), 0);
	expect_eq(weft_sleep(-1), 0);
	expect_eq(weft_sleep(INT64_MIN), 0);
	return NULL;
}

static void *no_time_cancelled(void *arg)
{
	(void)weft_cancel(weft_self());
	expect_eq(weft_sleep(LONG_NS), -ECANCELED);
	return no_time(arg);
}

/* The fiber has run so long that its worker's clock is old. */
static void *no_time_after_work(void *arg)
{
	weft_time until = weft_after(30 * NS_PER_MS);

	while (weft_now() < until)
		continue;
	(void)weft_cancel(weft_self());
	return no_time(arg);
}

static void a_sleep_for_no_time_returns_0(void **state)
{
	(void)state;
	play(1, no_time, NULL);
	play(1, no_time_cancelled, NULL);
	play(1, no_time_after_work, NULL);
	(void)no_time(NULL);
	assert_expected();
}

/* A fiber whose sleeps all return at once still gives way. */
static _Atomic(bool) other_ran;

static void *another(void *arg)
{
	atomic_store(&other_ran, true);
	return arg;
}

static void *never_sleeps(void *arg)
{
	weft_time give_up = PATIENCE;
	weft_fiber *f = spawn(another, NULL);

	atomic_store(&other_ran, false);
	while (!atomic_load(&other_ran) && weft_now() < give_up)
		(void)weft_sleep(arg ? 0 : -5);
	expect(atomic_load(&other_ran));
	(void)join(f);
	return NULL;
}

static void sleeping_for_no_time_gives_way(void **state)
{
	(void)state;
	play(1, never_sleeps, NULL);
	play(1, never_sleeps, &other_ran);
}

/* ------------------------------------------------------------------------ */
/* Ended early. */

static _Atomic(int) results[SOME];
static _Atomic(int) begun;

static void *sleeps_long(void *arg)
{
	static const weft_time ends[] = { WEFT_FOREVER, WEFT_FOREVER - 1,
		WEFT_FOREVER - 500000 };
	_Atomic(int) *result = arg;
	size_t i = (size_t)(result - results);
	weft_time until = i % 4 < 3 ? ends[i % 4] : weft_after(LONG_NS);

	atomic_fetch_add(&begun, 1);
	atomic_store(result, weft_sleep_until(until));
	return NULL;
}

static void *cancels(void *arg)
{
	weft_fiber *f[SOME];

	(void)arg;
	atomic_store(&begun, 0);
	for (int i = 0; i < SOME; i++) {
		atomic_store(&results[i], 1);
		f[i] = spawn(sleeps_long, &results[i]);
	}
	/* Some are cancelled before they begin to sleep, some after. */
	(void)await_yielding(atomic_load(&begun) >= SOME / 2);
	for (int i = 0; i < SOME; i++)
		(void)weft_cancel(f[i]);
	for (int i = 0; i < SOME; i++) {
		(void)join(f[i]);
		expect_eq(atomic_load(&results[i]), -ECANCELED);
	}
	return NULL;
}

static void a_cancelled_sleeper_wakes(void **state)
{
	(void)state;
	for (size_t i = 0; i < rounds(200); i++)
		play(1 + i % 4, cancels, NULL);
}

static void stop_wakes_sleepers(void **state)
{
	(void)state;
	for (size_t n = 0; n < rounds(100); n++) {
		weft_rt *rt = rt_workers(1 + n % 3);
		weft_fiber *f[SOME];

		for (int i = 0; i < SOME; i++) {
			atomic_store(&results[i], 1);
			assert_int_equal(weft_rt_spawn(rt, &f[i], NULL,
						 sleeps_long, &results[i]),
				0);
		}
		if (n % 2 == 0)
			nap_ns(NS_PER_MS);
		assert_int_equal(weft_rt_shutdown(rt), 0);
		for (int i = 0; i < SOME; i++) {
			assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
			assert_int_equal(atomic_load(&results[i]), -ECANCELED);
		}
		rt_end(rt);
	}
}

/* A shielded fiber sleeps to the end, also while its runtime stops. */
static void *shielded(void *arg)
{
	(void)arg;
	(void)weft_cancel(weft_self());
	expect(!weft_shield(true));
	expect_eq(nap(3 * NS_PER_MS), 0);
	expect(weft_shield(false));
	expect_eq(nap(3 * NS_PER_MS), -ECANCELED);
	return NULL;
}

static void a_shield_protects_sleep(void **state)
{
	weft_fiber *f;
	weft_rt *rt;

	(void)state;
	play(2, shielded, NULL);
	rt = rt_workers(2);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, shielded, NULL), 0);
	weft_detach(f);
	rt_end(rt);
	assert_expected();
}

/* A scope's deadline comes first, or last, or is the sleep's own. */
static void *scoped(void *arg)
{
	weft_time at = weft_after(20 * NS_PER_MS);
	weft_scope s;
	int err;

	(void)arg;
	expect_eq(weft_scope_open(&s, at), 0);
	err = nap(NS_PER_MS);
	/* Unless we were stopped for all that time. */
	expect(err == 0 || (err == -ETIMEDOUT && weft_now() >= at));
	expect_eq(weft_sleep_until(at + NS_PER_S), -ETIMEDOUT);
	expect(weft_now() >= at && weft_now() < at + NS_PER_S);
	expect_eq(weft_sleep_until(at), 0);
	expect_eq(weft_sleep(NS_PER_S), -ETIMEDOUT);
	expect(!weft_shield(true));
	expect_eq(nap(3 * NS_PER_MS), 0);
	expect(weft_shield(false));
	expect_eq(weft_scope_close(&s), -ETIMEDOUT);
	expect_eq(nap(NS_PER_MS), 0);
	return NULL;
}

static void a_scopes_deadline_ends_a_sleep(void **state)
{
	(void)state;
	play(2, scoped, NULL);
}

static void no_matter(int sig)
{
	(void)sig;
}

static void *pesters(void *arg)
{
	pthread_t *whom = arg;

	for (int i = 0; i < 20; i++) {
		nap_ns(NS_PER_MS);
		pthread_kill(*whom, SIGUSR1);
	}
	return NULL;
}

static void signals_do_not_wake_a_thread(void **state)
{
	struct sigaction act = { .sa_handler = no_matter };
	pthread_t self = pthread_self(), other;

	(void)state;
	assert_int_equal(sigaction(SIGUSR1, &act, NULL), 0);
	assert_int_equal(pthread_create(&other, NULL, pesters, &self), 0);
	assert_int_equal(nap(30 * NS_PER_MS), 0);
	pthread_join(other, NULL);
	assert_expected();
}

/* ------------------------------------------------------------------------ */
/* Order. */

static weft_time common;
static _Atomic(int) arrivals;

static void *in_order(void *arg)
{
	_Atomic(int) *place = arg;

	atomic_fetch_add(&begun, 1);
	expect_eq(weft_sleep_until(common), 0);
	atomic_store(place, atomic_fetch_add(&arrivals, 1));
	return NULL;
}

/*
 * False: all of them slept too late.  A wait that is longer may be later, by
 * the next power of two; then one that began earlier might end after others.
 */
static bool all_after(int64_t ns)
{
	weft_fiber *f[SOME];
	bool in_time;

	common = weft_after(ns);
	atomic_store(&arrivals, 0);
	atomic_store(&begun, 0);
	for (int i = 0; i < SOME; i++)
		f[i] = spawn(in_order, &results[i]);
	/* There is one worker: a fiber that has begun sleeps when we run. */
	expect(await_yielding(atomic_load(&begun) == SOME));
	in_time = common - weft_now() > ns / 3 * 2;
	for (int i = 0; i < SOME; i++)
		(void)join(f[i]);
	for (int i = 0; in_time && i < SOME; i++)
		expect_eq(atomic_load(&results[i]), i);
	return in_time;
}

/* Near deadlines, and some so far that the timers move several times. */
static void *all_at_once(void *arg)
{
	int64_t ns = *(int64_t *)arg;

	while (!all_after(ns) && ns < PATIENCE_NS / 2)
		ns *= 4;
	expect(ns < PATIENCE_NS / 2);
	return NULL;
}

static void equal_times_come_in_order(void **state)
{
	/* Nearly the next power of two. */
	int64_t ns[] = { INT64_C(15) << 20, INT64_C(15) << 23 };

	(void)state;
	play(1, all_at_once, &ns[0]);
	play(1, all_at_once, &ns[1]);
}

/* ------------------------------------------------------------------------ */
/* Other fibers of the runtime. */

static _Atomic(bool) over;

/* Yields for ever; with arg, computes for a while in between. */
static void *yields(void *arg)
{
	weft_time give_up = PATIENCE;

	while (!atomic_load(&over) && weft_now() < give_up) {
		weft_time until = weft_after(arg ? 200 * NS_PER_US : 0);

		while (weft_now() < until)
			continue;
		weft_yield();
	}
	return NULL;
}

/* Runs its children as calls, and never waits. */
static void *has_children(void *arg)
{
	weft_time give_up = PATIENCE;

	while (!atomic_load(&over) && weft_now() < give_up)
		(void)join(spawn(echo, arg));
	return NULL;
}

static void *sleeps_beside(void *arg)
{
	weft_fiber *f = spawn(arg == has_children ? has_children : yields, arg);

	atomic_store(&over, false);
	for (int i = 0; i < 5; i++)
		expect_eq(nap(2 * NS_PER_MS), 0);
	atomic_store(&over, true);
	(void)join(f);
	return NULL;
}

static void a_busy_runtime_wakes_sleepers(void **state)
{
	(void)state;
	play(1, sleeps_beside, NULL);
	play(1, sleeps_beside, &over);
	play(2, sleeps_beside, &over);
	play(1, sleeps_beside, has_children);
}

/*
 * One worker, and a fiber that yields every 5 ms: a sleeper waits for one of
 * these turns or two, not for as many as there are between two looks at the
 * global queue.  Of several, because the system may stop us at any time.
 */
static void *turns(void *arg)
{
	while (!atomic_load(&over)) {
		weft_time until = weft_after(5 * NS_PER_MS);

		while (weft_now() < until && !atomic_load(&over))
			continue;
		atomic_fetch_add(&arrivals, 1);
		weft_yield();
	}
	return arg;
}

static void *counts_turns(void *arg)
{
	int best = 1000, before;
	weft_fiber *f;

	atomic_store(&over, false);
	atomic_store(&arrivals, 0);
	f = spawn(turns, NULL);
	for (int i = 0; i < 12; i++) {
		before = atomic_load(&arrivals);
		expect_eq(nap(NS_PER_MS), 0);
		before = atomic_load(&arrivals) - before;
		best = before < best ? before : best;
	}
	atomic_store(&over, true);
	(void)join(f);
	expect(best <= 3);
	return arg;
}

static void long_turns_delay_timers_little(void **state)
{
	(void)state;
	play(1, counts_turns, NULL);
}

/* The holder of the timer's processor does not give way. */
static void *dozes(void *arg)
{
	(void)arg;
	atomic_fetch_add(&begun, 1);
	expect_eq(nap(2 * NS_PER_MS), 0);
	atomic_store(&over, true);
	return NULL;
}

static void *hogs(void *arg)
{
	for (int i = 0; i < 10; i++) {
		weft_time give_up = PATIENCE;
		weft_fiber *f;

		atomic_store(&begun, 0);
		atomic_store(&over, false);
		f = spawn(dozes, NULL);
		(void)await_yielding(atomic_load(&begun) == 1);
		while (!atomic_load(&over) && weft_now() < give_up)
			continue;
		expect(atomic_load(&over));
		(void)join(f);
	}
	return arg;
}

static void timers_of_a_stuck_processor_fire(void **state)
{
	(void)state;
	play(2, hogs, NULL);
	play(4, hogs, NULL);
}

/* Sleeping fibers do not keep a runtime busy, nor wake it up. */
static void a_sleeping_runtime_is_idle(void **state)
{
	weft_metrics before, after;
	weft_rt *rt = rt_workers(2);
	weft_fiber *f;

	(void)state;
	atomic_store(&begun, 0);
	assert_int_equal(
		weft_rt_spawn(rt, &f, NULL, sleeps_long, &results[3]), 0);
	assert_true(await(atomic_load(&begun) == 1));
	assert_int_equal(weft_rt_wait_idle(rt, PATIENCE), 0);
	nap_ns(50 * NS_PER_MS);
	/* Its threads may be slow to park, but not often. */
	for (int i = 0; i < 10; i++) {
		assert_int_equal(
			weft_metrics_read(rt, &before, sizeof(before)), 0);
		nap_ns(300 * NS_PER_MS);
		assert_int_equal(
			weft_metrics_read(rt, &after, sizeof(after)), 0);
		if (after.parks == before.parks && after.wakes == before.wakes)
			break;
	}
	assert_int_equal(after.parks, before.parks);
	assert_int_equal(after.wakes, before.wakes);
	(void)weft_cancel(f);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Other executors. */

static void *foreign(void *arg)
{
	(void)times(arg);
	(void)weft_cancel(weft_self());
	expect_eq(weft_sleep(LONG_NS), -ECANCELED);
	atomic_fetch_add(&arrivals, 1);
	return NULL;
}

/* A crowd sleeps on e, driven here if manual; one is cancelled. */
static void crowd_on(weft_executor *e, bool manual)
{
	weft_fiber_attr attr = { .executor = e };
	weft_time give_up = PATIENCE;
	weft_fiber *f[SOME], *last;

	atomic_store(&arrivals, 0);
	atomic_store(&begun, 0);
	atomic_store(&results[3], 1);
	for (int i = 0; i < SOME; i++)
		assert_int_equal(weft_spawn(&f[i], &attr, foreign, NULL), 0);
	assert_int_equal(weft_spawn(&last, &attr, sleeps_long, &results[3]), 0);
	while (manual && atomic_load(&arrivals) < SOME &&
		weft_now() < give_up) {
		if (weft_manual_run(e, 3) == 0)
			nap_ns(100 * NS_PER_US);
	}
	for (int i = 0; i < SOME; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_true(await(atomic_load(&begun) == 1));
	(void)weft_cancel(last);
	while (manual && atomic_load(&results[3]) == 1)
		(void)weft_manual_run(e, 1);
	assert_int_equal(weft_join(last, NULL, PATIENCE), 0);
	assert_int_equal(atomic_load(&results[3]), -ECANCELED);
	assert_expected();
}

static void fibers_sleep_on_any_executor(void **state)
{
	weft_executor *pool, *manual, *strand;
	weft_rt *rt = rt_workers(2);

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	crowd_on(pool, false);
	assert_int_equal(weft_strand_create(&strand, pool), 0);
	crowd_on(strand, false);
	assert_int_equal(weft_executor_destroy(strand), 0);
	assert_int_equal(weft_executor_destroy(pool), 0);
	assert_int_equal(weft_manual_create(&manual), 0);
	crowd_on(manual, true);
	assert_int_equal(weft_executor_destroy(manual), 0);
	assert_int_equal(weft_strand_create(&strand, weft_rt_executor(rt)), 0);
	crowd_on(strand, false);
	assert_int_equal(weft_executor_destroy(strand), 0);
	crowd_on(weft_inline(), false);
	rt_end(rt);
}

/*
 * The only fiber outside of runtimes ends where its timer is fired: on the
 * inline executor, on the timer thread itself.
 */
static void *last_of_all(void *arg)
{
	(void)arg;
	expect_eq(nap(NS_PER_MS), 0);
	atomic_store(&over, true);
	return NULL;
}

static void the_last_fiber_may_end_on_the_timer_thread(void **state)
{
	weft_fiber_attr attr = { .executor = weft_inline() };

	(void)state;
	for (size_t i = 0; i < rounds(100); i++) {
		weft_fiber *f;

		atomic_store(&over, false);
		assert_int_equal(weft_spawn(&f, &attr, last_of_all, NULL), 0);
		if (i % 2 == 0) {
			weft_detach(f);
			assert_true(await(atomic_load(&over)));
		} else {
			assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		}
	}
	assert_expected();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fiber_sleeps_as_long_as_it_should),
		cmocka_unit_test(a_thread_sleeps_as_long_as_it_should),
		cmocka_unit_test(a_sleep_for_no_time_returns_0),
		cmocka_unit_test(sleeping_for_no_time_gives_way),
		cmocka_unit_test(a_cancelled_sleeper_wakes),
		cmocka_unit_test(stop_wakes_sleepers),
		cmocka_unit_test(a_shield_protects_sleep),
		cmocka_unit_test(a_scopes_deadline_ends_a_sleep),
		cmocka_unit_test(signals_do_not_wake_a_thread),
		cmocka_unit_test(equal_times_come_in_order),
		cmocka_unit_test(a_busy_runtime_wakes_sleepers),
		cmocka_unit_test(long_turns_delay_timers_little),
		cmocka_unit_test(timers_of_a_stuck_processor_fire),
		cmocka_unit_test(a_sleeping_runtime_is_idle),
		cmocka_unit_test(fibers_sleep_on_any_executor),
		cmocka_unit_test(the_last_fiber_may_end_on_the_timer_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
