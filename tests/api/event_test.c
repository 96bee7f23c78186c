/* SPDX-License-Identifier: MIT */
/*
 * tests/api/event_test.c - an event wakes all its waiters once it is set, and
 * not before: fibers and threads, with deadlines, cancelled or shielded.
 */
#include "api/api.h"

enum { CROWD = 60 };

static struct {
	weft_event event;
	weft_group ready;
	_Atomic(unsigned) through;
	_Atomic(int) result;
	int message; /* plain: the event orders it */
} s;

static int begin(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	return 0;
}

static void *set_and_reset(void *arg)
{
	weft_event e = { 0 };

	expect_eq(weft_event_wait(&e, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_event_wait(&e, 1), -ETIMEDOUT);
	expect_eq(weft_event_wait(&e, INT64_MIN), -ETIMEDOUT);
	expect_eq(weft_event_wait(&e, weft_after(1000)), -ETIMEDOUT);
	weft_event_set(&e);
	expect_eq(weft_event_wait(&e, WEFT_FOREVER), 0);
	expect_eq(weft_event_wait(&e, WEFT_NOW), 0);
	expect_eq(weft_event_wait(&e, INT64_MIN), 0);
	weft_event_set(&e);
	weft_event_reset(&e);
	expect_eq(weft_event_wait(&e, WEFT_NOW), -ETIMEDOUT);
	weft_event_reset(&e);
	weft_event_set(&e);
	expect_eq(weft_event_wait(&e, WEFT_NOW), 0);
	return arg;
}

static void it_stays_set_until_it_is_reset(void **state)
{
	(void)state;
	set_and_reset(NULL);
	assert_expected();
	play(1, set_and_reset, NULL);
}

/* ------------------------------------------------------------------------ */
/* Waiters of all kinds. */

static void *wait_for_it(void *arg)
{
	expect_eq(weft_event_wait(&s.event, WEFT_FOREVER), 0);
	expect_eq(s.message, 42);
	atomic_fetch_add(&s.through, 1);
	return arg;
}

static void wait_or_set(void *arg, unsigned i)
{
	(void)arg;
	if (i != 0) {
		(void)wait_for_it(NULL);
		return;
	}
	nap_ns(5 * NS_PER_MS);
	expect_eq(atomic_load(&s.through), 0);
	s.message = 42;
	weft_event_set(&s.event);
}

/* Two runtimes, an executor with threads of its own, and plain threads. */
static void waiters_of_all_kinds_are_woken(void **state)
{
	weft_rt *rt[2] = { rt_workers(1), rt_workers(3) };
	weft_fiber *f[CROWD];
	weft_executor *pool = NULL;

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	for (unsigned i = 0; i < CROWD; i++) {
		weft_fiber_attr attr = { .executor = pool };

		if (i % 3 != 2)
			attr.executor = weft_rt_executor(rt[i % 3]);
		assert_int_equal(
			weft_spawn(&f[i], &attr, wait_for_it, NULL), 0);
	}
	threads_run(4, wait_or_set, NULL);
	for (unsigned i = 0; i < CROWD; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_expected();
	assert_int_equal(atomic_load(&s.through), CROWD + 3);
	assert_int_equal(weft_executor_destroy(pool), 0);
	rt_end(rt[0]);
	rt_end(rt[1]);
}

/* ------------------------------------------------------------------------ */
/* Set and reset at once. */

static void *pulse(void *arg)
{
	weft_fiber *f[CROWD];

	s.message = 42;
	for (unsigned i = 0; i < CROWD; i++)
		f[i] = spawn(wait_for_it, NULL);
	for (unsigned i = 0; i < CROWD; i++)
		expect(await_yielding(state_of(f[i]) == WEFT_FIBER_WAITING));
	weft_event_set(&s.event);
	weft_event_reset(&s.event);
	expect_eq(weft_event_wait(&s.event, WEFT_NOW), -ETIMEDOUT);
	for (unsigned i = 0; i < CROWD; i++)
		expect_eq(weft_join(f[i], NULL, PATIENCE), 0);
	expect_eq(atomic_load(&s.through), CROWD);
	return arg;
}

static void a_reset_after_the_set_keeps_no_waiter(void **state)
{
	(void)state;
	play(1, pulse, NULL);
	begin(NULL);
	play(3, pulse, NULL);
}

/* ------------------------------------------------------------------------ */
/* Deadlines and cancellation. */

static void *wait_late(void *arg)
{
	for (int ms = 1; ms <= 8; ms *= 2) {
		weft_time until = weft_after(ms * NS_PER_MS);

		expect_eq(weft_event_wait(&s.event, until), -ETIMEDOUT);
		expect(weft_now() >= until);
	}
	return arg;
}

static void a_deadline_ends_the_wait(void **state)
{
	(void)state;
	(void)wait_late(NULL);
	assert_expected();
	play(2, wait_late, NULL);
}

static void *wait_cancelled(void *arg)
{
	atomic_store(&s.result, weft_event_wait(&s.event, WEFT_FOREVER));
	expect(weft_cancelled());
	/* Every wait fails from now on; a call that need not wait succeeds. */
	expect_eq(weft_event_wait(&s.event, WEFT_FOREVER), -ECANCELED);
	expect_eq(weft_event_wait(&s.event, PATIENCE), -ECANCELED);
	expect_eq(weft_event_wait(&s.event, WEFT_NOW), -ETIMEDOUT);
	weft_shield(true);
	expect_eq(weft_event_wait(&s.event, weft_after(NS_PER_MS)), -ETIMEDOUT);
	weft_shield(false);
	weft_event_set(&s.event);
	expect_eq(weft_event_wait(&s.event, WEFT_FOREVER), 0);
	return arg;
}

static void *cancel_it(void *arg)
{
	weft_fiber *f = spawn(wait_cancelled, NULL);
	weft_fiber_info info;

	expect(await_yielding(state_of(f) == WEFT_FIBER_WAITING));
	weft_fiber_look(f, &info);
	expect(info.waits_for != NULL && strcmp(info.waits_for, "event") == 0);
	expect(info.waits_on == &s.event);
	weft_cancel(f);
	(void)join(f);
	expect_eq(atomic_load(&s.result), -ECANCELED);
	return arg;
}

static void cancellation_ends_the_wait(void **state)
{
	(void)state;
	play(1, cancel_it, NULL);
	begin(NULL);
	play(2, cancel_it, NULL);
}

/* ------------------------------------------------------------------------ */
/* The event lies in the frame of the waiter. */

static void set_it(void *arg)
{
	weft_event_set(arg);
}

static __attribute__((noinline)) void wait_in_a_frame(void)
{
	weft_event e = { 0 };

	expect_eq(weft_go(set_it, &e), 0);
	expect_eq(weft_event_wait(&e, WEFT_FOREVER), 0);
	memset(&e, 0xa5, sizeof(e));
	__asm__ volatile("" : : "r"(&e) : "memory");
}

static void *wait_in_frames(void *arg)
{
	for (size_t i = 0; i < rounds(20000); i++)
		wait_in_a_frame();
	return arg;
}

static void an_event_may_go_with_the_frame(void **state)
{
	(void)state;
	play(2, wait_in_frames, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_stays_set_until_it_is_reset),
		TEST(waiters_of_all_kinds_are_woken),
		TEST(a_reset_after_the_set_keeps_no_waiter),
		TEST(a_deadline_ends_the_wait),
		TEST(cancellation_ends_the_wait),
		TEST(an_event_may_go_with_the_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
