/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/spread_test.c - the fibers of a program meet within few schedules,
 * on several workers and on one, though the program never yields.
 */
#include "sim/sim_kit.h"

#include <weft/weft.h>

#include "sched/runtime.h"

static uint64_t *kept;

/* The options of a user who says nothing. */
static weft_sim_opts user_opts(uint64_t seed, uint64_t schedules)
{
	return (weft_sim_opts){ .name = "spread",
		.seed = seed,
		.schedules = schedules,
		.flags = WEFT_SIM_QUIET | WEFT_SIM_NO_SHRINK };
}

static void join_all(weft_fiber **f, size_t n)
{
	for (size_t i = 0; i < n; i++)
		weft_sim_assert(
			weft_join(f[i], NULL, WEFT_FOREVER) == 0, "no join");
}

static void run(int (*fn)(void *), unsigned workers, unsigned coop_budget)
{
	weft_config c = { .workers = workers, .coop_budget = coop_budget };

	weft_sim_assert(weft_run(&c, fn, NULL) == 0, "weft_run");
}

/* ---------------------------------------------------------- philosophers */

#define SEATS 3

/* Forks are semaphores: these have no order that could be checked. */
static weft_sem fork_of[SEATS];

static void *philosopher(void *arg)
{
	weft_sem *left = arg;
	weft_sem *right = left == &fork_of[SEATS - 1] ? fork_of : left + 1;

	weft_sim_assert(weft_sem_acquire(left, WEFT_FOREVER) == 0, "left");
	weft_sim_assert(weft_sem_acquire(right, WEFT_FOREVER) == 0, "right");
	weft_sem_release(right, 1);
	weft_sem_release(left, 1);
	return NULL;
}

static int dine(void *arg)
{
	weft_fiber *f[SEATS];

	(void)arg;
	for (size_t i = 0; i < SEATS; i++)
		weft_sem_release(&fork_of[i], 1);
	for (size_t i = 0; i < SEATS; i++)
		weft_sim_assert(weft_spawn(&f[i], NULL, philosopher,
					&fork_of[i]) == 0,
			"no fiber");
	join_all(f, SEATS);
	return 0;
}

static void dinner(void *workers)
{
	run(dine, (unsigned)(uintptr_t)workers, 0);
}

static void philosophers_deadlock(void **state)
{
	weft_sim_report r;

	(void)state;
	for (uintptr_t workers = 1; workers <= 3; workers++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			weft_sim_opts o = user_opts(seed, 1000);

			kit_fails(&o, dinner, (void *)workers, "deadlock", &r);
			assert_int_equal(weft_sim_replay(&o, dinner,
						 (void *)workers, r.token, &r),
				1);
			assert_string_equal(r.oracle, "deadlock");
		}
}

/* A bounded search comes too seldom to a schedule with three surprises. */
static void each_random_mode_finds_it(void **state)
{
	const uint32_t modes[] = { WEFT_SIM_WALK, WEFT_SIM_PCT, WEFT_SIM_URW };
	weft_sim_report r;

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		weft_sim_opts o = user_opts(1, 1000);

		o.modes = modes[i];
		kit_fails(&o, dinner, (void *)2, "deadlock", &r);
	}
}

/* The flag keeps them together: in each of these schedules all eat. */
static void the_economy_keeps_them_together(void **state)
{
	weft_sim_opts o = user_opts(1, 1000);
	weft_sim_report r;

	(void)state;
	o.flags |= WEFT_SIM_ECONOMY;
	kit_passes(&o, dinner, (void *)1, &r);
}

/* Two mutexes in opposite order: the fibers get stuck, or their order shows. */
static weft_mutex mutex_of[2];

static void *crosswise(void *arg)
{
	bool other = arg != NULL;

	weft_mutex_lock(&mutex_of[other]);
	weft_mutex_lock(&mutex_of[!other]);
	weft_mutex_unlock(&mutex_of[!other]);
	weft_mutex_unlock(&mutex_of[other]);
	return NULL;
}

static int two_crosswise(void *arg)
{
	weft_fiber *f[2];

	(void)arg;
	for (size_t i = 0; i < 2; i++)
		weft_sim_assert(weft_spawn(&f[i], NULL, crosswise,
					i > 0 ? f : NULL) == 0,
			"no fiber");
	join_all(f, 2);
	return 0;
}

static void crosswise_body(void *arg)
{
	(void)arg;
	run(two_crosswise, 2, 0);
}

static void the_first_schedule_shows_opposite_orders(void **state)
{
	weft_sim_report r;

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		weft_sim_opts o = user_opts(seed, 1);

		assert_int_equal(
			weft_sim_explore(&o, crosswise_body, NULL, &r), 1);
		if (strcmp(r.oracle, "lock order") != 0)
			assert_string_equal(r.oracle, "deadlock");
	}
}

/* ----------------------------------------------------------------- races */

static unsigned counter;

static void *increment(void *arg)
{
	counter++;
	return arg;
}

static int increment_twice(void *arg)
{
	weft_fiber *f[2];

	for (size_t i = 0; i < 2; i++)
		weft_sim_assert(weft_spawn(&f[i], NULL, increment, arg) == 0,
			"no fiber");
	join_all(f, 2);
	return 0;
}

static void incremented(void *arg)
{
	(void)arg;
	run(increment_twice, 2, 0);
}

/* They make no call, so only two workers at one time show it. */
static void two_workers_run_at_one_time(void **state)
{
	weft_sim_report r;

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		weft_sim_opts o = user_opts(seed, 50);

		kit_fails(&o, incremented, NULL, "race", &r);
	}
}

/* -------------------------------------------------------------- settings */

enum { GLOBAL, STEALING, OTHER };

static void note_policy(void *arg)
{
	weft_config c = { .workers = 1, .policy = arg };
	weft_rt *rt;

	weft_sim_assert(weft_rt_start(&rt, &c) == 0, "no runtime");
	if (rt->policy.wake != WEFT_WAKE_GO)
		kit_count(&kept[OTHER]);
	else if (rt->policy.queue == WEFT_QUEUE_GLOBAL)
		kit_count(&kept[GLOBAL]);
	else
		kit_count(&kept[STEALING]);
	weft_sim_assert(weft_rt_stop(rt, WEFT_FOREVER) == 0, "no stop");
}

static void a_policy_of_the_program_stays(void **state)
{
	weft_policy gate = { .wake = WEFT_WAKE_GATE };
	weft_sim_opts o = user_opts(1, 100);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	kit_passes(&o, note_policy, NULL, &r);
	assert_true(kept[GLOBAL] > 10 && kept[STEALING] > 10);
	assert_int_equal(kept[OTHER], 0);
	memset(kept, 0, 4096);
	kit_passes(&o, note_policy, &gate, &r);
	assert_int_equal(kept[GLOBAL] + kept[STEALING], 0);
	o.flags |= WEFT_SIM_ECONOMY;
	kit_passes(&o, note_policy, NULL, &r);
	assert_int_equal(kept[GLOBAL] + kept[STEALING], 0);
}

/*
 * Two fibers call, and note in which order they come by.  Their mutexes are not
 * on a stack, where other atomics may have been before ("mixed sizes").
 */
static void *call_often(void *name)
{
	static weft_mutex mutex[2];
	weft_mutex *m = &mutex[(uintptr_t)name - 1];

	for (int i = 0; i < 4; i++) {
		kit_set(kept, kit_get(kept) * 4 + (uintptr_t)name);
		weft_mutex_lock(m);
		weft_mutex_unlock(m);
	}
	return NULL;
}

static int two_call(void *arg)
{
	weft_fiber *f[2];

	(void)arg;
	for (uintptr_t i = 0; i < 2; i++)
		weft_sim_assert(weft_spawn(&f[i], NULL, call_often,
					(void *)(i + 1)) == 0,
			"no fiber");
	join_all(f, 2);
	return 0;
}

static uint64_t *orders;

/* How many orders there were is counted in orders[0]. */
static void note_order(void *coop_budget)
{
	uint64_t i = 1;

	kit_set(kept, 0);
	run(two_call, 1, (unsigned)(uintptr_t)coop_budget);
	while (i <= kit_get(orders) && kit_get(&orders[i]) != kit_get(kept))
		i++;
	if (i > kit_get(orders)) {
		kit_set(&orders[i], kit_get(kept));
		kit_set(orders, i);
	}
}

static void a_fiber_gives_way_at_any_call(void **state)
{
	weft_sim_opts o = user_opts(1, 400);
	weft_sim_report r;

	(void)state;
	memset(orders, 0, 4096);
	kit_passes(&o, note_order, NULL, &r);
	assert_true(orders[0] > 20);
	/* It does so at each call: there is nothing to choose. */
	memset(orders, 0, 4096);
	kit_passes(&o, note_order, (void *)1, &r);
	assert_true(orders[0] <= 2);
	/* More calls than the search chooses among. */
	memset(orders, 0, 4096);
	kit_passes(&o, note_order, (void *)1000, &r);
	assert_true(orders[0] > 20);
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	orders = kit_keep(4096);
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philosophers_deadlock),
		cmocka_unit_test(each_random_mode_finds_it),
		cmocka_unit_test(the_economy_keeps_them_together),
		cmocka_unit_test(the_first_schedule_shows_opposite_orders),
		cmocka_unit_test(two_workers_run_at_one_time),
		cmocka_unit_test(a_policy_of_the_program_stays),
		cmocka_unit_test(a_fiber_gives_way_at_any_call),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
