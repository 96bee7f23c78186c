/* SPDX-License-Identifier: MIT */
/*
 * chan/chan.h - the channel: a lock, a ring of elements, two lists of waiters.
 *
 * Invariants, while the lock is free:
 *	(C1) While a waiter in waiters[RECV] can still be claimed, the ring is
 *	     empty and no waiter in waiters[SEND] can be claimed.
 *	(C2) While a waiter in waiters[SEND] can still be claimed, the ring is
 *	     full and no waiter in waiters[RECV] can be claimed.
 *	(C3) No waiter in the lists of a closed channel can be claimed.
 *	(C4) STATE has the bit of a side, 1 << side, if a call on it may find
 *	     that it need not wait: an element or a sender, room or a receiver,
 *	     or CLOSED, its third bit.
 *
 * Two cases of one select, which may stand in both lists, do not count for each
 * other.
 *
 * An element for a waiter does not go through the ring: it goes straight from
 * one frame into the other.  The claimer of a waiter has its frame until it
 * wakes it.  So it copies the element after it has given the lock back, and
 * giving that back is always its last access to the channel: the other side may
 * free the channel next.
 *
 * STATE is read without the lock too.  It is right about all that happened
 * before the look, and a waiter looks again under the lock; so a call that has
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
	_Atomic(weft_fiber *) last_waiter;	/* to be prefetched: it may be
					   gone.  NULL: none, or a thread */
	size_t count;			/* elements in the ring; by lock */
	size_t head;			/* where the oldest is; by lock */
	_Atomic(size_t) refs;
	unsigned char ring[] wf_aligned(16);
};

/* A waiter, in one of the lists. */
struct wf_chan_node {
	struct wf_node node;		/* must be first */
	void *value;			/* the element; NULL: to be dropped */
	int result;			/* by its claimer; 0 at first */
};

/* May a call on this side find that it need not wait? */
static inline bool wf_chan_is_ready(weft_chan *c, enum wf_side side)
{
	return wf_load_rlx(&c->state) >> side & 1;
}

/* Send or receive without a wait: 0, -EPIPE; -EAGAIN: not now.  Outside. */
wf_must_check int wf_chan_try(weft_chan *c, enum wf_side side, void *value);

/* Give the lock back, the caller's last access to c. */
static inline void wf_chan_unlock(weft_chan *c, uint32_t state)
{
	wf_store_rlx(&c->state, state);
	wf_spin_unlock(&c->lock);
}

/*
 * In the commit of a select, the waiter being armed: put n into the list.
 * False: the channel is ready, and n is in no list.
 */
wf_must_check bool wf_chan_enlist(
	weft_chan *c, enum wf_side side, struct wf_chan_node *n);

/* Take n out, if it is still in. */
void wf_chan_delist(weft_chan *c, enum wf_side side, struct wf_chan_node *n);

/* Holding the lock, and give it back: enlist n; the channel is not ready. */
wf_inline void wf_chan_enlist_locked(
	weft_chan *c, enum wf_side side, struct wf_chan_node *n)
{
	wf_store_rlx(&c->last_waiter, n->node.waiter->fiber);
	wf_list_add(&c->waiters[side], &n->node);
	wf_chan_unlock(c, 1u << !side);
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
		/* The claimer of a node behind it took it out. */
	} else if (wf_unlikely(n->node.prev != NULL || n->node.next != NULL)) {
		wf_list_remove(list, &n->node);
	} else {
		list->first = NULL;
		list->last = NULL;
		/*
		 * While it was in, the ring was empty or full, and the channel
		 * not closed (C3).  If there is a ring, the other side is as
		 * ready as before.
		 */
		if (wf_likely(c->capacity == 0))
			wf_store_rlx(&c->state,
				wf_load_rlx(&c->state) & ~(1u << !side));
	}
	wf_spin_unlock(&c->lock);
}

#endif
