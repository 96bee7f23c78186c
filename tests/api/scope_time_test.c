/* SPDX-License-Identifier: MIT */
/*
 * tests/api/scope_time_test.c - the deadline of a scope reaches all waits in
 * it; a shield hides it, and cancellation too.
 */
#include "api/scope_kit.h"

/* ------------------------------------------------------------------------ */
/* Deadlines. */

static weft_time until; /* of the scope that the test is about */

/* Start w; if we were stopped past the deadline, record that it is late. */
static void go_in_time(weft_scope *s, int (*fn)(void *), struct waiter *w)
{
	int err = weft_scope_go(s, fn, w);

	if (err == -ETIMEDOUT && weft_now() >= until) {
		w->got = err;
		w->cancelled = true;
		return;
	}
	expect_eq(err, 0);
}

static int sleep_long(void *arg)
{
	struct waiter *w = arg;

	w->begun = true;
	w->got = weft_sleep(PATIENCE_NS);
	w->cancelled = weft_cancelled();
	return 0;
}

static void *time_is_up(void *arg)
{
	struct waiter event = { 0 }, sleep = { 0 };
	weft_event never = { 0 };
	int64_t began = weft_now();
	weft_scope s;
	int ran = 0;

	until = weft_after(SOON_NS);
	open_scope(&s, until);
	go_in_time(&s, run_waiter, &event);
	go_in_time(&s, sleep_long, &sleep);
	expect(!weft_cancelled() || weft_now() >= until);
	expect_eq(try_wait(), -ETIMEDOUT);
	/* The wait's own deadline ended it, unless we were stopped for long. */
	expect(!weft_cancelled() || weft_now() >= until);
	expect_eq(weft_event_wait(&never, PATIENCE), -ETIMEDOUT);
	expect(weft_now() - began >= SOON_NS);
	expect(weft_now() - began < PATIENCE_NS / 2);
	expect(weft_cancelled());
	expect_eq(weft_sleep(PATIENCE_NS), -ETIMEDOUT);
	expect_eq(weft_scope_go(&s, run_nothing, &ran), -ETIMEDOUT);
	expect_eq(close_scope(&s), -ETIMEDOUT);
	expect_eq(ran, 0);
	expect_eq(event.got, -ETIMEDOUT);
	expect_eq(sleep.got, -ETIMEDOUT);
	expect(event.cancelled && sleep.cancelled);
	expect_free();
	/* An empty scope, whose deadline has passed when it is closed. */
	open_scope(&s, weft_after(NS_PER_MS));
	while (!weft_cancelled())
		weft_yield();
	expect_eq(close_scope(&s), -ETIMEDOUT);
	return arg;
}

static void *no_time_at_all(void *arg)
{
	const weft_time past[] = { WEFT_NOW, -1, 1, INT64_MIN };
	weft_scope s;
	int ran = 0;

	for (size_t i = 0; i < 4; i++) {
		open_scope(&s, past[i]);
		expect(weft_cancelled());
		expect_eq(try_wait(), -ETIMEDOUT);
		expect_eq(weft_scope_go(&s, run_nothing, &ran), -ETIMEDOUT);
		weft_scope_cancel(&s);
		/* Cancelled beats timed out. */
		expect_eq(weft_scope_go(&s, run_nothing, &ran), -ECANCELED);
		expect_eq(try_wait(), -ECANCELED);
		expect_eq(close_scope(&s), -ECANCELED);
		open_scope(&s, past[i]);
		expect_eq(close_scope(&s), -ETIMEDOUT);
	}
	expect_eq(ran, 0);
	expect_free();
	return arg;
}

static int scope_inside(void *arg)
{
	struct waiter *w = arg;
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go_in_time(&s, sleep_long, w);
	expect_eq(close_scope(&s), -ETIMEDOUT);
	return 0;
}

static void *inherited(void *arg)
{
	struct waiter own = { 0 }, below = { 0 };
	weft_scope a, b;

	until = weft_after(SOON_NS);
	open_scope(&a, until);
	open_scope(&b, PATIENCE);
	go_in_time(&b, sleep_long, &own);
	go_in_time(&b, scope_inside, &below);
	expect_eq(weft_sleep(PATIENCE_NS), -ETIMEDOUT);
	expect_eq(close_scope(&b), -ETIMEDOUT);
	expect_eq(own.got, -ETIMEDOUT);
	expect_eq(below.got, -ETIMEDOUT);
	expect_eq(close_scope(&a), -ETIMEDOUT);
	expect_free();
	return arg;
}

static void *earlier_inside(void *arg)
{
	weft_scope a, b;

	open_scope(&a, PATIENCE);
	open_scope(&b, weft_after(NS_PER_MS));
	expect_eq(weft_sleep(PATIENCE_NS), -ETIMEDOUT);
	expect(weft_cancelled());
	expect_eq(close_scope(&b), -ETIMEDOUT);
	expect_free();
	expect_eq(close_scope(&a), 0);
	return arg;
}

static void a_deadline_reaches_all_waits(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, time_is_up, NULL);
		play(workers, no_time_at_all, NULL);
		play(workers, inherited, NULL);
		play(workers, earlier_inside, NULL);
	}
}

/* ------------------------------------------------------------------------ */
/* Shields. */

static void *shielded_owner(void *arg)
{
	weft_scope s;

	open_scope(&s, WEFT_NOW);
	weft_scope_cancel(&s);
	expect(!weft_shield(true));
	expect_free(); /* neither cancelled nor late */
	expect(weft_shield(false));
	expect(weft_cancelled());
	expect_eq(close_scope(&s), -ECANCELED);
	return arg;
}

/* A scope that is opened under a shield is for cleaning up. */
static void *sheltered(void *arg)
{
	weft_scope outer, s, inner;
	struct waiter w = { 0 };
	int ran = 0;

	open_scope(&outer, WEFT_NOW);
	(void)weft_shield(true);
	open_scope(&s, WEFT_FOREVER);
	go(&s, run_waiter, &w);
	weft_scope_cancel(&outer); /* s does not see it */
	expect_eq(weft_cancel(weft_self()), 0);
	go(&s, run_nothing, &ran);
	open_scope(&inner, WEFT_FOREVER);
	go(&inner, run_nothing, &ran);
	expect_eq(close_scope(&inner), 0);
	weft_event_set(&w.event);
	expect_eq(close_scope(&s), 0);
	expect_eq(w.got, 0);
	expect_eq(ran, 2);
	/* Its own cancellation and deadline reach it, and scopes inside. */
	until = weft_after(SOON_NS);
	open_scope(&s, until);
	open_scope(&inner, WEFT_FOREVER);
	w = (struct waiter){ 0 };
	go_in_time(&inner, run_waiter, &w);
	expect_eq(close_scope(&inner), -ETIMEDOUT);
	expect_eq(w.got, -ETIMEDOUT);
	open_scope(&inner, WEFT_FOREVER);
	weft_scope_cancel(&s);
	expect_eq(weft_scope_go(&inner, run_nothing, &ran), -ECANCELED);
	expect_eq(close_scope(&inner), -ECANCELED);
	open_scope(&inner, WEFT_FOREVER);
	expect_eq(weft_scope_go(&inner, run_nothing, &ran), -ECANCELED);
	expect_eq(close_scope(&inner), -ECANCELED);
	/* A scope opened under a new shield does not see s's cancellation. */
	(void)weft_shield(false);
	(void)weft_shield(true);
	open_scope(&inner, WEFT_FOREVER);
	go(&inner, run_nothing, &ran);
	expect_eq(close_scope(&inner), 0);
	expect_eq(close_scope(&s), -ECANCELED);
	(void)weft_shield(false);
	open_scope(&s, WEFT_FOREVER);
	expect_eq(weft_scope_go(&s, run_nothing, &ran), -ECANCELED);
	expect_eq(close_scope(&s), -ECANCELED);
	expect_eq(close_scope(&outer), -ECANCELED);
	expect_eq(ran, 3);
	return arg;
}

static void shields_and_scopes(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, shielded_owner, NULL);
		play(workers, sheltered, NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deadline_reaches_all_waits),
		cmocka_unit_test(shields_and_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
