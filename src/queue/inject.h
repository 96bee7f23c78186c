/* SPDX-License-Identifier: MIT */
/*
 * queue/inject.h - the global queue: unbounded, intrusive, first in first out.
 *
 * Tasks arrive as linked batches, from threads outside and from local queues
 * that overflow.  There are two lists, each under a short lock of its own:
 *
 *	back	submitters append batches here: a few instructions, whatever
 *		the size of the batch
 *	front	takers take tasks here: a taker walks as many links as it takes
 *		tasks.  When front is empty, all of back becomes front, in a
 *		few instructions under both locks (front_lock is taken first).
 *
 * So a submitter never waits for a walk, and takers wait only for each other.
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

/* A zeroed queue is empty. */
struct wf_inject {
	/* Part 1: for submitters. */
	struct wf_lock back_lock wf_aligned(WF_FALSE_SHARING);
	struct wf_batch back;		/* under back_lock */
	_Atomic(uint64_t) pushed;	/* changed under back_lock */

	/* Part 2: for takers. */
	struct wf_lock front_lock wf_aligned(WF_FALSE_SHARING);
	struct wf_batch front;		/* under front_lock */
	void (*fetch)(weft_task *first, size_t n);	/* fixed; or NULL.
							 * Prefetch n tasks */
	_Atomic(uint64_t) taken;	/* changed under front_lock */
};

/* Append batch, which is not empty; it is empty afterwards.  Any thread. */
void wf_inject_push(struct wf_inject *q, struct wf_batch *batch);

/*
 * Append up to max tasks, the oldest first, to out.  Any thread.  Returns how
 * many.
 */
size_t wf_inject_take(struct wf_inject *q, size_t max, struct wf_batch *out);

/*
 * Whether a task waits.  If so, and no other thread takes the task, the caller
 * sees all that its submitter did before the push.
 */
static inline bool wf_inject_has_any(struct wf_inject *q)
{
	/* [pair: inject.pushed] */
	return wf_load_acq(&q->pushed) != wf_load_rlx(&q->taken);
}

/* How many tasks were ever pushed: the index of the next one. */
static inline uint64_t wf_inject_pushed(struct wf_inject *q)
{
	return wf_load_rlx(&q->pushed);
}

/*
 * Whether all tasks are taken that were pushed when wf_inject_pushed was mark.
 */
static inline bool wf_inject_passed(struct wf_inject *q, uint64_t mark)
{
	return wf_load_rlx(&q->taken) >= mark;
}

/*
 * About how many tasks wait.  0 means that every task whose push had ended
 * before this call began has been taken.
 */
static inline size_t wf_inject_len(struct wf_inject *q)
{
	/*
	 * [pair: inject.taken] See at least as many pushed as were taken.  Were
	 * this relaxed, the difference could be negative.
	 */
	uint64_t taken = wf_load_acq(&q->taken);

	return (size_t)(wf_load_rlx(&q->pushed) - taken);
}

#endif
