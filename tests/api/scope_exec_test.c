/* SPDX-License-Identifier: MIT */
/*
 * tests/api/scope_exec_test.c - scopes and keys on every kind of executor.
 *
 * A fiber never spins here for another fiber: on some executors it would keep
 * that fiber from running.
 */
#include "api/executor_kit.h"
#include "api/scope_kit.h"

static struct subject *here;

static weft_fiber *spawn_on(struct subject *s, void *(*fn)(void *), void *arg)
{
	weft_fiber_attr attr = { .executor = s->e };
	weft_fiber *f = NULL;

	here = s;
	assert_int_equal(weft_spawn(&f, &attr, fn, arg), 0);
	return f;
}

static void *join_outside(weft_fiber *f)
{
	void *result = NULL;
	int err = weft_join(f, &result, PATIENCE);

	assert_expected();
	assert_int_equal(err, 0);
	return result;
}

/* Run fn(arg) in a fiber of s, to its end. */
static void play_on(struct subject *s, void *(*fn)(void *), void *arg)
{
	assert_ptr_equal(join_outside(spawn_on(s, fn, arg)), arg);
}

static int is_here(void *arg)
{
	*(bool *)arg = runs_this(here);
	return 0;
}

/* Start w, or record why the scope refuses it. */
static void go_in_time(weft_scope *s, struct waiter *w)
{
	int err = weft_scope_go(s, run_waiter, w);

	expect(err == 0 || err == -ECANCELED || err == -ETIMEDOUT);
	if (err != 0)
		w->got = err;
}

static int opens_its_own(void *arg)
{
	struct waiter *w = arg;
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go_in_time(&s, &w[0]);
	go_in_time(&s, &w[1]);
	return close_scope(&s);
}

static void *results(void *arg)
{
	int seven = 7, count = 0;
	bool ran_here = false;
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	expect_eq(close_scope(&s), 0);
	open_scope(&s, WEFT_FOREVER);
	go(&s, is_here, &ran_here);
	go(&s, run_nothing, &count);
	expect_eq(close_scope(&s), 0);
	expect(ran_here);
	expect_eq(count, 1);
	open_scope(&s, WEFT_FOREVER);
	go(&s, return_it, &seven);
	expect_eq(close_scope(&s), 7);
	expect_free();
	return arg;
}

static void scopes_close(struct subject *s)
{
	play_on(s, results, &here);
}

static int cancel_when_told(void *arg)
{
	struct waiter *w = arg;

	expect_eq(weft_event_wait(&w->event, WEFT_FOREVER), 0);
	weft_scope_cancel((weft_scope *)w->arg);
	return 0;
}

static void *cancelled_tree(void *arg)
{
	struct waiter w[4] = { 0 };
	weft_event never = { 0 };
	weft_scope s;

	open_scope(&s, WEFT_FOREVER);
	go(&s, run_waiter, &w[0]);
	go(&s, opens_its_own, &w[1]);
	w[3].arg = &s;
	go(&s, cancel_when_told, &w[3]);
	weft_event_set(&w[3].event);
	expect_eq(weft_event_wait(&never, WEFT_FOREVER), -ECANCELED);
	expect_eq(close_scope(&s), -ECANCELED);
	for (int i = 0; i < 3; i++)
		expect_eq(w[i].got, -ECANCELED);
	expect_free();
	return arg;
}

static void trees_are_cancelled(struct subject *s)
{
	play_on(s, cancelled_tree, &here);
}

static void *waits_for_cancel(void *arg)
{
	struct waiter w[2] = { 0 };

	expect_eq(opens_its_own(w), -ECANCELED);
	expect_eq(w[0].got, -ECANCELED);
	expect_eq(w[1].got, -ECANCELED);
	return arg;
}

static void a_fiber_is_cancelled_outside(struct subject *s)
{
	weft_fiber *f = spawn_on(s, waits_for_cancel, &here);

	assert_int_equal(weft_cancel(f), 0);
	assert_ptr_equal(join_outside(f), &here);
}

static int opens_without_error(void *arg)
{
	expect_eq(opens_its_own(arg), -ETIMEDOUT);
	return 0;
}

static void *time_passes(void *arg)
{
	struct waiter w[2] = { 0 };
	weft_scope s;
	int err;

	open_scope(&s, weft_after(5 * NS_PER_MS));
	err = weft_scope_go(&s, opens_without_error, w);
	if (err != 0)
		w[0].got = w[1].got = err;
	expect_eq(weft_sleep(PATIENCE_NS), -ETIMEDOUT);
	expect(weft_cancelled());
	expect_eq(close_scope(&s), -ETIMEDOUT);
	expect_eq(w[0].got, -ETIMEDOUT);
	expect_eq(w[1].got, -ETIMEDOUT);
	expect_free();
	return arg;
}

static void deadlines_pass(struct subject *s)
{
	play_on(s, time_passes, &here);
}

/* ------------------------------------------------------------------------ */
/* Keys. */

static weft_key key;

static void destroy(void *value)
{
	/* A destructor runs as its fiber, and may wait. */
	expect(weft_self() != NULL);
	expect(weft_key_get(key) == NULL);
	expect_eq(weft_sleep(1000), 0);
	atomic_fetch_add((_Atomic(int) *)value, 1);
}

static int set_it(void *arg)
{
	expect(weft_key_get(key) == NULL);
	expect_eq(weft_key_set(key, arg), 0);
	weft_yield();
	expect(weft_key_get(key) == arg);
	return 0;
}

static void *set_in_fiber(void *arg)
{
	set_it(arg);
	return arg;
}

static void *values(void *arg)
{
	_Atomic(int) destroyed = 0;
	weft_scope s;

	set_it(&destroyed);
	open_scope(&s, WEFT_FOREVER);
	for (int i = 0; i < 3; i++)
		go(&s, set_it, &destroyed);
	expect_eq(close_scope(&s), 0);
	/* Before the scope was closed, and before the join. */
	expect_eq(destroyed, 3);
	(void)join(spawn(set_in_fiber, &destroyed));
	expect_eq(destroyed, 4);
	expect_eq(weft_key_set(key, NULL), 0);
	return arg;
}

static void fibers_have_values(struct subject *s)
{
	static _Atomic(int) destroyed;

	destroyed = 0;
	play_on(s, values, &here);
	(void)join_outside(spawn_on(s, set_in_fiber, (void *)&destroyed));
	assert_int_equal(destroyed, 1);
}

static void on_every_kind(void **state)
{
	void (*const checks[])(struct subject *) = { scopes_close,
		trees_are_cancelled, a_fiber_is_cancelled_outside,
		deadlines_pass, fibers_have_values };
	struct subject *s = subject_make(*state);

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		checks[i](s);
	subject_unmake(s);
}

static int make_key(void **state)
{
	(void)state;
	return weft_key_create(&key, destroy);
}

int main(void)
{
	struct CMUnitTest tests[KINDS] = { 0 };

	for (size_t i = 0; i < KINDS; i++) {
		tests[i].name = kinds[i].name;
		tests[i].test_func = on_every_kind;
		tests[i].initial_state = (void *)&kinds[i];
	}
	return cmocka_run_group_tests(tests, make_key, NULL);
}
