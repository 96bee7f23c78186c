/* SPDX-License-Identifier: MIT */
/*
 * sched/wait.h - one wait of a fiber or a plain thread, that several may end.
 *
 * A waiter lives in the frame of who waits.  The order of things:
 *
 *	who waits				who ends it
 *	  wf_waiter_begin
 *	  publish the waiter in an object
 *	  wf_waiter_sleep			  find it there, wf_waiter_claim
 *	  it ended otherwise: wf_waiter_leave,	  let go of the object
 *	  and if that says so, take it out	  make ready, or release
 *	  of the object
 *
 * Two things are claimed.  First the WAITER, by its word:
 *
 *	WAITING -> CLAIMED	who ends it has it in hand
 *	CLAIMED -> WOKEN	release: its last access to the frame
 *	WAITING -> GONE		leave: who waited takes it out of the object
 *
 * so that either side knows which of them still touches the object and the
 * frame: who finds GONE leaves the waiter where it is; who finds CLAIMED waits
 * for WOKEN and touches the object no more.  Then, for a fiber, the WAIT
 * (fiber/fiber.h), because a cancellation needs no object.  A fiber that was
 * off its stack cannot run before it is made ready, so it needs no release.
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
	_Atomic(uint32_t) word;		/* see above; a thread's futex */
	struct wf_waiter *next;		/* these two by the object's lock */
	struct wf_waiter **link;	/* what points to us */
};

/*
 * The caller, fiber or thread, will wait: for what, on which object.  0;
 * -ECANCELED: it may not wait.
 */
wf_must_check int wf_waiter_begin(
	struct wf_waiter *w, const char *what, const void *on);

/*
 * Wait.  0: somebody claimed us and has let go; -ETIMEDOUT (threads) and
 * -ECANCELED (fibers): leave is next.
 */
wf_may_switch int wf_waiter_sleep(struct wf_waiter *w, weft_time deadline);

/*
 * After a wait that nobody ended.  True: the waiter is still in the object and
 * the caller takes it out.  False: it was claimed after all, and let go.
 */
wf_must_check bool wf_waiter_leave(struct wf_waiter *w);

/* After begin and no sleep: there is nothing to wait for. */
void wf_waiter_drop(struct wf_waiter *w);

enum wf_taken {
	WF_TAKEN_NOT,		/* it leaves: do not touch it */
	WF_TAKEN_READY,		/* a fiber, added to ready */
	WF_TAKEN_HELD,		/* wf_waiter_release it at last */
};

/* Be the one who ends it. */
wf_must_check enum wf_taken wf_waiter_claim(
	struct wf_waiter *w, struct wf_batch *ready);

/* The last access to a waiter that is held. */
void wf_waiter_release(struct wf_waiter *w);

/* Claim and let go, all at once; false: it leaves. */
bool wf_waiter_wake(struct wf_waiter *w, weft_hint hint);

/*
 * What a deadline asks of the caller.  0: wait; -ETIMEDOUT: it has passed;
 * -ENOTSUP: a fiber cannot wait for it.
 */
wf_must_check int wf_deadline_check(weft_time deadline);

#endif
