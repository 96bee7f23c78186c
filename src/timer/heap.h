/* SPDX-License-Identifier: MIT */
/*
 * timer/heap.h - a heap of timers that allocates nothing.
 *
 * A pairing heap: each timer has a list of children, none of them earlier than
 * the timer.  Insertion, and a look at the first timer, take one step; a
 * removal takes O(log n) steps, amortised.
 *
 * The links are in the timer, which belongs to the caller; while the timer is
 * in a heap only the heap may use them.  No locks: the users of a shared heap
 * need a lock of their own.
 *
 * Reads next: timer/wheel.h, which keeps the heap small.
 */
#ifndef WF_TIMER_HEAP_H
#define WF_TIMER_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

struct wf_wheel;

struct wf_timer {
	int64_t key;			/* the time */
	uint64_t turn;			/* order among timers of one key */
	struct wf_timer *child;		/* first child */
	struct wf_timer *next;		/* next sibling */
	struct wf_timer **link;		/* address of the pointer to this
					 * timer */
	_Atomic(struct wf_wheel *) in;	/* its wheel; NULL: none */
};

/* A zeroed heap is empty. */
struct wf_heap {
	struct wf_timer *root;
};

/* The earliest timer; NULL: the heap is empty. */
static inline struct wf_timer *wf_heap_first(const struct wf_heap *h)
{
	return h->root;
}

/* t is in no heap; its key and turn are set. */
void wf_heap_insert(struct wf_heap *h, struct wf_timer *t);

/* t is in h. */
void wf_heap_remove(struct wf_heap *h, struct wf_timer *t);

#endif
