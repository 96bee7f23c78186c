/* SPDX-License-Identifier: MIT */
/*
 * tests/fiber/fiber_test.c - a fiber is started by exactly one and each of its
 * waits is ended by exactly one: every transition of STATE and WAIT.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/random.h"
#include "fiber/fiber.h"
#include "os/os.h"
#include "support/threads.h"

enum { DEPTH = 8, LIVES = 20000, WAITS = 20000 };

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
/* STATE: who starts it. */

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
	/* Two lines; three where a context is larger than four words. */
	assert_true(sizeof(struct wf_context) > 32 ||
		sizeof(weft_fiber) == 2 * WF_CACHE_LINE);
	assert_int_equal(
		offsetof(weft_fiber, wait) + WF_CACHE_LINE, sizeof(weft_fiber));
}

/* Threads race for each life; another one changes the bits beside FRESH. */
struct lives {
	size_t count;
	_Atomic(wf_entry) ticket; /* of the life that is on */
	_Atomic(uint32_t) won, done;
	uint64_t plain; /* by spawn, then by who claimed */
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
/* WAIT: every order of calls, against a model. */

struct model {
	uint64_t epoch, phase;
	bool cancelled, cut;
};

static uint64_t word_of(const struct model *m)
{
	return m->epoch * WF_WAIT_EPOCH | m->phase |
		(m->cut ? WF_WAIT_CUT : 0) |
		(m->cancelled ? WF_WAIT_CANCELLED : 0);
}

static enum wf_claim model_claim(struct model *m, bool cut)
{
	uint64_t phase = m->phase;

	if (phase == WF_WAIT_IDLE || phase == WF_WAIT_CLAIMED)
		return WF_CLAIM_LOST;
	m->phase = WF_WAIT_CLAIMED;
	m->cut = cut;
	return phase == WF_WAIT_PARKED ? WF_CLAIM_WAKE : WF_CLAIM_RUNS;
}

static void step_begin(struct model *m)
{
	uint64_t epoch = 12345;

	assert_int_equal(wf_wait_begin(&fiber, &epoch), !m->cancelled);
	if (m->cancelled) {
		assert_int_equal(epoch, 12345);
		return;
	}
	m->phase = WF_WAIT_ARMED;
	assert_int_equal(epoch, ++m->epoch);
}

/* One call by the fiber or by others; false: it may not come now. */
static bool step(struct model *m, unsigned op)
{
	bool off = m->phase == WF_WAIT_PARKED;
	bool waits = m->phase != WF_WAIT_IDLE;

	if (op == 0 && !waits) {
		step_begin(m);
	} else if (op == 1 && waits && !off) {
		bool parks = m->phase == WF_WAIT_ARMED;

		assert_int_equal(wf_wait_park(&fiber), parks);
		if (parks)
			m->phase = WF_WAIT_PARKED;
	} else if (op == 2 && waits && !off) {
		assert_int_equal(wf_wait_end(&fiber), m->cut);
		m->phase = WF_WAIT_IDLE;
		m->cut = false;
	} else if (op == 3) {
		assert_int_equal(
			wf_wait_claim(&fiber, m->epoch), model_claim(m, false));
	} else if (op == 4) {
		assert_int_equal(
			wf_wait_claim(&fiber, m->epoch - 1), WF_CLAIM_LOST);
		assert_int_equal(
			wf_wait_claim(&fiber, m->epoch + 1), WF_CLAIM_LOST);
	} else if (op == 5) {
		m->cancelled = true;
		assert_int_equal(wf_wait_cancel(&fiber), model_claim(m, true));
	} else {
		return false;
	}
	return true;
}

static size_t explore(const struct model *at, unsigned depth)
{
	size_t n = 1;

	for (unsigned op = 0; op < 6 && depth > 0; op++) {
		struct model m = *at;

		wf_store_rlx(&fiber.wait, word_of(&m));
		if (!step(&m, op))
			continue;
		assert_true(wf_load_rlx(&fiber.wait) == word_of(&m));
		assert_int_equal(wf_fiber_is_cancelled(&fiber), m.cancelled);
		n += explore(&m, depth - 1);
	}
	return n;
}

static void every_order_of_calls_does_what_the_model_does(void **state)
{
	struct model m = { .epoch = 0 }, late = { .epoch = UINT32_MAX };

	(void)state;
	assert_true(explore(&m, DEPTH) > 10000);
	assert_true(explore(&late, 4) > 100);
}

/* ------------------------------------------------------------------------ */
/* WAIT: two wakers and a cancellation race with a fiber that parks. */

struct waits {
	size_t count;
	_Atomic(uint64_t) epoch; /* of the wait that is on */
	_Atomic(int) result[3];	 /* of each claim, + 1; 0: not yet */
	_Atomic(uint32_t) done;
	uint64_t message[3]; /* by each, before it claims */
	uint64_t saved;	     /* by the fiber, before it parks */
	_Atomic(size_t) wrong;
};

static void expect(struct waits *w, bool right)
{
	if (!right)
		wf_add_rlx(&w->wrong, 1);
}

static void wake(struct waits *w, unsigned i, uint64_t epoch)
{
	enum wf_claim got;

	expect(w, wf_wait_claim(&fiber, epoch - 1) == WF_CLAIM_LOST);
	w->message[i] = epoch;
	got = i == 2 ? wf_wait_cancel(&fiber) : wf_wait_claim(&fiber, epoch);
	/* Who must make it runnable sees the context that was saved. */
	if (got == WF_CLAIM_WAKE)
		expect(w, w->saved == epoch);
	wf_store_rlx(&w->result[i], (int)got + 1);
	wf_add_rel(&w->done, 1);
}

/* The result of each claim; the winner, or 3. */
static unsigned winner_of(struct waits *w, enum wf_claim *how)
{
	unsigned winner = 3;

	for (unsigned i = 0; i < 3; i++) {
		int got;

		while ((got = wf_load_rlx(&w->result[i])) == 0)
			wf_os_thread_yield();
		wf_store_rlx(&w->result[i], 0);
		if (got - 1 == WF_CLAIM_LOST)
			continue;
		expect(w, winner == 3);
		winner = i;
		*how = (enum wf_claim)(got - 1);
	}
	return winner;
}

/* One wait; gives_up: the fiber ends it before anybody may have claimed. */
static void wait_once(struct waits *w, bool gives_up)
{
	enum wf_claim how = WF_CLAIM_LOST;
	bool parked = false, cut = false;
	unsigned winner;
	uint64_t epoch;

	expect(w, wf_wait_begin(&fiber, &epoch));
	w->saved = epoch;
	/* [pair: test.epoch] The wait, and that the last one is over. */
	wf_store_rel(&w->epoch, epoch);
	if (gives_up)
		cut = wf_wait_end(&fiber);
	else
		parked = wf_wait_park(&fiber);
	winner = winner_of(w, &how);
	if (!gives_up) {
		expect(w, winner < 3);
		expect(w, how == (parked ? WF_CLAIM_WAKE : WF_CLAIM_RUNS));
		cut = wf_wait_end(&fiber);
		/* What the winner did before is seen. */
		expect(w, winner == 3 || w->message[winner] == epoch);
		expect(w, cut == (winner == 2));
	} else {
		expect(w, how != WF_CLAIM_WAKE);
		expect(w, !cut || winner == 2);
	}
	while (wf_load_acq(&w->done) != 3)
		wf_os_thread_yield();
	wf_store_rlx(&w->done, 0);
	expect(w, wf_fiber_is_cancelled(&fiber));
	(void)wf_and_rlx(&fiber.wait, ~WF_WAIT_CANCELLED);
}

static void waits_run(void *arg, unsigned i)
{
	struct waits *w = arg;
	struct wf_random random;
	uint64_t seen = 0;

	wf_random_seed(&random, threads_seed() + i);
	for (size_t n = 0; n < w->count; n++) {
		if (i == 3) {
			wait_once(w, wf_random_below(&random, 4) == 0);
			continue;
		}
		/* [pair: test.epoch] */
		while (wf_load_acq(&w->epoch) == seen)
			wf_os_thread_yield();
		seen = wf_load_acq(&w->epoch);
		for (uint32_t k = wf_random_below(&random, 100); k > 0; k--)
			(void)wf_load_rlx(&w->epoch);
		wake(w, i, seen);
	}
}

static void one_of_many_ends_each_wait(void **state)
{
	struct waits w = { .count = threads_rounds(WAITS) };

	(void)state;
	(void)threads_seed();
	threads_run(4, waits_run, &w);
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
		TEST(every_order_of_calls_does_what_the_model_does),
		TEST(one_of_many_ends_each_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
