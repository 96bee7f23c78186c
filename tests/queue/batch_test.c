/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/batch_test.c - a batch holds what was added, once and in order,
 * however it is joined, cut and taken.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "base/random.h"
#include "queue/batch.h"
#include "support/threads.h"

enum { TASKS = 64, STEPS = 100000 };

/* What the link behind the last task must never be followed to. */
#define NOWHERE ((weft_task *)16)

struct fixture {
	weft_task tasks[TASKS];
};

static void forget_links(struct fixture *f)
{
	for (int i = 0; i < TASKS; i++)
		f->tasks[i].next_ = NOWHERE;
}

/* b holds the n tasks from first on; take them all. */
static void expect_all(struct wf_batch *b, weft_task *first, size_t n)
{
	assert_int_equal(b->count, n);
	assert_int_equal(wf_batch_is_empty(b), n == 0);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(wf_batch_take(b), &first[i]);
	assert_null(wf_batch_take(b));
	assert_true(wf_batch_is_empty(b));
}

static void add_many(struct wf_batch *b, weft_task *first, size_t n)
{
	for (size_t i = 0; i < n; i++)
		wf_batch_add(b, &first[i]);
}

static void all_zero_is_empty(void **state)
{
	struct wf_batch b = { 0 };

	(void)state;
	assert_true(wf_batch_is_empty(&b));
	assert_null(wf_batch_take(&b));
}

static void what_was_added_comes_in_order(void **state)
{
	struct fixture f;
	struct wf_batch b = { 0 };

	(void)state;
	for (size_t n = 0; n <= 5; n++) {
		forget_links(&f);
		add_many(&b, f.tasks, n);
		expect_all(&b, f.tasks, n);
	}
}

static void appending_joins_and_empties(void **state)
{
	struct fixture f;
	struct wf_batch a = { 0 }, b = { 0 };

	(void)state;
	for (size_t n = 0; n <= 3; n++) {
		for (size_t m = 0; m <= 3; m++) {
			forget_links(&f);
			add_many(&a, f.tasks, n);
			add_many(&b, f.tasks + n, m);
			wf_batch_append(&a, &b);
			assert_true(wf_batch_is_empty(&b));
			expect_all(&a, f.tasks, n + m);
		}
	}
}

static void cutting_takes_the_oldest(void **state)
{
	struct fixture f;
	struct wf_batch b = { 0 }, head;

	(void)state;
	for (size_t count = 1; count <= 5; count++) {
		for (size_t n = 1; n <= count; n++) {
			head = (struct wf_batch){ 0 };
			forget_links(&f);
			add_many(&b, f.tasks, count);
			wf_batch_split(&b, n, &head);
			assert_int_equal(b.count, count - n);
			expect_all(&head, f.tasks, n);
			/* Both parts go on as batches of their own. */
			wf_batch_add(&b, &f.tasks[count]);
			expect_all(&b, f.tasks + n, count - n + 1);
		}
	}
}

/* Random steps on one ring of tasks: the batch holds [taken, added). */
static void any_sequence_keeps_the_order(void **state)
{
	struct wf_batch b = { 0 }, more = { 0 };
	size_t taken = 0, added = 0, steps = threads_rounds(STEPS);
	struct wf_random random;
	struct fixture f;

	(void)state;
	wf_random_seed(&random, threads_seed());
	forget_links(&f);
	for (size_t i = 0; i < steps; i++) {
		size_t room = TASKS - (added - taken), n;

		n = wf_random_below(&random, 5);
		if (n > room)
			n = room;
		switch (wf_random_below(&random, 4)) {
		case 0:
			for (; n > 0; n--)
				wf_batch_add(&b, &f.tasks[added++ % TASKS]);
			break;
		case 1:
			for (; n > 0; n--)
				wf_batch_add(&more, &f.tasks[added++ % TASKS]);
			wf_batch_append(&b, &more);
			break;
		case 2:
			if (b.count == 0)
				break;
			n = 1 + wf_random_below(&random, (uint32_t)b.count);
			wf_batch_split(&b, n, &more);
			assert_int_equal(more.count, n);
			while (!wf_batch_is_empty(&more))
				assert_ptr_equal(wf_batch_take(&more),
					&f.tasks[taken++ % TASKS]);
			break;
		default:
			if (added > taken)
				assert_ptr_equal(wf_batch_take(&b),
					&f.tasks[taken++ % TASKS]);
			else
				assert_null(wf_batch_take(&b));
		}
		assert_int_equal(b.count, added - taken);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_zero_is_empty),
		cmocka_unit_test(what_was_added_comes_in_order),
		cmocka_unit_test(appending_joins_and_empties),
		cmocka_unit_test(cutting_takes_the_oldest),
		cmocka_unit_test(any_sequence_keeps_the_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
