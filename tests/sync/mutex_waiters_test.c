/* SPDX-License-Identifier: MIT */
/*
 * tests/sync/mutex_waiters_test.c - the queue of a mutex has each pushed waiter
 * once, in the order in which they came; a waiter that came too late is the
 * first again; waiters that gave up are taken out with the others.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/atomic.h"
#include "base/random.h"
#include "sync/mutex_waiters.h"
#include "wait/wait_inline.h"

enum { WAITERS = 12 };

static struct wf_mutex_waiter waiter[WAITERS];

/* Waiters of plain threads: a claim needs no fiber. */
static void open_all(void)
{
	memset(waiter, 0, sizeof(waiter));
	for (size_t i = 0; i < WAITERS; i++)
		wf_node_open(&waiter[i].node, &waiter[i].w);
}

static uint64_t push(uint64_t word, size_t i)
{
	return wf_mutex_push(&waiter[i], word);
}

static void give_up(size_t i)
{
	wf_store_rlx(&waiter[i].w.word, WF_WAITER_GONE);
}

static void expect_queue(
	struct wf_mutex_waiter *queue, const size_t *order, size_t n)
{
	struct wf_mutex_waiter *last = queue ? queue->last : NULL;

	for (size_t i = 0; i < n; i++, queue = queue->next) {
		assert_non_null(queue);
		assert_int_equal(queue - waiter, order[i]);
		if (i + 1 == n)
			assert_ptr_equal(queue, last);
	}
	assert_null(queue);
}

static uint64_t sorted(struct wf_mutex_waiter *queue)
{
	return (uintptr_t)queue | WF_MUTEX_SORTED | WF_MUTEX_LOCKED;
}

static void pushed_waiters_come_in_order(void **state)
{
	static const size_t order[] = { 0, 1, 2, 3, 4 };
	struct wf_mutex_waiter *queue;
	uint64_t word = WF_MUTEX_LOCKED;

	(void)state;
	open_all();
	for (size_t i = 0; i < 3; i++)
		word = push(word, i);
	assert_int_equal(word & WF_MUTEX_BITS, WF_MUTEX_LOCKED);
	queue = wf_mutex_sort(word, 0, NULL);
	expect_queue(queue, order, 3);
	word = push(push(sorted(queue), 3), 4);
	expect_queue(wf_mutex_sort(word, 0, NULL), order, 5);
}

static void a_late_waiter_is_the_first_again(void **state)
{
	static const size_t order[] = { 3, 0, 1, 2, 4 };
	struct wf_mutex_waiter *queue;
	uint64_t word = WF_MUTEX_LOCKED;

	(void)state;
	open_all();
	queue = wf_mutex_sort(push(push(word, 0), 1), 0, NULL);
	waiter[3].first_again = true;
	word = push(push(push(sorted(queue), 2), 3), 4);
	expect_queue(wf_mutex_sort(word, 0, NULL), order, 5);
}

/* The word changed while the holder had sorted: only the new ones follow. */
static void later_pushes_join_a_queue_that_is_sorted(void **state)
{
	static const size_t order[] = { 1, 2, 3 };
	struct wf_mutex_waiter *queue, *gone = NULL, *s;
	uint64_t word = push(push(WF_MUTEX_LOCKED, 0), 1), known;

	(void)state;
	open_all();
	word = push(push(WF_MUTEX_LOCKED, 0), 1);
	known = word & WF_MUTEX_LINK;
	queue = wf_mutex_sort(word, 0, NULL);
	s = wf_mutex_claim(&queue, &gone);
	assert_ptr_equal(s, &waiter[0]);
	word = push(push(word, 2), 3);
	queue = wf_mutex_sort(word, known, queue);
	expect_queue(queue, order, 3);
	/* Nothing new. */
	expect_queue(wf_mutex_sort(word, word & WF_MUTEX_LINK, queue), order,
		3);
	assert_null(gone);
}

static void all_that_were_known_may_be_gone(void **state)
{
	static const size_t order[] = { 2 };
	struct wf_mutex_waiter *queue, *gone = NULL;
	uint64_t word, known;

	(void)state;
	open_all();
	give_up(0);
	give_up(1);
	word = push(push(WF_MUTEX_LOCKED, 0), 1);
	known = word & WF_MUTEX_LINK;
	queue = wf_mutex_sort(word, 0, NULL);
	assert_null(wf_mutex_claim(&queue, &gone));
	assert_null(queue);
	assert_ptr_equal(gone, &waiter[1]);
	assert_ptr_equal(gone->next, &waiter[0]);
	assert_null(gone->next->next);
	word = push(word, 2);
	queue = wf_mutex_sort(word, known, queue);
	expect_queue(queue, order, 1);
	assert_ptr_equal(wf_mutex_claim(&queue, &gone), &waiter[2]);
	assert_null(queue);
}

/* Any pushes, sorts, claims and givers-up, beside a model. */
static void a_random_history_loses_no_waiter(void **state)
{
	struct wf_random random;

	(void)state;
	wf_random_seed(&random, 7);
	for (int round = 0; round < 2000; round++) {
		struct wf_mutex_waiter *queue = NULL, *gone = NULL, *s;
		uint64_t word = WF_MUTEX_LOCKED;
		size_t taken = 0, left = 0, next = 0;
		bool is_gone[WAITERS] = { false };

		open_all();
		for (size_t i = 0; i < WAITERS; i++) {
			is_gone[i] = wf_random_below(&random, 3) == 0;
			if (is_gone[i])
				give_up(i);
			word = push(word, i);
			if (wf_random_below(&random, 3) != 0)
				continue;
			queue = wf_mutex_sort(word, 0, NULL);
			s = wf_mutex_claim(&queue, &gone);
			while (next < WAITERS && is_gone[next])
				next++;
			if (s != NULL)
				assert_int_equal(s - waiter, next++);
			taken += s != NULL;
			word = queue ? sorted(queue) : WF_MUTEX_LOCKED;
		}
		queue = wf_mutex_sort(word, 0, NULL);
		while (wf_mutex_claim(&queue, &gone) != NULL)
			taken++;
		for (; gone != NULL; gone = gone->next)
			left++;
		assert_int_equal(taken + left, WAITERS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_waiters_come_in_order),
		cmocka_unit_test(a_late_waiter_is_the_first_again),
		cmocka_unit_test(later_pushes_join_a_queue_that_is_sorted),
		cmocka_unit_test(all_that_were_known_may_be_gone),
		cmocka_unit_test(a_random_history_loses_no_waiter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
