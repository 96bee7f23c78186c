/* SPDX-License-Identifier: MIT */
/*
 * sync/mutex_waiters.h - the waiters of a mutex, in one word and without a
 * lock.
 *
 * The word of a mutex is the address of a waiter, and bits.  Any thread pushes
 * its waiter by one compare-and-swap, while the mutex is LOCKED.  Only the
 * holder of the mutex follows and changes the links between waiters:
 *
 *	word -> newest pushed -> ... -> oldest pushed -> first -> ... -> last
 *	        (below)                                  (next)
 *
 * From `first' on they are the QUEUE, in the order in which they came; SORTED
 * in a link says that it leads to the first of the queue.  A holder that
 * unlocks moves the pushed waiters to the end of the queue, each waiter once.
 *
 *	(V1) While the mutex is not LOCKED no thread follows a link.
 *	(V2) A waiter whose push succeeded belongs to the list.  The thread that
 *	     takes it out claims it: if it wins, the waiter is its owner's
 *	     again; otherwise the owner has given up, and the thread frees it.
 *	(V3) The word of a waiter that may give up decides that: WAITING becomes
 *	     CLAIMED by the one, or GONE by its owner (wf_waiter_leave).  After
 *	     GONE the owner's fiber and its runtime may be gone too.
 *
 * MEMORY.  A waiter that only an unlock can end (weft_mutex_lock) lies in the
 * frame of its function, which returns only after a claim.  A waiter with a
 * deadline, or that can be canceled, may give up while the holder or a waker is
 * stopped: its function returns, and the waiter stays in the list.  So it is a
 * record (wait/wait.h).  The list is empty after an unlock that let no waiter
 * in, so a mutex that is freed leaks none.
 *
 * Reads next: sync/mutex.c
 */
#ifndef WF_SYNC_MUTEX_WAITERS_H
#define WF_SYNC_MUTEX_WAITERS_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/mutex.h>

#include "wait/wait.h"

#define WF_MUTEX_LOCKED ((uint64_t)1)
#define WF_MUTEX_WOKEN ((uint64_t)2)
#define WF_MUTEX_HANDOFF ((uint64_t)4)
#define WF_MUTEX_SORTED ((uint64_t)8)
#define WF_MUTEX_BITS ((uint64_t)15)

/* What leads to a waiter: its address, and SORTED.  0: none is there. */
#define WF_MUTEX_LINK (~WF_MUTEX_BITS | WF_MUTEX_SORTED)

struct wf_mutex_waiter {
	struct wf_waiter w;		/* must be first */
	struct wf_node node;		/* in no list */
	uint64_t below;			/* pushed: the link before the push */
	struct wf_mutex_waiter *next;	/* in the queue, or of those to free */
	struct wf_mutex_waiter *last;	/* of the queue, in its first */
	weft_mutex *mutex;
	bool *pushed;			/* in its owner's frame: (V2) holds;
					   NULL: it never gives up */
	int64_t since_ns;
	bool first_again;		/* it was woken and came too late */
	bool hungry;			/* it has waited for too long */
	bool handed;			/* by its claimer: it has the mutex */
} wf_aligned(16);

_Static_assert(sizeof(struct wf_mutex_waiter) <= WF_RECORD_BYTES,
	"a waiter is a record");
_Static_assert(_Alignof(struct wf_mutex_waiter) > WF_MUTEX_BITS,
	"the word of a mutex has bits in the address of a waiter");

/* The word after a push of s onto seen, but for WOKEN and HANDOFF. */
static inline uint64_t wf_mutex_push(struct wf_mutex_waiter *s, uint64_t seen)
{
	s->below = seen & WF_MUTEX_LINK;
	return (uintptr_t)s | (seen & WF_MUTEX_BITS & ~WF_MUTEX_SORTED);
}

/*
 * Holder: the queue of word, with all that was pushed.  The caller has sorted
 * the waiters from link `known' on before, into queue; or none: both are 0.
 */
struct wf_mutex_waiter *wf_mutex_sort(
	uint64_t word, uint64_t known, struct wf_mutex_waiter *queue);

/*
 * Holder: take waiters out of *queue until one is claimed, which is the result;
 * NULL: all had given up.  Those are put into *gone, to be freed when no link
 * leads to them any more.
 */
struct wf_mutex_waiter *wf_mutex_claim(
	struct wf_mutex_waiter **queue, struct wf_mutex_waiter **gone);

/* Free the waiters of the list gone. */
void wf_mutex_waiters_free(struct wf_mutex_waiter *gone);

#endif
