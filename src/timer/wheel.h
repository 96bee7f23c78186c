/* SPDX-License-Identifier: MIT */
/*
 * timer/wheel.h - many timers in order: a heap for the near ones, and slots.
 *
 * A heap of 100,000 timers is slow, because each step of it is a cache miss.
 * So only those that are due soon are in the heap.  Time is cut into ticks, and
 * the number of a tick into digits to the base of WF_WHEEL_SLOTS:
 *
 *	(W1) Timers of ticks up to `tick' are in the heap.
 *	(W2) Any other is in a slot of the level of the highest digit in which
 *	     its tick differs from `tick': in the slot of that digit.  It is
 *	     the greater one, so slots of a level are in order, and a level
 *	     comes before those above it.
 *	(W3) `full' has a bit for each slot that is not empty; one may be set
 *	     for an empty one.
 *	(W4) `least' of a slot is not after any key in it; `leader', if it is
 *	     not NULL, has this key.
 *
 * To go on, the first slot is emptied: `tick' becomes the first of its ticks,
 * and its timers find other places, on lower levels or in the heap.  This is
 * done when the first of them is due, not before: so a timer moves at most once
 * for each level, in practice twice or three times; what it costs does not
 * depend on how many there are.
 *
 * Timers with the same key come in the order of their insertion.
 *
 * No locks: whoever shares a wheel has one for it.
 *
 * Rejected: the heap alone.  100,000 timers took 80 ms to come out, now 15.
 *
 * Reads next: wait/timers.h, whose timers they are.
 */
#ifndef WF_TIMER_WHEEL_H
#define WF_TIMER_WHEEL_H

#include <stdbool.h>
#include <stdint.h>

#include "timer/heap.h"

#define WF_WHEEL_TICK_SHIFT 20	/* a tick is about 1 ms */
#define WF_WHEEL_DIGIT_SHIFT 6
#define WF_WHEEL_SLOTS (1u << WF_WHEEL_DIGIT_SHIFT)
#define WF_WHEEL_AHEAD 8
#define WF_WHEEL_LEVELS 8	/* enough for 63 bits of nanoseconds */

struct wf_wheel_slot {
	struct wf_timer *first;		/* linked by next */
	int64_t least;			/* these two: (W4) */
	struct wf_timer *leader;
	unsigned turn;			/* of latest */
	struct wf_timer *latest[WF_WHEEL_AHEAD];	/* put in; some may be
					   out again */
};

/* All-zero is empty. */
struct wf_wheel {
	struct wf_heap heap;
	int64_t tick;			/* (W1) */
	uint64_t turns;			/* how many were ever put in */
	uint64_t full[WF_WHEEL_LEVELS];	/* (W3) */
	struct wf_wheel_slot slot[WF_WHEEL_LEVELS][WF_WHEEL_SLOTS];
};

/* t is in none.  Its key is greater than 0 and less than INT64_MAX. */
void wf_wheel_insert(struct wf_wheel *w, struct wf_timer *t, int64_t key);

/*
 * t is in w: take it out, or give it another key.  Without the lock one may see
 * that a timer is out, and then it is; to see that it is in somewhere says
 * where to look, with the lock.
 */
void wf_wheel_remove(struct wf_wheel *w, struct wf_timer *t);
void wf_wheel_change(struct wf_wheel *w, struct wf_timer *t, int64_t key);

/*
 * Take out the first one whose key is at most now, < INT64_MAX; NULL: there is
 * none.  Until it is put back, or dropped, with the same lock held, it still
 * seems to be in.
 */
struct wf_timer *wf_wheel_pop(struct wf_wheel *w, int64_t now);
void wf_wheel_put(struct wf_wheel *w, struct wf_timer *t, int64_t key);
void wf_wheel_drop(struct wf_timer *t);

/*
 * No timer has a key before this one, and most often the first has it;
 * INT64_MAX: there are none.
 */
int64_t wf_wheel_next(const struct wf_wheel *w);

/* The first one whose key is at most now, < INT64_MAX; NULL: there is none. */
struct wf_timer *wf_wheel_due(struct wf_wheel *w, int64_t now);

/*
 * Ask of the first timers what key they should have: INT64_MIN: they are taken
 * out; later than theirs: that becomes the key.  Up to the first that has the
 * right one; or, if it has not, and very many are due at about the same time,
 * only of that.
 */
void wf_wheel_prune(struct wf_wheel *w, int64_t (*ask)(struct wf_timer *t));

#endif
