/* SPDX-License-Identifier: MIT */
/*
 * os/lock.h - a short lock for threads, on one word.
 *
 * A zeroed lock is valid and unlocked; there is no destroy.  Taking and
 * releasing it without contention is one atomic operation each.  A thread that
 * finds it taken spins for a moment, then sleeps.  Threads hold it, not fibers:
 * a holder must not switch, wait or call user code.
 *
 * The word:
 *	0  free
 *	1  taken, no thread sleeps
 *	2  taken, a thread may sleep (it may be 2 without a sleeper, but never
 *	   1 with one)
 *
 *	lock	0 -> 1, or after a sleep 0 -> 2
 *	wait	1 -> 2
 *	unlock	1 -> 0, or 2 -> 0 and wake one
 *
 * Unlock touches the word once, and afterwards passes only its address to the
 * futex.  So the next holder may free the memory of the lock.
 */
#ifndef WF_OS_LOCK_H
#define WF_OS_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/sanitize.h"

struct wf_lock {
	_Atomic(uint32_t) word;
};

void wf_lock_slow(struct wf_lock *l);
void wf_unlock_slow(struct wf_lock *l);

static inline void wf_lock(struct wf_lock *l)
{
	uint32_t free = 0;

	/* [pair: lock.word] See all the last holder did. */
	if (wf_unlikely(!wf_cas_acq(&l->word, &free, 1)))
		wf_lock_slow(l);
	wf_san_lock_taken(l, true);
}

static inline bool wf_trylock(struct wf_lock *l)
{
	uint32_t free = 0;
	/* [pair: lock.word] See all the last holder did. */
	bool taken = wf_cas_acq(&l->word, &free, 1);

	if (taken)
		wf_san_lock_taken(l, false);
	return taken;
}

static inline void wf_unlock(struct wf_lock *l)
{
	wf_san_lock_left(l);
	/* [pair: lock.word] Show all we did; our last access to the lock. */
	if (wf_unlikely(wf_xchg_rel(&l->word, 0) == 2))
		wf_unlock_slow(l);
}

#endif
