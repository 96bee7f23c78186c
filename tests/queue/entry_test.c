/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/entry_test.c - an entry gives back its task, its tag and,
 * if it is a ticket, its use, for whatever address a task may have.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "queue/entry.h"

static void an_entry_keeps_task_and_tag(void **state)
{
	weft_task tasks[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		wf_entry plain = wf_entry_of(&tasks[i]);
		wf_entry ticket = wf_entry_ticket(&tasks[i], (uint8_t)(3 * i));

		assert_false(wf_entry_is_ticket(plain));
		assert_true(wf_entry_is_ticket(ticket));
		assert_ptr_equal(wf_entry_task(plain), &tasks[i]);
		assert_ptr_equal(wf_entry_task(ticket), &tasks[i]);
		assert_true(plain != ticket);
		assert_true(plain != 0);
		assert_true(ticket != 0);
	}
}

/*
 * The tag takes the one bit that the alignment of a task leaves free, and the
 * use of a ticket the highest byte, which only tickets have to spare.
 */
static void addresses_keep_all_their_bits(void **state)
{
	(void)state;
	_Static_assert(_Alignof(weft_task) >= 2, "the lowest bit is free");
	for (unsigned bit = 1; bit < 64; bit++) {
		weft_task *task = (weft_task *)((uintptr_t)1 << bit);

		assert_ptr_equal(wf_entry_task(wf_entry_of(task)), task);
		assert_false(wf_entry_is_ticket(wf_entry_of(task)));
		if (bit >= WF_TICKET_USE_SHIFT)
			continue;
		assert_ptr_equal(
			wf_entry_task(wf_entry_ticket(task, 255)), task);
		assert_ptr_equal(wf_entry_task(wf_entry_ticket(task, 0)), task);
	}
}

/* Tickets for two uses of the same memory differ, but not in their task. */
static void a_ticket_keeps_its_use(void **state)
{
	weft_task task;
	wf_entry last = wf_entry_ticket(&task, 255);

	(void)state;
	for (unsigned use = 0; use < 256; use++) {
		wf_entry ticket = wf_entry_ticket(&task, (uint8_t)use);

		assert_int_equal(wf_entry_use(ticket), use);
		assert_true(wf_entry_is_ticket(ticket));
		assert_ptr_equal(wf_entry_task(ticket), &task);
		assert_true(ticket != last);
		last = ticket;
	}
}

static void zero_is_no_entry(void **state)
{
	(void)state;
	assert_int_equal(wf_entry_of(NULL), 0);
	assert_false(wf_entry_is_ticket(0));
	assert_null(wf_entry_task(0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_keeps_task_and_tag),
		cmocka_unit_test(addresses_keep_all_their_bits),
		cmocka_unit_test(a_ticket_keeps_its_use),
		cmocka_unit_test(zero_is_no_entry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
