/* SPDX-License-Identifier: MIT */
/*
 * queue/runq.h - a processor's own run queue: bounded, first in first out.
 *
 * Roles.  The OWNER (the holder of the processor) pushes, pops and offloads.
 * ANY thread steals and grabs.  Only the owner writes slots and tail; a thread
 * that moves head by compare-and-swap has taken the entries that head passed.
 *
 * Invariants.
 *	(Q1) 0 <= tail - head <= capacity; both only grow.  They are 64 bits
 *	     wide: at a billion tasks a second they last 584 years, so a value
 *	     never comes back and a compare-and-swap is never fooled.
 *	(Q2) slots[i & mask] holds entry i from the store of tail = i + 1 until
 *	     the owner, having seen head > i, pushes entry i + capacity.
 *	(Q3) An entry pushed once is taken at most once.
 *
 * Protocol.
 *	owner, push			thief
 *	  head (acquire), if it seems	  head (relaxed)
 *	  full with the one seen last	  tail (acquire)    [runq.publish]
 *	  slot = entry			  copy slots
 *	  tail = t + 1 (release)	  head: h -> h + n (release)
 *	    [runq.publish]			  [runq.consume]
 *
 * What a reader will wrongly assume: that a thief sees head <= tail.  It reads
 * two words at two times; a difference below 0 or above the capacity only means
 * that it looked too late, and its compare-and-swap would have failed.
 *
 * Entries are taken first in, first out, except after wf_runq_shuffle.
 *
 * Pushing costs no locked instruction, popping one.
 *
 * There are two implementations on one struct: this one, lock-free, and
 * queue/runq_locked.h under a lock, for comparison.  struct wf_runq_ops lists
 * the operations of both; use one implementation for the whole life of a queue.
 *
 * Reads next: queue/inject.h, for the tasks that do not fit.
 */
#ifndef WF_QUEUE_RUNQ_H
#define WF_QUEUE_RUNQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/random.h"
#include "os/lock.h"
#include "queue/batch.h"
#include "queue/entry.h"

#define WF_RUNQ_CAP_MIN 2
#define WF_RUNQ_CAP_MAX 65536

struct wf_runq {
	/* Part 1: moved by every taker. */
	_Atomic(uint64_t) head wf_aligned(WF_FALSE_SHARING);
	struct wf_lock lock;		/* used by the locked variant only */

	/* Part 2: written by the owner, read by all. */
	_Atomic(uint64_t) tail wf_aligned(WF_FALSE_SHARING);
	uint64_t head_seen;		/* owner only: a former value of head */
	uint64_t mask;			/* capacity - 1; fixed */
	_Atomic(wf_entry) *slots;	/* fixed */
};

struct wf_runq_ops {
	const char *name;
	bool (*push)(struct wf_runq *q, wf_entry e);
	wf_entry (*pop)(struct wf_runq *q);
	wf_entry (*steal)(struct wf_runq *to, struct wf_runq *from, bool lone,
		size_t most, size_t *moved);
	size_t (*grab)(struct wf_runq *q, wf_entry *out, size_t max);
	size_t (*offload)(struct wf_runq *q, wf_claim_fn *claim, size_t most,
		struct wf_batch *out);
};

extern const struct wf_runq_ops wf_runq_ops;

/*
 * Make an empty queue of capacity entries in the caller's memory: capacity is a
 * power of two in [WF_RUNQ_CAP_MIN, WF_RUNQ_CAP_MAX], slots has as many.
 */
void wf_runq_init(
	struct wf_runq *q, _Atomic(wf_entry) *slots, uint64_t capacity);

/* About how many entries there are; exact if no other thread is active. */
static inline size_t wf_runq_len(struct wf_runq *q)
{
	int64_t n = (int64_t)(wf_load_rlx(&q->tail) - wf_load_rlx(&q->head));

	return n > 0 ? (size_t)n : 0;
}

/* The oldest entry, which may be taken by now; 0: none.  Owner. */
static inline wf_entry wf_runq_peek(struct wf_runq *q)
{
	uint64_t h = wf_load_rlx(&q->head);

	if (h == wf_load_rlx(&q->tail))
		return 0;
	return wf_load_rlx(&q->slots[h & q->mask]);
}

/* How many entries fit behind tail.  Owner. */
static inline size_t wf_runq_room(struct wf_runq *q, uint64_t tail)
{
	/*
	 * [pair: runq.consume] A thief that moved head has read the slots it
	 * passed.  Were this relaxed, that thief could see our next store into
	 * one of them, and run the new entry in place of the old one (Q2).
	 */
	q->head_seen = wf_load_acq(&q->head);
	return (size_t)(q->mask + 1 - (tail - q->head_seen));
}

/* Append e, not 0.  Owner.  False: full, nothing happened. */
static inline bool wf_runq_push(struct wf_runq *q, wf_entry e)
{
	uint64_t t = wf_load_rlx(&q->tail);

	if (wf_unlikely(t - q->head_seen > q->mask) && wf_runq_room(q, t) == 0)
		return false;
	wf_store_rlx(&q->slots[t & q->mask], e);
	/*
	 * [pair: runq.publish] Store the slot, and the task it points to,
	 * before the index that lets a thief read them.
	 */
	wf_store_rel(&q->tail, t + 1);
	return true;
}

/* Prefetch entry h, which may be needed soon, or the entry a lap before it. */
static inline void wf_runq_expect(struct wf_runq *q, uint64_t h)
{
	wf_prefetch((void *)wf_load_rlx(&q->slots[h & q->mask]));
}

/* Pop, when no other thread can take at the same time.  Owner. */
static inline wf_entry wf_runq_pop_alone(struct wf_runq *q)
{
	uint64_t h = wf_load_rlx(&q->head);
	wf_entry e;

	if (h == wf_load_rlx(&q->tail))
		return 0;
	e = wf_load_rlx(&q->slots[h & q->mask]);
	wf_store_rlx(&q->head, h + 1);
	wf_runq_expect(q, h + 1);
	return e;
}

/* Take the oldest entry; 0 if there is none.  Owner. */
static inline wf_entry wf_runq_pop(struct wf_runq *q)
{
	uint64_t t = wf_load_rlx(&q->tail);
	uint64_t h = wf_load_rlx(&q->head);

	/* Relaxed: this thread has written the slots. */
	while (h != t) {
		wf_entry e = wf_load_rlx(&q->slots[h & q->mask]);

		if (wf_likely(wf_cas_rlx(&q->head, &h, h + 1))) {
			wf_runq_expect(q, h + 1);
			return e;
		}
	}
	return 0;
}

/*
 * Take the older half of from.  One entry is the result, to run now; the others
 * go to the tail of to, whose owner is the caller.  The half is rounded down,
 * so that a single entry stays with its owner, unless lone is true.  Takes at
 * most `most', which is at least 1, and no more than to has room for.  Returns
 * 0 if there was nothing to take; *moved is how many entries left from, the
 * result included.
 */
wf_entry wf_runq_steal(struct wf_runq *to, struct wf_runq *from, bool lone,
	size_t most, size_t *moved);

/*
 * Take up to max of the oldest entries into out.  Any thread.  Returns how
 * many.
 */
size_t wf_runq_grab(struct wf_runq *q, wf_entry *out, size_t max);

/*
 * Take the older half (rounded up), but at most `most', which is at least 1,
 * and append its tasks to out.  Claims tickets first, and drops those that are
 * dead.  Owner.  Returns how many entries left the queue: 0 only if it was
 * empty.
 */
size_t wf_runq_offload(struct wf_runq *q, wf_claim_fn *claim, size_t most,
	struct wf_batch *out);

/*
 * Drop the tickets whose task was started already, as `fresh' says; all others
 * keep their order.  Owner, with a full queue.  Returns how many are left.
 */
size_t wf_runq_sift(struct wf_runq *q, wf_claim_fn *fresh);

/* Put the entries into a random order.  Owner, while no other thread takes. */
void wf_runq_shuffle(struct wf_runq *q, struct wf_random *r);

/* Whether the invariants hold.  Only while no other thread is active. */
bool wf_runq_check(struct wf_runq *q);

#endif
