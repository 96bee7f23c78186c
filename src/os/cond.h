/* SPDX-License-Identifier: MIT */
/*
 * os/cond.h - a condition variable of threads, used with a wf_lock.
 *
 * A zeroed condition is valid; there is no destroy.  A condition goes with one
 * struct wf_lock, and a signaller holds that lock.  So all fields but one are
 * plain, and a signal without a waiter costs one comparison.
 *
 *	waiters	threads between the unlock and the lock of their wait
 *	called	waiters that a signal has called and that have not returned;
 *		too low costs a system call; too high is a bug: then a waiter
 *		sleeps and no signal wakes it
 *	word	changes with each signal that wakes
 *
 *	waiter				signaller
 *	  (lock held) waiters + 1	  (lock held) is waiters > called?
 *	  seen = word			  called + 1, word + 1
 *	  unlock			  unlock
 *	  sleep while word == seen	  wake one sleeper
 *	  lock
 *	  waiters - 1, called - 1
 *
 * Each call makes one waiter return.  Either it wakes a sleeper; or no waiter
 * was asleep when the call was made, and none of them will sleep, because the
 * word has changed.  A waiter that returns without a call subtracts another
 * waiter's call, so called becomes too low.  A wait may end without a reason,
 * so test the condition in a loop.
 *
 * A signaller unlocks, and afterwards passes only an address to the futex: the
 * next holder of the lock may free the memory.
 */
#ifndef WF_OS_COND_H
#define WF_OS_COND_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "os/lock.h"

struct wf_cond {
	_Atomic(uint32_t) word;		/* written under the lock */
	uint32_t waiters;		/* under the lock */
	uint32_t called;		/* under the lock; <= waiters */
};

/*
 * Holding l: release it, sleep until signalled (or without a reason), lock l.
 */
void wf_cond_wait(struct wf_cond *c, struct wf_lock *l);

/* The slow part of the two functions below; n is 1 or all. */
#define WF_COND_ALL INT32_MAX
void wf_cond_wake_unlock(struct wf_cond *c, struct wf_lock *l, uint32_t n);

/*
 * Holding l: unlock it and wake one waiter.  All waiters must wait for the same
 * condition.
 */
static inline void wf_cond_signal_unlock(struct wf_cond *c, struct wf_lock *l)
{
	if (wf_likely(c->waiters == c->called))
		wf_unlock(l);
	else
		wf_cond_wake_unlock(c, l, 1);
}

/*
 * Holding l: unlock it and wake all waiters, also those that were called: by
 * now their call could wake a waiter that came later.
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
