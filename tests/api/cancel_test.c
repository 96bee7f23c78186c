/* SPDX-License-Identifier: MIT */
/*
 * tests/api/cancel_test.c - in a cancelled fiber without a shield every call
 * that would wait returns -ECANCELED, again and again, and no other call does.
 * The object that it waited on is as if it had never come.
 */
#include "api/cancel_kit.h"

#include <weft/weft.h>

/* ------------------------------------------------------------------------ */
/* Every wait of a cancelled fiber fails. */

/* Like expect_eq, with the name of the wait in the message. */
static bool expect_result(const struct point *p, int line, int got, int want)
{
	return expect_at(p->name, line, got == want, "result", got, want);
}
#define expect_wait(p, d, want) \
	expect_result((p), __LINE__, (p)->wait(d), (want))

static void expect_cancelled(const struct point *p)
{
	expect(weft_cancelled());
	expect_wait(p, WEFT_FOREVER, -ECANCELED);
	expect_wait(p, weft_after(10 * NS_PER_S), -ECANCELED);
	expect_wait(p, WEFT_NOW, -ETIMEDOUT);
	expect_wait(p, -1, -ETIMEDOUT);

	/* Behind a shield it waits; without the shield it is cancelled. */
	expect_eq(weft_shield(true), false);
	expect(!weft_cancelled());
	expect_wait(p, weft_after(NS_PER_MS), -ETIMEDOUT);
	expect_eq(weft_shield(true), true);
	expect_eq(weft_shield(false), true);
	expect(weft_cancelled());
	expect_wait(p, WEFT_FOREVER, -ECANCELED);
	weft_yield();
	weft_checkpoint();
	expect_eq(weft_shield(false), false);
	expect(weft_cancelled());
}

static void *cancelled_before(void *arg)
{
	const struct point *p = arg;

	expect(await_yielding(weft_cancelled()));
	expect_wait(p, WEFT_FOREVER, -ECANCELED);
	expect_cancelled(p);
	return arg;
}

static void *cancelled_waiting(void *arg)
{
	const struct point *p = arg;

	expect(!weft_cancelled());
	expect_wait(p, WEFT_FOREVER, -ECANCELED);
	expect_cancelled(p);
	return arg;
}

/* The fiber is cancelled long before its deadline. */
static void *cancelled_timed(void *arg)
{
	const struct point *p = arg;

	expect_wait(p, PATIENCE, -ECANCELED);
	expect_cancelled(p);
	return arg;
}

static void *cancels_itself(void *arg)
{
	expect_eq(weft_cancel(weft_self()), 0);
	expect_cancelled(arg);
	return arg;
}

static void *cancel_it(void *f)
{
	expect_eq(weft_cancel(f), 0);
	expect_eq(weft_cancel(f), 0);
	return f;
}

/* The test's own thread cancels f, or a fiber does. */
static void cancel_by(weft_fiber *f, bool by_fiber)
{
	if (by_fiber)
		assert_int_equal(
			weft_join(spawn_here(cancel_it, f), NULL, PATIENCE), 0);
	else
		cancel_it(f);
}

static void *get_through(void *arg)
{
	const struct point *p = arg;
	int err = p->wait(PATIENCE);

	expect_result(p, __LINE__, err < 0 ? err : 0, 0);
	return arg;
}

/* Another fiber waits at p afterwards, and succeeds. */
static void expect_unharmed(const struct point *p)
{
	weft_fiber *f;

	if (!p->ready)
		return;
	f = spawn_here(get_through, (void *)p);
	assert_true(await(state_of(f) == WEFT_FIBER_WAITING));
	p->ready();
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_expected();
}

static void cancel_at(
	const struct point *p, void *(*victim)(void *), bool by_fiber)
{
	weft_fiber *f;

	world_open();
	f = spawn_here(victim, (void *)p);
	if (victim == cancelled_waiting || victim == cancelled_timed)
		assert_true(await(state_of(f) == WEFT_FIBER_WAITING));
	if (victim != cancels_itself)
		cancel_by(f, by_fiber);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_expected();
	expect_unharmed(p);
	world_close();
}

static void every_wait_of_a_cancelled_fiber_fails(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		w.rt = rt_workers(workers);
		for (size_t i = 0; i < POINTS; i++) {
			for (int by = 0; by < 2; by++) {
				cancel_at(&points[i], cancelled_before, by);
				cancel_at(&points[i], cancelled_waiting, by);
				cancel_at(&points[i], cancelled_timed, by);
			}
			cancel_at(&points[i], cancels_itself, false);
		}
		rt_end(w.rt);
	}
}

/*
 * The deadline of a wait comes and makes its fiber ready; before the fiber runs
 * it is cancelled.  Two fibers keep both workers busy meanwhile, so that the
 * monitor fires the timer and no worker runs the fiber.
 */
static _Atomic(bool) hog_runs, hog_ends, was_cancelled;
static int64_t late_ns;

static void *hog(void *arg)
{
	atomic_store(&hog_runs, true);
	while (!atomic_load(&hog_ends))
		continue;
	return arg;
}

static void *late_then_cancelled(void *arg)
{
	const struct point *p = arg;
	int err = p->wait(weft_after(late_ns));
	bool cancelled = atomic_load(&was_cancelled);

	expect_result(p, __LINE__, err, cancelled ? -ECANCELED : -ETIMEDOUT);
	if (cancelled)
		expect_cancelled(p);
	return arg;
}

/* Cancel f when its deadline has made it ready; false: it has ended. */
static bool cancel_when_ready(weft_fiber *f)
{
	weft_time give_up = PATIENCE;

	while (state_of(f) != WEFT_FIBER_WAITING) {
		if (state_of(f) == WEFT_FIBER_DONE)
			return false;
		weft_yield();
	}
	while (state_of(f) == WEFT_FIBER_WAITING && weft_now() < give_up)
		continue;
	expect_eq(state_of(f), WEFT_FIBER_RUNNABLE);
	expect_eq(weft_cancel(f), 0);
	atomic_store(&was_cancelled, true);
	return true;
}

/* On a slow machine the fiber is late before it waits: twice the time. */
static void *cancel_when_late(void *arg)
{
	bool done = false;

	for (late_ns = NS_PER_MS; !done && late_ns < NS_PER_S; late_ns *= 2) {
		weft_fiber *hogs, *f;

		atomic_store(&hog_runs, false);
		atomic_store(&hog_ends, false);
		atomic_store(&was_cancelled, false);
		hogs = spawn(hog, NULL);
		while (!atomic_load(&hog_runs))
			continue;
		f = spawn(late_then_cancelled, arg);
		done = cancel_when_ready(f);
		atomic_store(&hog_ends, true);
		join(f);
		join(hogs);
	}
	expect(done);
	return arg;
}

static void cancellation_wins_over_a_passed_deadline(void **state)
{
	(void)state;
	w.rt = rt_workers(2);
	for (size_t i = 0; i < POINTS; i++) {
		weft_fiber *f;

		world_open();
		f = spawn_here(cancel_when_late, (void *)&points[i]);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_expected();
		expect_unharmed(&points[i]);
		world_close();
	}
	rt_end(w.rt);
}

/* ------------------------------------------------------------------------ */
/* A call that need not wait succeeds. */

static void *succeed_although_cancelled(void *arg)
{
	const struct point *p = arg;
	int err;

	expect_eq(weft_cancel(weft_self()), 0);
	err = p->wait(WEFT_FOREVER);
	expect_result(p, __LINE__, err < 0 ? err : 0, 0);
	expect(weft_cancelled());
	return arg;
}

static void a_call_that_need_not_wait_succeeds(void **state)
{
	(void)state;
	w.rt = rt_workers(2);
	for (size_t i = 0; i < POINTS; i++) {
		const struct point *p = &points[i];
		weft_fiber *f;

		if (!p->ready || p->lost)
			continue;
		world_open();
		p->ready();
		if (!w.baton_held)
			end_child();
		f = spawn_here(succeed_although_cancelled, (void *)p);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_expected();
		world_close();
	}
	rt_end(w.rt);
}

/* ------------------------------------------------------------------------ */
/* A fiber that is cancelled behind a shield waits on. */

static void *through_shielded(void *arg)
{
	const struct point *p = arg;
	int err;

	expect_eq(weft_shield(true), false);
	err = p->wait(WEFT_FOREVER);
	expect_result(p, __LINE__, err < 0 ? err : 0, 0);
	expect(!weft_cancelled());
	expect_eq(weft_shield(false), true);
	expect(weft_cancelled());
	expect_eq(weft_sleep(NS_PER_S), -ECANCELED);
	return arg;
}

static void a_shield_hides_a_cancellation(void **state)
{
	(void)state;
	w.rt = rt_workers(2);
	for (size_t i = 0; i < POINTS; i++) {
		const struct point *p = &points[i];
		weft_fiber *f;

		if (!p->ready)
			continue;
		world_open();
		f = spawn_here(through_shielded, (void *)p);
		assert_true(await(state_of(f) == WEFT_FIBER_WAITING));
		cancel_by(f, i % 2);
		nap_ns(NS_PER_MS);
		assert_int_equal(state_of(f), WEFT_FIBER_WAITING);
		p->ready();
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_expected();
		world_close();
	}
	rt_end(w.rt);
}

static void a_plain_thread_has_no_shield(void **state)
{
	(void)state;
	assert_false(weft_shield(true));
	assert_false(weft_shield(false));
	assert_false(weft_cancelled());
}

/* ------------------------------------------------------------------------ */
/* Waits that are not cancellation points. */

static void once_waits(void *baton)
{
	baton_wait(baton);
}

static struct {
	weft_once once;
	_Atomic(bool) through;
} firm;

static void *hold_once(void *arg)
{
	weft_once_do(&firm.once, once_waits, arg);
	return arg;
}

static void firm_mutex(void)
{
	weft_mutex_lock(&w.mutex);
	weft_mutex_unlock(&w.mutex);
}

static void firm_rdlock(void)
{
	weft_rwlock_rdlock(&w.written);
	weft_rwlock_rdunlock(&w.written);
}

static void firm_wrlock(void)
{
	weft_rwlock_wrlock(&w.read);
	weft_rwlock_wrunlock(&w.read);
}

static void firm_once(void)
{
	weft_once_do(&firm.once, once_waits, NULL);
}

static void *wait_firmly(void *arg)
{
	void (*const *wait)(void) = arg;

	(*wait)();
	atomic_store(&firm.through, true);
	expect(weft_cancelled());
	expect_eq(weft_sleep(NS_PER_S), -ECANCELED);
	return arg;
}

/* Cancelled before it waits, or while it does. */
static void *wait_firmly_cancelled(void *arg)
{
	expect_eq(weft_cancel(weft_self()), 0);
	return wait_firmly(arg);
}

static void put_once_baton(void)
{
	baton_put(&w.baton, WEFT_HINT_DEFAULT);
}

static void some_waits_are_not_cancelled(void **state)
{
	static void (*const waits[])(
		void) = { firm_mutex, firm_rdlock, firm_wrlock, firm_once };
	static void (*const ready[])(void) = { unlock_mutex, unlock_written,
		unlock_read, put_once_baton };

	(void)state;
	w.rt = rt_workers(2);
	for (size_t i = 0; i < 8; i++) {
		bool before = i % 2;
		weft_fiber *f, *holder;

		world_open();
		end_child();
		memset(&firm, 0, sizeof(firm));
		holder = spawn_here(hold_once, &w.baton);
		assert_true(await(state_of(holder) == WEFT_FIBER_WAITING));
		f = spawn_here(before ? wait_firmly_cancelled : wait_firmly,
			(void *)&waits[i / 2]);
		assert_true(await(state_of(f) == WEFT_FIBER_WAITING));
		if (!before)
			cancel_by(f, i % 4 == 0);
		nap_ns(5 * NS_PER_MS);
		assert_false(atomic_load(&firm.through));
		ready[i / 2]();
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_true(atomic_load(&firm.through));
		if (waits[i / 2] != firm_once)
			put_once_baton();
		assert_int_equal(weft_join(holder, NULL, PATIENCE), 0);
		assert_expected();
		world_close();
	}
	rt_end(w.rt);
}

/* Only weft_wake ends a weft_suspend; weft_cancel does not. */
static void a_suspension_is_not_cancelled(void **state)
{
	static struct baton baton;
	weft_fiber *f;

	(void)state;
	w.rt = rt_workers(1);
	f = spawn_here(wait_for_baton, &baton);
	assert_true(await(state_of(f) == WEFT_FIBER_WAITING));
	cancel_by(f, false);
	nap_ns(5 * NS_PER_MS);
	assert_int_equal(state_of(f), WEFT_FIBER_WAITING);
	baton_put(&baton, WEFT_HINT_DEFAULT);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_expected();
	rt_end(w.rt);
}

/* ------------------------------------------------------------------------ */
/* Cancelled before it starts, and after it has ended. */

static _Atomic(unsigned) ran;

static void *run_although_cancelled(void *arg)
{
	atomic_fetch_add(&ran, 1);
	expect(weft_cancelled());
	expect_eq(weft_sleep(NS_PER_S), -ECANCELED);
	return arg;
}

static void *cancel_fresh(void *arg)
{
	for (int i = 0; i < 100; i++) {
		weft_fiber *f = spawn(run_although_cancelled, arg);

		expect_eq(weft_cancel(f), 0);
		expect(join(f) == arg);
	}
	return arg;
}

static void a_fiber_cancelled_before_it_starts_still_runs(void **state)
{
	(void)state;
	atomic_store(&ran, 0);
	play(1, cancel_fresh, &ran);
	assert_int_equal(atomic_load(&ran), 100);
}

static void *cancel_finished(void *arg)
{
	weft_fiber *f = spawn(echo, arg);

	expect(await_yielding(state_of(f) == WEFT_FIBER_DONE));
	expect_eq(weft_cancel(f), 0);
	expect_eq(weft_cancel(f), 0);
	expect(join(f) == arg);
	return arg;
}

static void *expect_not_cancelled(void *arg)
{
	expect(!weft_cancelled());
	expect_eq(weft_sleep(1), 0);
	expect_eq(weft_shield(false), false);
	return arg;
}

/* A fiber that reuses the descriptor of a cancelled one is not cancelled. */
static void *cancel_and_begin_anew(void *arg)
{
	for (int i = 0; i < 200; i++) {
		weft_fiber *f = spawn(i % 2 ? cancels_itself : echo,
			(void *)&points[POINTS - 1]);

		expect_eq(weft_cancel(f), 0);
		join(f);
		join(spawn(expect_not_cancelled, NULL));
	}
	return arg;
}

static void a_fiber_that_has_ended_may_be_cancelled(void **state)
{
	(void)state;
	play(1, cancel_finished, &ran);
	play(1, cancel_and_begin_anew, NULL);
	play(2, cancel_and_begin_anew, NULL);
}

/* The join may run the child as a call; if it fails, the child is there. */
static void *join_cancelled(void *arg)
{
	weft_fiber *f;
	int err;

	expect_eq(weft_cancel(weft_self()), 0);
	for (int i = 0; i < 100; i++) {
		f = spawn(echo, arg);
		err = weft_join(f, NULL, WEFT_FOREVER);
		expect(err == 0 || err == -ECANCELED);
		if (err == 0)
			continue;
		weft_shield(true);
		expect(join(f) == arg);
		weft_shield(false);
	}
	return arg;
}

static void a_cancelled_joiner_joins_or_keeps_the_handle(void **state)
{
	(void)state;
	play(1, join_cancelled, &ran);
	play(3, join_cancelled, &ran);
}

/* ------------------------------------------------------------------------ */
/* A cancellation races with the end of the wait: one of the two wins. */

enum { RACERS = 8 };

static struct {
	weft_chan *c;
	weft_sem sem;
	_Atomic(unsigned) got, lost;
} race;

static void *racer(void *arg)
{
	int err = (uintptr_t)arg % 2
		? weft_sem_acquire(&race.sem, WEFT_FOREVER)
		: weft_chan_recv(race.c, NULL, WEFT_FOREVER);

	expect(err == 0 || err == -ECANCELED);
	atomic_fetch_add(err ? &race.lost : &race.got, 1);
	return arg;
}

static void *race_once(void *arg)
{
	unsigned left = 0;
	weft_fiber *f[RACERS];

	expect_eq(weft_chan_create(&race.c, sizeof(int), RACERS), 0);
	race.sem = (weft_sem)WEFT_SEM_INIT(0);
	atomic_store(&race.got, 0);
	atomic_store(&race.lost, 0);
	for (uintptr_t i = 0; i < RACERS; i++)
		f[i] = spawn(racer, (void *)i);
	weft_yield();
	for (int i = 0; i < RACERS / 2; i++) {
		expect_eq(weft_chan_send(race.c, &i, WEFT_FOREVER), 0);
		weft_sem_release(&race.sem, 1);
		expect_eq(weft_cancel(f[2 * i]), 0);
		expect_eq(weft_cancel(f[2 * i + 1]), 0);
	}
	for (size_t i = 0; i < RACERS; i++)
		join(f[i]);
	/* Values and permits that no racer got are still there. */
	left = (unsigned)weft_chan_len(race.c);
	while (weft_sem_acquire(&race.sem, WEFT_NOW) == 0)
		left++;
	expect_eq(atomic_load(&race.got) + left, RACERS);
	expect_eq(atomic_load(&race.got) + atomic_load(&race.lost), RACERS);
	weft_chan_unref(race.c);
	return arg;
}

static void *race_often(void *arg)
{
	for (size_t i = 0; i < rounds(1000); i++)
		race_once(arg);
	return arg;
}

static void a_waiter_gets_a_value_or_is_cancelled(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, race_often, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_wait_of_a_cancelled_fiber_fails),
		cmocka_unit_test(cancellation_wins_over_a_passed_deadline),
		cmocka_unit_test(a_call_that_need_not_wait_succeeds),
		cmocka_unit_test(a_shield_hides_a_cancellation),
		cmocka_unit_test(a_plain_thread_has_no_shield),
		cmocka_unit_test(some_waits_are_not_cancelled),
		cmocka_unit_test(a_suspension_is_not_cancelled),
		cmocka_unit_test(a_fiber_cancelled_before_it_starts_still_runs),
		cmocka_unit_test(a_fiber_that_has_ended_may_be_cancelled),
		cmocka_unit_test(a_cancelled_joiner_joins_or_keeps_the_handle),
		cmocka_unit_test(a_waiter_gets_a_value_or_is_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
