/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/arena_test.c - every carved slot has its guard or is counted as
 * having none; a cold slot is handed out once (A1, A2).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/units.h"
#include "probe.h"
#include "stack/arena.h"
#include "support/os_faults.h"
#include "support/threads.h"

enum { CLS = 1, MODEL_STEPS = 200000, MODEL_SLOTS = 300 };

static struct wf_guards guards;

/* An arena of class CLS with room for n slots, none of them carved. */
static struct wf_arena *open_arena(uint32_t n)
{
	struct wf_stack_class c = wf_stack_class_make(CLS, wf_os_page_bytes());
	struct wf_arena *a = NULL;

	assert_int_equal(wf_arena_map(&a, CLS, n * c.stride), 0);
	assert_int_equal(a->count, n);
	assert_true(wf_arena_check(a));
	return a;
}

/* Carve once, as the pool does; what the call returned. */
static int carve(struct wf_arena *a)
{
	int some = wf_arena_carve(a, &guards);

	if (some > 0) {
		a->carved += (uint32_t)some;
		a->cold += (uint32_t)some;
	}
	assert_true(wf_arena_check(a));
	return some;
}

static void carve_all(struct wf_arena *a)
{
	while (a->carved < a->count)
		assert_true(carve(a) > 0);
}

/* Each carved slot is guarded or not, and as many of each as are counted. */
static void check_guards(struct wf_arena *a, size_t guarded, size_t missing)
{
	size_t found = 0, open = 0;

	for (uint32_t i = 0; i < a->carved; i++) {
		found += probe_guarded(a, i);
		open += probe_readable(wf_arena_slot(a, i));
	}
	assert_int_equal(found, guarded);
	assert_int_equal(open, missing);
	assert_int_equal(found + open, a->carved);
	assert_int_equal(guards.installed + guards.protected, guarded);
	assert_int_equal(guards.missing, missing);
}

/* The arena goes, and nothing stays: no memory, no count. */
static void close_arena(struct wf_arena *a)
{
	wf_arena_unmap(a, &guards);
	assert_int_equal(guards.installed, 0);
	assert_int_equal(guards.protected, 0);
	assert_int_equal(guards.missing, 0);
	assert_true(os_faults_all_returned());
}

static int begin(void **state)
{
	(void)state;
	os_faults_clear();
	wf_guards_init(&guards, false);
	return 0;
}

/* ------------------------------------------------------------------------ */
/* Mapping. */

static void an_arena_has_the_slots_there_is_room_for(void **state)
{
	static const unsigned classes[] = { 0, 2, 5, 10 };

	(void)state;
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		struct wf_arena *a = NULL;
		size_t used;

		assert_int_equal(wf_arena_map(&a, classes[i], 8 * WF_MIB), 0);
		used = a->count * a->shape.stride;
		assert_int_equal(a->cls, classes[i]);
		assert_true(a->count >= 1);
		assert_true(a->count == 1 || used <= 8 * WF_MIB);
		assert_true(used + a->shape.stride > 8 * WF_MIB);
		/* The header, with a word for each slot, is in front. */
		assert_true(a->slots >= (char *)&a->slot[a->count]);
		assert_int_equal((uintptr_t)a->slots % wf_os_page_bytes(), 0);
		assert_ptr_equal((char *)a + a->bytes, a->slots + used);
		assert_int_equal(a->bytes, os_faults_mapped_bytes());
		assert_true(probe_readable(a->slots + used - 1));
		close_arena(a);
	}
}

static void a_class_larger_than_asked_for_has_one_slot(void **state)
{
	struct wf_arena *a = NULL;

	(void)state;
	assert_int_equal(wf_arena_map(&a, CLS, 1), 0);
	assert_int_equal(a->count, 1);
	carve_all(a);
	check_guards(a, 1, 0);
	close_arena(a);
}

static void no_memory_is_an_error_and_no_arena(void **state)
{
	struct wf_arena *a = NULL;

	(void)state;
	os_faults_plan(OS_FAULTS_MAP, 1, 1);
	assert_int_equal(wf_arena_map(&a, CLS, WF_MIB), -ENOMEM);
	assert_null(a);
	/* Here it is the kernel that refuses, or valgrind in its own way. */
	assert_true(wf_arena_map(&a, CLS, (size_t)1 << 47) < 0);
	assert_null(a);
	assert_true(os_faults_all_returned());
}

/* ------------------------------------------------------------------------ */
/* Carving. */

static void carving_guards_just_the_low_end_of_each_slot(void **state)
{
	struct wf_arena *a = open_arena(150);
	size_t before = probe_mappings();

	(void)state;
	assert_int_equal(carve(a), 64);
	/* No further than it says. */
	assert_true(probe_readable(wf_arena_slot(a, 64)));
	carve_all(a);
	check_guards(a, 150, 0);
	if (guards.no_install)
		assert_int_equal(guards.protected, 150);
	else
		assert_true(probe_mappings() < before + 10);
	close_arena(a);
}

static void without_guards_in_the_kernel_pages_are_protected(void **state)
{
	struct wf_arena *a = open_arena(150);

	(void)state;
	os_faults_no_guards(true);
	carve_all(a);
	check_guards(a, 150, 0);
	assert_int_equal(guards.protected, 150);
	assert_int_equal(guards.installed, 0);
	/* It does not ask again. */
	assert_true(guards.no_install);
	os_faults_no_guards(false);
	close_arena(a);
	a = open_arena(2);
	os_faults_plan(0, 0, 0);
	carve_all(a);
	assert_int_equal(os_faults_calls(OS_FAULTS_GUARD), 0);
	assert_int_equal(guards.protected, 2);
	close_arena(a);
}

static void a_quarter_of_the_mappings_is_the_limit(void **state)
{
	struct wf_arena *a = open_arena(100);

	(void)state;
	os_faults_map_limit(4 * 70 + 3);
	os_faults_no_guards(true);
	wf_guards_init(&guards, false);
	carve_all(a);
	check_guards(a, 70, 30);
	assert_int_equal(os_faults_calls(OS_FAULTS_PROTECT), 70);
	close_arena(a);
	/* Those are gone; there is room again. */
	a = open_arena(70);
	carve_all(a);
	check_guards(a, 70, 0);
	close_arena(a);
}

static void a_strict_pool_gets_no_slot_beyond_the_limit(void **state)
{
	struct wf_arena *a = open_arena(100);

	(void)state;
	os_faults_map_limit(4 * 70 + 3);
	os_faults_no_guards(true);
	wf_guards_init(&guards, true);
	assert_int_equal(carve(a), 64);
	assert_int_equal(carve(a), 6);
	assert_int_equal(carve(a), -ENOMEM);
	assert_int_equal(carve(a), -ENOMEM);
	assert_int_equal(a->carved, 70);
	check_guards(a, 70, 0);
	close_arena(a);
}

static void a_page_that_cannot_be_protected_is_counted(void **state)
{
	struct wf_arena *a = open_arena(100);

	(void)state;
	os_faults_no_guards(true);
	os_faults_plan(OS_FAULTS_PROTECT, 11, 5);
	carve_all(a);
	assert_int_equal(os_faults_injected(), 5);
	check_guards(a, 95, 5);
	close_arena(a);
}

static void a_strict_pool_gets_no_slot_without_it(void **state)
{
	struct wf_arena *a = open_arena(100);

	(void)state;
	os_faults_no_guards(true);
	wf_guards_init(&guards, true);
	os_faults_plan(OS_FAULTS_PROTECT, 11, OS_FAULTS_FOREVER);
	assert_int_equal(carve(a), 10);
	assert_int_equal(carve(a), -ENOMEM);
	os_faults_repair();
	carve_all(a);
	check_guards(a, 100, 0);
	close_arena(a);
}

/* Half of the guards were installed when it failed. */
static void no_memory_for_guards_is_an_error_and_no_loss(void **state)
{
	struct wf_arena *a = open_arena(100);

	(void)state;
	os_faults_plan(OS_FAULTS_GUARD, 1, 2);
	assert_int_equal(carve(a), -ENOMEM);
	assert_int_equal(carve(a), -ENOMEM);
	assert_int_equal(a->carved, 0);
	assert_int_equal(guards.installed, 0);
	carve_all(a);
	check_guards(a, 100, 0);
	close_arena(a);
}

/* ------------------------------------------------------------------------ */
/* Cold slots. */

static void a_slot_is_taken_by_one_at_a_time(void **state)
{
	static bool taken[MODEL_SLOTS];
	struct wf_arena *a = open_arena(MODEL_SLOTS);
	uint32_t out = 0, most = 0;
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, threads_seed());
	for (size_t i = 0; i < threads_rounds(MODEL_STEPS); i++) {
		uint32_t at = wf_random_below(&r, MODEL_SLOTS);

		if (taken[at]) {
			wf_arena_put(a, at);
			taken[at] = false;
			out--;
		} else if (a->cold > 0) {
			at = wf_arena_take(a);
			assert_true(at < a->carved && !taken[at]);
			taken[at] = true;
			most = out++ == most ? out : most;
		} else if (a->carved < a->count) {
			assert_true(carve(a) > 0);
		}
		assert_int_equal(a->cold, a->carved - out);
		assert_int_equal(a->used, most);
		if (i % 64 == 0)
			assert_true(wf_arena_check(a));
	}
	assert_true(wf_arena_check(a));
	close_arena(a);
}

static void the_check_sees_what_is_broken(void **state)
{
	struct wf_arena *a = open_arena(100);

	(void)state;
	carve_all(a);
	for (int i = 0; i < 10; i++)
		assert_int_equal(wf_arena_take(a), i);
	wf_arena_put(a, 3);
	wf_arena_put(a, 7);
	assert_true(wf_arena_check(a));
	a->cold++;			/* (A2) */
	assert_false(wf_arena_check(a));
	a->cold--;
	a->used = a->carved + 1;	/* (A1) */
	assert_false(wf_arena_check(a));
	a->used = 10;
	a->carved = a->count + 1;
	assert_false(wf_arena_check(a));
	a->carved = a->count;
	a->slot[3].next = 7 + 1;	/* a circle */
	assert_false(wf_arena_check(a));
	a->slot[3].next = 50 + 1;	/* was never used */
	assert_false(wf_arena_check(a));
	a->slot[3].next = 0;
	assert_true(wf_arena_check(a));
	close_arena(a);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_arena_has_the_slots_there_is_room_for),
		TEST(a_class_larger_than_asked_for_has_one_slot),
		TEST(no_memory_is_an_error_and_no_arena),
		TEST(carving_guards_just_the_low_end_of_each_slot),
		TEST(without_guards_in_the_kernel_pages_are_protected),
		TEST(a_quarter_of_the_mappings_is_the_limit),
		TEST(a_strict_pool_gets_no_slot_beyond_the_limit),
		TEST(a_page_that_cannot_be_protected_is_counted),
		TEST(a_strict_pool_gets_no_slot_without_it),
		TEST(no_memory_for_guards_is_an_error_and_no_loss),
		TEST(a_slot_is_taken_by_one_at_a_time),
		TEST(the_check_sees_what_is_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
