/* SPDX-License-Identifier: MIT */
/*
 * wait/timers.h - the deadlines of waiting fibers.
 *
 * Each processor has TIMERS, and so has exec/foreign_pool.c, for fibers on
 * foreign executors.  A fiber has one timer, in its descriptor.  It goes into
 * the timers of the processor on which the fiber's wait begins, unless it is
 * still in some timers with a key that is not too late:
 *
 *	(T1) A fiber in a wait with a deadline has its timer in some timers,
 *	     with a key that is not after `latest'.
 *	(T2) The lock of these timers was held when the wait became visible.  So
 *	     a thread that holds it and finds the timer there sees the fiber's
 *	     WAIT, `until' and `latest' as they belong together.
 *
 * A processor sleeps until the first key, finds other waits whose deadline has
 * come too, and ends them as well: one wake-up instead of many.
 *
 * The end of a wait does not take its timer out: that would cost every wait
 * which is woken in time as much as setting the timer did.  The timer stays,
 * even when its fiber has ended, until its key has come, and then
 *
 *	the fiber does not wait, or waits without a deadline	taken out
 *	the fiber's present wait has a later deadline		a new key
 *	the deadline has come					the wait ends,
 *		unless another waker ended it first: WAIT decides
 *
 * So a time-out is never early and happens once, and a fiber that waits again
 * and again with a deadline far ahead touches its timer once in a while.
 *
 * The holder of the processor fires its timers: every so many picks, while it
 * searches, before and after it sleeps; it sleeps until its first timer whose
 * fiber still waits.  The monitor fires them when a processor is late.  The
 * timers of foreign executors have a thread.
 *
 * Only the holder puts a timer into the timers of a processor, so its look at
 * `next' needs no lock to be sure that no timer is earlier.
 *
 * Reads next: wait/sleep.c, a wait for nothing but a deadline.
 */
#ifndef WF_WAIT_TIMERS_H
#define WF_WAIT_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "fiber/fiber.h"
#include "os/spin.h"
#include "queue/batch.h"
#include "timer/wheel.h"

/* A wait may be longer by this at most. */
#define WF_SLACK_MAX_NS (1 << 19)

/* Zeroed timers are empty. */
struct wf_timers {
	struct wf_spin lock wf_aligned(WF_FALSE_SHARING);
	struct wf_wheel wheel;		/* by lock */
	_Atomic(int64_t) next;		/* the first key, 0: none; written by
					   lock, read by anyone */
	_Atomic(uint32_t) *sleeper;	/* fixed: futex of the thread that
					   waits for the first key, to be woken
					   for an earlier one; NULL: none */
	bool earlier;			/* by lock: there is an earlier one */
};

/* The first key, INT64_MAX: none.  Before prune its fiber may not wait. */
static inline int64_t wf_timers_next(struct wf_timers *timers)
{
	int64_t next = wf_load_rlx(&timers->next);

	return next != 0 ? next : INT64_MAX;
}

/*
 * In the commit of f, which is about to wait until f->until: put f's timer into
 * some timers, unless it is in some with a key not after f->latest, and hold
 * these, so that they do not fire before let_go.  The caller stores f's WAIT in
 * between.  On a foreign executor the thread of its timers has been started:
 * wf_foreign_pool_timers.
 */
wf_must_check struct wf_timers *wf_timers_hold(weft_fiber *f);
void wf_timers_let_go(struct wf_timers *timers);

/* At most so many timers fire before the lock is given back. */
#define WF_TIMERS_AT_ONCE 64

/*
 * End up to most, at most WF_TIMERS_AT_ONCE, of the waits whose deadline has
 * come by now_ns.  Their fibers are appended to due, for the caller to make
 * ready.  Returns whether more may be due.  Anyone.
 */
wf_must_check bool wf_timers_fire(struct wf_timers *timers, int64_t now_ns,
	size_t most, struct wf_batch *due);

/*
 * Drop the first timers whose fibers do not wait for them any more.  Returns
 * the key of the first that is left; INT64_MAX: none is.
 */
int64_t wf_timers_prune(struct wf_timers *timers);

#endif
