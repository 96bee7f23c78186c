/* SPDX-License-Identifier: MIT */
/*
 * os/lock.h - a lock for a few instructions, on one word.
 *
 * All-zero is unlocked; there is no destroy.  Taking and releasing it without
 * contention are one atomic operation each.  A thread that finds it taken spins
 * for a moment, then sleeps.  It belongs to threads, not fibers: nothing that
 * may switch, wait or call user code happens under it.
 *
 * The word:
 *	0  free
 *	1  taken, nobody sleeps
 *	2  taken, somebody may sleep (it may be 2 with no sleeper, but never 1
 *	   with one)
 *
 *	lock	0 -> 1, or after a sleep 0 -> 2
 *	wait	1 -> 2
 *	unlock	1 -> 0, or 2 -> 0 and wake one
 *
 * Unlock touches the word once and afterwards passes only its address to the
 * futex, so whoever gets the lock next may free the memory it is in.
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
	/* [pair: lock.word] As in wf_lock. */
	bool taken = wf_cas_acq(&l->word, &free, 1);

	if (taken)
		wf_san_lock_taken(l, false);
	return taken;
}

static inline void wf_unlock(struct wf_lock *l)
{
	wf_san_lock_left(l);
	/* [pair: lock.word] Show all we did; the last access to the lock. */
	if (wf_unlikely(wf_xchg_rel(&l->word, 0) == 2))
		wf_unlock_slow(l);
}

#endif
