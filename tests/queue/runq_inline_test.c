/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/runq_inline_test.c - half of a queue is rounded as asked for and
 * limited; entries are linked and copied in order across the end of the ring,
 * and dead tickets are left out of a batch.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "queue/runq_inline.h"

enum { CAPACITY = 8 };

static weft_task tasks[CAPACITY];
static weft_task *dead; /* tickets for this task are */

static bool claim(wf_entry ticket)
{
	return wf_entry_task(ticket) != dead;
}

/* Entries 0 to CAPACITY - 1 from index first on; the odd ones are tickets. */
static void fill(struct wf_runq *q, _Atomic(wf_entry) *slots, uint64_t first)
{
	wf_runq_init(q, slots, CAPACITY);
	wf_store_rlx(&q->head, first);
	wf_store_rlx(&q->tail, first + CAPACITY);
	for (uint64_t i = 0; i < CAPACITY; i++)
		wf_store_rlx(&slots[(first + i) % CAPACITY],
			i % 2 ? wf_entry_ticket(&tasks[i], 1)
			      : wf_entry_of(&tasks[i]));
}

static void half_is_rounded_as_asked_for_and_limited(void **state)
{
	(void)state;
	for (size_t len = 0; len < 100; len++) {
		assert_int_equal(wf_runq_half(len, false, 100), len / 2);
		assert_int_equal(wf_runq_half(len, true, 100), (len + 1) / 2);
		assert_int_equal(wf_runq_half(len, true, 1), len > 0);
		assert_int_equal(wf_runq_half(len, false, 1), len > 1);
		assert_int_equal(wf_runq_half(len, true, 0), 0);
	}
}

static void entries_are_linked_in_order_without_dead_tickets(void **state)
{
	_Atomic(wf_entry) slots[CAPACITY];
	struct wf_runq q;

	(void)state;
	for (uint64_t first = 0; first < CAPACITY; first++) {
		struct wf_batch out = { 0 };

		fill(&q, slots, first);
		dead = &tasks[3];
		wf_runq_link(&q, first + 1, 5, claim, &out);
		assert_int_equal(out.count, 4);
		for (size_t i = 1; i < 6; i++)
			if (i != 3)
				assert_ptr_equal(
					wf_batch_take(&out), &tasks[i]);
		assert_null(wf_batch_take(&out));
	}
}

/* The first entry is the thief's own; the others go behind its tail. */
static void entries_are_copied_in_order(void **state)
{
	_Atomic(wf_entry) from_slots[CAPACITY], to_slots[CAPACITY];
	struct wf_runq from, to;

	(void)state;
	for (uint64_t first = 0; first < CAPACITY; first++) {
		uint64_t tail = 3 * first;

		fill(&from, from_slots, first);
		wf_runq_init(&to, to_slots, CAPACITY);
		wf_store_rlx(&to.head, tail);
		wf_store_rlx(&to.tail, tail);
		wf_runq_copy(&to, &from, first, CAPACITY - 1);
		assert_int_equal(wf_load_rlx(&to.tail), tail);
		for (uint64_t i = 1; i < CAPACITY; i++) {
			uint64_t at = (tail + i - 1) % CAPACITY;
			wf_entry e = wf_load_rlx(&to_slots[at]);

			assert_ptr_equal(wf_entry_task(e), &tasks[i]);
			assert_int_equal(wf_entry_is_ticket(e), i % 2);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_is_rounded_as_asked_for_and_limited),
		cmocka_unit_test(
			entries_are_linked_in_order_without_dead_tickets),
		cmocka_unit_test(entries_are_copied_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
