/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/stack_test.c - all of a stack from low to top is writable and
 * its own, it is guarded below, and it can be used again any number of times.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/units.h"
#include "hop.h"
#include "kit.h"
#include "os/child.h"
#include "probe.h"
#include "support/threads.h"

enum { SOME = 64, RECYCLED = 1000, INTERLEAVED = 50, LINE = 64 };

static struct kit kit;
static struct child child;

static size_t usable(struct wf_stack *s)
{
	return (size_t)(wf_stack_top(s) - wf_stack_low(s));
}

/* ------------------------------------------------------------------------ */
/* Where it is. */

static void check_layout(struct wf_stack *s, unsigned cls)
{
	struct wf_stack_class c = s->arena->shape;
	char *slot = wf_arena_slot(s->arena, s->index);

	assert_int_equal(s->cls, cls);
	assert_int_equal((uintptr_t)wf_stack_top(s) % LINE, 0);
	assert_ptr_equal(wf_stack_low(s), slot + c.guard);
	assert_true((char *)(s + 1) <= slot + c.stride);
	/* The promise, and of the slack what colour and struct leave. */
	assert_true(usable(s) >= c.promised + c.promised / 4 -
			WF_STACK_COLOURS * WF_CACHE_LINE - 2 * LINE);
	assert_true(usable(s) > c.promised);
}

static void a_stack_has_what_its_class_promises(void **state)
{
	struct wf_stack *s[SOME];
	/* Valgrind writes down the state of every 64 KiB that are mapped. */
	unsigned last = wf_on_valgrind() ? 8 : WF_STACK_CLASSES - 1;

	(void)state;
	kit_open(&kit, NULL);
	for (unsigned cls = 0; cls <= last; cls++) {
		size_t n = cls <= 4 ? SOME : 3;

		kit_take_all(&kit.cache, cls, s, n);
		for (size_t i = 0; i < n; i++)
			check_layout(s[i], cls);
		kit_give_all(&kit.cache, s, n);
		kit_check(&kit);
	}
	kit_close(&kit);
}

static void tops_do_not_fall_into_the_same_cache_sets(void **state)
{
	struct wf_stack *s[SOME];
	bool seen[4096 / LINE] = { false };
	size_t offsets = 0;

	(void)state;
	kit_open(&kit, NULL);
	kit_take_all(&kit.cache, kit_class(&kit, 0), s, SOME);
	for (size_t i = 0; i < SOME; i++) {
		size_t at = (uintptr_t)wf_stack_top(s[i]) % 4096 / LINE;

		offsets += !seen[at];
		seen[at] = true;
	}
	assert_true(offsets >= 16);
	kit_give_all(&kit.cache, s, SOME);
	kit_close(&kit);
}

static void an_address_is_in_the_guard_or_not(void **state)
{
	struct wf_stack *s;
	char *slot, *low;

	(void)state;
	kit_open(&kit, NULL);
	s = kit_take(&kit.cache, 0);
	slot = wf_arena_slot(s->arena, s->index);
	low = wf_stack_low(s);
	assert_false(wf_stack_guards(s, slot - 1));
	assert_true(wf_stack_guards(s, slot));
	assert_true(wf_stack_guards(s, low - 1));
	assert_false(wf_stack_guards(s, low));
	assert_false(wf_stack_guards(s, NULL));
	assert_false(wf_stack_guards(s, wf_stack_top(s)));
	kit_give(&kit.cache, s);
	kit_close(&kit);
}

/* ------------------------------------------------------------------------ */
/* Its memory. */

static void every_byte_is_writable_and_in_one_stack_only(void **state)
{
	static const size_t sizes[] = { 1, 64 * WF_KIB, WF_MIB };
	struct wf_stack *s[8];

	(void)state;
	kit_open(&kit, NULL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		unsigned cls = kit_class(&kit, sizes[i]);

		kit_take_all(&kit.cache, cls, s, 8);
		for (int j = 0; j < 8; j++)
			memset(wf_stack_low(s[j]), 'a' + j, usable(s[j]));
		for (int j = 0; j < 8; j++) {
			char *low = wf_stack_low(s[j]);

			/* All bytes are alike, and as they were written. */
			assert_int_equal(low[0], 'a' + j);
			assert_memory_equal(low, low + 1, usable(s[j]) - 1);
		}
		kit_give_all(&kit.cache, s, 8);
	}
	kit_close(&kit);
}

static void read_byte(void *p)
{
	(void)*(volatile char *)p;
}

static void write_byte(void *p)
{
	*(volatile char *)p = 1;
}

static void check_faults(void (*access)(void *p), char *p)
{
	child_run(&child, access, p);
	assert_true(child_killed_by(&child, SIGSEGV));
}

static void the_first_byte_below_faults(void **state)
{
	/* A child that valgrind sees die takes seconds. */
	const size_t n = wf_on_valgrind() ? 1 : 3;
	struct wf_stack *s[3];

	(void)state;
	kit_open(&kit, NULL);
	kit_take_all(&kit.cache, kit_class(&kit, 0), s, n);
	for (size_t i = 0; i < n; i++) {
		check_faults(write_byte, wf_stack_low(s[i]) - 1);
		check_faults(
			read_byte, wf_arena_slot(s[i]->arena, s[i]->index));
		assert_true(probe_guarded(s[i]->arena, s[i]->index));
		child_run(&child, write_byte, wf_stack_low(s[i]));
		assert_true(child_exited_with(&child, 0));
	}
	kit_give_all(&kit.cache, s, n);
	kit_close(&kit);
}

/* ------------------------------------------------------------------------ */
/* Running on it. */

struct work {
	uint64_t seed;
	unsigned pauses;	/* at the deepest point */
	bool leaves;		/* never comes back up from there */
	size_t depth_bytes;	/* how deep it was */
	size_t wrong;		/* locals that did not keep their value */
};

/* Down to the last 16 KiB of the stack, each frame with something to keep. */
static wf_noinline void descend(struct hop *h, uint64_t value)
{
	struct work *w = h->arg;
	volatile uint64_t local[48];
	size_t room = (size_t)((char *)__builtin_frame_address(0) -
		wf_stack_low(h->stack));

	for (size_t i = 0; i < 48; i++)
		local[i] = value * (i + 1);
	if (room > 16 * WF_KIB) {
		descend(h, value + 1);
	} else {
		w->depth_bytes = usable(h->stack) - room;
		for (unsigned i = 0; i < w->pauses; i++)
			hop_pause(h);
		if (w->leaves)
			hop_leave(h);
	}
	for (size_t i = 0; i < 48; i++)
		w->wrong += local[i] != value * (i + 1);
}

static void work_on_it(struct hop *h)
{
	struct work *w = h->arg;

	descend(h, w->seed);
}

/* A stack is used again after its function returned, and after it left. */
static void a_stack_is_as_good_as_new_a_thousand_times(void **state)
{
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, 0);
	for (size_t i = 0; i < threads_rounds(RECYCLED); i++) {
		struct work w = { .seed = i, .pauses = i % 3,
			.leaves = i % 2 };
		struct hop h;

		hop_open(&h, kit_take(&kit.cache, cls), work_on_it, &w);
		while (!h.over)
			hop_go(&h);
		assert_int_equal(w.wrong, 0);
		assert_true(w.depth_bytes > 48 * WF_KIB);
		kit_give(&kit.cache, h.stack);
	}
	assert_int_equal(kit_stats(&kit).guards_missing, 0);
	kit_close(&kit);
}

/* Many at a time, of three classes, all deep down when they pause. */
static void stacks_do_not_disturb_each_other(void **state)
{
	static const size_t sizes[] = { 32 * WF_KIB, 64 * WF_KIB,
		256 * WF_KIB };
	static struct work w[INTERLEAVED];
	static struct hop h[INTERLEAVED];
	size_t over = 0;

	(void)state;
	kit_open(&kit, NULL);
	for (unsigned i = 0; i < INTERLEAVED; i++) {
		unsigned cls = kit_class(&kit, sizes[i % 3]);

		w[i] = (struct work){ .seed = i * 1000, .pauses = 1 + i % 7 };
		hop_open(&h[i], kit_take(&kit.cache, cls), work_on_it, &w[i]);
	}
	for (size_t i = 0; over < INTERLEAVED; i++) {
		struct hop *one = &h[i * 7 % INTERLEAVED];

		if (one->over)
			continue;
		hop_go(one);
		if (!one->over)
			continue;
		assert_int_equal(((struct work *)one->arg)->wrong, 0);
		kit_give(&kit.cache, one->stack);
		over++;
	}
	kit_close(&kit);
}

/* Its memory is given back in between. */
static void a_stack_that_was_cold_is_as_good(void **state)
{
	unsigned cls;

	(void)state;
	kit_open(&kit, NULL);
	cls = kit_class(&kit, 0);
	for (size_t i = 0; i < threads_rounds(RECYCLED / 10); i++) {
		struct work w = { .seed = i, .leaves = i % 2 };
		struct hop h;

		hop_open(&h, kit_take(&kit.cache, cls), work_on_it, &w);
		hop_go(&h);
		assert_true(h.over);
		assert_int_equal(w.wrong, 0);
		kit_give(&kit.cache, h.stack);
		wf_stack_cache_flush(&kit.cache);
		wf_stack_pool_trim(&kit.pool);
		assert_int_equal(kit_stats(&kit).cold, kit_stats(&kit).ready);
		kit_check(&kit);
	}
	kit_close(&kit);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_has_what_its_class_promises),
		cmocka_unit_test(tops_do_not_fall_into_the_same_cache_sets),
		cmocka_unit_test(an_address_is_in_the_guard_or_not),
		cmocka_unit_test(every_byte_is_writable_and_in_one_stack_only),
		cmocka_unit_test(the_first_byte_below_faults),
		cmocka_unit_test(a_stack_is_as_good_as_new_a_thousand_times),
		cmocka_unit_test(stacks_do_not_disturb_each_other),
		cmocka_unit_test(a_stack_that_was_cold_is_as_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
