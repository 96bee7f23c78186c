/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/pool_test.c - a pool has as many stacks as it promised (P1), a
 * million if need be, and gives back the memory of unused ones.
 *
 * tests/stack/cache_test.c is about how processors find them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/units.h"
#include "kit.h"
#include "os/child.h"
#include "probe.h"
#include "support/os_faults.h"
#include "support/threads.h"

#define NEAR (16 * WF_MIB)

enum { MILLION = 1000000, TOUCHED = 20000, PROTECTED = 40000 };

static struct kit kit;
static struct child child;
static struct wf_stack *stacks[TOUCHED];

static int begin(void **state)
{
	(void)state;
	os_faults_clear();
	return 0;
}

/* Nothing may be left when a test is over. */
static int end(void **state)
{
	(void)state;
	return os_faults_all_returned() ? 0 : -1;
}

/* As many of n as can be had and waited for here. */
static size_t some_of(size_t n, size_t elsewhere)
{
	return probe_plain() ? n : wf_min_size(n, threads_rounds(elsewhere));
}

/* (P1), said once more. */
static void check_promise(unsigned cls)
{
	struct wf_stack_store *st = &kit.pool.store[cls];

	kit_check(&kit);
	assert_true(st->promised == 0 ||
		st->ready >= st->promised +
				(2 * kit.pool.caches + 1) * st->shape.batch);
}

/* ------------------------------------------------------------------------ */
/* Credits. */

static void there_are_more_stacks_than_credits(void **state)
{
	static const size_t amounts[] = { 1, 2, 31, 500, 3 };
	size_t total = 0;

	(void)state;
	kit_open(&kit, NULL);
	assert_int_equal(kit_stats(&kit).ready, 0);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(
			wf_stack_pool_promise(&kit.pool, 2, amounts[i]), 0);
		total += amounts[i];
		check_promise(2);
		assert_int_equal(kit_stats(&kit).promised, total);
		assert_int_equal(kit_stats(&kit).ready, kit_stats(&kit).cold);
	}
	wf_stack_pool_release(&kit.pool, 2, total);
	assert_int_equal(kit_stats(&kit).promised, 0);
	kit_close(&kit);
}

/* A stack of 1 GiB has an arena for itself, so there is not one too many. */
static void there_are_more_with_every_cache(void **state)
{
	struct wf_stack_cache more[5];
	size_t size = wf_on_valgrind() ? 64 * WF_MIB : WF_GIB;
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, size);
	assert_int_equal(wf_stack_pool_promise(&kit.pool, cls, 3), 0);
	for (size_t i = 0; i < 5; i++) {
		check_promise(cls);
		assert_int_equal(wf_stack_cache_open(&more[i], &kit.pool), 0);
	}
	check_promise(cls);
	if (size == WF_GIB)
		assert_int_equal(kit_stats(&kit).ready, 3 + 2 * 6 + 1);
	for (size_t i = 0; i < 5; i++)
		wf_stack_cache_close(&more[i]);
	wf_stack_pool_release(&kit.pool, cls, 3);
	kit_close(&kit);
}

static void no_memory_is_an_error_and_no_loss(void **state)
{
	struct wf_stack_stats before;
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, 0);
	assert_int_equal(wf_stack_pool_promise(&kit.pool, cls, 10), 0);
	before = kit_stats(&kit);
	os_faults_plan(OS_FAULTS_MAP, 1, OS_FAULTS_FOREVER);
	assert_int_equal(
		wf_stack_pool_promise(&kit.pool, cls, 10000), -ENOMEM);
	check_promise(cls);
	assert_int_equal(kit_stats(&kit).promised, 10);
	assert_int_equal(kit_stats(&kit).arenas, before.arenas);
	os_faults_repair();
	assert_int_equal(wf_stack_pool_promise(&kit.pool, cls, 10000), 0);
	check_promise(cls);
	wf_stack_pool_release(&kit.pool, cls, 10010);
	kit_close(&kit);
}

/* More than the address space holds: refused before anything is mapped. */
static void an_absurd_promise_is_refused_at_once(void **state)
{
	struct wf_stack_stats before;
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, 0);
	assert_int_equal(wf_stack_pool_promise(&kit.pool, cls, 1), 0);
	before = kit_stats(&kit);
	for (size_t less = 0; less < 4; less++) {
		assert_int_equal(wf_stack_pool_promise(
			&kit.pool, cls, SIZE_MAX - less), -ENOMEM);
		assert_int_equal(wf_stack_pool_promise(
			&kit.pool, cls, SIZE_MAX / 2 - less), -ENOMEM);
	}
	assert_int_equal(kit_stats(&kit).promised, 1);
	assert_int_equal(kit_stats(&kit).arenas, before.arenas);
	wf_stack_pool_release(&kit.pool, cls, 1);
	kit_close(&kit);
}

/* A large arena is refused; one as small as is needed will do. */
static void a_small_arena_helps_when_a_large_one_is_refused(void **state)
{
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, WF_MIB);
	os_faults_plan(OS_FAULTS_MAP, 1, 1);
	assert_int_equal(wf_stack_pool_promise(&kit.pool, cls, 1), 0);
	assert_int_equal(os_faults_injected(), 1);
	assert_int_equal(kit_stats(&kit).ready, 1 + 3 * 2);
	check_promise(cls);
	wf_stack_pool_release(&kit.pool, cls, 1);
	kit_close(&kit);
}

/* ------------------------------------------------------------------------ */
/* Many. */

/* Of this thread and the kernel for it: others may use the machine too. */
static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* n credits; how long it took. */
static double promise_many(size_t n)
{
	unsigned cls = kit_class(&kit, 64 * WF_KIB);
	double since = cpu_seconds();

	for (size_t i = 0; i < n; i++)
		assert_int_equal(wf_stack_credit(&kit.cache, cls), 0);
	return cpu_seconds() - since;
}

/* They are there, guarded, and cost neither mappings nor memory. */
static void check_many(size_t n, size_t mappings, size_t resident)
{
	struct wf_stack_stats stats = kit_stats(&kit);

	check_promise(kit_class(&kit, 64 * WF_KIB));
	assert_true(stats.promised >= n);
	assert_int_equal(stats.cold, stats.ready);
	assert_int_equal(stats.guards_missing, 0);
	if (stats.guards_protected == 0)
		assert_true(probe_mappings() <= mappings + 1000);
	if (probe_plain())
		assert_true(probe_resident_bytes() < resident + NEAR);
}

static void a_million_stacks_cost_little(void **state)
{
	size_t n = some_of(MILLION, 10000);
	double best = 1e9;

	(void)state;
	/* The best of three, if it must be. */
	for (int i = 0; i < 3 && best > 1.5; i++) {
		size_t mappings = probe_mappings();
		size_t resident = probe_resident_bytes();
		double took;

		kit_open(&kit, NULL);
		took = promise_many(n);
		printf("%zu stacks in %.3f s\n", n, took);
		best = took < best ? took : best;
		check_many(n, mappings, resident);
		for (size_t j = 0; j < n; j++)
			wf_stack_credit_back(
				&kit.cache, kit_class(&kit, 64 * WF_KIB));
		kit_check(&kit);
		wf_stack_cache_flush(&kit.cache);
		wf_stack_pool_trim(&kit.pool);
		assert_int_equal(kit_stats(&kit).arenas, 1);
		kit_close(&kit);
	}
	if (probe_plain())
		assert_true(best <= 1.5);
}

/* ------------------------------------------------------------------------ */
/* Memory. */

static void take_and_touch(size_t n, unsigned cls)
{
	for (size_t i = 0; i < n; i++) {
		char *low, *top;

		stacks[i] = kit_take(&kit.cache, cls);
		low = wf_stack_low(stacks[i]);
		top = wf_stack_top(stacks[i]);
		low[0] = low[(top - low) / 2] = top[-1] = 1;
	}
}

static void memory_is_given_back(void **state)
{
	size_t n = wf_min_size(some_of(TOUCHED, 1000), PROBE_TAKEN_MAX);
	size_t resident = probe_resident_bytes(), used;
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, 0);
	take_and_touch(n, cls);
	kit_check(&kit);
	used = probe_resident_bytes();
	assert_true(!probe_plain() ||
		used > resident + 2 * n * wf_os_page_bytes());
	kit_give_all(&kit.cache, stacks, n);
	kit_check(&kit);
	/* Some are kept, in the depot and in the cache. */
	assert_true(kit_stats(&kit).depot <= 128 * WF_MIB / (64 * WF_KIB));
	wf_stack_cache_flush(&kit.cache);
	wf_stack_pool_trim(&kit.pool);
	kit_check(&kit);
	assert_int_equal(kit_stats(&kit).depot, 0);
	assert_int_equal(kit_stats(&kit).arenas, 1);
	assert_int_equal(kit_stats(&kit).cold, kit_stats(&kit).ready);
	assert_int_equal(
		kit_stats(&kit).mapped_bytes, os_faults_mapped_bytes());
	assert_true(os_faults_mapped_bytes() < NEAR);
	if (probe_plain())
		assert_true(probe_resident_bytes() < resident + NEAR);
	kit_close(&kit);
}

static void the_depot_keeps_as_much_as_it_may(void **state)
{
	const struct wf_stack_config config = { .depot_bytes = 16 * WF_MIB };
	const size_t n = 1000, kept = 16 * WF_MIB / (64 * WF_KIB);
	unsigned cls;

	(void)state;
	kit_open(&kit, &config);
	cls = kit_class(&kit, 64 * WF_KIB);
	take_and_touch(n, cls);
	kit_give_all(&kit.cache, stacks, n);
	wf_stack_cache_flush(&kit.cache);
	kit_check(&kit);
	assert_int_equal(kit_stats(&kit).depot, kept);
	assert_int_equal(
		kit_stats(&kit).cold, kit_stats(&kit).ready - kept);
	/* What it keeps is handed out first. */
	take_and_touch(kept, cls);
	assert_int_equal(kit_stats(&kit).depot, 0);
	kit_give_all(&kit.cache, stacks, kept);
	wf_stack_pool_trim(&kit.pool);
	kit_check(&kit);
	assert_int_equal(kit_stats(&kit).depot, 0);
	kit_close(&kit);
}

/* The one of a thousand that is in use keeps its arena, and no other. */
static void an_unused_arena_is_unmapped(void **state)
{
	struct wf_stack *last;
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, 0);
	take_and_touch(1000, cls);
	last = stacks[999];
	assert_true(kit_stats(&kit).arenas > 3);
	kit_give_all(&kit.cache, stacks, 999);
	wf_stack_cache_flush(&kit.cache);
	wf_stack_pool_trim(&kit.pool);
	kit_check(&kit);
	assert_true(kit_stats(&kit).arenas <= 2);
	assert_int_equal(wf_stack_low(last)[0], 1);
	kit_give(&kit.cache, last);
	wf_stack_cache_flush(&kit.cache);
	wf_stack_pool_trim(&kit.pool);
	kit_check(&kit);
	assert_int_equal(kit_stats(&kit).arenas, 1);
	kit_close(&kit);
}

/* So that the young ones are left to become empty. */
static void the_oldest_arenas_are_used_first(void **state)
{
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, 0);
	take_and_touch(1000, cls);
	for (size_t i = 1; i < 1000; i++)
		assert_true(stacks[i]->arena->age >= stacks[i - 1]->arena->age);
	assert_true(stacks[999]->arena->age > 2);
	/* From each arena some; then they are all cold. */
	for (size_t i = 1000; i-- > 0;)
		if (i % 4 != 0)
			kit_give(&kit.cache, stacks[i]);
	wf_stack_cache_flush(&kit.cache);
	wf_stack_pool_trim(&kit.pool);
	kit_check(&kit);
	for (size_t i = 1; i < 1000; i += 4) {
		stacks[i] = kit_take(&kit.cache, cls);
		if (i > 1)
			assert_true(stacks[i]->arena->age >=
				stacks[i - 4]->arena->age);
	}
	for (size_t i = 0; i < 1000; i += 4) {
		kit_give(&kit.cache, stacks[i]);
		kit_give(&kit.cache, stacks[i + 1]);
	}
	kit_close(&kit);
}

/* ------------------------------------------------------------------------ */
/* Secrets. */

static bool all_zero(struct wf_stack *s)
{
	const char *low = wf_stack_low(s);
	size_t n = (size_t)(wf_stack_top(s) - low);

	return low[0] == 0 && memcmp(low, low + 1, n - 1) == 0;
}

/* Stacks that were full of something are taken again, until they were all. */
static void check_wiped(size_t size, size_t n)
{
	unsigned cls = kit_class(&kit, size);
	struct wf_stack_cache other;

	assert_int_equal(wf_stack_cache_open(&other, &kit.pool), 0);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < n; i++) {
			struct wf_stack *s = kit_take(&kit.cache, cls);

			assert_true(all_zero(s));
			memset(wf_stack_low(s), 0xa5,
				(size_t)(wf_stack_top(s) - wf_stack_low(s)));
			stacks[i] = s;
		}
		for (size_t i = 0; i < n; i++)
			kit_give(i % 3 ? &other : &kit.cache, stacks[i]);
		kit_check(&kit);
	}
	wf_stack_cache_close(&other);
}

static void wiped_stacks_show_no_old_contents(void **state)
{
	const struct wf_stack_config config = { .wipe = true };

	(void)state;
	kit_open(&kit, &config);
	check_wiped(1, 100);
	check_wiped(64 * WF_KIB, 70);
	check_wiped(2 * WF_MIB, 3);
	kit_close(&kit);
}

static void stacks_are_wiped_when_memory_cannot_be_given_back(void **state)
{
	const struct wf_stack_config config = { .wipe = true };

	(void)state;
	kit_open(&kit, &config);
	os_faults_plan(OS_FAULTS_DISCARD, 1, OS_FAULTS_FOREVER);
	check_wiped(1, 100);
	check_wiped(64 * WF_KIB, 70);
	check_wiped(2 * WF_MIB, 3);
	assert_true(os_faults_injected() >= 3 * (100 + 70 + 3));
	kit_close(&kit);
}

/* ------------------------------------------------------------------------ */
/* Guards. */

/* Walk all slots: as many have no guard as are counted, and no more. */
static void check_counted(unsigned cls)
{
	struct wf_stack_stats stats = kit_stats(&kit);
	size_t guarded = 0, missing = 0;

	for (struct wf_arena *a = kit.pool.store[cls].arenas; a; a = a->next) {
		for (uint32_t i = 0; i < a->carved; i++) {
			const char *slot = wf_arena_slot(a, i);
			bool open = probe_readable(slot + a->shape.guard - 1);

			assert_int_equal(open, probe_readable(slot));
			guarded += !open;
			missing += open;
		}
	}
	assert_int_equal(
		guarded, stats.guards_installed + stats.guards_protected);
	assert_int_equal(missing, stats.guards_missing);
	assert_int_equal(guarded + missing, stats.ready);
}

/* There are mappings left for everybody else. */
static void check_room_for_mappings(void)
{
	enum { MAPPINGS = 1000 };
	const size_t bytes = MAPPINGS * wf_os_page_bytes();
	char *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	for (size_t i = 0; i < MAPPINGS; i += 2)
		assert_int_equal(mprotect(p + i * wf_os_page_bytes(),
			wf_os_page_bytes(), PROT_NONE), 0);
	munmap(p, bytes);
}

/* Valgrind keeps its own list of mappings, with fewer places. */
static void no_stack_is_unguarded_and_not_counted(void **state)
{
	size_t n = wf_on_valgrind() ? 2000 : PROTECTED;
	struct wf_stack_stats stats;

	(void)state;
	os_faults_no_guards(true);
	if (wf_on_valgrind())
		os_faults_map_limit(4 * 1000);
	kit_open(&kit, NULL);
	for (size_t i = 0; i < n; i += n / 4) {
		assert_int_equal(
			wf_stack_pool_promise(&kit.pool, 0, n / 4), 0);
		check_counted(0);
	}
	stats = kit_stats(&kit);
	printf("%zu stacks, %zu protected, %zu without guard\n", stats.ready,
		stats.guards_protected, stats.guards_missing);
	assert_int_equal(stats.guards_protected,
		wf_min_size(stats.ready, wf_os_vm_map_limit() / 4));
	check_room_for_mappings();
	wf_stack_pool_release(&kit.pool, 0, n);
	wf_stack_pool_trim(&kit.pool);
	check_counted(0);
	kit_close(&kit);
}

/* Refused, then repaired; the pool is as if it had never asked. */
static void check_strict(void)
{
	const size_t n = 300;
	struct wf_stack_stats stats;

	assert_int_equal(wf_stack_pool_promise(&kit.pool, 0, n), -ENOMEM);
	assert_int_equal(wf_stack_pool_promise(&kit.pool, 0, n), -ENOMEM);
	kit_check(&kit);
	stats = kit_stats(&kit);
	assert_int_equal(stats.promised, 0);
	assert_int_equal(stats.guards_missing, 0);
	check_counted(0);
	os_faults_repair();
	kit.pool.guards.protect_limit = 10000;
	assert_int_equal(wf_stack_pool_promise(&kit.pool, 0, n), 0);
	kit_check(&kit);
	check_counted(0);
	assert_int_equal(kit_stats(&kit).guards_missing, 0);
	wf_stack_pool_release(&kit.pool, 0, n);
}

static void a_strict_pool_refuses_beyond_the_limit(void **state)
{
	const struct wf_stack_config config = { .strict_guards = true };

	(void)state;
	os_faults_no_guards(true);
	os_faults_map_limit(4 * 100);
	kit_open(&kit, &config);
	check_strict();
	kit_close(&kit);
}

static void a_strict_pool_refuses_when_pages_stay_open(void **state)
{
	const struct wf_stack_config config = { .strict_guards = true };

	(void)state;
	os_faults_no_guards(true);
	os_faults_plan(OS_FAULTS_PROTECT, 77, OS_FAULTS_FOREVER);
	kit_open(&kit, &config);
	check_strict();
	kit_close(&kit);
}

static void a_lax_pool_counts_what_it_loses(void **state)
{
	(void)state;
	os_faults_no_guards(true);
	os_faults_plan(OS_FAULTS_PROTECT, 77, OS_FAULTS_FOREVER);
	kit_open(&kit, NULL);
	assert_int_equal(wf_stack_pool_promise(&kit.pool, 0, 300), 0);
	assert_int_equal(kit_stats(&kit).guards_protected, 76);
	check_counted(0);
	os_faults_repair();
	assert_int_equal(wf_stack_pool_promise(&kit.pool, 0, 300), 0);
	assert_true(kit_stats(&kit).guards_protected > 76);
	check_counted(0);
	wf_stack_pool_release(&kit.pool, 0, 600);
	kit_close(&kit);
}

/* ------------------------------------------------------------------------ */
/* Locks and rules. */

struct witness {
	size_t calls;
	size_t locked;
};

static void see_locks(void *arg, unsigned kind)
{
	struct witness *w = arg;

	(void)kind;
	w->calls++;
	if (wf_trylock(&kit.pool.lock))
		wf_unlock(&kit.pool.lock);
	else
		w->locked++;
}

static void no_system_call_is_made_under_the_lock(void **state)
{
	const struct wf_stack_config config = { .depot_bytes = 2 * WF_MIB };
	struct witness w = { 0, 0 };

	(void)state;
	kit_open(&kit, &config);
	os_faults_spy(see_locks, &w);
	for (unsigned cls = 0; cls < 8; cls++) {
		take_and_touch(100, cls);
		kit_give_all(&kit.cache, stacks, 100);
		wf_stack_cache_flush(&kit.cache);
	}
	wf_stack_pool_trim(&kit.pool);
	os_faults_spy(NULL, NULL);
	assert_true(w.calls > 50);
	assert_int_equal(w.locked, 0);
	kit_close(&kit);
}

static void close_with_credit(void *arg)
{
	(void)arg;
	kit_open(&kit, NULL);
	if (wf_stack_pool_promise(&kit.pool, 0, 1) != 0)
		_exit(1);
	wf_stack_cache_close(&kit.cache);
	wf_stack_pool_close(&kit.pool);
}

static void close_with_cache(void *arg)
{
	(void)arg;
	kit_open(&kit, NULL);
	wf_stack_pool_close(&kit.pool);
}

static void release_too_much(void *arg)
{
	(void)arg;
	kit_open(&kit, NULL);
	if (wf_stack_pool_promise(&kit.pool, 0, 1) != 0)
		_exit(1);
	wf_stack_pool_release(&kit.pool, 0, 2);
}

static void misuse_is_told_in_a_sentence(void **state)
{
	static const struct {
		void (*fn)(void *arg);
		const char *words;
	} cases[] = {
		{ close_with_credit, "stacks are still in use" },
		{ close_with_cache, "caches are still open" },
		{ release_too_much, "was given back twice" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		child_run(&child, cases[i].fn, NULL);
		assert_true(child_killed_by(&child, SIGABRT));
		assert_non_null(strstr(child.text, cases[i].words));
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(there_are_more_stacks_than_credits),
		TEST(there_are_more_with_every_cache),
		TEST(no_memory_is_an_error_and_no_loss),
		TEST(an_absurd_promise_is_refused_at_once),
		TEST(a_small_arena_helps_when_a_large_one_is_refused),
		TEST(a_million_stacks_cost_little),
		TEST(memory_is_given_back),
		TEST(the_depot_keeps_as_much_as_it_may),
		TEST(an_unused_arena_is_unmapped),
		TEST(the_oldest_arenas_are_used_first),
		TEST(wiped_stacks_show_no_old_contents),
		TEST(stacks_are_wiped_when_memory_cannot_be_given_back),
		TEST(no_stack_is_unguarded_and_not_counted),
		TEST(a_strict_pool_refuses_beyond_the_limit),
		TEST(a_strict_pool_refuses_when_pages_stay_open),
		TEST(a_lax_pool_counts_what_it_loses),
		TEST(no_system_call_is_made_under_the_lock),
		TEST(misuse_is_told_in_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
