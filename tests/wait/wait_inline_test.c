/* SPDX-License-Identifier: MIT */
/*
 * tests/wait/wait_inline_test.c - an inline wait in a function of an object
 * ends as wf_wait does, and its caller, to which it may return by a jump, has
 * its registers and its result.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/spin.h"
#include "wait/wait_inline.h"
#include "stress/sched_kit.h"

static struct {
	struct wf_spin lock;
	struct wf_list list;
	bool refuse;
	_Atomic(unsigned) commits;
} object;

struct wait {
	struct wf_waiter w; /* must be first */
	struct wf_node node;
};

/* As a channel does it. */
static bool park_fast(struct wf_waiter *w)
{
	if (!wf_waiter_is_plain(w))
		return wf_waiter_publish(w);
	return wf_waiter_publish_plain(w) ||
		wf_waiter_cancel(w, WF_WAIT_SETTLED);
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct wf_waiter *w = (struct wf_waiter *)a;
	struct wf_node *n = &((struct wait *)a)->node;
	bool parked = false;

	kit_expect(f == w->fiber);
	wf_spin_lock(&object.lock);
	if (!object.refuse) {
		wf_list_add(&object.list, n);
		parked = park_fast(w);
		if (!parked)
			wf_list_remove(&object.list, n);
	}
	wf_add_rlx(&object.commits, 1);
	wf_spin_unlock(&object.lock);
	return parked;
}

wf_inline int wait_here(weft_time deadline)
{
	struct wf_thread *t = wf_enter();
	struct wait w;
	int err;

	wf_node_open(&w.node, &w.w);
	err = wf_wait_inline(&t, &w.w, commit, "test", &object, deadline);
	kit_expect(t == wf_here());
	wf_leave(t);
	wf_spin_lock(&object.lock);
	wf_list_leave(&object.list, &w.node);
	wf_spin_unlock(&object.lock);
	return err;
}

/* By both ways to return. */
static wf_return_by_jump wf_may_switch int wait_jump(weft_time deadline)
{
	return wait_here(deadline);
}

static wf_may_switch int wait_plain(weft_time deadline)
{
	return wait_here(deadline);
}

/* Claim and wake the first, all the fast way if there is one. */
static bool wake_first(void)
{
	struct wf_thread *t = wf_enter();
	struct wf_node *n;

	wf_spin_lock(&object.lock);
	n = wf_list_claim_fast(&object.list);
	if (n == NULL)
		n = wf_list_claim(&object.list);
	wf_spin_unlock(&object.lock);
	if (n == NULL)
		return false;
	if (t == NULL || !wf_waiter_wake_fast(t, n->waiter))
		wf_waiter_wake(n->waiter, WEFT_HINT_DEFAULT);
	return true;
}

/* ------------------------------------------------------------------------ */

static void a_thread_waits_here_too(void **state)
{
	int64_t until = weft_after(2 * WF_NS_PER_MS);

	(void)state;
	assert_int_equal(wait_jump(WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(wait_plain(until), -ETIMEDOUT);
	assert_true(weft_now() >= until);
	object.refuse = true;
	assert_int_equal(wait_jump(WEFT_FOREVER), 1);
	object.refuse = false;
	kit_settle();
}

static struct {
	weft_time deadline;
	int err;
} asleep;

static void *sleeper(void *arg)
{
	asleep.err = arg ? wait_jump(asleep.deadline)
			 : wait_plain(asleep.deadline);
	return NULL;
}

/* Until it waits: its commit is over, if it is in the list and unlocked. */
static void until_it_waits(void)
{
	bool there = false;

	while (!there) {
		weft_yield();
		wf_spin_lock(&object.lock);
		there = object.list.first != NULL;
		wf_spin_unlock(&object.lock);
	}
}

static void every_end(bool jump)
{
	void *arg = jump ? &asleep : NULL;
	weft_fiber *f;

	asleep.deadline = WEFT_FOREVER;
	kit_expect(weft_spawn(&f, NULL, sleeper, arg) == 0);
	until_it_waits();
	kit_expect(wake_first() && !wake_first());
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0 && asleep.err == 0);

	kit_expect(weft_spawn(&f, NULL, sleeper, arg) == 0);
	until_it_waits();
	kit_expect(weft_cancel(f) == 0);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0 &&
		asleep.err == -ECANCELED);
	kit_expect(!wake_first());

	asleep.deadline = weft_after(WF_NS_PER_MS);
	kit_expect(weft_spawn(&f, NULL, sleeper, arg) == 0);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0 &&
		asleep.err == -ETIMEDOUT);
	kit_expect(weft_now() >= asleep.deadline);

	asleep.deadline = WEFT_FOREVER;
	object.refuse = true;
	kit_expect(weft_spawn(&f, NULL, sleeper, arg) == 0);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0 && asleep.err == 1);
	object.refuse = false;
}

static void *every_end_both_ways(void *arg)
{
	every_end(false);
	every_end(true);
	return arg;
}

static void a_fiber_learns_how_its_wait_ended(void **state)
{
	(void)state;
	kit_play(every_end_both_ways, 1);
	kit_play(every_end_both_ways, 2);
}

/* ------------------------------------------------------------------------ */

enum { WAITERS = 4, ROUNDS = 500 };

/* Enough that lives on across the wait to need every register. */
static wf_noinline uint64_t mix(uint64_t x, bool waits)
{
	uint64_t a = x, b = x + 1, c = x + 2, d = x + 3, e = x + 4, f = x + 5;

	for (uint64_t i = 0; i < ROUNDS; i++) {
		a += b ^ i;
		b += c;
		c ^= d + a;
		d += e;
		e ^= f;
		f += a;
		if (waits)
			kit_expect((i & 1 ? wait_jump(WEFT_FOREVER)
					  : wait_plain(WEFT_FOREVER)) == 0);
	}
	return a ^ b ^ c ^ d ^ e ^ f;
}

static _Atomic(size_t) mixed;

static void *mixer(void *arg)
{
	uint64_t x = (uint64_t)(uintptr_t)arg;

	kit_expect(mix(x, true) == mix(x, false));
	wf_add_rlx(&mixed, 1);
	return NULL;
}

static void *mix_all(void *arg)
{
	weft_fiber *f[WAITERS];

	wf_store_rlx(&mixed, 0);
	for (uintptr_t i = 0; i < WAITERS; i++)
		kit_expect(
			weft_spawn(&f[i], NULL, mixer, (void *)(i + 1)) == 0);
	while (wf_load_rlx(&mixed) < WAITERS) {
		(void)wake_first();
		weft_yield();
	}
	for (int i = 0; i < WAITERS; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	return arg;
}

static void registers_outlive_the_wait(void **state)
{
	(void)state;
	kit_play(mix_all, 1);
	kit_play(mix_all, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_waits_here_too),
		cmocka_unit_test(a_fiber_learns_how_its_wait_ended),
		cmocka_unit_test(registers_outlive_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
