/* SPDX-License-Identifier: MIT */
/*
 * tests/arch/context_test.c - a context that switches away finds everything as
 * it was when it comes back: registers, locals, red zone, on any thread.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/context.h"
#include "base/compiler.h"
#include "flow.h"
#include "registers.h"

enum {
	SWITCHES = 1000000,
	ROUNDS = 10000,
	CHAIN = 1000,
	THREADS = 8,
};

/* A value that differs in all bytes for every seed and index. */
static uint64_t pattern(uint64_t seed, uint64_t i)
{
	uint64_t x = (seed << 8 | i) + 1;

	x *= 0x9e3779b97f4a7c15;
	x ^= x >> 29;
	return x * 0xbf58476d1ce4e5b9;
}

/* ------------------------------------------------------------------------ */
/* Registers: both sides fill all of them, switch, and look. */

struct side {
	struct flow flow;
	struct flow *other;
	const char *lost; /* the first register that was not kept */
};

/* A leaf function: every register reaches the switch as it was filled. */
static wf_may_switch void switch_once(void *arg)
{
	struct side *side = arg;

	flow_jump(&side->flow, side->other);
}

static void fill_switch_look(struct side *side, uint64_t seed)
{
	wf_aligned(16) uint64_t in[REGISTERS_MAX];
	wf_aligned(16) uint64_t out[REGISTERS_MAX];

	for (int i = 0; i < REGISTERS_MAX; i++)
		in[i] = pattern(seed, (uint64_t)i);
	memset(out, 0, sizeof(out));
	registers_around(in, out, switch_once, side);
	for (int i = 0; registers_names[i][0]; i++) {
		if (out[i] != in[i] && !side->lost)
			side->lost = registers_names[i];
	}
}

static void other_side(struct flow *self)
{
	struct side *side = wf_container_of(self, struct side, flow);

	for (uint64_t i = 0; i < ROUNDS; i++)
		fill_switch_look(side, 2 * i + 1);
}

static void saved_registers_survive(void **state)
{
	struct side a = { .lost = NULL };
	struct side b = { .lost = NULL };

	(void)state;
	flow_open_thread(&a.flow);
	flow_open(&b.flow, other_side, NULL);
	a.other = &b.flow;
	b.other = &a.flow;
	for (uint64_t i = 0; i < ROUNDS; i++)
		fill_switch_look(&a, 2 * i);
	flow_switch(&a.flow, &b.flow);
	if (a.lost || b.lost)
		fail_msg("not kept: %s", a.lost ? a.lost : b.lost);
	flow_close(&b.flow);
}

/* ------------------------------------------------------------------------ */
/*
 * Values that live across the switch inside the function that switches: a few,
 * and more than there are registers.  A register that the switch does not list
 * as clobbered would hold one of them.
 */

#define FEW(x) x(0) x(1) x(2)
#define TEN(x, n)                                                        \
	x(n##0) x(n##1) x(n##2) x(n##3) x(n##4) x(n##5) x(n##6) x(n##7)  \
	x(n##8) x(n##9)
#define MANY(x) TEN(x, 1) TEN(x, 2) TEN(x, 3) TEN(x, 4)
#define SEEDS 50 /* more than the largest number above */

#define LIVE_TAKE(n) live v##n = in[n];
#define LIVE_LOOK(n) lost += v##n != (live)seeds[n];

/* Define name(from, to, seeds): how many of number values were lost. */
#define LIVE_FUNCTION(name, number, type)                                \
	static wf_may_switch unsigned name(struct flow *from,            \
		struct flow *to, const uint32_t *seeds)                  \
	{                                                                \
		typedef type live;                                       \
		volatile live in[SEEDS];                                 \
		unsigned lost = 0;                                       \
                                                                         \
		for (int i = 0; i < SEEDS; i++)                          \
			in[i] = (live)seeds[i];                          \
		number(LIVE_TAKE)                                        \
		flow_jump(from, to);                                     \
		number(LIVE_LOOK)                                        \
		return lost;                                             \
	}

LIVE_FUNCTION(few_integers, FEW, uint64_t)
LIVE_FUNCTION(few_floats, FEW, float)
LIVE_FUNCTION(few_doubles, FEW, double)
LIVE_FUNCTION(few_long_doubles, FEW, long double)
LIVE_FUNCTION(many_integers, MANY, uint64_t)
LIVE_FUNCTION(many_floats, MANY, float)
LIVE_FUNCTION(many_doubles, MANY, double)
LIVE_FUNCTION(many_long_doubles, MANY, long double)

typedef unsigned live_function(
	struct flow *from, struct flow *to, const uint32_t *seeds);

static live_function *const live_functions[] = { few_integers, few_floats,
	few_doubles, few_long_doubles, many_integers, many_floats,
	many_doubles, many_long_doubles };

enum { LIVES = sizeof(live_functions) / sizeof(live_functions[0]) };

/* Nothing stands between the registers being spoilt and the switch. */
static wf_may_switch void trash_and_jump(struct flow *from, struct flow *to)
{
	registers_trash();
	flow_jump(from, to);
}

static void seed_all(uint32_t *seeds, uint64_t which)
{
	for (uint64_t i = 0; i < SEEDS; i++)
		seeds[i] = (uint32_t)pattern(which, i) >> 12;
}

/* Answers each function with spoilt registers, then with itself. */
static void other_lives(struct flow *self)
{
	unsigned *lost = self->arg;
	uint32_t seeds[SEEDS];

	seed_all(seeds, 2);
	for (int i = 0; i < LIVES; i++) {
		trash_and_jump(self, self->from);
		*lost += live_functions[i](self, self->from, seeds);
	}
}

static void live_values_survive(void **state)
{
	unsigned lost_here[LIVES][2];
	unsigned lost_there = 0;
	uint32_t seeds[SEEDS];
	struct flow a, b;

	(void)state;
	seed_all(seeds, 1);
	flow_open_thread(&a);
	flow_open(&b, other_lives, &lost_there);
	for (int i = 0; i < LIVES; i++) {
		for (int j = 0; j < 2; j++)
			lost_here[i][j] = live_functions[i](&a, &b, seeds);
	}
	flow_switch(&a, &b);
	for (int i = 0; i < LIVES; i++) {
		if (lost_here[i][0] || lost_here[i][1])
			fail_msg("live_functions[%d] lost %u, then %u values",
				i, lost_here[i][0], lost_here[i][1]);
	}
	assert_int_equal(lost_there, 0);
	flow_close(&b);
}

/* ------------------------------------------------------------------------ */
/*
 * Locals of many sizes, in memory.  None is aligned to more than the stack is,
 * none has a variable length: in a function with both (on ppc64le with the
 * first alone) clang addresses locals by a register that the switch clobbers.
 */

struct locals {
	char c;
	short s;
	int i;
	char three[3];
	double d;
	wf_aligned(16) char sixteen[16];
	char hundred[100];
	uint64_t many[500];
};

static void fill_bytes(void *to, size_t bytes, uint64_t seed)
{
	for (size_t i = 0; i < bytes; i++)
		((unsigned char *)to)[i] = (unsigned char)pattern(seed, i);
}

static unsigned bytes_lost(const void *of, size_t bytes, uint64_t seed)
{
	unsigned lost = 0;

	for (size_t i = 0; i < bytes; i++) {
		if (((const unsigned char *)of)[i] !=
			(unsigned char)pattern(seed, i))
			lost++;
	}
	return lost;
}

static wf_may_switch unsigned locals_and_jump(
	struct flow *from, struct flow *to, uint64_t seed)
{
	struct locals locals;

	fill_bytes(&locals, sizeof(locals), seed);
	flow_jump(from, to);
	return bytes_lost(&locals, sizeof(locals), seed);
}

/* A frame that clang finds by its base pointer: aligned, and of any size. */
static wf_may_switch unsigned odd_frame_and_jump(
	struct flow *from, struct flow *to, uint64_t seed)
{
	_Alignas(128) uint8_t aligned[128];
	uint8_t variable[1 + seed % 61];
	unsigned lost;

	fill_bytes(aligned, sizeof(aligned), seed);
	fill_bytes(variable, sizeof(variable), seed + 1);
	flow_jump(from, to);
	lost = bytes_lost(aligned, sizeof(aligned), seed);
	return lost + bytes_lost(variable, sizeof(variable), seed + 1);
}

static void other_locals(struct flow *self)
{
	unsigned *lost = self->arg;

	for (uint64_t seed = 1000; seed < 1100; seed++) {
		*lost += locals_and_jump(self, self->from, seed);
		*lost += odd_frame_and_jump(self, self->from, seed);
	}
}

static void locals_of_all_sizes_survive(void **state)
{
	unsigned lost_here = 0;
	unsigned lost_there = 0;
	struct flow a, b;

	(void)state;
	flow_open_thread(&a);
	flow_open(&b, other_locals, &lost_there);
	for (uint64_t seed = 0; seed < 100; seed++) {
		lost_here += locals_and_jump(&a, &b, seed);
		lost_here += odd_frame_and_jump(&a, &b, seed);
	}
	flow_switch(&a, &b);
	assert_int_equal(lost_here, 0);
	assert_int_equal(lost_there, 0);
	flow_close(&b);
}

/* ------------------------------------------------------------------------ */
/* The frame pointer, as the function itself sees it. */

static wf_may_switch int frame_and_jump(struct flow *from, struct flow *to)
{
	volatile uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	flow_jump(from, to);
	return frame == (uintptr_t)__builtin_frame_address(0);
}

static void other_frame(struct flow *self)
{
	int *kept = self->arg;

	*kept = frame_and_jump(self, self->from);
}

static void frame_pointer_survives(void **state)
{
	struct flow a, b;
	int kept_there;
	int kept_here;

	(void)state;
	flow_open_thread(&a);
	flow_open(&b, other_frame, &kept_there);
	kept_here = frame_and_jump(&a, &b);
	flow_switch(&a, &b);
	assert_true(kept_here);
	assert_true(kept_there);
	flow_close(&b);
}

/* ------------------------------------------------------------------------ */
/*
 * A leaf function may keep its locals below the stack pointer: on x86-64 up to
 * 128 bytes.
 */

/* Define name(from, to): how many words of zone were lost. */
#define ZONE_FUNCTION(name, words)                              \
	static wf_may_switch unsigned name(                     \
		struct flow *from, struct flow *to)             \
	{                                                       \
		volatile uintptr_t zone[words];                 \
		uintptr_t seed = (uintptr_t)from;               \
		unsigned lost = 0;                              \
                                                                \
		for (unsigned i = 0; i < (words); i++)          \
			zone[i] = seed ^ i;                     \
		flow_jump(from, to);                            \
		for (unsigned i = 0; i < (words); i++)          \
			lost += zone[i] != (seed ^ i);          \
		return lost;                                    \
	}

ZONE_FUNCTION(zone_of_1, 1)
ZONE_FUNCTION(zone_of_2, 2)
ZONE_FUNCTION(zone_of_7, 7)
ZONE_FUNCTION(zone_of_14, 14)
ZONE_FUNCTION(zone_of_15, 15)
ZONE_FUNCTION(zone_of_16, 16)
ZONE_FUNCTION(zone_of_30, 30)
ZONE_FUNCTION(zone_of_36, 36)

static unsigned (*const zone_functions[])(struct flow *from,
	struct flow *to) = { zone_of_1, zone_of_2, zone_of_7, zone_of_14,
	zone_of_15, zone_of_16, zone_of_30, zone_of_36 };

enum { ZONES = sizeof(zone_functions) / sizeof(zone_functions[0]) };

static void other_zones(struct flow *self)
{
	unsigned *lost = self->arg;

	for (int i = 0; i < ZONES; i++)
		*lost += zone_functions[i](self, self->from);
}

static void red_zone_survives(void **state)
{
	unsigned lost_here = 0;
	unsigned lost_there = 0;
	struct flow a, b;

	(void)state;
	flow_open_thread(&a);
	flow_open(&b, other_zones, &lost_there);
	for (int i = 0; i < ZONES; i++)
		lost_here += zone_functions[i](&a, &b);
	flow_switch(&a, &b);
	assert_int_equal(lost_here, 0);
	assert_int_equal(lost_there, 0);
	flow_close(&b);
}

/* ------------------------------------------------------------------------ */
/* Many switches, many contexts. */

static void count_switches(struct flow *self)
{
	uint64_t *count = self->arg;

	for (;;) {
		++*count;
		flow_switch(self, self->from);
	}
}

static void switches_a_million_times(void **state)
{
	uint64_t count = 0;
	struct flow a, b;

	(void)state;
	flow_open_thread(&a);
	flow_open(&b, count_switches, &count);
	for (uint64_t i = 0; i < SWITCHES / 2; i++) {
		flow_switch(&a, &b);
		if (count != i + 1)
			break;
	}
	assert_int_equal(count, SWITCHES / 2);
	flow_close(&b);
}

struct chain {
	struct flow flows[CHAIN];
	struct flow end;		/* the tests' own flow */
	uint64_t sum;
};

/* Goes to the next flow, or from the last to the end, and twice around. */
static void run_link(struct flow *self)
{
	struct chain *chain = self->arg;
	ptrdiff_t mine = self - chain->flows;
	uint64_t square = (uint64_t)mine * (uint64_t)mine;
	struct flow *next = self + 1;

	for (int round = 0; round < 3; round++) {
		chain->sum += square;
		flow_switch(self, next);
	}
}

static void chain_of_a_thousand_contexts(void **state)
{
	struct chain *chain = calloc(1, sizeof(*chain));
	uint64_t sum = 0;

	(void)state;
	_Static_assert(offsetof(struct chain, end) ==
			CHAIN * sizeof(struct flow),
		"the end follows the last flow");
	assert_non_null(chain);
	flow_open_thread(&chain->end);
	for (int i = 0; i < CHAIN; i++)
		flow_open(&chain->flows[i], run_link, chain);
	for (int round = 0; round < 3; round++) {
		flow_switch(&chain->end, chain->flows);
		for (uint64_t i = 0; i < CHAIN; i++)
			sum += i * i;
		assert_int_equal(chain->sum, sum);
		assert_ptr_equal(chain->end.from, &chain->flows[CHAIN - 1]);
	}
	for (int i = 0; i < CHAIN; i++)
		flow_close(&chain->flows[i]);
	free(chain);
}

/* ------------------------------------------------------------------------ */
/* A context started on one thread goes on on others. */

struct wander {
	struct flow flow;
	pid_t seen[THREADS + 1];	/* the thread of each visit */
	pid_t visitor[THREADS + 1];	/* the thread that switched to it */
	int visit;
	unsigned lost;
};

static void wander(struct flow *self)
{
	struct wander *w = self->arg;
	uint64_t locals[50];

	fill_bytes(locals, sizeof(locals), 7);
	for (int i = 0; i <= THREADS; i++) {
		w->seen[i] = gettid();
		flow_switch(self, self->from);
		w->lost += bytes_lost(locals, sizeof(locals), 7);
		w->lost += locals_and_jump(self, self->from, (uint64_t)i);
	}
}

static void *visit(void *arg)
{
	struct wander *w = arg;
	struct flow here;

	flow_open_thread(&here);
	w->visitor[w->visit++] = gettid();
	flow_switch(&here, &w->flow);
	flow_switch(&here, &w->flow);
	return NULL;
}

static void moves_to_other_threads(void **state)
{
	struct wander w = { .visit = 0 };
	pthread_t thread;
	struct flow here;

	(void)state;
	flow_open(&w.flow, wander, &w);
	visit(&w);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_create(&thread, NULL, visit, &w), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
	flow_open_thread(&here);
	flow_switch(&here, &w.flow);
	assert_int_equal(w.visit, THREADS + 1);
	for (int i = 0; i <= THREADS; i++) {
		assert_int_equal(w.seen[i], w.visitor[i]);
		if (i > 0)
			assert_int_not_equal(w.seen[i], w.seen[0]);
	}
	assert_int_equal(w.lost, 0);
	flow_close(&w.flow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(saved_registers_survive),
		cmocka_unit_test(live_values_survive),
		cmocka_unit_test(locals_of_all_sizes_survive),
		cmocka_unit_test(frame_pointer_survives),
		cmocka_unit_test(red_zone_survives),
		cmocka_unit_test(switches_a_million_times),
		cmocka_unit_test(chain_of_a_thousand_contexts),
		cmocka_unit_test(moves_to_other_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
