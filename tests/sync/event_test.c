/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/event_test.c - the word of an event is as sync/event.c says; a
 * waiter that gives up leaves the list; one waiter may be in the lists of
 * several events; a set does not touch the event after a wait can see it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "os/os.h"
#include "stress/sched_kit.h"
#include "sync/event.h"

/* The word, as sync/event.c describes it. */
enum { CLEAR, LOCK, SET };

static uint64_t word(weft_event *e)
{
	return wf_load_acq((_Atomic(uint64_t) *)&e->state_);
}

static void the_word_is_clear_or_set(void **state)
{
	weft_event e = { 0 };

	(void)state;
	assert_int_equal(word(&e), CLEAR);
	assert_int_equal(weft_event_wait(&e, WEFT_NOW), -ETIMEDOUT);
	assert_false(wf_event_look(&e));
	weft_event_reset(&e);
	assert_int_equal(word(&e), CLEAR);
	weft_event_set(&e);
	assert_int_equal(word(&e), SET);
	weft_event_set(&e);
	assert_int_equal(word(&e), SET);
	assert_true(wf_event_look(&e));
	assert_int_equal(weft_event_wait(&e, WEFT_NOW), 0);
	assert_int_equal(weft_event_wait(&e, WEFT_FOREVER), 0);
	assert_int_equal(word(&e), SET);
	weft_event_reset(&e);
	assert_int_equal(word(&e), CLEAR);
	assert_int_equal(weft_event_wait(&e, -1), -ETIMEDOUT);
}

static void a_waiter_that_times_out_leaves_nothing(void **state)
{
	int64_t until = weft_after(2 * WF_NS_PER_MS);
	weft_event e = { 0 };

	(void)state;
	assert_int_equal(weft_event_wait(&e, until), -ETIMEDOUT);
	assert_true(weft_now() >= until);
	assert_int_equal(word(&e), CLEAR);
	assert_null(e.waiters_[0]);
	assert_null(e.waiters_[1]);
	weft_event_set(&e);
	assert_int_equal(word(&e), SET);
}

/* The oldest waiter goes on first; of very many waiters all go on. */
static weft_event starts;
static unsigned arrived, gone;
static bool in_order;

static void arrive_and_go(void *arg)
{
	unsigned turn = arrived++;

	(void)arg;
	kit_expect(weft_event_wait(&starts, WEFT_FOREVER) == 0);
	in_order &= turn == gone++;
}

static void *release(void *arg)
{
	unsigned n = *(unsigned *)arg;

	weft_event_reset(&starts);
	arrived = gone = 0;
	in_order = true;
	for (unsigned i = 0; i < n; i++)
		kit_expect(weft_go(arrive_and_go, NULL) == 0);
	while (arrived < n)
		weft_yield();
	weft_event_set(&starts);
	kit_expect(starts.waiters_[0] == NULL && starts.waiters_[1] == NULL);
	while (gone < n)
		weft_yield();
	return NULL;
}

static void all_go_on_in_order(void **state)
{
	unsigned n[] = { 1, 2, 7, 100, 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++) {
		weft_config cfg = { .workers = 1 };
		weft_rt *rt = kit_start(&cfg);
		weft_fiber *f;

		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, release, &n[i]), 0);
		assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
		kit_stop(rt);
		/* With more, a turn of the global queue comes in between. */
		assert_true(in_order || n[i] > 100);
	}
}

/* One waiter, made by hand, on two events. */
static void one_waiter_may_wait_on_two_events(void **state)
{
	weft_event a = { 0 }, b = { 0 };
	struct wf_waiter w = { 0 };
	struct wf_node n[2] = { { .waiter = &w }, { .waiter = &w } };

	(void)state;
	assert_true(wf_event_enlist(&a, &n[0]));
	assert_true(wf_event_enlist(&b, &n[1]));
	assert_ptr_equal(a.waiters_[0], &n[0]);
	weft_event_set(&b);
	assert_ptr_equal(w.won, &n[1]);
	assert_null(b.waiters_[0]);
	wf_event_delist(&a, &n[0]);
	wf_event_delist(&b, &n[1]);
	assert_null(a.waiters_[0]);
	assert_int_equal(word(&a), CLEAR);
	assert_int_equal(word(&b), SET);
	/* b is set: a waiter is not enlisted. */
	assert_false(wf_event_enlist(&b, &n[1]));
	assert_null(b.waiters_[0]);
	/* The waiter was claimed by b: a set of a passes it over. */
	assert_true(wf_event_enlist(&a, &n[0]));
	weft_event_set(&a);
	assert_ptr_equal(w.won, &n[1]);
	assert_null(a.waiters_[0]);
}

/* ------------------------------------------------------------------------ */
/* Races. */

static struct {
	_Atomic(weft_event *) event;
	_Atomic(size_t) round, left, late;
	size_t rounds;
} race;

/* Wait for round n to begin. */
static weft_event *begin(size_t n)
{
	while (wf_load_acq(&race.round) < n)
		wf_os_thread_yield();
	return wf_load_acq(&race.event);
}

static weft_event *new_round(size_t n, size_t waiters)
{
	weft_event *e = calloc(1, sizeof(*e));

	kit_expect(e != NULL);
	wf_store_rlx(&race.left, waiters);
	wf_store_rlx(&race.event, e);
	wf_store_rel(&race.round, n);
	return e;
}

/* The waiter frees the event at once: the setter must be done with it. */
static void free_or_set(void *arg, unsigned i)
{
	(void)arg;
	for (size_t n = 1; n <= race.rounds; n++) {
		weft_event *e;

		if (i != 0) {
			weft_event_set(begin(n));
			continue;
		}
		e = new_round(n, 0);
		for (volatile size_t j = 0; j < n % 64 * 4; j++)
			continue;
		kit_expect(weft_event_wait(e, WEFT_FOREVER) == 0);
		kit_expect(word(e) == SET && e->waiters_[0] == NULL);
		free(e);
	}
}

static void it_may_be_freed_when_the_wait_is_over(void **state)
{
	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(20000);
	threads_run(2, free_or_set, NULL);
	kit_settle();
}

enum { GIVERS_UP = 2 };

/* Waiters whose deadline passes at about the moment of the set. */
static void give_up_or_set(void *arg, unsigned i)
{
	(void)arg;
	for (size_t n = 1; n <= race.rounds; n++) {
		weft_event *e;
		int err;

		if (i != 0) {
			e = begin(n);
			err = weft_event_wait(e, weft_after(20 * WF_NS_PER_US));
			kit_expect(err == 0 || err == -ETIMEDOUT);
			kit_expect(err != 0 || word(e) != CLEAR);
			wf_add_rlx(&race.late, err != 0);
			(void)wf_sub_rel(&race.left, 1);
			continue;
		}
		e = new_round(n, GIVERS_UP);
		kit_pause_us(n % 120);
		weft_event_set(e);
		while (wf_load_acq(&race.left) != 0)
			wf_os_thread_yield();
		kit_expect(word(e) == SET && e->waiters_[0] == NULL);
		free(e);
	}
}

static void giving_up_while_it_is_set_is_safe(void **state)
{
	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(3000);
	threads_run(1 + GIVERS_UP, give_up_or_set, NULL);
	kit_settle();
	printf("%zu of %zu gave up\n", wf_load_rlx(&race.late),
		race.rounds * GIVERS_UP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_word_is_clear_or_set),
		cmocka_unit_test(a_waiter_that_times_out_leaves_nothing),
		cmocka_unit_test(all_go_on_in_order),
		cmocka_unit_test(one_waiter_may_wait_on_two_events),
		cmocka_unit_test(it_may_be_freed_when_the_wait_is_over),
		cmocka_unit_test(giving_up_while_it_is_set_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
