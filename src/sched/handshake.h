/* SPDX-License-Identifier: MIT */
/*
 * sched/handshake.h - may thieves take from a processor's queue at this moment?
 *
 * While thieves may take, popping an entry costs the holder a locked
 * instruction, which also waits for every store before it; alone, a plain store
 * does.  Most queues are stolen from seldom or never.  So a queue and its slot
 * are either
 *
 *	ALONE	only the holder takes from them, without a locked instruction
 *	SHARED	thieves may take too
 *
 * and go from one to the other by a handshake.  It costs the holder two plain
 * stores a pick, and the other side a membarrier (10 us), seldom:
 *
 *	holder, picking				thief or monitor, opening
 *	  busy = 1				  shared = 1
 *	  light fence	   [share.busy]		  membarrier	[share.busy]
 *	  shared?  0: take by plain stores	  busy?  1: try again later
 *		   1: take as against thieves	  open = 1
 *	  busy = 0  (release)
 *
 *	thief					monitor, closing
 *	  thieves + 1				  open = 0
 *	  fence		   [share.thieves]	  fence		[share.thieves]
 *	  open?  0: leave it			  thieves?  > 0: try again later
 *	  take, then thieves - 1		  shared = 0
 *
 *	(H1) While a holder takes by plain stores, open is 0, and each thief
 *	     that is counted has seen 0 or will see it.
 *	(H2) The membarrier is a full fence in the holder: either the holder has
 *	     set busy before, and the opener sees that; or it will see shared.
 *
 * A thief opens a queue when it wants to take from it.  The monitor closes the
 * queue when no thief has come for long: picks against thieves that do not come
 * made fine tasks half as fast.  Where there is no membarrier every queue is
 * shared for good; with one processor none is.
 *
 * The list of yielders follows the same rule: while ALONE, the holder touches
 * it by plain accesses with busy set; while SHARED, holder and thieves take its
 * lock.  A fiber that yields is in the list before its context is saved, so
 * busy stays 1 until the side that arrives has set it to 0.
 *
 * Reads next: sched/pick.c, the holder's side.
 */
#ifndef WF_SCHED_HANDSHAKE_H
#define WF_SCHED_HANDSHAKE_H

#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "sched/proc.h"

/* Let thieves take from p.  False: not now, the holder is in a pick. */
bool wf_handshake_open(struct wf_proc *p);

/* Let only the holder take from p, unless a thief is at it.  The monitor. */
void wf_handshake_close(struct wf_proc *p);

/* The holder begins to take.  Returns whether plain stores will do. */
wf_inline bool wf_take_begin(struct wf_proc *p)
{
	wf_store_rlx(&p->busy, 1);
	/* [pair: share.busy] Against the membarrier (H2). */
	wf_fence_light();
	/* [pair: share.back] The holder sees what the last thieves took. */
	return !wf_load_acq(&p->shared);
}

wf_inline void wf_take_end(struct wf_proc *p)
{
	/* [pair: share.done] The holder's stores end before thieves take. */
	wf_store_rel(&p->busy, 0);
}

/* A thief comes.  False: it may not take anything. */
static inline bool wf_rob_begin(struct wf_proc *v)
{
	(void)wf_add_rlx(&v->thieves, 1);
	/* [pair: share.thieves] Thief and monitor: one sees the other. */
	wf_fence_seq();
	/* [pair: share.done] The thief sees what the holder took before. */
	if (wf_load_acq(&v->open))
		return true;
	(void)wf_sub_rlx(&v->thieves, 1);
	return false;
}

static inline void wf_rob_end(struct wf_proc *v)
{
	/* [pair: share.thieves] The holder sees what the thief took. */
	(void)wf_sub_rel(&v->thieves, 1);
}

#endif
