/* SPDX-License-Identifier: MIT */
/*
 * tests/os/futex_test.c - a wait ends by a change, a wake or its deadline, and
 * by nothing else; a wake wakes as many as it says.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>

#include "base/atomic.h"
#include "base/sanitize.h"
#include "base/units.h"
#include "os/os.h"
#include "support/skip.h"

#define PATIENCE_NS (40 * WF_NS_PER_S) /* it hangs: give up */
#define SLEEPERS 4

static void nap_ms(long ms)
{
	const struct timespec nap = { .tv_nsec = ms * WF_NS_PER_MS };

	nanosleep(&nap, NULL);
}

static void another_value_is_told_at_once(void **state)
{
	_Atomic(uint32_t) word = 1;

	(void)state;
	assert_int_equal(wf_os_futex_wait(&word, 0, INT64_MAX), -EAGAIN);
	assert_int_equal(wf_os_futex_wait(&word, 0, INT64_MAX - 1), -EAGAIN);
	assert_int_equal(wf_os_futex_wait(&word, 0, 0), -EAGAIN);
	assert_int_equal(wf_os_futex_wait(&word, 0, INT64_MIN), -EAGAIN);
	assert_int_equal(wf_load_rlx(&word), 1);
}

/* Wait on a word that is never woken; a spurious return does not count. */
static int wait_in_vain(int64_t deadline)
{
	_Atomic(uint32_t) word = 7;
	int err;

	do {
		err = wf_os_futex_wait(&word, 7, deadline);
	} while (err == 0);
	return err;
}

static void a_deadline_ends_a_wait_and_not_early(void **state)
{
	static const int64_t waits_ns[] = { 1, WF_NS_PER_US, WF_NS_PER_MS,
		30 * WF_NS_PER_MS };

	(void)state;
	for (size_t i = 0; i < sizeof(waits_ns) / sizeof(waits_ns[0]); i++) {
		int64_t start = wf_os_now_ns();
		int64_t deadline = start + waits_ns[i];

		assert_int_equal(wait_in_vain(deadline), -ETIMEDOUT);
		assert_true(wf_os_now_ns() >= deadline);
		assert_true(wf_os_now_ns() < start + PATIENCE_NS);
	}
}

static void a_deadline_that_has_passed_does_not_wait(void **state)
{
	int64_t start = wf_os_now_ns();
	const int64_t past[] = { start, start - 1, start - WF_NS_PER_MS, 1, 0,
		-1, -WF_NS_PER_S, -start, INT64_MIN };

	(void)state;
	for (size_t i = 0; i < sizeof(past) / sizeof(past[0]); i++)
		assert_int_equal(wait_in_vain(past[i]), -ETIMEDOUT);
	assert_true(wf_os_now_ns() < start + PATIENCE_NS);
}

/* Signals, a thousand each second, which no system call survives. */
static _Atomic(unsigned) signals;

static void on_alarm(int sig)
{
	(void)sig;
	wf_add_rlx(&signals, 1);
}

static void set_storm(bool on)
{
	struct sigaction act = { .sa_handler = on_alarm };
	struct itimerval every = { .it_interval.tv_usec = on ? 1000 : 0,
		.it_value.tv_usec = on ? 1000 : 0 };

	if (on) {
		wf_store_rlx(&signals, 0);
		sigaction(SIGALRM, &act, NULL);
	}
	setitimer(ITIMER_REAL, &every, NULL);
}

static void signals_do_not_end_a_timed_wait(void **state)
{
	_Atomic(uint32_t) word = 0;
	int64_t deadline;
	int err;

	(void)state;
	set_storm(true);
	deadline = wf_os_now_ns() + 100 * WF_NS_PER_MS;
	err = wf_os_futex_wait(&word, 0, deadline);
	set_storm(false);
	assert_int_equal(err, -ETIMEDOUT);
	assert_true(wf_os_now_ns() >= deadline);
	assert_true(wf_load_rlx(&signals) > 0);
}

/* One who changes the word after a while, and wakes; it gets no signals. */
static _Atomic(uint32_t) letter;

static void late_waker(void *arg)
{
	(void)arg;
	nap_ms(50);
	wf_store_rlx(&letter, 1);
	while (wf_os_futex_wake(&letter, 1) == 0 && wf_load_rlx(&letter) == 1)
		nap_ms(1);
}

static void wait_for_letter(int64_t deadline)
{
	struct wf_os_thread waker;
	uint32_t at_return;
	int err;

	wf_store_rlx(&letter, 0);
	assert_int_equal(
		wf_os_thread_start(&waker, late_waker, NULL, 0, NULL), 0);
	err = wf_os_futex_wait(&letter, 0, deadline);
	at_return = wf_load_rlx(&letter);
	wf_store_rlx(&letter, 2);
	wf_os_thread_join(&waker);
	assert_true(err == 0 || err == -EAGAIN);
	assert_int_equal(at_return, 1);
}

static void signals_do_not_end_an_endless_wait(void **state)
{
	(void)state;
	set_storm(true);
	wait_for_letter(INT64_MAX);
	set_storm(false);
	assert_true(wf_load_rlx(&signals) > 0);
}

static void a_deadline_far_away_is_as_good_as_none(void **state)
{
	(void)state;
	wait_for_letter(INT64_MAX - 1);
	wait_for_letter(INT64_MAX / 2);
}

/*
 * Sleepers that return as soon as they are woken.  Nothing tells when a thread
 * sleeps, so a wake that finds no sleeper yet is made again.
 */
static _Atomic(uint32_t) bed;
static _Atomic(int) returned;

static void sleeper(void *arg)
{
	int *err = arg;

	*err = wf_os_futex_wait(&bed, 0, wf_os_now_ns() + PATIENCE_NS);
	wf_add_rlx(&returned, 1);
}

/* Wake all sleepers, n by n; the most that one call woke. */
static int wake_by(unsigned n)
{
	static struct wf_os_thread threads[SLEEPERS];
	static int errs[SLEEPERS]; /* outlives a failed assertion */
	int total = 0, most = 0;
	int64_t give_up = wf_os_now_ns() + PATIENCE_NS;

	wf_store_rlx(&returned, 0);
	for (int i = 0; i < SLEEPERS; i++)
		assert_int_equal(wf_os_thread_start(&threads[i], sleeper,
					 &errs[i], 0, NULL),
			0);
	while (total < SLEEPERS && wf_os_now_ns() < give_up) {
		int woken;

		nap_ms(5);
		woken = wf_os_futex_wake(&bed, n);
		assert_true(woken >= 0);
		most = woken > most ? woken : most;
		total += woken;
		nap_ms(5);
		assert_true(wf_load_rlx(&returned) <= total);
	}
	for (int i = 0; i < SLEEPERS; i++) {
		wf_os_thread_join(&threads[i]);
		assert_int_equal(errs[i], 0);
	}
	assert_int_equal(total, SLEEPERS);
	return most;
}

/* Some time all of them sleep when the wake comes. */
static void check_most(unsigned n, int expected)
{
	for (int i = 0; i < 50; i++) {
		int most = wake_by(n);

		assert_true(most <= expected);
		if (most == expected)
			return;
	}
	fail_msg("a wake of %u never woke %d", n, expected);
}

static void a_wake_wakes_up_to_n_and_counts_them(void **state)
{
	(void)state;
	check_most(1, 1);
	check_most(2, 2);
	check_most(SLEEPERS, SLEEPERS);
	check_most(INT_MAX, SLEEPERS);
	check_most(UINT_MAX, SLEEPERS);
}

static void a_wake_of_none_wakes_none(void **state)
{
	struct wf_os_thread thread;
	int err, woken = 0;

	(void)state;
	assert_int_equal(
		wf_os_thread_start(&thread, sleeper, &err, 0, NULL), 0);
	for (int i = 0; i < 20; i++) {
		nap_ms(2);
		woken += wf_os_futex_wake(&bed, 0);
	}
	while (woken == 0 && wf_os_futex_wake(&bed, 1) == 0)
		nap_ms(1);
	wf_os_thread_join(&thread);
	assert_int_equal(woken, 0);
}

static void a_wake_without_sleepers_is_0(void **state)
{
	_Atomic(uint32_t) word = 0;

	(void)state;
	assert_int_equal(wf_os_futex_wake(&word, 1), 0);
	assert_int_equal(wf_os_futex_wake(&word, UINT_MAX), 0);
}

static void a_wake_where_no_memory_is_any_more_is_0(void **state)
{
	size_t bytes = wf_os_page_bytes();
	void *page;

	(void)state;
	if (wf_on_valgrind()) {
		skip_because("valgrind takes such a wake for an error");
	}
	assert_int_equal(wf_os_vm_map(&page, bytes), 0);
	wf_os_vm_unmap(page, bytes);
	assert_int_equal(wf_os_futex_wake(page, 1), 0);
	/* An address that cannot be the program's is an error to the kernel. */
	assert_int_equal(wf_os_futex_wake((void *)(UINTPTR_MAX - 4095), 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_value_is_told_at_once),
		cmocka_unit_test(a_deadline_ends_a_wait_and_not_early),
		cmocka_unit_test(a_deadline_that_has_passed_does_not_wait),
		cmocka_unit_test(signals_do_not_end_a_timed_wait),
		cmocka_unit_test(signals_do_not_end_an_endless_wait),
		cmocka_unit_test(a_deadline_far_away_is_as_good_as_none),
		cmocka_unit_test(a_wake_wakes_up_to_n_and_counts_them),
		cmocka_unit_test(a_wake_of_none_wakes_none),
		cmocka_unit_test(a_wake_without_sleepers_is_0),
		cmocka_unit_test(a_wake_where_no_memory_is_any_more_is_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
