/* SPDX-License-Identifier: MIT */
/*
 * wait/timers.h - the deadlines of waiting fibers.
 *
 * Each processor has TIMERS, and so has the home (exec/foreign_pool.h) for fibers on
 * other executors.  A fiber has one timer, in its descriptor.  It goes into the
 * timers of the processor on which the fiber's wait begins, unless it still is
 * somewhere with a key that is not too late:
 *
 *	(T1) A fiber in a wait with a deadline has its timer in some timers,
 *	     with a key that is not after `latest'.
 *	(T2) The lock of these timers was held when the wait became visible.  So
 *	     who holds it and finds the timer there sees the fiber's WAIT,
 *	     `until' and `latest' as they belong together.
 *
 * So who sleeps until the first key finds others whose deadline has come too,
 * and ends these waits with it: one wake-up instead of many.
 *
 * Nobody ever takes a timer out because a wait has ended: that would cost every
 * wait which is woken in time as much as setting it did.  It stays, even when
 * its fiber has ended, until its key has come, and then
 *
 *	the fiber does not wait, or waits without a deadline	out it goes
 *	its present wait has a later one			a new key
 *	its deadline has come					the wait ends,
 *		unless somebody else ended it first: WAIT decides
 *
 * So a time-out is never early and happens once, and a fiber that waits again
 * and again with a deadline far ahead touches its timer once in a while.
 *
 * WHO FIRES.  The holder of the processor: every so many picks, while it
 * searches, before and after it sleeps; it sleeps until its first timer that is
 * alive.  The monitor, when a processor is late with it.  The home has a thread
 * for it.
 *
 * Only the holder puts a timer into the timers of a processor, so its look at
 * `next' needs no lock to be sure that there is nothing earlier.
 *
 * Reads next: wait/sleep.c, the wait that has nothing but a deadline.
 */
#ifndef WF_SCHED_TIMERS_H
#define WF_SCHED_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "fiber/fiber.h"
#include "os/spin.h"
#include "timer/wheel.h"

/* A wait may be longer by this at most. */
#define WF_SLACK_MAX_NS (1 << 19)

/* All-zero is empty. */
struct wf_timers {
	struct wf_spin lock wf_aligned(WF_FALSE_SHARING);
	struct wf_wheel wheel;		/* by lock */
	_Atomic(int64_t) next;		/* the first key, 0: none; written by
					   lock, read by anyone */
	_Atomic(uint32_t) *sleeper;	/* fixed: of whom to wake when there is
					   an earlier one; NULL: nobody */
	bool earlier;			/* by lock: there is */
};

/* The first key, INT64_MAX: none.  Before prune it may be a dead one's. */
static inline int64_t wf_timers_next(struct wf_timers *timers)
{
	int64_t next = wf_load_rlx(&timers->next);

	return next != 0 ? next : INT64_MAX;
}

/*
 * In the commit of f, which is about to wait until f->until: see to it that f's
 * timer is in some timers with a key not after that, and hold these, so that
 * they do not fire before let_go.  The caller stores f's WAIT in between.
 * Abroad there must be a thread for it by now: wf_home_timers.
 */
wf_must_check struct wf_timers *wf_timers_hold(weft_fiber *f);
void wf_timers_let_go(struct wf_timers *timers);

/* End most of the waits whose deadline has come by now_ns.  Any?  Anyone. */
bool wf_timers_fire(struct wf_timers *timers, int64_t now_ns, size_t most);

/*
 * Drop those that nobody waits for any more, up to the first that is alive.
 * When that is; INT64_MAX: there is none, and no timer is left.
 */
int64_t wf_timers_prune(struct wf_timers *timers);

#endif
