/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/locks_test.c - locks that are taken in a circle fail the run, even
 * if nobody gets stuck in it.
 */
#include "sim/sim_kit.h"

#include "os/lock.h"

static struct wf_lock a, b, c;

static void nest(struct wf_lock *outer, struct wf_lock *inner)
{
	wf_lock(outer);
	wf_lock(inner);
	wf_unlock(inner);
	wf_unlock(outer);
}

/* One thread alone can never get stuck in it. */
static void crosswise(void *arg)
{
	(void)arg;
	weft_sim_name(&a, sizeof(a), "the first lock");
	nest(&a, &b);
	nest(&b, &a);
}

static void a_circle_of_two_fails(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(crosswise, 0, "lock order", &r);
	kit_says(r.message, "thread 0 (main) takes the lock in the first lock");
	assert_int_equal(r.schedules, 1);
}

static void around_three(void *arg)
{
	(void)arg;
	nest(&a, &b);
	nest(&b, &c);
	nest(&c, &a);
}

static void a_circle_of_three_fails(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(around_three, 0, "lock order", &r);
}

/* The halves of the circle are two threads', one after the other. */
static void first_half(void *arg)
{
	(void)arg;
	nest(&a, &b);
}

static void second_half(void *arg)
{
	(void)arg;
	nest(&b, &a);
}

static void two_threads(void *arg)
{
	(void)arg;
	kit_join(kit_thread(first_half, NULL, "first"));
	kit_join(kit_thread(second_half, NULL, "second"));
}

static void threads_share_one_order(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(two_threads, 0, "lock order", &r);
	kit_says(r.message, "2 (second)");
}

static void in_order(void *arg)
{
	(void)arg;
	nest(&a, &b);
	nest(&a, &c);
	nest(&b, &c);
	nest(&a, &b);
}

static void both_in_order(void *arg)
{
	(void)arg;
	kit_pair(in_order, in_order);
}

/* Not held together: no order. */
static void not_nested(void *arg)
{
	(void)arg;
	wf_lock(&a);
	wf_unlock(&a);
	wf_lock(&b);
	wf_unlock(&b);
	wf_lock(&a);
	wf_unlock(&a);
}

static void one_order_is_good(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 2000;
	kit_passes(&o, both_in_order, NULL, &r);
	kit_holds(in_order, 0);
	kit_holds(not_nested, 0);
}

/* A thread that only tries a lock waits for no other. */
static void try_crosswise(void *arg)
{
	(void)arg;
	nest(&a, &b);
	wf_lock(&b);
	weft_sim_assert(wf_trylock(&a), "not free");
	wf_unlock(&a);
	wf_unlock(&b);
}

/* But what it got it holds. */
static void wait_behind_a_try(void *arg)
{
	(void)arg;
	nest(&a, &b);
	weft_sim_assert(wf_trylock(&b), "not free");
	wf_lock(&a);
	wf_unlock(&a);
	wf_unlock(&b);
}

static void trying_is_no_order(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_holds(try_crosswise, 0);
	kit_breaks(wait_behind_a_try, 0, "lock order", &r);
}

/* An order is one run's: the next may have another. */
static void either_order(void *arg)
{
	(void)arg;
	if (weft_sim_either(2) == 0)
		nest(&a, &b);
	else
		nest(&b, &a);
}

static void runs_have_their_own_order(void **state)
{
	(void)state;
	kit_holds(either_order, 0);
}

/* More locks than the simulator can follow do not fail the run. */
static struct wf_lock many[100];

static void use_many(void *arg)
{
	(void)arg;
	for (int i = 0; i < 100; i++)
		nest(&many[i], &many[(i + 50) % 100]);
	crosswise(NULL);
}

static void many_in_order(void *arg)
{
	(void)arg;
	for (int i = 0; i < 99; i++)
		nest(&many[i], &many[i + 1]);
}

static void the_first_locks_are_followed(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 10;
	kit_fails(&o, use_many, NULL, "lock order", &r);
	kit_passes(&o, many_in_order, NULL, &r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_circle_of_two_fails),
		cmocka_unit_test(a_circle_of_three_fails),
		cmocka_unit_test(threads_share_one_order),
		cmocka_unit_test(one_order_is_good),
		cmocka_unit_test(trying_is_no_order),
		cmocka_unit_test(runs_have_their_own_order),
		cmocka_unit_test(the_first_locks_are_followed),
	};

	return cmocka_run_group_tests(tests, kit_setup, NULL);
}
