/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/inject_test.c - tasks leave the global queue in the order of
 * their pushes, and a push takes the same time whatever it carries (I1, I2).
 *
 * tests/stress/queue_inject_test.c is about many threads.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/random.h"
#include "queue/inject.h"
#include "support/threads.h"

enum { TASKS = 512, STEPS = 100000 };

static weft_task tasks[TASKS];

/* Push tasks [at, at + n), counted around the ring of them, as one batch. */
static void push(struct wf_inject *q, size_t at, size_t n)
{
	struct wf_batch batch = { 0 };

	for (size_t i = 0; i < n; i++)
		wf_batch_add(&batch, &tasks[(at + i) % TASKS]);
	wf_inject_push(q, &batch);
	assert_true(wf_batch_is_empty(&batch));
}

/* Take up to max, which must be the n tasks from at on. */
static void expect_take(struct wf_inject *q, size_t max, size_t at, size_t n)
{
	struct wf_batch out = { 0 };

	assert_int_equal(wf_inject_take(q, max, &out), n);
	assert_int_equal(out.count, n);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(wf_batch_take(&out), &tasks[(at + i) % TASKS]);
}

static void all_zero_is_empty(void **state)
{
	struct wf_inject q = { 0 };

	(void)state;
	assert_int_equal(wf_inject_len(&q), 0);
	expect_take(&q, 10, 0, 0);
}

static void a_take_is_limited_by_max_and_by_what_there_is(void **state)
{
	struct wf_inject q = { 0 };

	(void)state;
	push(&q, 0, 5);
	expect_take(&q, 0, 0, 0);
	expect_take(&q, 2, 0, 2);
	expect_take(&q, 1, 2, 1);
	expect_take(&q, 10, 3, 2);
	expect_take(&q, 10, 5, 0);
}

/* The front is exhausted in the middle of a take; the rest waits in back. */
static void what_is_in_front_is_older_than_the_back(void **state)
{
	struct wf_inject q = { 0 };

	(void)state;
	push(&q, 0, 3);
	expect_take(&q, 1, 0, 1);
	push(&q, 3, 2);
	push(&q, 5, 1);
	assert_int_equal(wf_inject_len(&q), 5);
	expect_take(&q, 10, 1, 2);
	assert_int_equal(wf_inject_len(&q), 3);
	expect_take(&q, 10, 3, 3);
	assert_int_equal(wf_inject_len(&q), 0);
}

static void a_take_appends_to_what_the_taker_has(void **state)
{
	struct wf_inject q = { 0 };
	struct wf_batch out = { 0 };

	(void)state;
	wf_batch_add(&out, &tasks[9]);
	push(&q, 0, 2);
	assert_int_equal(wf_inject_take(&q, 5, &out), 2);
	assert_int_equal(out.count, 3);
	assert_ptr_equal(wf_batch_take(&out), &tasks[9]);
	assert_ptr_equal(wf_batch_take(&out), &tasks[0]);
	assert_ptr_equal(wf_batch_take(&out), &tasks[1]);
}

/* A mark is passed when the last task before it is taken, not sooner (I2). */
static void a_mark_is_passed_when_all_before_it_is_taken(void **state)
{
	struct wf_inject q = { 0 };
	uint64_t mark;

	(void)state;
	assert_int_equal(wf_inject_pushed(&q), 0);
	assert_true(wf_inject_passed(&q, wf_inject_pushed(&q)));
	push(&q, 0, 3);
	push(&q, 3, 2);
	mark = wf_inject_pushed(&q);
	assert_int_equal(mark, 5);
	push(&q, 5, 4);
	assert_int_equal(wf_inject_pushed(&q), 9);
	for (size_t at = 0; at < 5; at++) {
		assert_false(wf_inject_passed(&q, mark));
		expect_take(&q, 1, at, 1);
	}
	assert_true(wf_inject_passed(&q, mark));
	assert_false(wf_inject_passed(&q, wf_inject_pushed(&q)));
	/* A take that finds nothing passes nothing. */
	expect_take(&q, 0, 5, 0);
	assert_false(wf_inject_passed(&q, mark + 1));
	expect_take(&q, 10, 5, 4);
	assert_true(wf_inject_passed(&q, wf_inject_pushed(&q)));
	expect_take(&q, 10, 9, 0);
	assert_false(wf_inject_passed(&q, wf_inject_pushed(&q) + 1));
}

/* Random batches in, random numbers out; the queue holds [taken, pushed). */
static void any_sequence_keeps_the_order(void **state)
{
	size_t taken = 0, pushed = 0, steps = threads_rounds(STEPS);
	struct wf_inject q = { 0 };
	struct wf_random random;

	(void)state;
	wf_random_seed(&random, threads_seed());
	for (size_t i = 0; i < steps; i++) {
		size_t n = wf_random_below(&random, 20);
		size_t len = pushed - taken;

		if (wf_random_below(&random, 2)) {
			if (n == 0 || len + n > TASKS)
				continue;
			push(&q, pushed, n);
			pushed += n;
		} else {
			struct wf_batch out = { 0 };

			wf_inject_take(&q, n, &out);
			assert_true(out.count <= n);
			assert_true(out.count > 0 || n == 0 || len == 0);
			while (!wf_batch_is_empty(&out))
				assert_ptr_equal(wf_batch_take(&out),
					&tasks[taken++ % TASKS]);
		}
		assert_int_equal(wf_inject_len(&q), pushed - taken);
		assert_int_equal(wf_inject_pushed(&q), pushed);
		assert_true(wf_inject_passed(&q, taken));
		assert_false(wf_inject_passed(&q, taken + 1));
	}
}

/* ------------------------------------------------------------------------ */
/* Time: a push that walked a million links would take a millisecond. */

static int64_t push_time(struct wf_inject *q, weft_task *first, size_t n)
{
	struct wf_batch batch = { 0 };
	int64_t ns;

	for (size_t i = 0; i < n; i++)
		wf_batch_add(&batch, &first[i]);
	ns = threads_now_ns();
	wf_inject_push(q, &batch);
	ns = threads_now_ns() - ns;
	while (wf_inject_take(q, SIZE_MAX, &batch) > 0)
		;
	assert_int_equal(batch.count, n);
	return ns;
}

/* The best of some, which no interrupt has disturbed. */
static int64_t best_push_time(size_t n)
{
	weft_task *many = calloc(n, sizeof(*many));
	struct wf_inject q = { 0 };
	int64_t best = INT64_MAX;

	assert_non_null(many);
	for (int i = 0; i < 10; i++) {
		int64_t ns = push_time(&q, many, n);

		if (ns < best)
			best = ns;
	}
	free(many);
	return best;
}

static void a_push_takes_no_longer_for_a_million_tasks(void **state)
{
	int64_t one = best_push_time(1);
	int64_t million = best_push_time(threads_rounds(1000000));

	(void)state;
	if (one < 100)
		one = 100; /* the clock is not finer than this */
	if (million >= 100 * one)
		fail_msg("one task: %lld ns, a million: %lld ns",
			(long long)one, (long long)million);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_zero_is_empty),
		cmocka_unit_test(a_take_is_limited_by_max_and_by_what_there_is),
		cmocka_unit_test(what_is_in_front_is_older_than_the_back),
		cmocka_unit_test(a_take_appends_to_what_the_taker_has),
		cmocka_unit_test(a_mark_is_passed_when_all_before_it_is_taken),
		cmocka_unit_test(any_sequence_keeps_the_order),
		cmocka_unit_test(a_push_takes_no_longer_for_a_million_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
