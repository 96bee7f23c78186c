/* SPDX-License-Identifier: MIT */
/*
 * queue/inject.h - the global queue: unbounded, intrusive, first in first out.
 *
 * Work comes in from outside, and from local queues that overflow, as linked
 * batches.  It is two lists, each under a short lock of its own:
 *
 *	back	where batches are appended: a few instructions, whatever the
 *		size of the batch
 *	front	where tasks are taken: the taker walks as many links as it
 *		takes.  When it is empty the whole of back becomes front, in a
 *		few instructions under both locks (front is taken first).
 *
 * So nobody who submits ever waits for a walk, and takers only for each other.
 *
 * Invariants.
 *	(I1) Everything in front is older than everything in back, so the order
 *	     of tasks is the order of their pushes.
 *	(I2) pushed and taken count all tasks there ever were; both only grow,
 *	     and taken <= pushed.  Tasks are taken in order, so the i-th pushed
 *	     has been taken when taken >= i.
 *
 * queue/inbox.h does the same work without a lock, in a looser order.
 *
 * Reads next: queue/fair_share.h, how many a processor takes.
 */
#ifndef WF_QUEUE_INJECT_H
#define WF_QUEUE_INJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/lock.h"
#include "queue/batch.h"

/* All-zero is empty. */
struct wf_inject {
	/* Part 1: those who push. */
	struct wf_lock back_lock wf_aligned(WF_FALSE_SHARING);
	struct wf_batch back;		/* by back_lock */
	_Atomic(uint64_t) pushed;	/* written by back_lock, read by all */

	/* Part 2: those who take. */
	struct wf_lock front_lock wf_aligned(WF_FALSE_SHARING);
	struct wf_batch front;		/* by front_lock */
	void (*fetch)(weft_task *first, size_t n);	/* fixed; NULL: none.
					   n tasks will be taken */
	_Atomic(uint64_t) taken;	/* written by front_lock, read by all */
};

/* Append batch, not empty; it is then empty.  Anyone. */
void wf_inject_push(struct wf_inject *q, struct wf_batch *batch);

/* Append up to max tasks, the oldest first, to out.  Anyone.  How many. */
size_t wf_inject_take(struct wf_inject *q, size_t max, struct wf_batch *out);

/*
 * Does any task wait?  With all that its submitter did before the push, unless
 * somebody has taken it meanwhile.
 */
static inline bool wf_inject_has_any(struct wf_inject *q)
{
	/* [pair: inject.pushed] */
	return wf_load_acq(&q->pushed) != wf_load_rlx(&q->taken);
}

/* How many were ever pushed: the place of a task that is pushed next. */
static inline uint64_t wf_inject_pushed(struct wf_inject *q)
{
	return wf_load_rlx(&q->pushed);
}

/* Has everything been taken that was pushed when wf_inject_pushed was mark? */
static inline bool wf_inject_passed(struct wf_inject *q, uint64_t mark)
{
	return wf_load_rlx(&q->taken) >= mark;
}

/*
 * How many tasks wait, roughly.  0 means that every task whose push had ended
 * before this call began has been taken.
 */
static inline size_t wf_inject_len(struct wf_inject *q)
{
	/*
	 * [pair: inject.taken] See at least as many pushed as were taken.  Were
	 * this relaxed, there could seem to be fewer than none.
	 */
	uint64_t taken = wf_load_acq(&q->taken);

	return (size_t)(wf_load_rlx(&q->pushed) - taken);
}

#endif
