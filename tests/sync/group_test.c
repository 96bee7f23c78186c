/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/group_test.c - the word of a wait group: LOCK and WAITERS are as
 * sync/group.c says, a waiter that gives up leaves the list, a drain wakes all
 * waiters, and does not touch the group after that.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "fiber/fiber.h"
#include "os/child.h"
#include "os/os.h"
#include "sched/submit.h"
#include "stress/sched_kit.h"

/* The word, as sync/group.c describes it. */
enum { LOCK = 1, WAITERS = 2, ONE = 4 };

static uint64_t word(weft_group *g)
{
	return wf_load_acq((_Atomic(uint64_t) *)&g->state_);
}

static void wait_for_word(weft_group *g, uint64_t value)
{
	while (word(g) != value)
		wf_os_thread_yield();
}

/* ------------------------------------------------------------------------ */
/* Without races. */

static void the_word_counts(void **state)
{
	weft_group g = { 0 };

	(void)state;
	assert_int_equal(weft_group_wait(&g, WEFT_NOW), 0);
	weft_group_add(&g, 3);
	assert_int_equal(word(&g), 3 * ONE);
	weft_group_add(&g, -2);
	weft_group_add(&g, 0);
	assert_int_equal(word(&g), ONE);
	assert_int_equal(weft_group_wait(&g, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(word(&g), ONE); /* no waiter was enlisted */
	weft_group_done(&g);
	assert_int_equal(word(&g), 0);
}

static void a_waiter_that_times_out_leaves_only_a_bit(void **state)
{
	weft_group g = { 0 };

	(void)state;
	weft_group_add(&g, 1);
	/* If the deadline passes before the wait, WAITERS is not set. */
	for (int i = 0; i < 50 && word(&g) == ONE; i++)
		assert_int_equal(
			weft_group_wait(&g, weft_after(10 * WF_NS_PER_MS)),
			-ETIMEDOUT);
	assert_int_equal(word(&g), ONE | WAITERS);
	assert_null(g.waiters_[0]);
	weft_group_done(&g); /* a drain without waiters */
	assert_int_equal(word(&g), 0);
	/* The group can be used again. */
	weft_group_add(&g, 1);
	weft_group_done(&g);
	assert_int_equal(weft_group_wait(&g, WEFT_FOREVER), 0);
}

static weft_group shared;

static void wait_or_lower(void *arg, unsigned i)
{
	(void)arg;
	if (i != 0) {
		kit_expect(weft_group_wait(&shared, WEFT_FOREVER) == 0);
		return;
	}
	wait_for_word(&shared, 2 * ONE | WAITERS);
	weft_group_done(&shared);
	wait_for_word(&shared, ONE | WAITERS);
	kit_pause_us(1000);
	/* No waiter has left; one may still be coming. */
	kit_expect((word(&shared) & ~(uint64_t)LOCK) == (ONE | WAITERS));
	kit_expect(shared.waiters_[0] != NULL);
	weft_group_done(&shared);
}

static void a_drain_wakes_all_waiters(void **state)
{
	(void)state;
	weft_group_add(&shared, 2);
	threads_run(4, wait_or_lower, NULL);
	assert_int_equal(word(&shared), 0);
	assert_null(shared.waiters_[0]);
	kit_settle();
}

static void lower_too_far(void *arg)
{
	weft_group_done(arg);
}

static void add_too_much(void *arg)
{
	weft_group_add(arg, (int64_t)1 << 60);
	weft_group_add(arg, 1);
}

static void misuse_ends_the_program(void **state)
{
	weft_group g = { 0 };
	struct child c;

	(void)state;
	child_run(&c, lower_too_far, &g);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "below zero"));
	child_run(&c, add_too_much, &g);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "too large"));
}

/* ------------------------------------------------------------------------ */
/* Races. */

static struct {
	_Atomic(weft_group *) group;
	_Atomic(size_t) round, left;
	size_t rounds;
	_Atomic(size_t) late;
} race;

/* Wait for round n to begin. */
static weft_group *begin(size_t n)
{
	while (wf_load_acq(&race.round) < n)
		wf_os_thread_yield();
	return wf_load_acq(&race.group);
}

static void new_round(size_t n, size_t waiters)
{
	weft_group *g = calloc(1, sizeof(*g));

	kit_expect(g != NULL);
	weft_group_add(g, 1);
	wf_store_rlx(&race.left, waiters);
	wf_store_rlx(&race.group, g);
	wf_store_rel(&race.round, n);
}

/* The waiter frees the group at once: the drain must be done with it. */
static void free_or_done(void *arg, unsigned i)
{
	(void)arg;
	for (size_t n = 1; n <= race.rounds; n++) {
		if (i == 0) {
			new_round(n, 0);
			for (volatile size_t j = 0; j < n % 64 * 4; j++)
				continue;
			kit_expect(weft_group_wait(wf_load_rlx(&race.group),
					   WEFT_FOREVER) == 0);
			kit_expect(word(wf_load_rlx(&race.group)) == 0);
			free(wf_load_rlx(&race.group));
		} else {
			weft_group_done(begin(n));
		}
	}
}

static void it_may_be_freed_when_the_wait_is_over(void **state)
{
	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(20000);
	threads_run(2, free_or_done, NULL);
	kit_settle();
}

enum { GIVERS_UP = 2 };

static void spin_ns(int64_t ns)
{
	int64_t until = weft_now() + ns;

	while (weft_now() < until)
		continue;
}

/* Waiters whose deadline passes at about the moment of the drain. */
static void give_up_or_done(void *arg, unsigned i)
{
	(void)arg;
	for (size_t n = 1; n <= race.rounds; n++) {
		weft_group *g;
		int err;

		if (i == 0) {
			new_round(n, GIVERS_UP);
			g = wf_load_rlx(&race.group);
			/* On a slow machine they give up before they wait. */
			while (!(word(g) & WAITERS) &&
				wf_load_acq(&race.left) != 0)
				wf_os_thread_yield();
			spin_ns((int64_t)(n % 120) * WF_NS_PER_US);
			weft_group_done(g);
			while (wf_load_acq(&race.left) != 0)
				wf_os_thread_yield();
			kit_expect(word(g) == 0 && g->waiters_[0] == NULL);
			free(g);
			continue;
		}
		g = begin(n);
		err = weft_group_wait(g, weft_after(20 * WF_NS_PER_US));
		kit_expect(err == 0 || err == -ETIMEDOUT);
		/* A late waiter sets both bits for a moment. */
		kit_expect(err != 0 || word(g) < ONE);
		wf_add_rlx(&race.late, err != 0);
		(void)wf_sub_rel(&race.left, 1);
	}
}

static void giving_up_while_it_drains_is_safe(void **state)
{
	(void)state;
	memset(&race, 0, sizeof(race));
	race.rounds = kit_rounds(4000);
	threads_run(1 + GIVERS_UP, give_up_or_done, NULL);
	kit_settle();
	printf("%zu of %zu gave up\n", wf_load_rlx(&race.late),
		race.rounds * GIVERS_UP);
}

/* ------------------------------------------------------------------------ */
/* Fibers that are cancelled while it drains. */

static void *wait_shared(void *arg)
{
	int err = weft_group_wait(&shared, WEFT_FOREVER);

	kit_expect(err == 0 || err == -ECANCELED);
	wf_add_rlx(&race.late, err != 0);
	return arg;
}

static void cancel_or_drain(void *arg, unsigned i)
{
	weft_fiber **f = arg;

	for (size_t j = 0; i != 0 && j < 8; j++)
		(void)weft_cancel(f[j]);
	if (i == 0)
		weft_group_done(&shared);
}

static void cancelled_fibers_leave_the_list(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber_attr attr = { .name = "cancelled" };
	size_t n = kit_rounds(400);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		weft_fiber *f[8];

		weft_group_add(&shared, 1);
		for (int j = 0; j < 8; j++)
			assert_int_equal(weft_rt_spawn(rt, &f[j], &attr,
						 wait_shared, NULL),
				0);
		if (i % 2)
			wait_for_word(&shared, ONE | WAITERS);
		threads_run(2, cancel_or_drain, f);
		for (int j = 0; j < 8; j++)
			assert_int_equal(
				weft_join(f[j], NULL, WEFT_FOREVER), 0);
		assert_int_equal(word(&shared), 0);
		assert_null(shared.waiters_[0]);
	}
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_word_counts),
		cmocka_unit_test(a_waiter_that_times_out_leaves_only_a_bit),
		cmocka_unit_test(a_drain_wakes_all_waiters),
		cmocka_unit_test(misuse_ends_the_program),
		cmocka_unit_test(it_may_be_freed_when_the_wait_is_over),
		cmocka_unit_test(giving_up_while_it_drains_is_safe),
		cmocka_unit_test(cancelled_fibers_leave_the_list),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
