/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/memory_test.c - loads see what C11 lets them see, as far back as
 * stores are kept; compare-and-swaps fail when they may; and what cannot be
 * modelled is said.
 *
 * tests/sim/litmus.c has the whole table of what is allowed; here is one test
 * for each part of the model.
 */
#include "sim/sim_kit.h"

#include "base/atomic.h"
#include "os/os.h"
#include "sim/memory.h"

static uint64_t *kept;
static _Atomic(uint32_t) x, y;
static uint32_t data;

static uint32_t load(_Atomic(uint32_t) *p)
{
	return atomic_load_explicit(p, memory_order_relaxed);
}

static void store(_Atomic(uint32_t) *p, uint32_t v)
{
	atomic_store_explicit(p, v, memory_order_relaxed);
}

static void add(_Atomic(uint32_t) *p, uint32_t v)
{
	kit_use(atomic_fetch_add_explicit(p, v, memory_order_relaxed));
}

static void explore(void (*body)(void *), uint32_t stales, uint32_t flags)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, flags);
	weft_sim_report r;

	memset(kept, 0, 4096);
	o.preemptions = 2;
	o.stales = stales;
	kit_passes(&o, body, NULL, &r);
}

/* ------------------------------------------------------------ how far back */

static void read_once(void *arg)
{
	(void)arg;
	kit_count(&kept[load(&x)]);
}

static void store_twenty(void *arg)
{
	int id = kit_thread(read_once, NULL, "reader");

	(void)arg;
	for (uint32_t i = 1; i <= 20; i++)
		store(&x, i);
	kit_join(id);
}

/* When all are made, the last eight can be read; and the newest if STRONG. */
static void eight_stores_are_kept(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	o.stales = 1;
	kit_passes(&o, store_twenty, NULL, &r);
	for (unsigned i = 0; i <= 20; i++)
		assert_int_equal(kept[i], i > 20 - WF_SIM_STORES);
	memset(kept, 0, 4096);
	o.flags |= WEFT_SIM_STRONG;
	kit_passes(&o, store_twenty, NULL, &r);
	for (unsigned i = 0; i <= 20; i++)
		assert_int_equal(kept[i], i == 20);
}

static void read_often(void *arg)
{
	uint64_t old = 0;

	(void)arg;
	while (load(&x) == 0)
		old++;
	kit_count(&kept[old]);
}

static void store_once(void *arg)
{
	int id = kit_thread(read_often, NULL, "reader");

	(void)arg;
	store(&x, 1);
	kit_join(id);
}

/* Then it must be the newest, or a loop that waits would have no end. */
static void three_old_values_in_a_row(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	o.stales = 10;
	o.steps = 500;
	kit_passes(&o, store_once, NULL, &r);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(kept[i], i <= WF_SIM_STALES);
}

/* A thread that has seen a store never reads an older one. */
static void read_in_order(void *arg)
{
	uint32_t a = load(&x), b = load(&x);

	(void)arg;
	weft_sim_assert(b >= a, "%u after %u", b, a);
	kit_count(&kept[8 * a + b]);
}

static void count_to_two(void *arg)
{
	(void)arg;
	store(&x, 1);
	store(&x, 2);
}

static void coherent(void *arg)
{
	(void)arg;
	kit_pair(count_to_two, read_in_order);
}

static void nobody_goes_back(void **state)
{
	(void)state;
	explore(coherent, 2, 0);
	assert_true(kept[8 * 0 + 0] && kept[8 * 0 + 1] && kept[8 * 0 + 2] &&
		kept[8 * 1 + 1] && kept[8 * 1 + 2] && kept[8 * 2 + 2]);
}

/* Start, join and the writer's own program order are orders too. */
static void read_own(void *arg)
{
	(void)arg;
	weft_sim_assert(load(&x) >= 1, "older than the start");
	store(&x, 5);
	weft_sim_assert(load(&x) == 5, "older than one's own");
}

static void start_and_join(void *arg)
{
	(void)arg;
	store(&x, 1);
	kit_join(kit_thread(read_own, NULL, "t"));
	weft_sim_assert(load(&x) == 5, "older than the join");
}

static void starts_and_joins_are_seen(void **state)
{
	(void)state;
	explore(start_and_join, 3, 0);
}

/* -------------------------------------------------- sequential consistency */

static memory_order sb_order;
static bool sb_fence;

static uint32_t write_and_read(_Atomic(uint32_t) *mine, _Atomic(uint32_t) *its)
{
	atomic_store_explicit(mine, 1, sb_order);
	if (sb_fence)
		atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(its, sb_order);
}

static uint32_t result[2];

static void sb_first(void *arg)
{
	(void)arg;
	result[0] = write_and_read(&x, &y);
}

static void sb_second(void *arg)
{
	(void)arg;
	result[1] = write_and_read(&y, &x);
}

static void store_buffers(void *arg)
{
	(void)arg;
	kit_pair(sb_first, sb_second);
	kit_count(&kept[2 * result[0] + result[1]]);
}

static void only_seq_cst_sees_one_of_two(void **state)
{
	(void)state;
	sb_order = memory_order_relaxed;
	explore(store_buffers, 2, 0);
	assert_true(kept[0] > 0 && kept[1] > 0 && kept[2] > 0 && kept[3] > 0);
	explore(store_buffers, 2, WEFT_SIM_STRONG);
	assert_true(kept[0] == 0 && kept[1] > 0);
	sb_fence = true;
	explore(store_buffers, 2, 0);
	assert_true(kept[0] == 0 && kept[1] > 0 && kept[2] > 0 && kept[3] > 0);
	sb_fence = false;
	sb_order = memory_order_seq_cst;
	explore(store_buffers, 2, 0);
	assert_true(kept[0] == 0 && kept[1] > 0 && kept[2] > 0 && kept[3] > 0);
}

/* One side with a light fence, the other with a membarrier; or without. */
static bool light, heavy;

static void light_side(void *arg)
{
	(void)arg;
	store(&x, 1);
	if (light)
		atomic_signal_fence(memory_order_seq_cst);
	result[0] = load(&y);
}

static void heavy_side(void *arg)
{
	(void)arg;
	store(&y, 1);
	if (heavy)
		wf_os_membarrier();
	result[1] = load(&x);
}

static void asymmetric(void *arg)
{
	(void)arg;
	kit_pair(light_side, heavy_side);
	kit_count(&kept[2 * result[0] + result[1]]);
}

static void a_membarrier_needs_both_sides(void **state)
{
	(void)state;
	light = heavy = true;
	explore(asymmetric, 2, 0);
	assert_true(kept[0] == 0 && kept[1] > 0 && kept[2] > 0 && kept[3] > 0);
	heavy = false;
	explore(asymmetric, 2, 0);
	assert_true(kept[0] > 0);
	heavy = true;
	light = false;
	explore(asymmetric, 2, 0);
	assert_true(kept[0] > 0);
	light = false;
	heavy = false;
}

/* ------------------------------------------------------- release sequences */

static void release_then_store(void *arg)
{
	(void)arg;
	data = 1;
	atomic_store_explicit(&x, 1, memory_order_release);
	store(&x, 2);
}

static void release_then_add(void *arg)
{
	(void)arg;
	data = 1;
	atomic_store_explicit(&x, 1, memory_order_release);
}

static void add_one(void *arg)
{
	(void)arg;
	add(&x, 1);
}

static void acquire_two(void *arg)
{
	(void)arg;
	if (atomic_load_explicit(&x, memory_order_acquire) == 2)
		kit_use(data);
}

static void by_store(void *arg)
{
	(void)arg;
	kit_pair(release_then_store, acquire_two);
}

static void by_add(void *arg)
{
	int a = kit_thread(release_then_add, NULL, "releases");
	int b = kit_thread(add_one, NULL, "adds");

	(void)arg;
	acquire_two(NULL);
	kit_join(a);
	kit_join(b);
}

/* A read-modify-write goes on with what was there; a store does not. */
static void only_rmw_goes_on(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(by_store, 0, "race", &r);
	kit_holds(by_add, 0);
}

/* --------------------------------------------------------- compare-and-swap */

static void cas_once(bool weak)
{
	uint64_t expected = 0;
	bool done = wf_sim_cas(&x, 4, &expected, 7, __ATOMIC_SEQ_CST,
		__ATOMIC_SEQ_CST, weak, 1);

	weft_sim_assert(
		expected == 0, "it was %llu", (unsigned long long)expected);
	weft_sim_assert(load(&x) == (done ? 7 : 0), "it is %u", load(&x));
	kit_count(&kept[done]);
}

static void cas_weak(void *arg)
{
	(void)arg;
	cas_once(true);
}

static void cas_strong(void *arg)
{
	(void)arg;
	cas_once(false);
}

static void only_weak_ones_fail_for_no_reason(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	explore(cas_strong, 1, 0);
	assert_true(kept[0] == 0 && kept[1] > 0);
	memset(kept, 0, 4096);
	o.schedules = 3200;
	kit_passes(&o, cas_weak, NULL, &r);
	/* One of 16. */
	assert_true(kept[0] > 100 && kept[0] < 300);
	memset(kept, 0, 4096);
	kit_holds(cas_weak, 0);
	assert_true(kept[0] > 0 && kept[1] > 0);
}

static void cas_fails(void *arg)
{
	uint32_t expected = 9;
	bool done = atomic_compare_exchange_strong_explicit(
		&x, &expected, 4, memory_order_relaxed, memory_order_relaxed);

	(void)arg;
	weft_sim_assert(
		!done && expected != 9 && expected <= 2, "saw %u", expected);
	kit_count(&kept[expected]);
}

static void cas_beside(void *arg)
{
	(void)arg;
	kit_pair(count_to_two, cas_fails);
}

/* What a failed one reads may be old, like any load; never the expected. */
static void a_failed_one_may_read_an_old_value(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	o.stales = 1;
	kit_passes(&o, cas_beside, NULL, &r);
	assert_true(kept[0] > 0 && kept[1] > 0 && kept[2] > 0);
}

/* -------------------------------------------------------------------- ABA */

static void swap_from_read(void *arg)
{
	uint32_t seen = load(&x);

	(void)arg;
	if (seen == 0)
		(void)atomic_compare_exchange_strong(&x, &seen, 9);
}

static void away_and_back(void *arg)
{
	uint32_t seen = 0;

	(void)arg;
	if (atomic_compare_exchange_strong(&x, &seen, 1))
		atomic_store(&x, 0);
}

static void away(void *arg)
{
	uint32_t seen = 0;

	(void)arg;
	(void)atomic_compare_exchange_strong(&x, &seen, 1);
}

static void the_same_again(void *arg)
{
	(void)arg;
	store(&x, 0);
	store(&x, 0);
}

static void aba(void *arg)
{
	(void)arg;
	kit_pair(swap_from_read, away_and_back);
}

static void ab(void *arg)
{
	(void)arg;
	kit_pair(swap_from_read, away);
}

static void aaa(void *arg)
{
	(void)arg;
	kit_pair(swap_from_read, the_same_again);
}

static void away_for_long(void *arg)
{
	(void)arg;
	for (uint32_t i = 20; i-- > 0;)
		store(&x, i);
}

static void aba_for_long(void *arg)
{
	(void)arg;
	kit_pair(swap_from_read, away_for_long);
}

static void a_value_that_came_back(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(aba, WEFT_SIM_ABA, "aba", &r);
	kit_says(r.message, "a compare-and-swap of x succeeds");
	kit_breaks(aba_for_long, WEFT_SIM_ABA, "aba", &r);
	kit_holds(aba, 0);
	kit_holds(ab, WEFT_SIM_ABA);
	kit_holds(aaa, WEFT_SIM_ABA);
}

/* --------------------------------------------------------------- limits */

static union {
	_Atomic(uint64_t) whole;
	_Atomic(uint32_t) half[2];
	_Atomic(uint8_t) byte[8];
} u;

static void mix_sizes(void *arg)
{
	kit_use(atomic_load(&u.whole));
	if (arg == NULL)
		kit_use(atomic_load(&u.half[1]));
}

static void neighbour_atoms(void *arg)
{
	(void)arg;
	for (int i = 0; i < 4; i++)
		atomic_store(&u.byte[i], (uint8_t)i);
	atomic_store(&u.half[1], 77);
	for (int i = 0; i < 4; i++)
		weft_sim_assert(atomic_load(&u.byte[i]) == i, "byte %d", i);
	weft_sim_assert(atomic_load(&u.half[1]) == 77, "half");
}

static void sizes_are_not_mixed(void **state)
{
	weft_sim_report r;

	(void)state;
	kit_breaks(mix_sizes, 0, "mixed sizes", &r);
	kit_says(r.message, "of 8 and 4 bytes to u");
	kit_holds(neighbour_atoms, 0);
}

static _Atomic(uint8_t) many[8200];

static void use_many(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg; i++)
		kit_use(atomic_fetch_add(&many[i], 1));
}

/* In one run; the next has as many again. */
static void too_many_objects_are_told(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 5;
	kit_passes(&o, use_many, (void *)8000, &r);
	kit_fails(&o, use_many, (void *)8200, "too large", &r);
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(eight_stores_are_kept),
		cmocka_unit_test(three_old_values_in_a_row),
		cmocka_unit_test(nobody_goes_back),
		cmocka_unit_test(starts_and_joins_are_seen),
		cmocka_unit_test(only_seq_cst_sees_one_of_two),
		cmocka_unit_test(a_membarrier_needs_both_sides),
		cmocka_unit_test(only_rmw_goes_on),
		cmocka_unit_test(only_weak_ones_fail_for_no_reason),
		cmocka_unit_test(a_failed_one_may_read_an_old_value),
		cmocka_unit_test(a_value_that_came_back),
		cmocka_unit_test(sizes_are_not_mixed),
		cmocka_unit_test(too_many_objects_are_told),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
