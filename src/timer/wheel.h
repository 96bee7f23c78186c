/* SPDX-License-Identifier: MIT */
/*
 * timer/wheel.h - many timers in order: a heap for the near ones, and slots.
 *
 * A heap of 100,000 timers is slow, because each step of it is a cache miss.
 * So only timers that are due soon are in the heap.  Time is divided into
 * ticks.  The number of a tick is written with digits to the base of
 * WF_WHEEL_SLOTS:
 *
 *	(W1) Timers of ticks up to `tick' are in the heap.
 *	(W2) Any other timer is in a slot.  The highest digit in which its tick
 *	     differs from `tick' gives the level, and that digit of its tick
 *	     gives the slot.  That digit is greater than the one of `tick', so
 *	     the slots of a level are in order, and a level comes before the
 *	     levels above it.
 *	(W3) `full' has a bit for each slot that is not empty; the bit of an
 *	     empty slot may be set too.
 *	(W4) `least' of a slot is not after any key in it; `leader', if it is
 *	     not NULL, has this key.
 *
 * When the first timer of the first slot is due, and not before, the wheel
 * empties that slot: `tick' becomes the first of its ticks, and its timers move
 * to lower levels or to the heap.  So a timer moves at most once for each
 * level, in practice two or three times; its cost does not depend on the number
 * of timers.
 *
 * Timers with the same key come in the order of their insertion.
 *
 * No locks: the users of a shared wheel need a lock of their own.
 *
 * Rejected: the heap alone.  Taking out 100,000 timers took 80 ms, now 15.
 *
 * Reads next: wait/timers.h, whose timers they are.
 */
#ifndef WF_TIMER_WHEEL_H
#define WF_TIMER_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/trail.h"
#include "timer/heap.h"

#define WF_WHEEL_TICK_SHIFT 20	/* a tick is about 1 ms */
#define WF_WHEEL_DIGIT_SHIFT 6
#define WF_WHEEL_SLOTS (1u << WF_WHEEL_DIGIT_SHIFT)
#define WF_WHEEL_LEVELS 8	/* enough for 63 bits of nanoseconds */

/*
 * The lowest levels keep trails (base/trail.h): there are the timers that are
 * due in less than 4 s.  A timer on a higher level has one more cache miss when
 * it comes down; trails there would take 27 KiB of each wheel.
 */
#define WF_WHEEL_TRAILS 2

struct wf_wheel_slot {
	struct wf_timer *first;		/* list, linked by next */
	int64_t least;			/* these two: (W4) */
	struct wf_timer *leader;
};

/* A zeroed wheel is empty. */
struct wf_wheel {
	struct wf_heap heap;
	int64_t tick;			/* (W1) */
	uint64_t turns;			/* number of insertions so far */
	uint64_t full[WF_WHEEL_LEVELS];	/* (W3) */
	struct wf_wheel_slot slot[WF_WHEEL_LEVELS][WF_WHEEL_SLOTS];
	struct wf_trail trail[WF_WHEEL_TRAILS][WF_WHEEL_SLOTS];
};

/* t is in no wheel.  Its key is greater than 0 and less than INT64_MAX. */
void wf_wheel_insert(struct wf_wheel *w, struct wf_timer *t, int64_t key);

/*
 * t is in w: remove it, or change its key.  A thread may read t->in without the
 * lock: NULL is certain; a wheel says where to look again, under that wheel's
 * lock.
 */
void wf_wheel_remove(struct wf_wheel *w, struct wf_timer *t);
void wf_wheel_change(struct wf_wheel *w, struct wf_timer *t, int64_t key);

/*
 * Take out the first timer whose key is at most now, < INT64_MAX; NULL if there
 * is none.  t->in stays set until the timer is put back or dropped, under the
 * same hold of the lock.
 */
struct wf_timer *wf_wheel_pop(struct wf_wheel *w, int64_t now);
void wf_wheel_put(struct wf_wheel *w, struct wf_timer *t, int64_t key);
void wf_wheel_drop(struct wf_timer *t);

/*
 * A time before which no timer is due; usually the key of the first timer.
 * INT64_MAX: there are no timers.
 */
int64_t wf_wheel_next(const struct wf_wheel *w);

/*
 * The first timer whose key is at most now, < INT64_MAX; NULL if there is none.
 */
struct wf_timer *wf_wheel_due(struct wf_wheel *w, int64_t now);

/*
 * Correct the keys of the first timers.  ask(t) returns the right key:
 * INT64_MIN, and t is removed; a later key, and t gets it.  Ends at the first
 * timer whose key is right, or at a slot with more than 64 timers, which stays
 * as it is.
 */
void wf_wheel_prune(struct wf_wheel *w, int64_t (*ask)(struct wf_timer *t));

#endif
