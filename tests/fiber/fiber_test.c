/* SPDX-License-Identifier: MIT */
/*
 * tests/fiber/fiber_test.c - one claimer starts a fiber, and one waker ends
 * each of its waits, never two: every transition of STATE and WAIT.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "fiber/fiber.h"
#include "os/os.h"
#include "support/threads.h"

enum { LIVES = 20000, WAITS = 8000 };

static weft_fiber fiber;

static int begin(void **state)
{
	(void)state;
	memset(&fiber, 0, sizeof(fiber));
	return 0;
}

static uint32_t state_now(void)
{
	return wf_load_rlx(&fiber.state);
}

/* ------------------------------------------------------------------------ */
/* STATE: one claimer starts the fiber. */

static wf_entry spawn(uint32_t flags)
{
	uint32_t state = wf_fiber_next_use(&fiber) | WF_FIBER_LIVE |
		WF_FIBER_FRESH | flags;

	wf_store_rel(&fiber.state, state);
	return wf_fiber_ticket(&fiber, state);
}

/* With all it may have set beside FRESH, by the handle and by the ticket. */
static void a_fresh_fiber_is_claimed_once(void **state)
{
	static const uint32_t flags[] = { 0, WF_FIBER_DETACHED, WF_FIBER_JOINED,
		WF_FIBER_DETACHED | WF_FIBER_JOINED };

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		wf_entry ticket = spawn(flags[i / 2]);
		uint32_t before = state_now();

		assert_true(wf_fiber_is_fresh(ticket));
		assert_int_equal(state_now(), before);
		assert_true(i % 2 ? wf_fiber_claim(ticket)
				  : wf_fiber_claim_handle(&fiber));
		assert_int_equal(state_now(), before & ~WF_FIBER_FRESH);
		assert_false(wf_fiber_is_fresh(ticket));
		assert_false(wf_fiber_claim(ticket));
		assert_false(wf_fiber_claim_handle(&fiber));
		assert_int_equal(state_now(), before & ~WF_FIBER_FRESH);
		wf_store_rlx(&fiber.state, before & WF_FIBER_USE);
	}
}

static void a_ticket_is_for_one_life(void **state)
{
	wf_entry old = spawn(0), now;

	(void)state;
	assert_ptr_equal(wf_fiber_of(wf_entry_task(old)), &fiber);
	for (unsigned i = 1; i < 256; i++) {
		wf_store_rlx(&fiber.state, state_now() & WF_FIBER_USE);
		assert_false(wf_fiber_is_fresh(old));
		assert_false(wf_fiber_claim(old));
		now = spawn(WF_FIBER_DETACHED);
		assert_false(wf_fiber_is_fresh(old));
		assert_false(wf_fiber_claim(old));
		assert_true(state_now() & WF_FIBER_FRESH);
		assert_true(wf_fiber_claim(now));
	}
	/* The number comes round. */
	wf_store_rlx(&fiber.state, state_now() & WF_FIBER_USE);
	assert_true(spawn(0) == old);
	assert_true(wf_fiber_claim(old));
}

static void a_fiber_is_known_by_its_task(void **state)
{
	weft_task task = { 0 };

	(void)state;
	fiber.task.run = wf_fiber_task_run;
	assert_true(wf_task_is_fiber(&fiber.task));
	assert_false(wf_task_is_fiber(&task));
	/* Four lines, where a context is four words; a short life has one. */
	if (sizeof(struct wf_context) <= 32) {
		assert_int_equal(sizeof(weft_fiber), 4 * WF_CACHE_LINE);
		assert_int_equal(offsetof(weft_fiber, wait), WF_CACHE_LINE);
	}
	assert_int_equal(offsetof(weft_fiber, until) % WF_CACHE_LINE, 0);
}

/* Threads race for each life; another one changes the bits beside FRESH. */
struct lives {
	size_t count;
	_Atomic(wf_entry) ticket; /* of the life that is on */
	_Atomic(uint32_t) won, done;
	uint64_t plain; /* by spawn, then by the claimer */
	_Atomic(size_t) wrong;
};

static void race_for(struct lives *l, unsigned i, wf_entry ticket)
{
	bool won = false;

	if (i == 0)
		won = wf_fiber_claim(ticket);
	else if (i == 1)
		won = wf_fiber_claim_handle(&fiber);
	else
		(void)wf_or_rlx(&fiber.state, WF_FIBER_JOINED);
	if (won) {
		/* The claim shows what spawn wrote. */
		if (l->plain++ != ticket)
			wf_add_rlx(&l->wrong, 1);
		wf_add_rlx(&l->won, 1);
	}
	wf_add_rel(&l->done, 1);
}

/* Thread 3 spawns, the others see each ticket, relaxed, and race. */
static void live(void *arg, unsigned i)
{
	struct lives *l = arg;
	wf_entry seen = 0;

	for (size_t n = 0; n < l->count; n++) {
		if (i == 3) {
			wf_store_rlx(&fiber.state, state_now() & WF_FIBER_USE);
			l->plain = wf_fiber_ticket(
				&fiber, wf_fiber_next_use(&fiber));
			wf_store_rlx(&l->ticket, spawn(0));
			while (wf_load_acq(&l->done) != 3)
				wf_os_thread_yield();
			if (wf_xchg_rlx(&l->won, 0) != 1)
				wf_add_rlx(&l->wrong, 1);
			wf_store_rlx(&l->done, 0);
			continue;
		}
		while (wf_load_rlx(&l->ticket) == seen)
			wf_os_thread_yield();
		seen = wf_load_rlx(&l->ticket);
		while (state_now() >> WF_FIBER_USE_SHIFT != wf_entry_use(seen))
			wf_os_thread_yield();
		race_for(l, i, seen);
	}
}

static void one_of_many_starts_it(void **state)
{
	struct lives l = { .count = threads_rounds(LIVES) };

	(void)state;
	threads_run(4, live, &l);
	assert_int_equal(wf_load_rlx(&l.wrong), 0);
}

/* ------------------------------------------------------------------------ */
/* WAIT: every word, by every claim. */

#define CAUSES (WF_WAIT_CANCELED | WF_WAIT_LATE)

/* What a claim of the wait in seen must come to, the word being word. */
static enum wf_claim model_claim(
	uint64_t word, uint64_t seen, uint64_t cause, uint64_t *after)
{
	uint64_t phase = word & WF_WAIT_PHASE;

	*after = word;
	if (phase == WF_WAIT_IDLE || phase == WF_WAIT_CLAIMED)
		return WF_CLAIM_LOST;
	if ((word ^ seen) & ~(WF_WAIT_PHASE | CAUSES))
		return WF_CLAIM_LOST;
	*after = (word & ~WF_WAIT_PHASE) | WF_WAIT_CLAIMED | cause;
	return phase == WF_WAIT_SETTLED ? WF_CLAIM_WAKE : WF_CLAIM_RUNS;
}

/* The n'th word that there can be of one epoch. */
static uint64_t nth_word(uint64_t epoch, unsigned n)
{
	return epoch * WF_WAIT_EPOCH + n;
}

static void claim_all_of(uint64_t word)
{
	static const uint64_t causes[] = { 0, WF_WAIT_CANCELED, WF_WAIT_LATE };
	uint64_t epoch = word / WF_WAIT_EPOCH;

	for (unsigned i = 0; i < 3 * 3 * WF_WAIT_EPOCH; i++) {
		uint64_t seen = nth_word(epoch + i % 3 - 1, i / 9);
		uint64_t cause = causes[i / 3 % 3], after;
		enum wf_claim wanted = model_claim(word, seen, cause, &after);

		wf_store_rlx(&fiber.wait, word);
		assert_int_equal(wf_wait_claim(&fiber, seen, cause), wanted);
		assert_true(wf_load_rlx(&fiber.wait) == after);
		/* Once and for all. */
		assert_int_equal(
			wf_wait_claim(&fiber, seen, cause), WF_CLAIM_LOST);
		assert_true(wf_load_rlx(&fiber.wait) == after);
	}
}

static void every_claim_does_what_the_model_does(void **state)
{
	static const uint64_t epochs[] = { 0, 1, UINT32_MAX,
		UINT64_MAX / WF_WAIT_EPOCH };

	(void)state;
	for (unsigned i = 0; i < sizeof(epochs) / sizeof(epochs[0]); i++) {
		for (unsigned n = 0; n < WF_WAIT_EPOCH; n++) {
			uint64_t word = nth_word(epochs[i], n);

			/* A cause stands only in one that is claimed. */
			if (!(word & CAUSES) ||
				(word & WF_WAIT_PHASE) == WF_WAIT_CLAIMED)
				claim_all_of(word);
		}
	}
}

static void a_canceled_fiber_can_be_shielded(void **state)
{
	(void)state;
	assert_false(wf_fiber_is_canceled(&fiber));
	for (uint32_t bit = 1; bit <= WF_CANCEL_SCOPE; bit *= 2) {
		wf_store_rlx(&fiber.cancel, bit);
		assert_true(wf_fiber_is_canceled(&fiber));
		fiber.own = WF_OWN_SHIELD | WF_OWN_LIMIT;
		assert_false(wf_fiber_is_canceled(&fiber));
		fiber.own = WF_OWN_LIMIT;
		assert_true(wf_fiber_is_canceled(&fiber));
	}
}

/* ------------------------------------------------------------------------ */
/* WAIT: a waker, a deadline and a cancellation race with a fiber that waits. */

enum { WAKER, DEADLINE, CANCELLER, CLAIMERS, FIBER = CLAIMERS };

static const uint64_t cause_of[CLAIMERS] = { 0, WF_WAIT_LATE,
	WF_WAIT_CANCELED };

struct waits {
	size_t count;
	_Atomic(uint64_t) wait;	       /* the one that is on */
	_Atomic(int) result[CLAIMERS]; /* of each claim, + 1; 0: not yet */
	_Atomic(uint32_t) done;
	uint64_t message[CLAIMERS]; /* by each, before it claims */
	uint64_t saved;		    /* by the fiber, before it waits */
	size_t ended[CLAIMERS + 1]; /* by whom; by the fiber itself */
	_Atomic(size_t) wrong;
};

static void expect(struct waits *w, bool right)
{
	if (!right)
		wf_add_rlx(&w->wrong, 1);
}

static void claim(struct waits *w, unsigned i, uint64_t wait)
{
	enum wf_claim got;

	got = wf_wait_claim(&fiber, wait - WF_WAIT_EPOCH, cause_of[i]);
	expect(w, got == WF_CLAIM_LOST);
	w->message[i] = wait;
	got = wf_wait_claim(&fiber, wait, cause_of[i]);
	/* The claimer that must make it ready sees the saved context. */
	if (got == WF_CLAIM_WAKE)
		expect(w, w->saved == wait);
	wf_store_rlx(&w->result[i], (int)got + 1);
	wf_add_rel(&w->done, 1);
}

/* The result of each claim; the winner, or FIBER. */
static unsigned winner_of(struct waits *w, enum wf_claim *how)
{
	unsigned winner = FIBER;

	for (unsigned i = 0; i < CLAIMERS; i++) {
		int got;

		while ((got = wf_load_rlx(&w->result[i])) == 0)
			wf_os_thread_yield();
		wf_store_rlx(&w->result[i], 0);
		if (got - 1 == WF_CLAIM_LOST)
			continue;
		expect(w, winner == FIBER);
		winner = i;
		*how = (enum wf_claim)(got - 1);
	}
	return winner;
}

/* One wait, as wait/wait.c does it; gives_up: the fiber takes it back. */
static void wait_once(struct waits *w, bool gives_up)
{
	uint64_t wait = (wf_load_rlx(&fiber.wait) & -WF_WAIT_EPOCH) +
		WF_WAIT_EPOCH + WF_WAIT_TIMED;
	uint64_t seen = wait | WF_WAIT_ARMED;
	enum wf_claim how = WF_CLAIM_LOST;
	unsigned winner;
	bool mine;

	/* [pair: fiber.wake] */
	wf_store_rel(&fiber.wait, seen);
	/* [pair: test.wait] The wait, and that the last one is over. */
	wf_store_rel(&w->wait, wait);
	w->saved = wait;
	/* [pair: fiber.wake] The winner, which wakes it, sees saved. */
	mine = gives_up
		? wf_cas_rlx(&fiber.wait, &seen, wait & -WF_WAIT_EPOCH)
		: wf_cas_rel(&fiber.wait, &seen, wait | WF_WAIT_SETTLED);
	winner = winner_of(w, &how);
	/* [pair: fiber.wake] What the winner did before is seen. */
	seen = wf_load_acq(&fiber.wait);
	if (gives_up && mine) {
		expect(w, winner == FIBER && seen == (wait & -WF_WAIT_EPOCH));
	} else if (winner < FIBER) {
		expect(w, how == (mine ? WF_CLAIM_WAKE : WF_CLAIM_RUNS));
		expect(w, w->message[winner] == wait);
		expect(w, seen == (wait | WF_WAIT_CLAIMED | cause_of[winner]));
	} else {
		expect(w, false);
	}
	w->ended[winner]++;
	while (wf_load_acq(&w->done) != CLAIMERS)
		wf_os_thread_yield();
	wf_store_rlx(&w->done, 0);
	wf_store_rlx(&fiber.wait, wait & -WF_WAIT_EPOCH);
}

static void waits_run(void *arg, unsigned i)
{
	struct waits *w = arg;
	struct wf_random random;
	uint64_t seen = 0;

	wf_random_seed(&random, threads_seed() + i);
	for (size_t n = 0; n < w->count; n++) {
		if (i == FIBER) {
			wait_once(w, wf_random_below(&random, 4) == 0);
			continue;
		}
		/* [pair: test.wait] */
		while (wf_load_acq(&w->wait) == seen)
			wf_os_thread_yield();
		seen = wf_load_acq(&w->wait);
		for (uint32_t k = wf_random_below(&random, 100); k > 0; k--)
			(void)wf_load_rlx(&w->wait);
		claim(w, i, seen);
	}
}

static void one_of_many_ends_each_wait(void **state)
{
	struct waits w = { .count = threads_rounds(WAITS) };

	(void)state;
	(void)threads_seed();
	threads_run(CLAIMERS + 1, waits_run, &w);
	printf("woken %zu, late %zu, canceled %zu, taken back %zu\n",
		w.ended[WAKER], w.ended[DEADLINE], w.ended[CANCELLER],
		w.ended[FIBER]);
	assert_int_equal(wf_load_rlx(&w.wrong), 0);
	assert_int_equal(wf_load_rlx(&fiber.wait), w.count * WF_WAIT_EPOCH);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_fresh_fiber_is_claimed_once),
		TEST(a_ticket_is_for_one_life),
		TEST(a_fiber_is_known_by_its_task),
		TEST(one_of_many_starts_it),
		TEST(every_claim_does_what_the_model_does),
		TEST(a_canceled_fiber_can_be_shielded),
		TEST(one_of_many_ends_each_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
