/* SPDX-License-Identifier: MIT */
/*
 * tests/api/scope_cancel_test.c - cancelling a scope reaches every fiber and
 * scope in it, and no others.
 */
#include "api/scope_kit.h"

/* ------------------------------------------------------------------------ */
/* Cancelling. */

static void cancel_from_thread(void *arg, unsigned i)
{
	(void)i;
	weft_scope_cancel(arg);
}

static int cancel_it(void *arg)
{
	weft_scope_cancel(arg);
	return 0;
}

enum by { BY_OWNER, BY_THREAD, BY_CHILD, BYS };

static void *cancelled_by(void *arg)
{
	struct waiter blocked[3] = { 0 };
	enum by by = *(enum by *)arg;
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	for (int i = 0; i < 3; i++)
		go(&s, run_waiter, &blocked[i]);
	expect(await_yielding(blocked[1].begun && blocked[2].begun));
	expect_eq(try_wait(), -ETIMEDOUT);
	if (by == BY_OWNER)
		weft_scope_cancel(&s);
	else if (by == BY_THREAD)
		threads_run(1, cancel_from_thread, &s);
	else
		go(&s, cancel_it, &s);
	while (!weft_cancelled())
		weft_yield();
	weft_scope_cancel(&s);
	expect_eq(try_wait(), -ECANCELED);
	expect_eq(weft_sleep(PATIENCE_NS), -ECANCELED);
	expect_eq(close_scope(&s), -ECANCELED);
	for (int i = 0; i < 3; i++) {
		expect_eq(blocked[i].got, -ECANCELED);
		expect(blocked[i].cancelled);
	}
	expect_free();
	return arg;
}

static void members_owner_and_threads_may_cancel(void **state)
{
	(void)state;
	for (enum by by = 0; by < BYS; by++)
		for (unsigned workers = 1; workers <= 2; workers++)
			play(workers, cancelled_by, &by);
}

static int cancel_soon(void *arg)
{
	expect_eq(weft_sleep(NS_PER_MS), 0);
	weft_scope_cancel(arg);
	return 0;
}

/* A cancellation also ends a wait that the owner has begun. */
static void *owner_waits(void *arg)
{
	weft_event never = { 0 };
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go(&s, cancel_soon, &s);
	expect_eq(weft_event_wait(&never, WEFT_FOREVER), -ECANCELED);
	expect_eq(close_scope(&s), -ECANCELED);
	expect_free();
	return arg;
}

/* Closing is not a cancellation point. */
static int ignore_it(void *arg)
{
	struct waiter *w = arg;

	w->got = weft_event_wait(&w->event, WEFT_FOREVER);
	for (int i = 0; i < 100; i++)
		weft_yield();
	(void)weft_shield(true);
	expect_eq(weft_sleep(2 * NS_PER_MS), 0);
	w->ended = true;
	return 0;
}

static void *close_goes_on(void *arg)
{
	struct waiter w = { 0 };
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go(&s, ignore_it, &w);
	go(&s, cancel_soon, &s);
	expect_eq(close_scope(&s), -ECANCELED);
	expect(w.ended);
	expect_eq(w.got, -ECANCELED);
	return arg;
}

static void a_cancelled_scope_cancels_its_owner(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, owner_waits, NULL);
		play(workers, close_goes_on, NULL);
	}
}

/* Scopes opened inside are cancelled, the outer ones are not. */
static void *chain_of_one_owner(void *arg)
{
	struct waiter outer = { 0 }, middle = { 0 }, inner = { 0 };
	weft_scope a, b, c;

	open_scope(&a, WEFT_FOREVER);
	go(&a, run_waiter, &outer);
	open_scope(&b, WEFT_FOREVER);
	go(&b, run_waiter, &middle);
	open_scope(&c, WEFT_FOREVER);
	go(&c, run_waiter, &inner);
	weft_scope_cancel(&b);
	expect_eq(try_wait(), -ECANCELED);
	expect_eq(close_scope(&c), -ECANCELED);
	expect_eq(inner.got, -ECANCELED);
	expect_eq(try_wait(), -ECANCELED);
	/* A scope that is opened in a cancelled one is cancelled. */
	open_scope(&c, WEFT_FOREVER);
	expect_eq(weft_scope_go(&c, run_waiter, &inner), -ECANCELED);
	expect_eq(close_scope(&c), -ECANCELED);
	expect_eq(close_scope(&b), -ECANCELED);
	expect_eq(middle.got, -ECANCELED);
	expect_free();
	expect(!outer.ended);
	weft_event_set(&outer.event);
	expect_eq(close_scope(&a), 0);
	expect_eq(outer.got, 0);
	return arg;
}

struct level {
	weft_scope *s;
	struct waiter w;
	int depth, got;
};

/* Opens a scope, has the next level and a waiter in it, and waits itself. */
static int run_level(void *arg)
{
	struct level *l = arg, below = { .depth = l->depth - 1 };
	struct waiter beside = { 0 };
	weft_scope s;

	if (l->depth == 0) {
		l->w.begun = true;
		return run_waiter(&l->w);
	}
	open_scope(&s, WEFT_FOREVER);
	go(&s, run_waiter, &beside);
	go(&s, run_level, &below);
	expect(await_yielding(beside.begun && below.w.begun));
	(void)run_waiter(&l->w);
	expect_eq(l->w.got, -ECANCELED);
	l->got = close_scope(&s);
	expect_eq(l->got, -ECANCELED);
	expect_eq(below.w.got, -ECANCELED);
	expect_eq(beside.got, -ECANCELED);
	return 0;
}

static void *tree_below(void *arg)
{
	struct level top = { .depth = 5 };
	struct waiter outside = { 0 };
	weft_scope outer, s;

	open_scope(&outer, WEFT_FOREVER);
	go(&outer, run_waiter, &outside);
	open_scope(&s, WEFT_FOREVER);
	go(&s, run_level, &top);
	expect(await_yielding(atomic_load(&top.w.begun)));
	weft_scope_cancel(&s);
	expect_eq(close_scope(&s), -ECANCELED);
	expect_eq(top.got, -ECANCELED);
	expect(!outside.ended);
	weft_event_set(&outside.event);
	expect_eq(close_scope(&outer), 0);
	return arg;
}

static void all_that_is_inside_is_cancelled(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, chain_of_one_owner, NULL);
		play(workers, tree_below, NULL);
	}
}

static void *fiber_with_tree(void *arg)
{
	(void)run_level(arg);
	return arg;
}

static void *cancel_a_fiber(void *arg)
{
	struct level top = { .depth = 3 };
	weft_fiber *f = spawn(fiber_with_tree, &top);

	expect(await_yielding(atomic_load(&top.w.begun)));
	expect_eq(weft_cancel(f), 0);
	expect_eq(weft_cancel(f), 0);
	expect_eq(weft_join(f, NULL, PATIENCE), 0);
	expect_eq(top.got, -ECANCELED);
	return arg;
}

static void *opens_too_late(void *arg)
{
	struct waiter w = { 0 };
	weft_scope s;

	expect_eq(weft_cancel(weft_self()), 0);
	open_scope(&s, WEFT_FOREVER);
	expect_eq(weft_scope_go(&s, run_waiter, &w), -ECANCELED);
	expect_eq(close_scope(&s), -ECANCELED);
	expect(weft_cancelled()); /* that stays */
	expect_eq(try_wait(), -ECANCELED);
	return arg;
}

static void cancelling_a_fiber_cancels_its_scopes(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		play(workers, cancel_a_fiber, NULL);
		play(workers, opens_too_late, NULL);
	}
}

struct apart {
	weft_group done;
	weft_event event;
	int got;
	weft_fiber *fiber;
};

static void wait_apart(void *arg)
{
	struct apart *a = arg;

	a->got = weft_event_wait(&a->event, WEFT_FOREVER);
	weft_group_done(&a->done);
}

static void *wait_apart_too(void *arg)
{
	wait_apart(arg);
	return arg;
}

static int start_apart(void *arg)
{
	struct apart *a = arg;

	weft_group_add(&a[0].done, 1);
	weft_group_add(&a[1].done, 1);
	expect_eq(weft_go(wait_apart, &a[0]), 0);
	a[1].fiber = spawn(wait_apart_too, &a[1]);
	return 0;
}

static void *apart(void *arg)
{
	struct apart a[2] = { 0 };
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go(&s, start_apart, a);
	while (!(state_of(weft_self()) == WEFT_FIBER_RUNNING && a[1].fiber))
		weft_yield();
	weft_scope_cancel(&s);
	expect_eq(close_scope(&s), -ECANCELED); /* it does not wait for them */
	for (int i = 0; i < 2; i++) {
		expect_eq(weft_group_wait(&a[i].done, weft_after(NS_PER_MS)),
			-ETIMEDOUT);
		weft_event_set(&a[i].event);
		expect_eq(weft_group_wait(&a[i].done, PATIENCE), 0);
		expect_eq(a[i].got, 0);
	}
	expect_eq(weft_join(a[1].fiber, NULL, PATIENCE), 0);
	return arg;
}

static void fibers_started_otherwise_are_not_cancelled(void **state)
{
	(void)state;
	play(1, apart, NULL);
}

/* ------------------------------------------------------------------------ */
/* The end of the runtime. */

static void *shut_down_inside(void *arg)
{
	struct waiter w = { 0 };
	weft_scope s;
	int ran = 0;

	open_scope(&s, WEFT_FOREVER);
	go(&s, run_waiter, &w);
	expect(await_yielding(atomic_load(&w.begun)));
	expect_eq(weft_rt_shutdown(weft_rt_self()), 0);
	expect_eq(weft_scope_go(&s, run_nothing, &ran), -ESHUTDOWN);
	expect_eq(close_scope(&s), -ECANCELED);
	expect_eq(w.got, -ECANCELED);
	expect_eq(ran, 0);
	return arg;
}

static void shutdown_reaches_scopes(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++)
		play(workers, shut_down_inside, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_owner_and_threads_may_cancel),
		cmocka_unit_test(a_cancelled_scope_cancels_its_owner),
		cmocka_unit_test(all_that_is_inside_is_cancelled),
		cmocka_unit_test(cancelling_a_fiber_cancels_its_scopes),
		cmocka_unit_test(fibers_started_otherwise_are_not_cancelled),
		cmocka_unit_test(shutdown_reaches_scopes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
