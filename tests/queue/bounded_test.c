/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/bounded_test.c - a cell changes hands by its turn: first in first
 * out, full refuses, and a cell that is claimed and not filled holds pops back.
 *
 * tests/stress/queue_bounded_test.c is about many threads.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "queue/bounded.h"
#include "support/threads.h"

enum { CAP_MAX = 256, TASKS = 2 * CAP_MAX, STEPS = 200000 };

static const uint64_t caps[] = { 2, 4, 8, 64, 256 };
enum { CAPS = sizeof(caps) / sizeof(caps[0]) };

/* Where indices may begin; the last goes around all 64 bits. */
static const uint64_t bases[] = { 0, (UINT64_C(1) << 32) - 3,
	(UINT64_C(1) << 63) - 3, UINT64_MAX - 2 };
enum { BASES = sizeof(bases) / sizeof(bases[0]) };

struct fixture {
	struct wf_bounded q;
	struct wf_bounded_cell cells[CAP_MAX];
	weft_task tasks[TASKS];
	size_t pushed, popped; /* tasks[i % TASKS] is the i-th */
};

static void open_at(struct fixture *f, uint64_t cap, uint64_t base)
{
	wf_bounded_init(&f->q, f->cells, cap);
	for (uint64_t i = 0; i < cap; i++)
		wf_store_rlx(&f->cells[(base + i) & (cap - 1)].turn, base + i);
	wf_store_rlx(&f->q.head, base);
	wf_store_rlx(&f->q.tail, base);
	f->pushed = f->popped = 0;
}

static size_t len(struct fixture *f)
{
	return f->pushed - f->popped;
}

static void push(struct fixture *f)
{
	bool fits = len(f) <= f->q.mask;

	assert_int_equal(
		wf_bounded_push(&f->q, &f->tasks[f->pushed % TASKS]), fits);
	f->pushed += fits;
	assert_int_equal(wf_bounded_len(&f->q), len(f));
}

static void pop(struct fixture *f)
{
	weft_task *task = wf_bounded_pop(&f->q);

	if (len(f) == 0)
		assert_null(task);
	else
		assert_ptr_equal(task, &f->tasks[f->popped++ % TASKS]);
	assert_int_equal(wf_bounded_len(&f->q), len(f));
}

static void a_new_queue_is_empty(void **state)
{
	struct fixture f;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		f.pushed = f.popped = 0;
		wf_bounded_init(&f.q, f.cells, caps[c]);
		assert_int_equal(wf_bounded_len(&f.q), 0);
		pop(&f);
		push(&f);
		pop(&f);
		pop(&f);
	}
}

static void every_capacity_is_used_up_in_order(void **state)
{
	struct fixture f;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		open_at(&f, caps[c], 0);
		for (size_t n = 0; n <= caps[c]; n++) {
			for (size_t i = 0; i < n; i++)
				push(&f);
			for (size_t i = 0; i <= n; i++)
				pop(&f);
		}
	}
}

static void a_full_queue_refuses_and_loses_nothing(void **state)
{
	struct fixture f;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		open_at(&f, caps[c], 0);
		for (size_t i = 0; i < caps[c] + 3; i++)
			push(&f);
		assert_int_equal(f.pushed, caps[c]);
		pop(&f);
		push(&f);
		push(&f);
		assert_int_equal(len(&f), caps[c]);
		while (len(&f) > 0)
			pop(&f);
		pop(&f);
	}
}

/* Many laps, with every index size. */
static void any_sequence_keeps_the_order(void **state)
{
	size_t steps = threads_rounds(STEPS / CAPS / BASES);
	struct wf_random random;
	struct fixture f;

	(void)state;
	wf_random_seed(&random, threads_seed());
	for (size_t c = 0; c < CAPS; c++) {
		for (size_t b = 0; b < BASES; b++) {
			open_at(&f, caps[c], bases[b]);
			for (size_t i = 0; i < steps; i++) {
				uint32_t n = wf_random_below(&random, 9);
				bool in = wf_random_below(&random, 2);

				for (; n > 0 && in; n--)
					push(&f);
				for (; n > 0; n--)
					pop(&f);
			}
		}
	}
}

/*
 * A push that froze between its claim and its turn: pops see an empty queue
 * there, although newer tasks wait, and nothing is lost when it goes on.
 */
static void a_claimed_cell_holds_pops_back_until_it_is_filled(void **state)
{
	struct fixture f;
	uint64_t frozen;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		open_at(&f, caps[c], 0);
		frozen = wf_load_rlx(&f.q.tail);
		wf_store_rlx(&f.q.tail, frozen + 1);
		for (size_t i = 1; i < caps[c]; i++)
			assert_true(wf_bounded_push(&f.q, &f.tasks[i]));
		assert_false(wf_bounded_push(&f.q, &f.tasks[caps[c]]));
		assert_null(wf_bounded_pop(&f.q));
		assert_null(wf_bounded_pop(&f.q));
		f.cells[0].task = &f.tasks[0];
		wf_store_rlx(&f.cells[0].turn, frozen + 1);
		for (size_t i = 0; i < caps[c]; i++)
			assert_ptr_equal(wf_bounded_pop(&f.q), &f.tasks[i]);
		assert_null(wf_bounded_pop(&f.q));
	}
}

/* A pop that froze likewise: pushes see a full queue, but a lap later. */
static void a_claimed_cell_holds_pushes_back_a_lap_later(void **state)
{
	struct fixture f;

	(void)state;
	for (size_t c = 0; c < CAPS; c++) {
		open_at(&f, caps[c], 0);
		assert_true(wf_bounded_push(&f.q, &f.tasks[0]));
		wf_store_rlx(&f.q.head, 1);
		for (size_t i = 1; i < caps[c]; i++) {
			assert_true(wf_bounded_push(&f.q, &f.tasks[i]));
			assert_ptr_equal(wf_bounded_pop(&f.q), &f.tasks[i]);
		}
		assert_int_equal(wf_bounded_len(&f.q), 0);
		assert_false(wf_bounded_push(&f.q, &f.tasks[1]));
		assert_null(wf_bounded_pop(&f.q));
		wf_store_rlx(&f.cells[0].turn, caps[c]);
		assert_true(wf_bounded_push(&f.q, &f.tasks[1]));
		assert_ptr_equal(wf_bounded_pop(&f.q), &f.tasks[1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_queue_is_empty),
		cmocka_unit_test(every_capacity_is_used_up_in_order),
		cmocka_unit_test(a_full_queue_refuses_and_loses_nothing),
		cmocka_unit_test(any_sequence_keeps_the_order),
		cmocka_unit_test(
			a_claimed_cell_holds_pops_back_until_it_is_filled),
		cmocka_unit_test(a_claimed_cell_holds_pushes_back_a_lap_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
