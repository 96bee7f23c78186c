/* SPDX-License-Identifier: MIT */
/*
 * os/spin.h - locks for a handful of instructions: a word, or a bit of one.
 *
 * Taking one is one atomic operation, releasing it a store: half of the cost of
 * os/lock.h.  A thread that finds the lock taken spins, and gives its CPU away
 * now and then.  So a holder does a bounded number of steps: no switch, no
 * wake, no system call.
 *
 * A zeroed lock is free.  The release is the last access to the object.
 *
 * BIT.  An object with one state word keeps its lock in bit 0 of that word.
 * The object decides whether other threads may change the other bits meanwhile:
 *
 *	only the holder writes	wf_bit_unlock: a store of the whole word
 *	others write too	wf_bit_unlock_add: an atomic addition
 */
#ifndef WF_OS_SPIN_H
#define WF_OS_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/sanitize.h"

struct wf_spin {
	_Atomic(uint32_t) word;		/* 1: taken */
};

#define WF_BIT_LOCK ((uint64_t)1)

/* Pause between two looks at a taken lock; looks counts them from 1. */
void wf_spin_pause(unsigned looks);

/* Pause for about as long as a critical section takes. */
void wf_spin_while(void);

void wf_spin_slow(struct wf_spin *s);

static inline void wf_spin_lock(struct wf_spin *s)
{
	/* [pair: spin.word] See all the last holder did. */
	if (wf_unlikely(wf_xchg_acq(&s->word, 1) != 0))
		wf_spin_slow(s);
	wf_san_lock_taken(s, true);
}

/* Take the lock if it is free; false: it is not. */
wf_must_check static inline bool wf_spin_try(struct wf_spin *s)
{
	/* [pair: spin.word] See all the last holder did. */
	if (wf_unlikely(wf_xchg_acq(&s->word, 1) != 0))
		return false;
	wf_san_lock_taken(s, false);
	return true;
}

static inline void wf_spin_unlock(struct wf_spin *s)
{
	wf_san_lock_left(s);
	/* [pair: spin.word] Show all we did; our last access. */
	wf_store_rel(&s->word, 0);
}

uint64_t wf_bit_slow(_Atomic(uint64_t) *word);

/* Take the lock in word.  Returns the word as it was, with the bit clear. */
static inline uint64_t wf_bit_lock(_Atomic(uint64_t) *word)
{
	uint64_t seen = wf_load_rlx(word);

	/* [pair: bit.word] See all the last holder did. */
	if (wf_unlikely((seen & WF_BIT_LOCK) ||
		    !wf_cas_weak_acq(word, &seen, seen | WF_BIT_LOCK)))
		return wf_bit_slow(word);
	return seen;
}

/* Release the lock; word becomes next, without the bit.  Our last access. */
static inline void wf_bit_unlock(_Atomic(uint64_t) *word, uint64_t next)
{
	/* [pair: bit.word] Show all we did. */
	wf_store_rel(word, next);
}

/* Release the lock and add change to the word.  Our last access. */
static inline void wf_bit_unlock_add(_Atomic(uint64_t) *word, uint64_t change)
{
	/* [pair: bit.word] Show all we did. */
	(void)wf_add_rel(word, change - WF_BIT_LOCK);
}

#endif
