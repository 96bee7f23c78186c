/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/cond_test.c - a waiter is in the list before the mutex is free,
 * some_ says whether the list has one, a signal ends the oldest wait, and a
 * waiter that gives up leaves nothing; the mutex is held on every return.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/child.h"
#include "os/os.h"
#include "wait/wait.h"
#include "stress/sched_kit.h"

static struct {
	weft_mutex mutex;
	weft_cond cond;
	int waiting, ready; /* by mutex */
	unsigned woken[8], next;
} s;

static int begin(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	return 0;
}

static uint32_t some(void)
{
	return wf_load_acq((_Atomic(uint32_t) *)&s.cond.some_);
}

static void assert_no_waiters(void)
{
	assert_int_equal(some(), 0);
	assert_null(s.cond.waiters_[0]);
	assert_null(s.cond.waiters_[1]);
}

/* In another fiber or thread: fails while we hold the mutex. */
static void *try_lock(void *arg)
{
	int err = weft_mutex_lock_by(&s.mutex, WEFT_NOW);

	*(int *)arg = err;
	if (err == 0)
		weft_mutex_unlock(&s.mutex);
	return NULL;
}

static void try_lock_thread(void *arg, unsigned i)
{
	(void)i;
	(void)try_lock(arg);
}

static void the_mutex_is_held_on_return(void **state)
{
	int64_t until = weft_after(2 * WF_NS_PER_MS);
	int err = 0;

	(void)state;
	weft_mutex_lock(&s.mutex);
	assert_int_equal(
		weft_cond_wait(&s.cond, &s.mutex, WEFT_NOW), -ETIMEDOUT);
	threads_run(1, try_lock_thread, &err);
	assert_int_equal(err, -ETIMEDOUT);
	assert_int_equal(weft_cond_wait(&s.cond, &s.mutex, until), -ETIMEDOUT);
	assert_true(weft_now() >= until);
	threads_run(1, try_lock_thread, &err);
	assert_int_equal(err, -ETIMEDOUT);
	weft_mutex_unlock(&s.mutex);
	assert_no_waiters();
	threads_run(1, try_lock_thread, &err);
	assert_int_equal(err, 0);
}

static void a_signal_without_waiters_does_nothing(void **state)
{
	(void)state;
	weft_cond_signal(&s.cond);
	weft_cond_broadcast(&s.cond);
	assert_no_waiters();
}

static void wait_without_the_mutex(void *arg)
{
	(void)arg;
	(void)!weft_cond_wait(&s.cond, &s.mutex, weft_after(WF_NS_PER_S));
}

static void waiting_without_the_mutex_ends_the_program(void **state)
{
	struct child c;

	(void)state;
	child_run(&c, wait_without_the_mutex, NULL);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "weft_mutex"));
}

/* ------------------------------------------------------------------------ */
/* Fibers on one worker. */

static void *wait_once(void *arg)
{
	weft_mutex_lock(&s.mutex);
	s.waiting++;
	kit_expect(weft_cond_wait(&s.cond, &s.mutex, WEFT_FOREVER) == 0);
	s.woken[s.next++] = (unsigned)(uintptr_t)arg;
	weft_mutex_unlock(&s.mutex);
	return NULL;
}

static void *signal_one_by_one(void *arg)
{
	weft_fiber *f[8];

	(void)arg;
	for (uintptr_t i = 0; i < 8; i++) {
		kit_expect(weft_spawn(&f[i], NULL, wait_once, (void *)i) == 0);
		/* Whenever we hold the mutex the waiter is in the list. */
		weft_mutex_lock(&s.mutex);
		while (s.waiting != (int)i + 1) {
			weft_mutex_unlock(&s.mutex);
			weft_yield();
			weft_mutex_lock(&s.mutex);
		}
		kit_expect(some() == 1);
		weft_mutex_unlock(&s.mutex);
	}
	for (unsigned i = 0; i < 3; i++) {
		weft_cond_signal(&s.cond);
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
		kit_expect(s.next == i + 1 && s.woken[i] == i);
	}
	kit_expect(some() == 1);
	weft_cond_broadcast(&s.cond);
	kit_expect(some() == 0 && s.cond.waiters_[0] == NULL);
	for (int i = 3; i < 8; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	kit_expect(s.next == 8);
	return NULL;
}

static void *wait_cancelled(void *arg)
{
	int *err = arg;

	weft_mutex_lock(&s.mutex);
	s.waiting++;
	*err = weft_cond_wait(&s.cond, &s.mutex, WEFT_FOREVER);
	/* The second wait fails without releasing the mutex. */
	kit_expect(weft_cond_wait(&s.cond, &s.mutex, WEFT_FOREVER) == *err);
	s.waiting--;
	weft_mutex_unlock(&s.mutex);
	return NULL;
}

static void *cancel_one(void *arg)
{
	weft_fiber *f;
	int err = 0, held = 0;

	(void)arg;
	kit_expect(weft_spawn(&f, NULL, wait_cancelled, &err) == 0);
	while (some() == 0)
		weft_yield();
	weft_mutex_lock(&s.mutex);
	kit_expect(weft_cancel(f) == 0);
	/* The wait for the cond is over; f waits for the mutex. */
	for (int i = 0; i < 3; i++)
		weft_yield();
	kit_expect(some() == 0 && s.waiting == 1);
	weft_mutex_unlock(&s.mutex);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	kit_expect(err == -ECANCELED);
	(void)try_lock(&held);
	kit_expect(held == 0);
	return NULL;
}

/* A waiter that has timed out, and has not left the list yet. */
static void *signal_past_a_late_waiter(void *arg)
{
	struct wf_waiter gone = { 0 };
	struct wf_node node = { .waiter = &gone };
	weft_fiber *f;

	kit_expect(!wf_waiter_disarm(&gone));
	for (unsigned i = 0; i < 2; i++) {
		wf_list_add((struct wf_list *)s.cond.waiters_, &node);
		kit_expect(weft_spawn(&f, NULL, wait_once, NULL) == 0);
		while (s.waiting != (int)i + 1)
			weft_yield();
		if (i == 0)
			weft_cond_signal(&s.cond);
		else
			weft_cond_broadcast(&s.cond);
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
		kit_expect(node.list == NULL && some() == 0);
	}
	return arg;
}

static void a_signal_passes_a_late_waiter(void **state)
{
	(void)state;
	kit_play(signal_past_a_late_waiter, 1);
	assert_no_waiters();
}

static void a_signal_ends_the_oldest_wait(void **state)
{
	(void)state;
	kit_play(signal_one_by_one, 1);
	assert_no_waiters();
}

static void a_cancelled_waiter_returns_with_the_mutex(void **state)
{
	(void)state;
	kit_play(cancel_one, 1);
	assert_no_waiters();
}

/* ------------------------------------------------------------------------ */
/* Races: a signal that loses to a deadline goes to another waiter. */

static struct {
	_Atomic(size_t) given, taken, late;
	_Atomic(bool) over;
	size_t rounds;
} race;

/* Thread 0 gives; the others take one each, or give up. */
static void take_or_give(void *arg, unsigned i)
{
	(void)arg;
	if (i == 0) {
		for (size_t n = 1; n <= race.rounds; n++) {
			weft_mutex_lock(&s.mutex);
			s.ready++;
			weft_cond_signal(&s.cond);
			weft_mutex_unlock(&s.mutex);
			if (n % 4 == 0)
				kit_pause_us(n % 32);
		}
		return;
	}
	while (wf_load_rlx(&race.taken) < race.rounds) {
		int err = 0;
		/* Thread 1 waits for ever, the others not for long. */
		weft_time until = i == 1
			? WEFT_FOREVER
			: weft_after((int64_t)(i * 5) * WF_NS_PER_US);

		weft_mutex_lock(&s.mutex);
		while (s.ready == 0 && err == 0 &&
			wf_load_rlx(&race.taken) < race.rounds)
			err = weft_cond_wait(&s.cond, &s.mutex, until);
		if (err == 0 && s.ready > 0) {
			s.ready--;
			if (wf_add_rlx(&race.taken, 1) + 1 == race.rounds)
				weft_cond_broadcast(&s.cond);
		}
		weft_mutex_unlock(&s.mutex);
		kit_expect(err == 0 || err == -ETIMEDOUT);
		wf_add_rlx(&race.late, err != 0);
	}
}

static void no_signal_is_lost(void **state)
{
	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(15000);
	kit_watch();
	threads_run(4, take_or_give, NULL);
	kit_settle();
	printf("%zu of them taken, %zu gave up\n", wf_load_rlx(&race.taken),
		wf_load_rlx(&race.late));
	assert_int_equal(wf_load_rlx(&race.taken), race.rounds);
	assert_int_equal(s.ready, 0);
	assert_no_waiters();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_signal_without_waiters_does_nothing),
		TEST(the_mutex_is_held_on_return),
		TEST(waiting_without_the_mutex_ends_the_program),
		TEST(a_signal_passes_a_late_waiter),
		TEST(a_signal_ends_the_oldest_wait),
		TEST(a_cancelled_waiter_returns_with_the_mutex),
		TEST(no_signal_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
