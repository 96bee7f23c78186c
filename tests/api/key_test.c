/* SPDX-License-Identifier: MIT */
/*
 * tests/api/key_test.c - each fiber has values of its own, NULL to begin with,
 * and at its end their destructors run, as the fiber.
 */
#include "api/api.h"

enum { KEYS = 40 };

static weft_key plain;	    /* has no destructor */
static weft_key keys[KEYS]; /* have destroy_* */
static weft_key again;	    /* its destructor sets it again */

static _Atomic(int) destroyed, agains;

static void count_it(void *value)
{
	atomic_fetch_add((_Atomic(int) *)value, 1);
}

static void set_again(void *value)
{
	atomic_fetch_add(&agains, 1);
	expect(weft_key_get(again) == NULL);
	expect_eq(weft_key_set(again, value), 0);
}

static int make_keys(void **state)
{
	int err = weft_key_create(&plain, NULL);

	(void)state;
	for (int i = 0; i < KEYS; i++)
		err |= weft_key_create(&keys[i], count_it);
	return err | weft_key_create(&again, set_again);
}

/* ------------------------------------------------------------------------ */

static void a_plain_thread_has_no_values(void **state)
{
	int x;

	(void)state;
	assert_int_equal(weft_key_set(plain, &x), -EPERM);
	assert_int_equal(weft_key_set(plain, NULL), -EPERM);
	assert_null(weft_key_get(plain));
	assert_int_not_equal(plain, 0);
	assert_int_not_equal(plain, keys[0]);
}

static void *bad_keys(void *arg)
{
	const weft_key bad[] = { 0, again + 1, 1024, 1025, UINT32_MAX };

	for (size_t i = 0; i < 5; i++) {
		expect_eq(weft_key_set(bad[i], arg), -EINVAL);
		expect_eq(weft_key_set(bad[i], NULL), -EINVAL);
		expect(weft_key_get(bad[i]) == NULL);
	}
	expect_eq(weft_key_set(keys[0], arg), 0);
	for (size_t i = 0; i < 5; i++)
		expect(weft_key_get(bad[i]) == NULL);
	expect_eq(weft_key_set(keys[0], NULL), 0);
	return arg;
}

static void a_bad_key_is_refused(void **state)
{
	int x;

	(void)state;
	play(1, bad_keys, &x);
}

/* Values stay, whatever other fibers do and on any worker. */
static void *own_values(void *arg)
{
	uintptr_t mine = (uintptr_t)arg;

	for (uintptr_t i = 0; i < KEYS; i++)
		expect(weft_key_get(keys[i]) == NULL);
	expect(weft_key_get(plain) == NULL);
	/* From the smallest key up, so that the array grows. */
	expect_eq(weft_key_set(plain, (void *)mine), 0);
	for (uintptr_t i = 0; i < KEYS; i += 3)
		expect_eq(weft_key_set(keys[i], (void *)(mine + i)), 0);
	weft_yield();
	expect_eq(weft_sleep(mine % 3 * 1000), 0);
	expect(weft_key_get(plain) == (void *)mine);
	for (uintptr_t i = 0; i < KEYS; i++) {
		void *value = i % 3 ? NULL : (void *)(mine + i);

		expect(weft_key_get(keys[i]) == value);
		expect_eq(weft_key_set(keys[i], NULL), 0);
		expect(weft_key_get(keys[i]) == NULL);
	}
	return arg;
}

static void *many_with_values(void *arg)
{
	enum { FIBERS = 50 };
	weft_fiber *fibers[FIBERS];

	for (uintptr_t i = 0; i < FIBERS; i++)
		fibers[i] = spawn(own_values, (void *)((i + 1) * 1000));
	for (uintptr_t i = 0; i < FIBERS; i++)
		(void)join(fibers[i]);
	return arg;
}

static void each_fiber_has_its_own(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, many_with_values, NULL);
}

/* ------------------------------------------------------------------------ */
/* Destructors. */

static void *set_all(void *arg)
{
	for (int i = 0; i < KEYS; i++)
		expect_eq(weft_key_set(keys[i], &destroyed), 0);
	/* No destructor runs for a replaced value, nor for NULL. */
	expect_eq(weft_key_set(keys[0], &destroyed), 0);
	expect_eq(weft_key_set(keys[1], NULL), 0);
	expect_eq(weft_key_set(plain, &destroyed), 0);
	expect_eq(atomic_load(&destroyed), 0);
	return arg;
}

static void set_all_and_go(void *arg)
{
	set_all(arg);
}

static void *joined(void *arg)
{
	weft_fiber *f;

	/* Run by its joiner as a call; joined when done; with a deadline. */
	for (int how = 0; how < 3; how++) {
		atomic_store(&destroyed, 0);
		f = spawn(set_all, arg);
		if (how == 1)
			weft_yield();
		expect_eq(weft_join(f, NULL,
				  how == 2 ? weft_after(PATIENCE_NS)
					   : WEFT_FOREVER),
			0);
		expect_eq(atomic_load(&destroyed), KEYS - 1);
	}
	atomic_store(&destroyed, 0);
	expect_eq(weft_go(set_all_and_go, arg), 0);
	expect(await_yielding(atomic_load(&destroyed) == KEYS - 1));
	/* The next fiber in the descriptor has no values. */
	f = spawn(own_values, arg);
	(void)join(f);
	return arg;
}

static void destructors_run_before_the_join(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++)
		play(workers, joined, (void *)1000);
}

static struct {
	weft_key waits;
	weft_fiber *fiber;
	weft_event event;
	_Atomic(bool) waiting, waited;
} slow;

static void wait_and_set(void *value)
{
	expect(weft_self() == slow.fiber);
	expect(value == &slow);
	expect(weft_key_get(slow.waits) == NULL);
	slow.waiting = true;
	expect_eq(weft_event_wait(&slow.event, WEFT_FOREVER), 0);
	expect(weft_self() == slow.fiber);
	/* A larger array, while the old one is looked through. */
	expect_eq(weft_key_set(keys[KEYS - 1], &destroyed), 0);
	slow.waited = true;
}

static void *set_slow(void *arg)
{
	slow.fiber = weft_self();
	expect_eq(weft_key_set(slow.waits, &slow), 0);
	return arg;
}

static void *wait_in_destructor(void *arg)
{
	weft_fiber *f = spawn(set_slow, arg);

	expect_eq(weft_join(f, NULL, weft_after(NS_PER_MS)), -ETIMEDOUT);
	expect(await_yielding(atomic_load(&slow.waiting)));
	expect(!slow.waited);
	weft_event_set(&slow.event);
	(void)join(f);
	expect(slow.waited);
	expect_eq(atomic_load(&destroyed), 1);
	return arg;
}

static void *wait_inline(void *arg)
{
	/* The joiner runs it as a call, and waits until it has ended. */
	weft_fiber *f = spawn(set_slow, arg);

	(void)join(f);
	expect(slow.waited);
	return arg;
}

static void a_destructor_may_wait(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		destroyed = 0;
		slow.waiting = slow.waited = false;
		weft_event_reset(&slow.event);
		play(workers, wait_in_destructor, NULL);
		slow.waiting = slow.waited = false;
		play(workers, wait_inline, NULL);
	}
}

static void *set_it_again(void *arg)
{
	expect_eq(weft_key_set(again, arg), 0);
	return arg;
}

static void a_destructor_runs_at_most_four_times(void **state)
{
	int x;

	(void)state;
	play(1, set_it_again, &x);
	assert_int_equal(agains, 4);
}

/* ------------------------------------------------------------------------ */
/* The last test: there are no keys left afterwards. */

static _Atomic(int) made;
static _Atomic(uint32_t) taken[1025];

static void make_until_none(void *arg, unsigned i)
{
	weft_key k;
	int err;

	(void)arg;
	(void)i;
	while ((err = weft_key_create(&k, NULL)) == 0) {
		atomic_fetch_add(&made, 1);
		expect(k > 0 && k <= 1024 && !atomic_exchange(&taken[k], true));
	}
	expect_eq(err, -EAGAIN);
}

static void *use_last(void *arg)
{
	expect_eq(weft_key_set(1024, arg), 0);
	expect(weft_key_get(1024) == arg);
	expect(weft_key_get(1023) == NULL);
	expect_eq(weft_key_set(1025, arg), -EINVAL);
	expect(weft_key_get(1025) == NULL);
	expect_eq(weft_key_set(plain, arg), 0);
	expect(weft_key_get(plain) == arg);
	return arg;
}

static void there_are_1024_keys(void **state)
{
	weft_key k = 77;
	int x;

	(void)state;
	threads_run(3, make_until_none, NULL);
	assert_expected();
	/* The keys made before: plain, keys, again, slow.waits. */
	assert_int_equal(made + 1 + KEYS + 1 + 1, 1024);
	assert_int_equal(weft_key_create(&k, NULL), -EAGAIN);
	assert_int_equal(k, 77);
	play(1, use_last, &x);
}

static int make_all_keys(void **state)
{
	/* The smallest, so that the array grows when another one is set. */
	return weft_key_create(&slow.waits, wait_and_set) | make_keys(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_thread_has_no_values),
		cmocka_unit_test(a_bad_key_is_refused),
		cmocka_unit_test(each_fiber_has_its_own),
		cmocka_unit_test(destructors_run_before_the_join),
		cmocka_unit_test(a_destructor_may_wait),
		cmocka_unit_test(a_destructor_runs_at_most_four_times),
		cmocka_unit_test(there_are_1024_keys),
	};

	return cmocka_run_group_tests(tests, make_all_keys, NULL);
}
