/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/barrier_test.c - a phase ends when all parties have come, one of
 * them gets 1; a party that leaves early does not count; and after each phase
 * the barrier is as new, or may be freed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/os.h"
#include "sched/runtime.h"
#include "stress/sched_kit.h"

static void assert_new(const weft_barrier *b)
{
	assert_int_equal(b->lock_, 0);
	assert_int_equal(b->here_, 0);
	assert_null(b->waiters_[0]);
	assert_null(b->waiters_[1]);
}

static void a_single_party_does_not_wait(void **state)
{
	volatile unsigned two = 2;
	weft_barrier zero = { 0 }, one = WEFT_BARRIER_INIT(1),
		     more = WEFT_BARRIER_INIT(two);

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(weft_barrier_wait(&zero, WEFT_FOREVER), 1);
		assert_int_equal(weft_barrier_wait(&one, WEFT_NOW), 1);
	}
	assert_int_equal(more.parties_, 2);
	assert_int_equal(weft_barrier_wait(&more, WEFT_NOW), -ETIMEDOUT);
	assert_new(&zero);
	assert_new(&more);
}

static void a_party_that_times_out_is_not_counted(void **state)
{
	weft_barrier b = WEFT_BARRIER_INIT(2);

	(void)state;
	for (int i = 0; i < 3; i++) {
		int64_t until = weft_after(WF_NS_PER_MS);

		assert_int_equal(weft_barrier_wait(&b, until), -ETIMEDOUT);
		assert_true(weft_now() >= until);
		assert_new(&b);
	}
}

/* The count of the largest barrier does not overflow. */
static void the_largest_barrier_counts_right(void **state)
{
	weft_barrier b = WEFT_BARRIER_INIT(UINT32_MAX);

	(void)state;
	assert_int_equal(weft_barrier_wait(&b, WEFT_NOW), -ETIMEDOUT);
	b.here_ = UINT32_MAX - 2;
	assert_int_equal(weft_barrier_wait(&b, WEFT_NOW), -ETIMEDOUT);
	b.here_ = UINT32_MAX - 1;
	assert_int_equal(weft_barrier_wait(&b, WEFT_NOW), 1);
	assert_new(&b);
}

/* The wait is refused at its commit: no waiter is left in the list. */
static void *wait_while_all_stops(void *arg)
{
	weft_barrier b = WEFT_BARRIER_INIT(2);
	struct weft_rt *rt = arg;

	wf_store_rlx(&rt->stopping, true);
	kit_expect(weft_barrier_wait(&b, WEFT_FOREVER) == -ECANCELED);
	wf_store_rlx(&rt->stopping, false);
	kit_expect(b.here_ == 0 && b.waiters_[0] == NULL);
	return NULL;
}

static void a_refused_party_is_not_counted(void **state)
{
	(void)state;
	kit_play(wait_while_all_stops, 1);
}

/* ------------------------------------------------------------------------ */
/* Phases. */

enum { PARTIES = 3 };

static struct {
	weft_barrier barrier;
	size_t at[PARTIES]; /* plain: the barrier orders it */
	_Atomic(size_t) ones;
	size_t phases;
} all;

static void go_through_phases(void *arg, unsigned i)
{
	(void)arg;
	for (size_t n = 1; n <= all.phases; n++) {
		int got;

		all.at[i] = n;
		got = weft_barrier_wait(&all.barrier, WEFT_FOREVER);
		kit_expect(got == 0 || got == 1);
		wf_add_rlx(&all.ones, (size_t)got);
		for (unsigned j = 0; j < PARTIES; j++)
			kit_expect(all.at[j] == n);
		got = weft_barrier_wait(&all.barrier, WEFT_FOREVER);
		kit_expect(got == 0 || got == 1);
		wf_add_rlx(&all.ones, (size_t)got);
	}
}

static void each_party_sees_the_writes_of_all(void **state)
{
	(void)state;
	all.barrier = (weft_barrier)WEFT_BARRIER_INIT(PARTIES);
	all.phases = kit_rounds(4000);
	kit_watch();
	threads_run(PARTIES, go_through_phases, NULL);
	kit_settle();
	assert_int_equal(wf_load_rlx(&all.ones), 2 * all.phases);
	assert_new(&all.barrier);
}

/* ------------------------------------------------------------------------ */
/* Races. */

static struct {
	_Atomic(weft_barrier *) barrier;
	_Atomic(size_t) round, over, left, done, met;
	size_t rounds;
} race;

/*
 * Each round has a barrier, which the last to leave frees.  The deadlines pass
 * at about the moment when both have come: both go on, or none.
 */
static void meet(void *arg, unsigned i)
{
	(void)arg;
	for (size_t n = 1; n <= race.rounds; n++) {
		weft_barrier *b;
		int got;

		if (i == 0) {
			b = malloc(sizeof(*b));
			kit_expect(b != NULL);
			*b = (weft_barrier)WEFT_BARRIER_INIT(2);
			wf_store_rlx(&race.barrier, b);
			wf_store_rlx(&race.left, 2);
			wf_store_rlx(&race.done, 0);
			wf_store_rel(&race.round, n);
		}
		while (wf_load_acq(&race.round) < n)
			wf_os_thread_yield();
		b = wf_load_acq(&race.barrier);
		if (i == 1)
			kit_pause_us(n % 60);
		got = weft_barrier_wait(b, weft_after(20 * WF_NS_PER_US));
		kit_expect(got == 0 || got == 1 || got == -ETIMEDOUT);
		if (got >= 0)
			wf_add_rlx(&race.done, 1 + (size_t)got);
		if (wf_sub_acqrel(&race.left, 1) == 1) {
			size_t sum = wf_load_rlx(&race.done);

			kit_expect(sum == 0 || sum == 3);
			kit_expect(b->here_ == 0 && b->waiters_[0] == NULL);
			wf_add_rlx(&race.met, sum != 0);
			free(b);
			wf_store_rel(&race.over, n);
		}
		while (wf_load_acq(&race.over) < n)
			wf_os_thread_yield();
	}
}

static void both_meet_or_none_does(void **state)
{
	(void)state;
	race.rounds = kit_rounds(3000);
	kit_watch();
	threads_run(2, meet, NULL);
	kit_settle();
	printf("%zu of %zu met\n", wf_load_rlx(&race.met), race.rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_single_party_does_not_wait),
		cmocka_unit_test(a_party_that_times_out_is_not_counted),
		cmocka_unit_test(the_largest_barrier_counts_right),
		cmocka_unit_test(a_refused_party_is_not_counted),
		cmocka_unit_test(each_party_sees_the_writes_of_all),
		cmocka_unit_test(both_meet_or_none_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
