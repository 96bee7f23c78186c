/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/exec_mix_test.c - all kinds of executors at once: tasks that hop
 * from one to the other, fibers on each that wake those on the next, strands
 * that come and go.  No task is lost, run twice or run on a wrong executor.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "api/executor_kit.h"
#include "base/random.h"
#include "support/threads.h"

#include <weft/weft.h>

static const size_t chosen[] = { RT_1, RT_4, POOL_2, MANUAL_BY_TWO,
	MANUAL_BY_FIBER, INLINE, USER_FIFO, USER_LIFO, KINDS_BELOW + RT_2,
	KINDS_BELOW + POOL_2, KINDS_BELOW + INLINE, STRAND_STRAND_MANUAL };
enum { SUBJECTS = sizeof(chosen) / sizeof(chosen[0]) };

static struct subject *subjects[SUBJECTS];

static void make_all(void)
{
	for (size_t i = 0; i < SUBJECTS; i++)
		subjects[i] = subject_make(&kinds[chosen[i]]);
}

static void unmake_all(void)
{
	for (size_t i = 0; i < SUBJECTS; i++)
		subject_unmake(subjects[i]);
}

/* ------------------------------------------------------------------------ */
/* Tasks that hop. */

enum { HOPPERS = 60, HOPS = 3000 };

struct hopper {
	weft_task task;
	struct wf_random random;
	struct subject *at;
	size_t hops, left;
};

static struct hopper hoppers[HOPPERS];
static weft_group hopping;

static void hop(struct hopper *h)
{
	h->at = subjects[wf_random_below(&h->random, SUBJECTS)];
	expect_eq(weft_submit(h->at->e, &h->task,
			  hints[wf_random_below(&h->random, HINTS)]),
		0);
}

static void run_hopper(weft_task *task)
{
	struct hopper *h = (struct hopper *)task;

	expect(weft_self() == NULL);
	expect(runs_this(h->at));
	h->hops++;
	if (--h->left > 0)
		hop(h);
	else
		weft_group_done(&hopping);
}

static void tasks_hop_between_executors(void **state)
{
	size_t n = rounds(HOPS);

	(void)state;
	make_all();
	weft_group_add(&hopping, HOPPERS);
	for (size_t i = 0; i < HOPPERS; i++) {
		hoppers[i] =
			(struct hopper){ .task.run = run_hopper, .left = n };
		wf_random_seed(&hoppers[i].random, threads_seed() + i);
		hop(&hoppers[i]);
	}
	assert_int_equal(weft_group_wait(&hopping, PATIENCE), 0);
	assert_expected();
	for (size_t i = 0; i < HOPPERS; i++)
		assert_int_equal(hoppers[i].hops, n);
	unmake_all();
}

/* ------------------------------------------------------------------------ */
/* Rings of fibers, one on each executor, that pass a baton on. */

enum { RINGS = 12, LAPS = 300 };

struct seat {
	struct baton baton;
	struct subject *at;
	struct seat *next;
	size_t *passes; /* of the ring; the baton's holder counts */
	size_t laps;
};

static struct seat seats[RINGS][SUBJECTS];
static size_t ring_passes[RINGS];

static void *sit(void *arg)
{
	struct seat *s = arg;

	for (size_t i = 0; i < s->laps; i++) {
		baton_wait(&s->baton);
		expect(runs_this(s->at));
		*s->passes += 1;
		baton_put(&s->next->baton, hints[i % HINTS]);
		if (i % 16 == 0)
			weft_yield();
	}
	return arg;
}

static void make_ring(size_t ring, weft_fiber **f)
{
	for (size_t i = 0; i < SUBJECTS; i++) {
		struct seat *s = &seats[ring][i];
		weft_fiber_attr attr = { 0 };

		*s = (struct seat){
			.at = subjects[(i * (ring % 5 + 1) + ring) % SUBJECTS]
		};
		s->next = &seats[ring][(i + 1) % SUBJECTS];
		s->passes = &ring_passes[ring];
		s->laps = rounds(LAPS);
		attr.executor = s->at->e;
		assert_int_equal(weft_spawn(&f[i], &attr, sit, s), 0);
	}
}

/* The last pass of each ring puts a baton that has no waiter any more. */
static void fibers_wake_fibers_of_other_executors(void **state)
{
	static weft_fiber *f[RINGS][SUBJECTS];

	(void)state;
	make_all();
	for (size_t i = 0; i < RINGS; i++)
		make_ring(i, f[i]);
	for (size_t i = 0; i < RINGS; i++)
		baton_put(&seats[i][0].baton, WEFT_HINT_DEFAULT);
	for (size_t i = 0; i < RINGS; i++) {
		for (size_t j = 0; j < SUBJECTS; j++) {
			void *result;

			assert_int_equal(
				weft_join(f[i][j], &result, PATIENCE), 0);
			assert_ptr_equal(result, &seats[i][j]);
		}
		assert_int_equal(ring_passes[i], SUBJECTS * rounds(LAPS));
	}
	assert_expected();
	unmake_all();
}

/* ------------------------------------------------------------------------ */
/* Strands that come and go, while others share the executor under them. */

enum { COMERS = 4, COMINGS = 150, STRAND_TASKS = 40 };

struct strand_task {
	weft_task task;
	size_t *ran; /* plain: a strand runs one at a time */
};

static void run_on_strand(weft_task *task)
{
	*((struct strand_task *)task)->ran += 1;
}

static void *yield_on_strand(void *arg)
{
	for (size_t i = 0; i < 5; i++) {
		*(size_t *)arg += 1;
		weft_yield();
	}
	return arg;
}

static void come_and_go(void *arg, unsigned self)
{
	struct strand_task tasks[STRAND_TASKS];
	struct wf_random r;

	(void)arg;
	wf_random_seed(&r, threads_seed() + self);
	for (size_t i = 0; i < rounds(COMINGS); i++) {
		struct subject *over = subjects[wf_random_below(&r, SUBJECTS)];
		weft_executor *strand;
		weft_fiber_attr attr = { 0 };
		weft_fiber *f = NULL;
		size_t ran = 0;

		expect_eq(weft_strand_create(&strand, over->e), 0);
		attr.executor = strand;
		expect_eq(weft_spawn(&f, &attr, yield_on_strand, &ran), 0);
		for (size_t j = 0; j < STRAND_TASKS; j++) {
			tasks[j] = (struct strand_task){
				{ .run = run_on_strand }, &ran
			};
			expect_eq(weft_submit(strand, &tasks[j].task,
					  hints[j % HINTS]),
				0);
		}
		expect_eq(weft_executor_destroy(strand), 0);
		expect_eq(ran, STRAND_TASKS + 5);
		expect_eq(weft_join(f, NULL, WEFT_NOW), 0);
	}
}

static void strands_come_and_go(void **state)
{
	(void)state;
	make_all();
	threads_run(COMERS, come_and_go, NULL);
	assert_expected();
	unmake_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_hop_between_executors),
		cmocka_unit_test(fibers_wake_fibers_of_other_executors),
		cmocka_unit_test(strands_come_and_go),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
