/* SPDX-License-Identifier: MIT */
/*
 * os/spin.h - a lock for a handful of instructions, in a word of an object.
 *
 * Taking it is one atomic operation, giving it back a store: half of what
 * os/lock.h costs.  Who finds it taken looks again, and gives its CPU away now
 * and then, so its holder does a bounded number of steps under it: no switch,
 * no wake, no system call.
 *
 * All-zero is free.  Giving it back is the last access to the object.
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

void wf_spin_slow(struct wf_spin *s);

static inline void wf_spin_lock(struct wf_spin *s)
{
	/* [pair: spin.word] See all the last holder did. */
	if (wf_unlikely(wf_xchg_acq(&s->word, 1) != 0))
		wf_spin_slow(s);
	wf_san_lock_taken(s, true);
}

/* The same, if nobody has it. */
wf_must_check static inline bool wf_spin_try(struct wf_spin *s)
{
	/* [pair: spin.word] As in wf_spin_lock. */
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

#endif
