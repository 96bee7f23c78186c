/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/event_test.c - the word of an event is as sync/event.c says; who
 * gives up is out of the list; what a wait on several events needs; the event
 * is not touched after somebody could know that it is set.
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

/* The word, as the file describes it. */
enum { CLEAR, SET, BUSY };

static uint32_t word(weft_event *e)
{
	return wf_load_acq((_Atomic(uint32_t) *)&e->state_);
}

static void the_word_says_what_it_is(void **state)
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

static void who_gives_up_leaves_nothing(void **state)
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

/* Who waited first goes on first; and if they are very many, all go on. */
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
		/* Above that a turn of the global queue comes in between. */
		assert_true(in_order || n[i] > 100);
	}
}

/* One wait on two events, by nodes of a thread that is not there. */
static void a_node_is_in_the_list_or_not(void **state)
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
	/* It is set: there is nothing to wait for. */
	assert_false(wf_event_enlist(&b, &n[1]));
	assert_null(b.waiters_[0]);
	/* It was claimed by the other: nothing happens to it. */
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

static weft_event *new_round(size_t n, size_t who)
{
	weft_event *e = calloc(1, sizeof(*e));

	kit_expect(e != NULL);
	wf_store_rlx(&race.left, who);
	wf_store_rlx(&race.event, e);
	wf_store_rel(&race.round, n);
	return e;
}

/* Who waited frees the event at once: the other must be done with it. */
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

/* Waiters whose time is up at about the moment of the set. */
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
		cmocka_unit_test(the_word_says_what_it_is),
		cmocka_unit_test(who_gives_up_leaves_nothing),
		cmocka_unit_test(all_go_on_in_order),
		cmocka_unit_test(a_node_is_in_the_list_or_not),
		cmocka_unit_test(it_may_be_freed_when_the_wait_is_over),
		cmocka_unit_test(giving_up_while_it_is_set_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
