/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/mutex_test.c - the word of a mutex is in each step as sync/mutex.c
 * says, the ring loses nobody, and who has it is known.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/os.h"
#include "stress/sched_kit.h"
#include "sync/mutex.h"

/* The word, as the file describes it. */
enum { LIST = 1, LOCKED = 2, WOKEN = 4, HANDOFF = 8, BITS = 15 };

static weft_mutex mutex;

static uint64_t word(void)
{
	return wf_load_acq((_Atomic(uint64_t) *)&mutex.word_);
}

static uint64_t bits(void)
{
	return word() & BITS;
}

static bool somebody_waits(void)
{
	return (word() & ~(uint64_t)BITS) != 0;
}

static bool nobody_has_it(void)
{
	return word() == 0 && mutex.owner_ == 0;
}

/* ------------------------------------------------------------------------ */
/* Without contention. */

static void lock_and_unlock(void **state)
{
	(void)state;
	assert_int_equal(sizeof(weft_mutex), 16);
	assert_true(nobody_has_it());
	weft_mutex_lock(&mutex);
	assert_int_equal(word(), LOCKED);
	assert_true(wf_who_same(mutex.owner_, wf_who_runs()));
	assert_int_equal(weft_mutex_lock_by(&mutex, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(word(), LOCKED);
	weft_mutex_unlock(&mutex);
	assert_true(nobody_has_it());
	assert_int_equal(weft_mutex_lock_by(&mutex, WEFT_NOW), 0);
	wf_mutex_unlock_for(&mutex, NULL);
	assert_true(nobody_has_it());
}

/* ------------------------------------------------------------------------ */
/* LIST. */

static _Atomic(uint64_t) shared_word;
static size_t shared_count, shared_rounds; /* count: by LIST */

static void count_up(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	for (size_t n = 0; n < shared_rounds; n++) {
		uint64_t seen = wf_word_hold(&shared_word);

		kit_expect(!(seen & WF_WORD_LIST));
		kit_expect(seen == 2 * shared_count);
		shared_count++;
		wf_word_let_go(&shared_word, seen + 2);
	}
}

static void who_holds_the_list_is_alone(void **state)
{
	(void)state;
	shared_rounds = kit_rounds(20000);
	threads_run(4, count_up, NULL);
	kit_settle();
	assert_int_equal(shared_count, 4 * shared_rounds);
	assert_int_equal(wf_load_rlx(&shared_word), 8 * shared_rounds);
}

/* ------------------------------------------------------------------------ */
/* Who. */

static uint64_t seen_who[2];

static void say_who(void *arg, unsigned i)
{
	(void)arg;
	seen_who[i] = wf_who_runs();
	/* Both at once: the address of an ended thread is used again. */
	wf_add_rlx(&shared_word, 1);
	while (wf_load_rlx(&shared_word) < 2)
		wf_os_thread_yield();
}

static void *fiber_says_who(void *arg)
{
	uint64_t me = wf_who_runs(), spent;

	(void)arg;
	kit_expect(wf_who_same(me, (uintptr_t)weft_self()));
	kit_expect(wf_who_same(me, wf_who(weft_self(), NULL)));
	for (int i = 0; i < 1000; i++) {
		spent = wf_who_spends();
		if (spent == 0)
			spent = wf_who_spent();
		kit_expect(wf_who_same(me, spent));
		kit_expect(wf_who_beside(spent, wf_who_runs()));
	}
	kit_expect(wf_who_same(me, wf_who_spent()));
	return NULL;
}

static void threads_and_fibers_are_told_apart(void **state)
{
	uint64_t me = wf_who_runs();

	(void)state;
	wf_store_rlx(&shared_word, 0);
	threads_run(2, say_who, NULL);
	assert_false(wf_who_same(seen_who[0], seen_who[1]));
	assert_false(wf_who_same(seen_who[0], me));
	assert_true(wf_who_same(me, wf_who_runs()));
	assert_int_equal(wf_who_spends(), 0);
	assert_true(wf_who_same(me, wf_who_spent()));
	assert_false(wf_who_same(me, 0));
	assert_true(wf_who_same(0x1000 | 5, 0x1000 | 63));
	assert_false(wf_who_same(0x1000 | 5, 0x1040 | 5));
	assert_true(wf_who_beside(0x1000 | 5, 0x1040 | 5));
	assert_false(wf_who_beside(0x1000 | 5, 0x1000 | 6));
	assert_false(wf_who_beside(seen_who[0], seen_who[1]));
	assert_false(wf_who_beside(me, me));
	assert_false(wf_who_beside(0, me));
	kit_play(fiber_says_who, 2);
}

static void *spend(void *arg)
{
	_Atomic(bool) *stop = arg;
	size_t n = 0;

	while (!wf_load_rlx(stop) && n++ < 100000)
		if (wf_who_spends() == 0)
			(void)wf_who_spent();
	kit_expect(n <= 2 * 128);
	return NULL;
}

static void *spend_beside_another(void *arg)
{
	static _Atomic(bool) stop;
	weft_fiber *f = NULL;

	(void)arg;
	kit_expect(weft_spawn(&f, NULL, spend, &stop) == 0);
	weft_yield(); /* it runs until its budget is spent */
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
	kit_expect(wf_who_same(mutex.owner_, (uintptr_t)weft_self()));
	f[0] = start(take_turn, 0);
	f[1] = start(take_turn, 1);
	kit_expect(bits() == LOCKED && somebody_waits());
	kit_pause_us(3000);
	weft_mutex_unlock(&mutex);
	/* The first one is to try, the other one waits. */
	kit_expect(bits() == WOKEN && somebody_waits());
	kit_expect(mutex.owner_ == 0);
	weft_mutex_lock(&mutex);
	kit_expect(bits() == (LOCKED | WOKEN) && somebody_waits());
	weft_mutex_unlock(&mutex);
	kit_expect(bits() == WOKEN);
	weft_mutex_lock(&mutex);
	weft_yield();
	/* It came too late, and is the first again. */
	kit_expect(bits() == (LOCKED | HANDOFF) && turns.n == 0);
	weft_mutex_unlock(&mutex);
	/* It has it; the other one has waited for as long. */
	kit_expect(bits() == (LOCKED | HANDOFF) && somebody_waits());
	kit_expect(mutex.owner_ == 0);
	weft_mutex_lock(&mutex);
	/* All who waited were before us, and nobody waits any longer. */
	kit_expect(bits() == LOCKED && !somebody_waits() && turns.n == 2);
	weft_mutex_unlock(&mutex);
	kit_expect(nobody_has_it());
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
	assert_true(nobody_has_it());
}

/* Waits for its turn; which word did it find, and after how long? */
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
	fresh[i].others = somebody_waits();
	weft_mutex_unlock(&mutex);
	return NULL;
}

/* Behind one that has it handed over wait two that have just come. */
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
	kit_expect(nobody_has_it());
	return NULL;
}

static void after_a_short_wait_it_is_not_handed_over(void **state)
{
	int tries = 0;

	(void)state;
	/* The machine may be busy with other things for a millisecond. */
	do {
		assert_true(tries++ < 200);
		memset(&turns, 0, sizeof(turns));
		kit_play(back_to_normal, 1);
	} while (fresh[0].ns > WF_NS_PER_MS * 9 / 10);
	assert_int_equal(fresh[0].bits, LOCKED);
	assert_true(fresh[0].others);
}

/* Not for ever: the odd ones give up. */
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

static void *leave_the_ring(void *arg)
{
	weft_fiber *f[WAITERS];

	(void)arg;
	weft_mutex_lock(&mutex);
	for (int i = 0; i < WAITERS; i++)
		f[i] = start(give_up_or_wait, i);
	for (int i = 1; i < WAITERS; i += 2)
		finish(f[i]);
	kit_expect(bits() == LOCKED && somebody_waits());
	weft_mutex_unlock(&mutex);
	for (int i = 0; i < WAITERS; i += 2)
		finish(f[i]);
	kit_expect(nobody_has_it());
	return NULL;
}

static void who_gives_up_leaves_no_trace(void **state)
{
	(void)state;
	memset(&turns, 0, sizeof(turns));
	kit_play(leave_the_ring, 1);
	assert_int_equal(turns.n, (WAITERS + 1) / 2);
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(turns.result[i], i % 2 ? -ETIMEDOUT : 0);
	for (int i = 0; i < turns.n; i++)
		assert_int_equal(turns.order[i], 2 * i);
}

/* The last one that waits gives up: there is nobody to hand over to. */
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
	kit_expect(word() == LOCKED);
	weft_mutex_unlock(&mutex);
	kit_expect(nobody_has_it());
	return NULL;
}

static void nobody_is_left_to_hand_over_to(void **state)
{
	(void)state;
	memset(&turns, 0, sizeof(turns));
	kit_play(hungry_gives_up, 1);
	assert_int_equal(turns.result[0], -ECANCELED);
}

/* Who was woken, and cancelled before it ran, lets another one try. */
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
	kit_expect(bits() == LOCKED && somebody_waits());
	weft_mutex_unlock(&mutex);
	finish(f[1]);
	kit_expect(nobody_has_it());
	return NULL;
}

static void who_was_woken_and_gives_up_lets_another_try(void **state)
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
		cmocka_unit_test(who_holds_the_list_is_alone),
		cmocka_unit_test(threads_and_fibers_are_told_apart),
		cmocka_unit_test(calls_spend_the_budget),
		cmocka_unit_test(the_word_is_as_described),
		cmocka_unit_test(after_a_short_wait_it_is_not_handed_over),
		cmocka_unit_test(who_gives_up_leaves_no_trace),
		cmocka_unit_test(nobody_is_left_to_hand_over_to),
		cmocka_unit_test(who_was_woken_and_gives_up_lets_another_try),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
