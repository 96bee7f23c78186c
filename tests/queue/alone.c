/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/alone.c - src/queue/ needs base/ and a lock and nothing else of
 * the library: every queue, as small as it can be, in a program of their own.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "queue/bounded.h"
#include "queue/inbox.h"
#include "queue/inject.h"
#include "queue/runq.h"
#include "queue/runq_locked.h"

static weft_task tasks[4];

static void expect(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "not so: %s\n", what);
		exit(1);
	}
}

static bool claim(wf_entry ticket)
{
	return wf_entry_task(ticket) != &tasks[0];
}

static void try_runq(const struct wf_runq_ops *ops)
{
	_Atomic(wf_entry) slots[2], others[2];
	struct wf_batch out = { 0 };
	struct wf_runq q, thief;
	size_t moved;

	wf_runq_init(&q, slots, 2);
	wf_runq_init(&thief, others, 2);
	for (int lap = 0; lap < 5; lap++) {
		expect(ops->push(&q, wf_entry_ticket(&tasks[0], 7)) &&
				ops->push(&q, wf_entry_of(&tasks[1])) &&
				!ops->push(&q, wf_entry_of(&tasks[2])),
			"a run queue of 2 holds 2");
		expect(ops->steal(&thief, &q, false, SIZE_MAX, &moved) ==
					wf_entry_ticket(&tasks[0], 7) &&
				moved == 1,
			"a thief takes one of two");
		expect(ops->steal(&thief, &q, false, SIZE_MAX, &moved) == 0,
			"a lone entry stays");
		expect(wf_entry_task(ops->pop(&q)) == &tasks[1] &&
				ops->pop(&q) == 0,
			"the owner pops the other");
		expect(ops->push(&q, wf_entry_ticket(&tasks[0], 7)) &&
				ops->offload(&q, claim, SIZE_MAX, &out) == 1 &&
				wf_batch_is_empty(&out),
			"a dead ticket is dropped");
		expect(wf_runq_check(&q) && wf_runq_check(&thief),
			"the invariants hold");
	}
}

static void try_global(void)
{
	struct wf_bounded_cell cells[2];
	struct wf_batch batch = { 0 };
	struct wf_bounded bounded;
	struct wf_inject inject = { 0 };
	struct wf_inbox inbox = { .in = NULL };
	bool rest;

	wf_bounded_init(&bounded, cells, 2);
	for (int lap = 0; lap < 5; lap++) {
		expect(wf_bounded_push(&bounded, &tasks[0]) &&
				wf_bounded_push(&bounded, &tasks[1]) &&
				!wf_bounded_push(&bounded, &tasks[2]),
			"a bounded queue of 2 holds 2");
		expect(wf_bounded_pop(&bounded) == &tasks[0] &&
				wf_bounded_pop(&bounded) == &tasks[1] &&
				wf_bounded_pop(&bounded) == NULL,
			"the bounded queue gives them back");
		wf_batch_add(&batch, &tasks[0]);
		wf_batch_add(&batch, &tasks[1]);
		wf_inject_push(&inject, &batch);
		expect(wf_inject_len(&inject) == 2 &&
				wf_inject_take(&inject, 9, &batch) == 2,
			"the global queue gives back two");
		wf_inbox_push(&inbox, &batch);
		expect(wf_inbox_take(&inbox, &inbox, 2, 9, &batch, &rest) ==
					1 &&
				rest && wf_batch_take(&batch) == &tasks[0],
			"the share of two among two is the first");
		expect(wf_inbox_take(&inbox, &inbox, 2, 9, &batch, &rest) ==
					1 &&
				!rest && wf_batch_take(&batch) == &tasks[1],
			"the rest is the second");
	}
}

int main(void)
{
	try_runq(&wf_runq_ops);
	try_runq(&wf_runq_locked_ops);
	try_global();
	return 0;
}
