/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/mutex_test.c - the word of a mutex is in each step as sync/mutex.c
 * says, the list loses no waiter, and owner_ names the holder.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "base/atomic.h"
#include "os/os.h"
#include "os/spin.h"
#include "stress/sched_kit.h"
#include "sync/mutex.h"

/* The word, as sync/mutex.c describes it. */
enum { LOCKED = 1, WOKEN = 2, HANDOFF = 4, SORTED = 8, BITS = 15 };

static weft_mutex mutex;

static uint64_t word(void)
{
	return wf_load_acq((_Atomic(uint64_t) *)&mutex.word_);
}

static uint64_t bits(void)
{
	return word() & (LOCKED | WOKEN | HANDOFF);
}

static bool has_waiters(void)
{
	return (word() & ~(uint64_t)BITS) != 0;
}

static bool is_free(void)
{
	return word() == 0 && mutex.owner_ == 0;
}

/* ------------------------------------------------------------------------ */
/* Without contention. */

static void lock_and_unlock(void **state)
{
	(void)state;
	assert_int_equal(sizeof(weft_mutex), 16);
	assert_true(is_free());
	weft_mutex_lock(&mutex);
	assert_int_equal(word(), LOCKED);
	assert_true(wf_owner_same(mutex.owner_, wf_owner_runs()));
	assert_int_equal(weft_mutex_lock_by(&mutex, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(word(), LOCKED);
	weft_mutex_unlock(&mutex);
	assert_true(is_free());
	assert_int_equal(weft_mutex_lock_by(&mutex, WEFT_NOW), 0);
	wf_mutex_unlock_for(&mutex, NULL);
	assert_true(is_free());
}

/* ------------------------------------------------------------------------ */
/* LOCK. */

static _Atomic(uint64_t) shared_word;
static size_t shared_count, shared_rounds; /* count: by LOCK */

static void count_up(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	for (size_t n = 0; n < shared_rounds; n++) {
		uint64_t seen = wf_bit_lock(&shared_word);

		kit_expect(!(seen & WF_BIT_LOCK));
		kit_expect(seen == 2 * shared_count);
		shared_count++;
		wf_bit_unlock(&shared_word, seen + 2);
	}
}

static void the_bit_lock_has_one_holder(void **state)
{
	(void)state;
	shared_rounds = kit_rounds(20000);
	threads_run(4, count_up, NULL);
	kit_settle();
	assert_int_equal(shared_count, 4 * shared_rounds);
	assert_int_equal(wf_load_rlx(&shared_word), 8 * shared_rounds);
}

/* ------------------------------------------------------------------------ */
/* Owners. */

static uint64_t seen_owner[2];

static void note_owner(void *arg, unsigned i)
{
	(void)arg;
	seen_owner[i] = wf_owner_runs();
	/* Both at once: the address of an ended thread is used again. */
	wf_add_rlx(&shared_word, 1);
	while (wf_load_rlx(&shared_word) < 2)
		wf_os_thread_yield();
}

static void *fiber_checks_owner(void *arg)
{
	uint64_t me = wf_owner_runs(), spent;

	(void)arg;
	kit_expect(wf_owner_same(me, (uintptr_t)weft_self()));
	kit_expect(wf_owner_same(me, wf_owner(weft_self(), NULL)));
	for (int i = 0; i < 1000; i++) {
		spent = wf_owner_spends(wf_here());
		if (spent == 0)
			spent = wf_owner_spent();
		kit_expect(wf_owner_same(me, spent));
		kit_expect(wf_owner_beside(spent, wf_owner_runs()));
	}
	kit_expect(wf_owner_same(me, wf_owner_spent()));
	return NULL;
}

static void threads_and_fibers_are_told_apart(void **state)
{
	uint64_t me = wf_owner_runs();

	(void)state;
	wf_store_rlx(&shared_word, 0);
	threads_run(2, note_owner, NULL);
	assert_false(wf_owner_same(seen_owner[0], seen_owner[1]));
	assert_false(wf_owner_same(seen_owner[0], me));
	assert_true(wf_owner_same(me, wf_owner_runs()));
	assert_int_equal(wf_owner_spends(NULL), 0);
	assert_true(wf_owner_same(me, wf_owner_spent()));
	assert_false(wf_owner_same(me, 0));
	assert_true(wf_owner_same(0x1000 | 5, 0x1000 | 63));
	assert_false(wf_owner_same(0x1000 | 5, 0x1040 | 5));
	assert_true(wf_owner_beside(0x1000 | 5, 0x1040 | 5));
	assert_false(wf_owner_beside(0x1000 | 5, 0x1000 | 6));
	assert_false(wf_owner_beside(seen_owner[0], seen_owner[1]));
	assert_false(wf_owner_beside(me, me));
	assert_false(wf_owner_beside(0, me));
	kit_play(fiber_checks_owner, 2);
}

static void *spend(void *arg)
{
	_Atomic(bool) *stop = arg;
	size_t n = 0;

	while (!wf_load_rlx(stop) && n++ < 100000)
		if (wf_owner_spends(wf_here()) == 0)
			(void)wf_owner_spent();
	kit_expect(n <= 2 * 128);
	return NULL;
}

static void *spend_beside_another(void *arg)
{
	static _Atomic(bool) stop;
	weft_fiber *f = NULL;

	(void)arg;
	kit_expect(weft_spawn(&f, NULL, spend, &stop) == 0);
	weft_yield(); /* f runs until its budget is spent */
	wf_store_rlx(&stop, true);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	return NULL;
}

static void calls_spend_the_budget(void **state)
{
	(void)state;
	kit_play(spend_beside_another, 1);
}

/* ------------------------------------------------------------------------ */
/* Step by step, on one worker. */

enum { WAITERS = 5 };

static struct {
	int order[WAITERS];
	int n;
	int result[WAITERS];
} turns;

static void *take_turn(void *arg)
{
	int i = (int)(intptr_t)arg;

	weft_mutex_lock(&mutex);
	kit_expect(bits() & LOCKED);
	turns.order[turns.n++] = i;
	weft_mutex_unlock(&mutex);
	return NULL;
}

static weft_fiber *start(void *(*fn)(void *), int i)
{
	weft_fiber *f = NULL;

	kit_expect(weft_spawn(&f, NULL, fn, (void *)(intptr_t)i) == 0);
	weft_yield();
	return f;
}

static void finish(weft_fiber *f)
{
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
}

static void *step_by_step(void *arg)
{
	weft_fiber *f[2];

	(void)arg;
	weft_mutex_lock(&mutex);
	kit_expect(wf_owner_same(mutex.owner_, (uintptr_t)weft_self()));
	f[0] = start(take_turn, 0);
	f[1] = start(take_turn, 1);
	kit_expect(bits() == LOCKED && has_waiters());
	kit_pause_us(3000);
	weft_mutex_unlock(&mutex);
	/* The first waiter was woken to try, the second waits. */
	kit_expect(bits() == WOKEN && has_waiters());
	kit_expect(mutex.owner_ == 0);
	weft_mutex_lock(&mutex);
	kit_expect(bits() == (LOCKED | WOKEN) && has_waiters());
	weft_mutex_unlock(&mutex);
	kit_expect(bits() == WOKEN);
	weft_mutex_lock(&mutex);
	weft_yield();
	/* The first waiter came too late, and is the first again. */
	kit_expect(bits() == (LOCKED | HANDOFF) && turns.n == 0);
	weft_mutex_unlock(&mutex);
	/* The mutex was handed to it; the second has waited as long. */
	kit_expect(bits() == (LOCKED | HANDOFF) && has_waiters());
	kit_expect(mutex.owner_ == 0);
	weft_mutex_lock(&mutex);
	/* Both waiters had the mutex before us; none is left. */
	kit_expect(bits() == LOCKED && !has_waiters() && turns.n == 2);
	weft_mutex_unlock(&mutex);
	kit_expect(is_free());
	finish(f[0]);
	finish(f[1]);
	kit_expect(turns.order[0] == 0 && turns.order[1] == 1);
	return NULL;
}

static void the_word_is_as_described(void **state)
{
	(void)state;
	memset(&turns, 0, sizeof(turns));
	kit_play(step_by_step, 1);
	assert_true(is_free());
}

/* What take_fresh_turn found: the word, after which time, and waiters. */
static struct {
	uint64_t bits;
	int64_t ns;
	bool others;
} fresh[2];

static bool go; /* on one worker */

static void *take_fresh_turn(void *arg)
{
	int i = (int)(intptr_t)arg;
	int64_t begin;

	while (!go)
		weft_yield();
	begin = wf_os_now_ns();
	weft_mutex_lock(&mutex);
	fresh[i].ns = wf_os_now_ns() - begin;
	fresh[i].bits = bits();
	fresh[i].others = has_waiters();
	weft_mutex_unlock(&mutex);
	return NULL;
}

/* Two new waiters come behind one that has the mutex handed over. */
static void *back_to_normal(void *arg)
{
	weft_fiber *f[3];

	(void)arg;
	go = false;
	weft_mutex_lock(&mutex);
	f[0] = start(take_turn, 0);
	f[1] = start(take_fresh_turn, 0);
	f[2] = start(take_fresh_turn, 1);
	kit_pause_us(2000);
	weft_mutex_unlock(&mutex);
	weft_mutex_lock(&mutex);
	weft_yield();
	kit_expect(bits() == (LOCKED | HANDOFF));
	go = true;
	weft_yield();
	weft_mutex_unlock(&mutex);
	for (int i = 0; i < 3; i++)
		finish(f[i]);
	kit_expect(is_free());
	return NULL;
}

static void after_a_short_wait_it_is_not_handed_over(void **state)
{
	int tries = 0;

	(void)state;
	/* Other programs may stop us for a millisecond: retry. */
	do {
		assert_true(tries++ < 200);
		memset(&turns, 0, sizeof(turns));
		kit_play(back_to_normal, 1);
	} while (fresh[0].ns > WF_NS_PER_MS * 9 / 10);
	assert_int_equal(fresh[0].bits, LOCKED);
	assert_true(fresh[0].others);
}

/* The odd ones give up after 2 ms. */
static void *give_up_or_wait(void *arg)
{
	int i = (int)(intptr_t)arg;

	turns.result[i] = weft_mutex_lock_by(
		&mutex, i % 2 ? weft_after(2 * WF_NS_PER_MS) : WEFT_FOREVER);
	if (turns.result[i] != 0)
		return NULL;
	turns.order[turns.n++] = i;
	weft_mutex_unlock(&mutex);
	return NULL;
}

static void *leave_the_list(void *arg)
{
	weft_fiber *f[WAITERS];

	(void)arg;
	weft_mutex_lock(&mutex);
	for (int i = 0; i < WAITERS; i++)
		f[i] = start(give_up_or_wait, i);
	for (int i = 1; i < WAITERS; i += 2)
		finish(f[i]);
	kit_expect(bits() == LOCKED && has_waiters());
	weft_mutex_unlock(&mutex);
	for (int i = 0; i < WAITERS; i += 2)
		finish(f[i]);
	kit_expect(is_free());
	return NULL;
}

static void a_waiter_that_times_out_leaves_no_trace(void **state)
{
	(void)state;
	memset(&turns, 0, sizeof(turns));
	kit_play(leave_the_list, 1);
	assert_int_equal(turns.n, (WAITERS + 1) / 2);
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(turns.result[i], i % 2 ? -ETIMEDOUT : 0);
	for (int i = 0; i < turns.n; i++)
		assert_int_equal(turns.order[i], 2 * i);
}

/* The last waiter gives up: HANDOFF has no waiter left. */
static void *hungry_gives_up(void *arg)
{
	weft_fiber *f;

	(void)arg;
	weft_mutex_lock(&mutex);
	f = start(give_up_or_wait, 0);
	kit_pause_us(3000);
	weft_mutex_unlock(&mutex);
	weft_mutex_lock(&mutex);
	weft_yield();
	kit_expect(bits() == (LOCKED | HANDOFF));
	kit_expect(weft_cancel(f) == 0);
	finish(f);
	/* Its record is in the list until the next unlock. */
	kit_expect(bits() == (LOCKED | HANDOFF) && has_waiters());
	weft_mutex_unlock(&mutex);
	kit_expect(is_free());
	return NULL;
}

static void handoff_ends_with_the_last_waiter(void **state)
{
	(void)state;
	memset(&turns, 0, sizeof(turns));
	kit_play(hungry_gives_up, 1);
	assert_int_equal(turns.result[0], -ECANCELED);
}

/* A woken waiter, cancelled before it runs, clears WOKEN for the next. */
static void *woken_gives_up(void *arg)
{
	weft_fiber *f[2];

	(void)arg;
	weft_mutex_lock(&mutex);
	f[0] = start(give_up_or_wait, 0);
	f[1] = start(take_turn, 2);
	weft_mutex_unlock(&mutex);
	kit_expect(bits() == WOKEN);
	kit_expect(weft_cancel(f[0]) == 0);
	weft_mutex_lock(&mutex);
	finish(f[0]);
	kit_expect(bits() == LOCKED && has_waiters());
	weft_mutex_unlock(&mutex);
	finish(f[1]);
	kit_expect(is_free());
	return NULL;
}

static void a_woken_waiter_that_gives_up_clears_woken(void **state)
{
	(void)state;
	memset(&turns, 0, sizeof(turns));
	kit_play(woken_gives_up, 1);
	assert_int_equal(turns.result[0], -ECANCELED);
	assert_int_equal(turns.n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_and_unlock),
		cmocka_unit_test(the_bit_lock_has_one_holder),
		cmocka_unit_test(threads_and_fibers_are_told_apart),
		cmocka_unit_test(calls_spend_the_budget),
		cmocka_unit_test(the_word_is_as_described),
		cmocka_unit_test(after_a_short_wait_it_is_not_handed_over),
		cmocka_unit_test(a_waiter_that_times_out_leaves_no_trace),
		cmocka_unit_test(handoff_ends_with_the_last_waiter),
		cmocka_unit_test(a_woken_waiter_that_gives_up_clears_woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
