/* SPDX-License-Identifier: MIT */
/*
 * sched/wait.h - one wait of a fiber or a plain thread, that several may end.
 *
 * A waiter lives in the frame of who waits.  The order of things:
 *
 *	who waits				who ends it
 *	  wf_waiter_begin
 *	  publish the waiter in an object
 *	  wf_waiter_sleep			  find it, wf_waiter_claim
 *	  take it out of the object, if it	  let go of the object
 *	  was not claimed by that		  wake it
 *	  wf_waiter_end (in sleep)
 *
 * Event, time-out and cancellation all claim, one wins: for a fiber by its WAIT
 * word (fiber/fiber.h), so that a claim needs no access to the frame; for a
 * thread by the word in the waiter:
 *
 *	WAITING -> CLAIMED	by who ends it
 *	CLAIMED -> WOKEN	the same, its last access
 *	WAITING -> GONE		the thread's time is up
 *
 * A claimed thread goes on only when it is WOKEN, because who claimed it still
 * holds a pointer to its waiter.
 *
 * Reads next: sync/group.c, an object that is waited on.
 */
#ifndef WF_SCHED_WAIT_H
#define WF_SCHED_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/time.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "fiber/fiber.h"
#include "queue/batch.h"

struct wf_waiter {
	weft_fiber *fiber;		/* NULL: a plain thread; fixed */
	uint64_t epoch;			/* of the fiber's wait; fixed */
	_Atomic(uint32_t) word;		/* of the thread; a futex */
	struct wf_waiter *next;		/* these two by the object's lock */
	struct wf_waiter **link;	/* what points to us; NULL: nothing */
};

/*
 * The caller, fiber or thread, will wait: for what, on which object.  0;
 * -ECANCELED: it may not wait.
 */
wf_must_check int wf_waiter_begin(
	struct wf_waiter *w, const char *what, const void *on);

/*
 * Wait.  0: somebody claimed and woke us; -ETIMEDOUT (threads); -ECANCELED
 * (fibers).  The wait is over either way.
 */
wf_may_switch int wf_waiter_sleep(struct wf_waiter *w, weft_time deadline);

/* After begin and no sleep: there is nothing to wait for. */
void wf_waiter_drop(struct wf_waiter *w);

/*
 * Be the one who ends it; false: it has ended otherwise, w is not ours.  A
 * fiber that has to be made runnable is added to ready.  A thread must be woken
 * by wf_waiter_release.
 */
wf_must_check bool wf_waiter_claim(struct wf_waiter *w, struct wf_batch *ready);

/* The last access to the claimed waiter of a thread. */
void wf_waiter_release(struct wf_waiter *w);

/* All at once; false: it has ended otherwise. */
bool wf_waiter_wake(struct wf_waiter *w, weft_hint hint);

/*
 * What a deadline asks of the caller.  0: wait; -ETIMEDOUT: it has passed;
 * -ENOTSUP: a fiber cannot wait for it.
 */
wf_must_check int wf_deadline_check(weft_time deadline);

#endif
