/* SPDX-License-Identifier: MIT */
/*
 * sync/mutex.h - the parts that mutex, rwlock and once have in common.
 *
 * WORD.  Each has one word for everything that decides which caller may go on.
 * The list of a mutex needs no lock (sync/mutex_waiters.h).  In rwlock and once
 * bit 0 of the word is the lock of the list of waiters (os/spin.h):
 *
 *	(W1) Only the holder of the lock bit writes the word while the bit is
 *	     set.  So it gives the lock back by a plain store, with everything
 *	     else that it has decided; and that is its last access to the
 *	     object.
 *	(W2) It holds the lock for a bounded number of steps: no switch, no
 *	     wake.
 *
 * OWNER, the holder of an object, is advice, kept to tell misuse and to know
 * whether spinning is worth while: the address of a fiber, and in place of its
 * low bits some that stand for the thread it ran on; or, for a plain thread, an
 * address that only this thread has.  0: there is no holder.  In the simulator
 * a small number stands for that too: see sim/order.h.
 */
#ifndef WF_SYNC_MUTEX_H
#define WF_SYNC_MUTEX_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/fiber.h>
#include <weft/mutex.h>

#include "base/compiler.h"
#include "os/os.h"
#include "sched/thread.h"

/* OWNER: the bits of the thread; 0: it is a plain thread. */
#define WF_OWNER_ON ((uint64_t)(WF_CACHE_LINE - 1))

/* The fiber f on t; if f is NULL, the plain thread that calls. */
static inline uint64_t wf_owner(weft_fiber *f, const struct wf_thread *t)
{
	uint64_t on = ((uintptr_t)t / WF_FALSE_SHARING & (WF_OWNER_ON / 2)) + 1;

	if (wf_likely(f != NULL))
		return (uintptr_t)f | on;
	return (uintptr_t)wf_os_self_place() & ~WF_OWNER_ON;
}

/* The caller, which is inside. */
static inline uint64_t wf_owner_runs(void)
{
	struct wf_thread *t = wf_here();

	return wf_owner(t ? t->current : NULL, t);
}

/* Are both the same fiber or thread? */
static inline bool wf_owner_same(uint64_t a, uint64_t b)
{
	return (a ^ b) <= WF_OWNER_ON;
}

/* May both be fibers of one thread?  If one runs, the other does not. */
static inline bool wf_owner_beside(uint64_t a, uint64_t b)
{
	return (a & WF_OWNER_ON) != 0 && ((a ^ b) & WF_OWNER_ON) == 0;
}

/*
 * A call begins, on t, that may not have to wait: spend a unit of the budget.
 * Returns the caller's OWNER; 0: the caller must call wf_owner_spent before it
 * takes anything, which may give way, and returns it.
 */
static inline uint64_t wf_owner_spends(struct wf_thread *t)
{
	if (wf_likely(t != NULL && t->current != NULL && --t->budget != 0))
		return wf_owner(t->current, t);
	return 0;
}

wf_may_switch uint64_t wf_owner_spent(void);

/* weft_mutex_lock for a caller that is inside. */
void wf_mutex_lock(weft_mutex *m);

/*
 * In the commit of owner (NULL: a plain thread), which holds m: unlock it.
 * Never switches.
 */
void wf_mutex_unlock_for(weft_mutex *m, weft_fiber *owner);

#endif
