/* SPDX-License-Identifier: MIT */
/*
 * queue/bounded.h - one bounded queue for a whole group, as in flare.
 *
 * Any thread pushes, any thread pops, first in first out.  Each cell has a turn
 * number that says which operation may use it next:
 *
 *	turn == i	free for the push of task i
 *	turn == i + 1	holds task i
 *	turn == i + cap	free again: task i was popped, next is i + cap
 *
 * A push claims the next index by compare-and-swap, fills the cell, and hands
 * it on by storing the turn.  A pop claims, reads and hands on in the same way.
 * A full queue refuses: the caller keeps the task and puts it elsewhere; it
 * never spins.
 *
 * Progress.  No lock, and no thread waits for another inside a call.  But a
 * thread that stops between its claim and its turn holds that one cell: until
 * it continues, pops report the queue empty there, and pushes report it full a
 * lap later.  queue/inbox.h does not have this weakness.
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
	weft_task *task;		/* of the operation whose turn it is */
};

struct wf_bounded {
	_Atomic(uint64_t) tail wf_aligned(WF_FALSE_SHARING);	/* pushes */
	_Atomic(uint64_t) head wf_aligned(WF_FALSE_SHARING);	/* pops */
	uint64_t mask wf_aligned(WF_FALSE_SHARING);		/* fixed */
	struct wf_bounded_cell *cells;				/* fixed */
};

/*
 * Make an empty queue in the caller's memory: capacity, a power of two of at
 * least WF_BOUNDED_CAP_MIN, is the number of cells.
 */
void wf_bounded_init(
	struct wf_bounded *q, struct wf_bounded_cell *cells, uint64_t capacity);

/* Append task.  Any thread.  False: full, the task is still the caller's. */
bool wf_bounded_push(struct wf_bounded *q, weft_task *task);

/* Take the oldest task; NULL if there is none.  Any thread. */
weft_task *wf_bounded_pop(struct wf_bounded *q);

/*
 * About how many tasks there are; exact if no other thread uses the queue.  On
 * 0 the caller sees everything that the taker of the last task did before.
 */
static inline size_t wf_bounded_len(struct wf_bounded *q)
{
	/* [pair: bounded.empty] */
	uint64_t head = wf_load_acq(&q->head);
	int64_t n = (int64_t)(wf_load_rlx(&q->tail) - head);

	return n > 0 ? (size_t)n : 0;
}

#endif
