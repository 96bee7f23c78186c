/* SPDX-License-Identifier: MIT */
/*
 * chan/chan.h - the channel: a lock, a ring of elements, two lists who wait.
 *
 * Invariants, while nobody holds the lock:
 *	(C1) Who is in waiters[RECV], and can still be claimed, waits with
 *	     nothing in the ring and nobody in waiters[SEND].
 *	(C2) Who is in waiters[SEND], and can still be claimed, waits with the
 *	     ring full and nobody in waiters[RECV].
 *	(C3) A closed channel has nobody in its lists who can be claimed.
 *	(C4) STATE has the bit of a side, 1 << side, if a call on it may find
 *	     that it need not wait: an element or a sender, room or a receiver,
 *	     or CLOSED, its third bit.
 *
 * Two cases of one select, which may stand in both lists, count as nobody to
 * each other.
 *
 * Nobody leaves an element for somebody who waits: it goes straight from one
 * frame into the other.  Who claims a waiter has its frame until it wakes it,
 * so the copy is made after the lock was given back, and giving that back is
 * always the last access to the channel: the other side may free it next.
 *
 * STATE is read without the lock too.  It is right about all that happened
 * before the look, and who waits looks again under the lock; so a call that has
 * to wait takes the lock once, when it does.
 *
 * Reads next: chan/chan.c, then chan/select.c
 */
#ifndef WF_CHAN_CHAN_H
#define WF_CHAN_CHAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/chan.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/spin.h"
#include "wait/wait.h"

enum wf_side { WF_CHAN_SEND, WF_CHAN_RECV };

/* STATE */
#define WF_CHAN_CLOSED 4u

struct weft_chan {
	struct wf_spin lock;
	_Atomic(uint32_t) state;	/* STATE; written by lock */
	struct wf_list waiters[2];	/* by lock */
	size_t capacity;		/* fixed */
	size_t elem_bytes;		/* fixed */
	_Atomic(weft_fiber *) guest;	/* who waited last, for prefetching: it
					   may be gone.  NULL: nobody, or a
					   thread */
	size_t count;			/* elements in the ring; by lock */
	size_t head;			/* where the oldest is; by lock */
	_Atomic(size_t) refs;
	unsigned char ring[] wf_aligned(16);
};

/* Somebody who waits, in one of the lists. */
struct wf_chan_node {
	struct wf_node node;		/* must be first */
	void *value;			/* the element; NULL: to be dropped */
	int result;			/* by its claimer; 0 at first */
};

/* A call on this side may not have to wait. */
static inline bool wf_chan_is_ready(weft_chan *c, enum wf_side side)
{
	return wf_load_rlx(&c->state) >> side & 1;
}

/* Send or receive without waiting: 0, -EPIPE; -EAGAIN: it would have to. */
wf_must_check int wf_chan_try(weft_chan *c, enum wf_side side, void *value);

/* Give the lock back, our last access to c. */
static inline void wf_chan_unlock(weft_chan *c, uint32_t state)
{
	wf_store_rlx(&c->state, state);
	wf_spin_unlock(&c->lock);
}

/*
 * Holding the lock, and give it back: something is there.  As wf_chan_enlist,
 * if it is only the select itself.
 */
wf_must_check bool wf_chan_enlist_met(
	weft_chan *c, enum wf_side side, struct wf_chan_node *n);

/*
 * In the commit of a select, the waiter being armed: into the list.  False: it
 * need not wait, and the node is not.
 */
wf_must_check static inline bool wf_chan_enlist(
	weft_chan *c, enum wf_side side, struct wf_chan_node *n)
{
	wf_spin_lock(&c->lock);
	if (wf_unlikely(wf_chan_is_ready(c, side)))
		return wf_chan_enlist_met(c, side, n);
	wf_store_rlx(&c->guest, n->node.waiter->fiber);
	wf_list_add(&c->waiters[side], &n->node);
	wf_chan_unlock(c, 1u << !side);
	return true;
}

/*
 * Holding the lock, and give it back: take the node out, if it is in.  It is
 * done with.
 */
static inline void wf_chan_delist_locked(
	weft_chan *c, enum wf_side side, struct wf_chan_node *n)
{
	struct wf_list *list = &c->waiters[side];

	if (n->node.list == NULL) {
		/* Who claimed somebody behind it took it out. */
	} else if (wf_unlikely(n->node.prev != NULL || n->node.next != NULL)) {
		wf_list_remove(list, &n->node);
	} else {
		list->first = NULL;
		list->last = NULL;
		/*
		 * While it was in, the ring was empty or full, and not closed
		 * (C3).  What was left to the other side, if there is a ring,
		 * still is.
		 */
		if (wf_likely(c->capacity == 0))
			wf_store_rlx(&c->state,
				wf_load_rlx(&c->state) & ~(1u << !side));
	}
	wf_spin_unlock(&c->lock);
}

/* The same from the beginning. */
static inline void wf_chan_delist(
	weft_chan *c, enum wf_side side, struct wf_chan_node *n)
{
	wf_spin_lock(&c->lock);
	wf_chan_delist_locked(c, side, n);
}

#endif
