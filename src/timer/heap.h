/* SPDX-License-Identifier: MIT */
/*
 * timer/heap.h - timers in order, without memory of their own.
 *
 * A pairing heap: each timer has a list of children, none of them before it.
 * Insertion, and a look at the first, take one step; taking one out takes as
 * many as the logarithm of their number, on average over many.
 *
 * The links lie in the timer, which belongs to somebody else, and are the
 * heap's while it is in.  No locks: whoever shares a heap has one for it.
 *
 * Reads next: timer/wheel.h, which keeps it small.
 */
#ifndef WF_TIMER_HEAP_H
#define WF_TIMER_HEAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

struct wf_wheel;

struct wf_timer {
	int64_t key;			/* when */
	uint64_t turn;			/* among those of the same key */
	struct wf_timer *child;		/* the first one */
	struct wf_timer *next;		/* child of the same parent */
	struct wf_timer **link;		/* where the pointer to us is */
	_Atomic(struct wf_wheel *) in;	/* the wheel's: which; NULL: none */
};

/* All-zero is empty. */
struct wf_heap {
	struct wf_timer *root;
};

/* The earliest; NULL: it is empty. */
static inline struct wf_timer *wf_heap_first(const struct wf_heap *h)
{
	return h->root;
}

/* t is in no heap; its key and its turn are set. */
void wf_heap_insert(struct wf_heap *h, struct wf_timer *t);

/* t is in h. */
void wf_heap_remove(struct wf_heap *h, struct wf_timer *t);

#endif
