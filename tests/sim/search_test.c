/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/search_test.c - each way of searching finds what it should; the
 * bounded one sees every schedule within its bounds once, and no other.
 */
#include "sim/sim_kit.h"

#include "os/os.h"
#include "sim/memory.h"

static uint64_t *kept;
static _Atomic(uint32_t) x, y;

static void step(_Atomic(uint32_t) *p)
{
	kit_use(atomic_fetch_add_explicit(p, 1, memory_order_relaxed));
}

static weft_sim_opts bounds(
	uint32_t preemptions, uint32_t stales, uint32_t surprises)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);

	o.preemptions = preemptions;
	o.stales = stales;
	o.surprises = surprises;
	return o;
}

/* ----------------------------------------------------------- random ways */

static void add_badly(void *arg)
{
	uint32_t v = kit_newest(&x);

	(void)arg;
	atomic_store_explicit(&x, v + 1, memory_order_relaxed);
}

static void lose_an_update(void *arg)
{
	(void)arg;
	kit_pair(add_badly, add_badly);
	weft_sim_assert(kit_newest(&x) == 2, "an update is lost");
}

static void write_both(void *arg)
{
	(void)arg;
	atomic_store_explicit(&x, 1, memory_order_relaxed);
	atomic_store_explicit(&y, 1, memory_order_relaxed);
}

static void read_both(void *arg)
{
	uint32_t b = atomic_load_explicit(&y, memory_order_relaxed);
	uint32_t a = atomic_load_explicit(&x, memory_order_relaxed);

	(void)arg;
	weft_sim_assert(b == 0 || a == 1, "the second without the first");
}

static void read_out_of_order(void *arg)
{
	(void)arg;
	kit_pair(write_both, read_both);
}

static const uint32_t ways[] = { WEFT_SIM_WALK, WEFT_SIM_PCT, WEFT_SIM_URW };

static void every_random_way_finds_a_bug(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			weft_sim_opts o = kit_opts(ways[i], 0);
			weft_sim_report r;

			o.seed = seed;
			o.schedules = 1000;
			kit_fails(&o, lose_an_update, NULL, "assertion", &r);
			kit_fails(&o, read_out_of_order, NULL, "assertion", &r);
			assert_int_equal(r.seed, seed);
		}
}

/* All searches together find the bug, too. */
static void the_default_is_all_of_them(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);
	weft_sim_report r;

	(void)state;
	kit_fails(&o, lose_an_update, NULL, "assertion", &r);
}

/* Neighbouring seeds are not the same search. */
static void count_schedules(void *arg)
{
	uint64_t v = kit_get(&kept[0]);

	(void)arg;
	for (int i = 0; i < 8; i++)
		v = v * 31 + weft_sim_either(16);
	kit_set(&kept[0], v);
}

static void seeds_are_different_searches(void **state)
{
	uint64_t seen[20];

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
		weft_sim_report r;

		o.seed = seed + 1;
		o.schedules = 1;
		kept[0] = 0;
		kit_passes(&o, count_schedules, NULL, &r);
		seen[seed] = kept[0];
		for (uint64_t i = 0; i < seed; i++)
			assert_true(seen[i] != seen[seed]);
	}
}

static void note_once(void *arg)
{
	uint64_t *slot = &kept[kit_count(&kept[0]) + 1], v = 0;

	(void)arg;
	for (int i = 0; i < 8; i++)
		v = v << 4 | weft_sim_either(16);
	kit_set(slot, v);
}

/* How many of the schedules of seed b were among those of seed a? */
static void seeds_do_not_overlap(void **state)
{
	enum { RUNS = 200 };
	uint64_t first[2 * RUNS];
	unsigned same = 0;

	(void)state;
	for (int k = 0; k < 2; k++) {
		weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
		weft_sim_report r;

		memset(kept, 0, 4096);
		o.seed = 7 + (uint64_t)k;
		o.schedules = RUNS;
		kit_passes(&o, note_once, NULL, &r);
		assert_true(kept[0] >= RUNS && kept[0] < 2 * RUNS);
		if (k == 0)
			memcpy(first, &kept[1], sizeof(first[0]) * RUNS);
	}
	for (int i = 0; i < RUNS; i++)
		for (int j = 0; j < RUNS; j++)
			same += first[i] == kept[1 + j];
	assert_true(same < 5);
}

static void wait_without_yield(void *arg)
{
	(void)arg;
	while (atomic_load_explicit(&x, memory_order_relaxed) == 0)
		;
}

static void set_x(void *arg)
{
	(void)arg;
	atomic_store_explicit(&x, 1, memory_order_relaxed);
}

static void spin_until_set(void *arg)
{
	(void)arg;
	kit_pair(wait_without_yield, set_x);
}

/* Priorities alone would let the one that spins run for ever. */
static void random_ways_are_fair_in_the_end(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		weft_sim_opts o = kit_opts(ways[i], 0);
		weft_sim_report r;

		o.schedules = 500;
		kit_passes(&o, spin_until_set, NULL, &r);
	}
}

/* For most priorities: three spin, one of which the last one has to end. */
static void spin_mostly(void *arg)
{
	int spins[3];

	(void)arg;
	for (int i = 0; i < 3; i++)
		spins[i] = kit_thread(wait_without_yield, NULL, "spins");
	kit_join(kit_thread(set_x, NULL, "ends"));
	for (int i = 0; i < 3; i++)
		kit_join(spins[i]);
}

/* Even if run after run is long, and so what is thought to be long. */
static void long_runs_do_not_put_fairness_off(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_PCT, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 2000;
	kit_passes(&o, spin_mostly, NULL, &r);
}

/* Notes which thread takes each step, and how often that changes. */
static void note_steps(void *arg)
{
	for (int i = 0; i < 25; i++) {
		uint64_t last = kit_get(&kept[0]);

		if (last != (uintptr_t)arg)
			kit_count(&kept[1]);
		kit_set(&kept[0], (uintptr_t)arg);
		step(&x);
	}
}

static void note_switches(void *arg)
{
	int a = kit_thread(note_steps, (void *)1, "a");
	int b = kit_thread(note_steps, (void *)2, "b");

	(void)arg;
	kit_set(&kept[0], 0);
	kit_set(&kept[1], 0);
	kit_join(a);
	kit_join(b);
	if (kit_get(&kept[1]) > kit_get(&kept[2]))
		kit_set(&kept[2], kit_get(&kept[1]));
}

/* Two threads begin, and the priorities change at most four times. */
static void few_changes_of_priority(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_PCT, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	o.schedules = 2000;
	kit_passes(&o, note_switches, NULL, &r);
	assert_in_range(kept[2], 4, 2 + 4);
	o.modes = WEFT_SIM_WALK;
	memset(kept, 0, 4096);
	kit_passes(&o, note_switches, NULL, &r);
	assert_true(kept[2] > 10);
}

/* One step of a, anywhere among nine of b. */
static void one_step(void *arg)
{
	(void)arg;
	kit_use(atomic_fetch_add_explicit(&x, 1, memory_order_relaxed));
	kit_count(&kept[kit_get(&kept[15])]);
}

static void nine_steps(void *arg)
{
	(void)arg;
	for (int i = 0; i < 9; i++) {
		step(&x);
		kit_count(&kept[15]);
	}
}

static void one_among_nine(void *arg)
{
	(void)arg;
	kit_set(&kept[15], 0);
	kit_pair(one_step, nine_steps);
}

/* A walk would rather see it at one of the ends. */
static void interleavings_are_about_equally_likely(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_URW, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	o.schedules = 10000;
	kit_passes(&o, one_among_nine, NULL, &r);
	for (int i = 0; i < 10; i++)
		assert_in_range(kept[i], 400, 2500);
}

/* --------------------------------------------------------------- bounded */

/*
 * The first thread takes two steps beside another one that takes three.  Each
 * thread's end is one more point, and so is the call that joins.
 *
 *	0 preemptions	1: the other one runs when the first waits for it
 *	1		1 + 3: before either step of the first, or before its
 *			wait; from there the other one runs to its end
 *	2		1 + 3 * (1 + 4): the other one can be left before its
 *			three steps and before its end
 *	3		all that, and from each of these 3 * 4 back again before
 *			what the first has still to do: 4 * (2 + 1 + 0) more
 *
 * Bounds are tried in turn, so what is reported is the sum.
 */
static void three_steps(void *arg)
{
	(void)arg;
	for (int i = 0; i < 3; i++)
		step(&y);
}

static void two_beside_three(void *arg)
{
	int id = kit_thread(three_steps, NULL, "other");

	(void)arg;
	step(&x);
	step(&x);
	kit_join(id);
}

static void preemptions_are_all_tried(void **state)
{
	static const uint64_t expected[] = { 1, 1 + 4, 1 + 4 + 16,
		1 + 4 + 16 + 28 };

	(void)state;
	for (uint32_t n = 0; n < 4; n++) {
		weft_sim_opts o = bounds(n, 1, 0);
		weft_sim_report r;

		kit_passes(&o, two_beside_three, NULL, &r);
		assert_int_equal(r.schedules, expected[n]);
	}
}

/* No schedule has more preemptions than points, whatever is allowed. */
static void bounds_beyond_need_cost_nothing(void **state)
{
	weft_sim_opts o = bounds(20, 1, 0);
	weft_sim_report r;
	uint64_t all;

	(void)state;
	kit_passes(&o, two_beside_three, NULL, &r);
	all = r.schedules;
	assert_true(all > 49);
	o.preemptions = 2000;
	kit_passes(&o, two_beside_three, NULL, &r);
	assert_int_equal(r.schedules, all);
}

/* Which of them goes first when nobody runs costs nothing: 3 * 2 orders. */
static void note_order(void *arg)
{
	kit_set(&kept[0], kit_get(&kept[0]) * 4 + (uintptr_t)arg);
}

static void three_in_any_order(void *arg)
{
	int id[3];

	(void)arg;
	kit_set(&kept[0], 0);
	for (uintptr_t i = 0; i < 3; i++)
		id[i] = kit_thread(note_order, (void *)(i + 1), "t");
	weft_sim_quiesce();
	kit_count(&kept[kit_get(&kept[0])]);
	for (int i = 0; i < 3; i++)
		kit_join(id[i]);
}

static void orders_cost_nothing(void **state)
{
	static const unsigned orders[] = { 1 * 16 + 2 * 4 + 3,
		1 * 16 + 3 * 4 + 2, 2 * 16 + 1 * 4 + 3, 2 * 16 + 3 * 4 + 1,
		3 * 16 + 1 * 4 + 2, 3 * 16 + 2 * 4 + 1 };
	weft_sim_opts o = bounds(0, 1, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	kit_passes(&o, three_in_any_order, NULL, &r);
	assert_int_equal(r.schedules, 6);
	for (int i = 0; i < 6; i++)
		assert_int_equal(kept[orders[i]], 1);
}

static void load_twice(void *arg)
{
	uint32_t a = atomic_load_explicit(&x, memory_order_relaxed);
	uint32_t b = atomic_load_explicit(&x, memory_order_relaxed);

	(void)arg;
	kit_count(&kept[2 * a + b]);
}

static void store_beside(void *arg)
{
	int id = kit_thread(load_twice, NULL, "reader");

	(void)arg;
	atomic_store_explicit(&x, 1, memory_order_relaxed);
	kit_join(id);
}

/* The reader comes last, and may still see the old value: once, or twice. */
static void stale_loads_are_all_tried(void **state)
{
	static const uint64_t seen[3][4] = { { 0, 0, 0, 1 }, { 0, 1, 0, 1 },
		{ 1, 1, 0, 1 } };

	(void)state;
	for (uint32_t n = 0; n < 3; n++) {
		weft_sim_opts o = bounds(0, n, 1);
		weft_sim_report r;

		memset(kept, 0, 4096);
		kit_passes(&o, store_beside, NULL, &r);
		assert_int_equal(r.schedules, n + 1);
		assert_memory_equal(kept, seen[n], sizeof(seen[n]));
	}
}

/* A call that may fail and a compare-and-swap that may: by itself, by both. */
static void two_surprises(void *arg)
{
	uint64_t expected = 0;
	bool fault = weft_sim_fault("here", 10);
	bool done = wf_sim_cas(&x, 4, &expected, 1, __ATOMIC_RELAXED,
		__ATOMIC_RELAXED, true, 1);

	(void)arg;
	kit_count(&kept[2 * fault + !done]);
}

static void surprises_are_all_tried(void **state)
{
	static const uint64_t seen[3][4] = { { 1, 0, 0, 0 }, { 1, 1, 1, 0 },
		{ 1, 1, 1, 1 } };

	(void)state;
	for (uint32_t n = 0; n < 3; n++) {
		weft_sim_opts o = bounds(0, 1, n);
		weft_sim_report r;

		memset(kept, 0, 4096);
		kit_passes(&o, two_surprises, NULL, &r);
		assert_memory_equal(kept, seen[n], sizeof(seen[n]));
	}
}

static void choose(void *arg)
{
	unsigned a = weft_sim_either(5), b = 0;

	(void)arg;
	weft_sim_assert(weft_sim_either(1) == 0, "one of one");
	if (a != 3)
		b = weft_sim_either(3);
	weft_sim_assert(a < 5 && b < 3, "%u and %u", a, b);
	kit_count(&kept[3 * a + b]);
}

static void either_tries_every_value(void **state)
{
	weft_sim_opts o = bounds(0, 1, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	kit_passes(&o, choose, NULL, &r);
	assert_int_equal(r.schedules, 4 * 3 + 1);
	for (unsigned i = 0; i < 15; i++)
		assert_int_equal(kept[i], i != 10 && i != 11);
	for (int i = 0; i < 3; i++) {
		o = kit_opts(ways[i], 0);
		o.schedules = 1000;
		memset(kept, 0, 4096);
		kit_passes(&o, choose, NULL, &r);
		for (unsigned k = 0; k < 15; k++)
			assert_true((kept[k] > 20) == (k != 10 && k != 11));
	}
}

/* More choices at one point than a number of one byte can tell apart. */
static void choose_often(void *arg)
{
	unsigned v[600];

	(void)arg;
	for (int i = 0; i < 600; i++)
		v[i] = weft_sim_either(2);
	weft_sim_assert(v[0] == v[256] || v[1] == v[257] || v[511] == v[255],
		"all differ");
}

static void many_choices_are_told_apart(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r, again;

	(void)state;
	kit_fails(&o, choose_often, NULL, "assertion", &r);
	assert_string_equal(r.message, "all differ");
	assert_int_equal(
		weft_sim_replay(&o, choose_often, NULL, r.shrunk, &again), 1);
	assert_string_equal(again.message, "all differ");
}

/* ------------------------------------------------------- depth of a bug */

/*
 * The first thread counts to three.  The other one looks, and that it saw these
 * values one after the other needs so many preemptions: the first is left at
 * one, the other after it has seen that, the first again at two.
 */
static void look_for_depth(void *arg)
{
	uintptr_t depth = (uintptr_t)arg;
	uint32_t a = kit_newest(&x), b = depth > 1 ? kit_newest(&x) : 0;

	if (depth == 0)
		weft_sim_assert(a != 3, "depth 0");
	if (depth == 1)
		weft_sim_assert(a != 1, "depth 1");
	if (depth == 2)
		weft_sim_assert(a != 1 || b != 3, "depth 2");
	if (depth == 3)
		weft_sim_assert(a != 1 || b != 2, "depth 3");
}

static void count_to_three(void *arg)
{
	int id = kit_thread(look_for_depth, arg, "looks");

	for (int i = 0; i < 3; i++)
		step(&x);
	kit_join(id);
}

static void bugs_are_found_from_their_depth_on(void **state)
{
	(void)state;
	for (uint32_t n = 0; n < 4; n++)
		for (uintptr_t depth = 0; depth < 4; depth++) {
			weft_sim_opts o = bounds(n, 1, 1);
			weft_sim_report r;
			char says[16];

			if (depth > n) {
				kit_passes(
					&o, count_to_three, (void *)depth, &r);
				continue;
			}
			kit_fails(&o, count_to_three, (void *)depth,
				"assertion", &r);
			snprintf(says, sizeof(says), "depth %u",
				(unsigned)depth);
			assert_string_equal(r.message, says);
			assert_false(r.complete);
		}
}

/* ----------------------------------------------------------- incomplete */

/* With no preemption it spins for ever; that is cut off, and admitted. */
static void a_spin_that_is_cut_off_is_not_complete(void **state)
{
	weft_sim_opts o = bounds(0, 1, 0);
	weft_sim_report r;

	(void)state;
	o.steps = 300;
	assert_int_equal(weft_sim_explore(&o, spin_until_set, NULL, &r), 0);
	assert_false(r.failed);
	assert_false(r.complete);
	assert_true(r.schedules > 0);
}

static void a_budget_that_ends_is_not_complete(void **state)
{
	weft_sim_opts o = bounds(3, 1, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 48;
	assert_int_equal(weft_sim_explore(&o, two_beside_three, NULL, &r), 0);
	assert_int_equal(r.schedules, 48);
	assert_false(r.complete);
	o = kit_opts(WEFT_SIM_WALK, 0);
	o.schedules = 48;
	assert_int_equal(weft_sim_explore(&o, two_beside_three, NULL, &r), 0);
	assert_false(r.complete);
}

/* Beside the random ways, the bounded one gets to its end as well. */
static void all_ways_together_can_be_complete(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 3000;
	kit_passes(&o, two_beside_three, NULL, &r);
	assert_true(r.complete);
	assert_int_equal(r.schedules, 3000);
}

/* A thread that waits in a loop lets others run without a preemption. */
static void wait_with_yield(void *arg)
{
	(void)arg;
	while (kit_newest(&x) == 0)
		weft_sim_yield();
}

static void yield_until_set(void *arg)
{
	(void)arg;
	kit_pair(wait_with_yield, set_x);
}

static void yields_are_no_preemptions(void **state)
{
	weft_sim_opts o = bounds(0, 1, 0);
	weft_sim_report r;

	(void)state;
	o.steps = 300;
	kit_passes(&o, yield_until_set, NULL, &r);
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_random_way_finds_a_bug),
		cmocka_unit_test(the_default_is_all_of_them),
		cmocka_unit_test(seeds_are_different_searches),
		cmocka_unit_test(seeds_do_not_overlap),
		cmocka_unit_test(random_ways_are_fair_in_the_end),
		cmocka_unit_test(long_runs_do_not_put_fairness_off),
		cmocka_unit_test(few_changes_of_priority),
		cmocka_unit_test(interleavings_are_about_equally_likely),
		cmocka_unit_test(preemptions_are_all_tried),
		cmocka_unit_test(bounds_beyond_need_cost_nothing),
		cmocka_unit_test(orders_cost_nothing),
		cmocka_unit_test(stale_loads_are_all_tried),
		cmocka_unit_test(surprises_are_all_tried),
		cmocka_unit_test(either_tries_every_value),
		cmocka_unit_test(many_choices_are_told_apart),
		cmocka_unit_test(bugs_are_found_from_their_depth_on),
		cmocka_unit_test(a_spin_that_is_cut_off_is_not_complete),
		cmocka_unit_test(a_budget_that_ends_is_not_complete),
		cmocka_unit_test(all_ways_together_can_be_complete),
		cmocka_unit_test(yields_are_no_preemptions),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
