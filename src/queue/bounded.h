/* SPDX-License-Identifier: MIT */
/*
 * queue/bounded.h - one bounded queue for a whole group, as flare has it.
 *
 * Anyone pushes, anyone pops, first in first out.  Each cell carries a turn
 * number that says whose move it is:
 *
 *	turn == i	free for the push of task i
 *	turn == i + 1	holds task i
 *	turn == i + cap	free again: task i was popped, next is i + cap
 *
 * A push claims the next index by compare-and-swap, fills the cell, and hands
 * it on by the turn; a pop likewise.  A full queue refuses: the caller keeps
 * the task and puts it elsewhere, it never spins.
 *
 * Progress.  No lock, and no thread waits for another inside a call.  But a
 * thread that freezes between its claim and its turn holds that one cell: pops
 * report the queue empty there, pushes report it full a lap later, until it
 * goes on.  queue/inbox.h has no such place.
 *
 * Reads next: queue/inject.h, the unbounded queue that is the default.
 */
#ifndef WF_QUEUE_BOUNDED_H
#define WF_QUEUE_BOUNDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/task.h>

#include "base/atomic.h"
#include "base/compiler.h"

#define WF_BOUNDED_CAP_MIN 2
#define WF_BOUNDED_CAP_DEFAULT 65536

struct wf_bounded_cell {
	_Atomic(uint64_t) turn;
	weft_task *task;		/* by whoever's turn it is */
};

struct wf_bounded {
	_Atomic(uint64_t) tail wf_aligned(WF_FALSE_SHARING);	/* pushes */
	_Atomic(uint64_t) head wf_aligned(WF_FALSE_SHARING);	/* pops */
	uint64_t mask wf_aligned(WF_FALSE_SHARING);		/* fixed */
	struct wf_bounded_cell *cells;				/* fixed */
};

/*
 * Make an empty queue in the caller's memory: capacity, a power of two from
 * WF_BOUNDED_CAP_MIN on, is the number of cells.
 */
void wf_bounded_init(
	struct wf_bounded *q, struct wf_bounded_cell *cells, uint64_t capacity);

/* Append task.  Anyone.  False: full, the task is still the caller's. */
bool wf_bounded_push(struct wf_bounded *q, weft_task *task);

/* Take the oldest task; NULL if there is none.  Anyone. */
weft_task *wf_bounded_pop(struct wf_bounded *q);

/*
 * Roughly how many tasks there are; exact if nobody is active.  0: who took the
 * last one, and all it did before, is seen.
 */
static inline size_t wf_bounded_len(struct wf_bounded *q)
{
	/* [pair: bounded.empty] */
	uint64_t head = wf_load_acq(&q->head);
	int64_t n = (int64_t)(wf_load_rlx(&q->tail) - head);

	return n > 0 ? (size_t)n : 0;
}

#endif
