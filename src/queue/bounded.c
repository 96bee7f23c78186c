/* SPDX-License-Identifier: MIT */
/*
 * queue/bounded.c - a bounded queue whose cells have turn numbers.
 */
#include "queue/bounded.h"

#include "base/assert.h"
#include "base/units.h"

void wf_bounded_init(
	struct wf_bounded *q, struct wf_bounded_cell *cells, uint64_t capacity)
{
	wf_assert(wf_is_pow2(capacity) && capacity >= WF_BOUNDED_CAP_MIN,
		"a bounded queue cannot hold %llu tasks",
		(unsigned long long)capacity);
	*q = (struct wf_bounded){ .mask = capacity - 1, .cells = cells };
	for (uint64_t i = 0; i < capacity; i++)
		cells[i] = (struct wf_bounded_cell){ .turn = i };
}

/*
 * Claim the next index of a side: the first one whose cell has the turn index +
 * ahead.  NULL if the cell is one lap behind: the queue is full for a push,
 * empty for a pop.
 */
static struct wf_bounded_cell *claim(struct wf_bounded *q,
	_Atomic(uint64_t) *side, uint64_t ahead, uint64_t *index)
{
	uint64_t i = wf_load_rlx(side);

	for (;;) {
		struct wf_bounded_cell *cell = &q->cells[i & q->mask];
		/*
		 * [pair: bounded.turn] The thread that handed the cell on is
		 * done with it: a pop sees the task, a push does not overwrite
		 * a task that is still being read.
		 */
		int64_t off = (int64_t)(wf_load_acq(&cell->turn) - i - ahead);

		if (off < 0)
			return NULL;
		/*
		 * [pair: bounded.empty] A thread that finds the queue empty
		 * sees that we took the last task, and all we did before.
		 */
		if (off > 0) {
			i = wf_load_rlx(side);
		} else if (wf_cas_weak_rel(side, &i, i + 1)) {
			*index = i;
			return cell;
		}
	}
}

bool wf_bounded_push(struct wf_bounded *q, weft_task *task)
{
	uint64_t i;
	struct wf_bounded_cell *cell = claim(q, &q->tail, 0, &i);

	if (cell == NULL)
		return false;
	cell->task = task;
	/* [pair: bounded.turn] Store the task before the turn of the pop. */
	wf_store_rel(&cell->turn, i + 1);
	return true;
}

weft_task *wf_bounded_pop(struct wf_bounded *q)
{
	uint64_t i;
	struct wf_bounded_cell *cell = claim(q, &q->head, 1, &i);
	weft_task *task;

	if (cell == NULL)
		return NULL;
	task = cell->task;
	/*
	 * [pair: bounded.turn] Read the task before the turn of the next push.
	 */
	wf_store_rel(&cell->turn, i + q->mask + 1);
	return task;
}
