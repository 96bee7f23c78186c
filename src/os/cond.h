/* SPDX-License-Identifier: MIT */
/*
 * os/cond.h - wait, holding a lock, until somebody has changed something.
 *
 * All-zero is valid; there is no destroy.  A condition goes with one struct
 * wf_lock, and who signals holds it: so all but one word are plain fields, and
 * a signal that nobody waits for costs one comparison.
 *
 *	waiters	threads between the unlock and the lock of their wait
 *	called	how many of them a signal has called that are not back yet; too
 *		few costs a system call, but it must not be too many: then one
 *		would sleep that nobody wakes
 *	word	changes with each signal that wakes
 *
 *	who waits			who signals
 *	  (lock held) waiters + 1	  (lock held) is waiters > called?
 *	  seen = word			  called + 1, word + 1
 *	  unlock			  unlock
 *	  sleep while word == seen	  wake one sleeper
 *	  lock
 *	  waiters - 1, called - 1
 *
 * Each call brings one back: it wakes somebody, or else all who waited when it
 * was made had not gone to sleep yet, and will not because the word changed.
 * Who comes back without a call takes one off another's; that is too few.  A
 * wait may end for no reason, so look again.
 *
 * Signals unlock, and afterwards pass only an address to the futex: whoever
 * gets the lock next may free the memory it is in.
 */
#ifndef WF_OS_COND_H
#define WF_OS_COND_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/lock.h"

struct wf_cond {
	_Atomic(uint32_t) word;		/* written by the lock */
	uint32_t waiters;		/* by the lock */
	uint32_t called;		/* by the lock; <= waiters */
};

/* Holding l: sleep without it until signalled, or woken for no reason. */
void wf_cond_wait(struct wf_cond *c, struct wf_lock *l);

/* The slow part of what follows; n is 1 or all. */
#define WF_COND_ALL INT32_MAX
void wf_cond_wake_unlock(struct wf_cond *c, struct wf_lock *l, uint32_t n);

/*
 * Holding l: unlock it, and wake one of those who wait by then: all must wait
 * for the same.
 */
static inline void wf_cond_signal_unlock(struct wf_cond *c, struct wf_lock *l)
{
	if (wf_likely(c->waiters == c->called))
		wf_unlock(l);
	else
		wf_cond_wake_unlock(c, l, 1);
}

/*
 * Holding l: unlock it, and wake all who wait.  Those who were called are woken
 * too: by now their call could wake one who came later.
 */
static inline void wf_cond_broadcast_unlock(
	struct wf_cond *c, struct wf_lock *l)
{
	if (c->waiters == 0)
		wf_unlock(l);
	else
		wf_cond_wake_unlock(c, l, WF_COND_ALL);
}

#endif
