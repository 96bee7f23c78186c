/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/once_test.c - the word of a once is in each step as sync/once.c
 * says, and all waiters go on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "stress/sched_kit.h"
#include "sync/mutex.h"

/* The word, as sync/once.c describes it. */
enum { LOCK = 1, BEGUN = 2, DONE = 4, BITS = 7 };

static weft_once once;
static int calls;

static uint64_t word(void)
{
	return wf_load_acq((_Atomic(uint64_t) *)&once.word_);
}

static void count(void *arg)
{
	kit_expect(word() == BEGUN);
	kit_expect(wf_owner_same(once.owner_, wf_owner_runs()));
	calls += *(int *)arg;
}

static void the_function_runs_once(void **state)
{
	int one = 1;

	(void)state;
	assert_int_equal(sizeof(weft_once), 16);
	for (int i = 0; i < 3; i++) {
		weft_once_do(&once, count, &one);
		assert_int_equal(calls, 1);
		assert_int_equal(word(), DONE);
		assert_int_equal(once.owner_, 0);
	}
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* Step by step, on one worker. */

enum { WAITERS = 4 };

static int back; /* waiters that have returned */

static void *do_it(void *fn)
{
	weft_once_do(&once, *(void (**)(void *))fn, NULL);
	kit_expect(calls == 1);
	back++;
	return NULL;
}

static void waits_inside(void *arg)
{
	void (*fn)(void *) = waits_inside;
	weft_fiber *f[WAITERS];

	for (int i = 0; i < WAITERS; i++) {
		kit_expect(weft_spawn(&f[i], NULL, do_it, &fn) == 0);
		weft_yield();
	}
	kit_expect((word() & BITS) == BEGUN && word() != BEGUN);
	kit_expect(weft_cancel(f[0]) == 0);
	weft_yield();
	kit_expect(back == 0);
	calls++;
	for (int i = 0; i < WAITERS; i++)
		weft_detach(f[i]);
	(void)arg;
}

static void *step_by_step(void *arg)
{
	(void)arg;
	weft_once_do(&once, waits_inside, NULL);
	kit_expect(word() == DONE && calls == 1);
	weft_yield();
	kit_expect(back == WAITERS);
	return NULL;
}

static void a_later_caller_waits(void **state)
{
	(void)state;
	memset(&once, 0, sizeof(once));
	calls = 0;
	kit_play(step_by_step, 1);
	assert_int_equal(back, WAITERS);
}

/* ------------------------------------------------------------------------ */
/* All at once. */

static struct {
	_Atomic(size_t) round, left;
	size_t rounds;
	int value; /* plain: the once orders it */
} race;

static void set_value(void *arg)
{
	race.value += *(int *)arg;
}

static void do_each_round(void *arg, unsigned i)
{
	int one = 1;

	(void)arg;
	for (size_t n = 1; n <= race.rounds; n++) {
		if (i == 0) {
			while (wf_load_acq(&race.left) != 0)
				wf_os_thread_yield();
			memset(&once, 0, sizeof(once));
			wf_store_rlx(&race.left, 4);
			wf_store_rel(&race.round, n);
		}
		while (wf_load_acq(&race.round) < n)
			wf_os_thread_yield();
		weft_once_do(&once, set_value, &one);
		kit_expect((size_t)race.value == n);
		(void)wf_sub_rel(&race.left, 1);
	}
}

static void threads_race_for_it(void **state)
{
	(void)state;
	race.rounds = kit_rounds(2000);
	threads_run(4, do_each_round, NULL);
	kit_settle();
	assert_int_equal(race.value, (int)race.rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_function_runs_once),
		cmocka_unit_test(a_later_caller_waits),
		cmocka_unit_test(threads_race_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
