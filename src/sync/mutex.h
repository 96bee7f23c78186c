/* SPDX-License-Identifier: MIT */
/*
 * sync/mutex.h - what mutex, rwlock and once have in common.
 *
 * WORD.  Each has one word for everything that decides who may go on.  One bit
 * of it, LIST, guards the list of those who wait:
 *
 *	(W1) Who holds LIST is the only one that writes the word.  So it gives
 *	     LIST back by a plain store, with whatever else it has decided; and
 *	     that is its last access to the object.
 *	(W2) It is held for a bounded number of steps: no switch, no wake.
 *
 * WHO holds an object is advice, kept to tell misuse and to know whether it is
 * worth to spin: the address of a fiber, and in place of its low bits some that
 * stand for the thread it ran on; or of something that a plain thread has.  0:
 * nobody.
 */
#ifndef WF_SYNC_MUTEX_H
#define WF_SYNC_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/fiber.h>
#include <weft/mutex.h>

#include "arch/context.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/limits.h"
#include "os/os.h"
#include "sched/run.h"
#include "sched/thread.h"

#define WF_WORD_LIST ((uint64_t)1)

/* WHO: the bits of the thread; 0: a plain one, which is all there is. */
#define WF_WHO_ON ((uint64_t)63)

/* Look again, the looks'th time: who has it needs a few steps only. */
static inline void wf_word_pause(unsigned looks)
{
	if (looks % WF_LOCK_SPINS == 0)
		wf_os_thread_yield();
	wf_cpu_relax();
}

/* Take LIST: the word as it was. */
static inline uint64_t wf_word_hold(_Atomic(uint64_t) *word)
{
	unsigned looks = 0;

	for (;;) {
		uint64_t seen = wf_load_rlx(word);

		/* [pair: sync.word] The list as its last holder left it. */
		if (!(seen & WF_WORD_LIST) &&
			wf_cas_weak_acq(word, &seen, seen | WF_WORD_LIST))
			return seen;
		wf_word_pause(++looks);
	}
}

/* Give LIST back; the word is next from now on.  The last access. */
static inline void wf_word_let_go(_Atomic(uint64_t) *word, uint64_t next)
{
	/* [pair: sync.word] Show the list, and all that was done under it. */
	wf_store_rel(word, next);
}

/* The fiber f, or if it is NULL the plain thread we are, on t. */
static inline uint64_t wf_who(weft_fiber *f, const struct wf_thread *t)
{
	uint64_t on = ((uintptr_t)t / WF_FALSE_SHARING & (WF_WHO_ON / 2)) + 1;

	if (wf_likely(f != NULL))
		return (uintptr_t)f | on;
	return (uintptr_t)wf_os_self_place() & ~WF_WHO_ON;
}

static inline uint64_t wf_who_runs(void)
{
	struct wf_thread *t = wf_enter();

	return wf_who(t ? t->current : NULL, t);
}

/* Are both the same fiber or thread? */
static inline bool wf_who_same(uint64_t a, uint64_t b)
{
	return (a ^ b) <= WF_WHO_ON;
}

/* May both be fibers of one thread?  If one runs, the other does not. */
static inline bool wf_who_beside(uint64_t a, uint64_t b)
{
	return (a & WF_WHO_ON) != 0 && ((a ^ b) & WF_WHO_ON) == 0;
}

/*
 * A call begins that may not have to wait: spend one of the budget.  Who calls;
 * 0: spent must be called before anything else, and says so then.
 */
static inline uint64_t wf_who_spends(void)
{
	struct wf_thread *t = wf_enter();

	if (wf_likely(t != NULL && t->current != NULL && --t->budget != 0))
		return wf_who(t->current, t);
	return 0;
}

wf_may_switch uint64_t wf_who_spent(void);

/*
 * In the commit of owner (NULL: a plain thread), which holds m: unlock it.
 * Never switches.
 */
void wf_mutex_unlock_for(weft_mutex *m, weft_fiber *owner);

#endif
