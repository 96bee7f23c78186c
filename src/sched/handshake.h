/* SPDX-License-Identifier: MIT */
/*
 * sched/handshake.h - may others take from a processor's queue at this moment?
 *
 * Taking an entry against thieves costs the holder a locked instruction, which
 * also waits for every store before it; alone, a plain store does.  Most queues
 * are robbed seldom or never.  So a queue and its slot are either
 *
 *	ALONE	only the holder takes from them: no locked instruction
 *	SHARED	anyone may
 *
 * and go from one to the other by a handshake that costs the holder two plain
 * stores a pick, and the other side a membarrier (10 us), seldom:
 *
 *	holder, picking				who shares it
 *	  busy = 1				  shared = 1
 *	  light fence	   [share.busy]		  membarrier	[share.busy]
 *	  shared?  0: take by plain stores	  busy?  1: try again later
 *		   1: take as against thieves	  open = 1
 *	  busy = 0  (release)
 *
 *	thief					who makes it alone again
 *	  thieves + 1				  open = 0
 *	  fence		   [share.thieves]	  fence		[share.thieves]
 *	  open?  0: leave it			  thieves?  > 0: try again later
 *	  take, then thieves - 1		  shared = 0
 *
 *	(H1) While a holder takes by plain stores, open is 0 and thieves that
 *	     are counted have seen it so or will.
 *	(H2) The membarrier is a full fence in the holder: either it has set
 *	     busy before, and we see that; or it will see shared.
 *
 * The monitor does both, when it sends help and when none was needed for long,
 * nor taken, though the gate be open: picking against thieves who do not come
 * made fine tasks half as fast again.  A thief shares too, if it finds a holder
 * that computes.  Where there is no membarrier everything is shared for good,
 * and with one processor nothing.
 *
 * The list of yielders goes the same way: alone, the holder touches it by plain
 * accesses while busy is 1; shared, everybody holds its lock.  A fiber that
 * yields is in the list before its context is saved, so busy stays 1 until the
 * side that arrives has set it to 0.
 *
 * Reads next: sched/pick.c, the holder's side.
 */
#ifndef WF_SCHED_SHARE_H
#define WF_SCHED_SHARE_H

#include <stdbool.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "sched/proc.h"

/* Let others take from p.  False: not now, the holder is in a pick. */
bool wf_share_open(struct wf_proc *p);

/* Let nobody else take from p, unless somebody is at it.  The monitor. */
void wf_share_close(struct wf_proc *p);

/* The holder begins to take: may it do so by plain stores? */
wf_inline bool wf_take_begin(struct wf_proc *p)
{
	wf_store_rlx(&p->busy, 1);
	/* [pair: share.busy] Against the membarrier (H2). */
	wf_fence_light();
	/* [pair: share.back] See what the last thieves took. */
	return !wf_load_acq(&p->shared);
}

wf_inline void wf_take_end(struct wf_proc *p)
{
	/* [pair: share.done] Our stores are over before others take. */
	wf_store_rel(&p->busy, 0);
}

/* Hold the list of yielders, as the holder; true: alone. */
wf_inline bool wf_yielders_hold(struct wf_proc *p)
{
	bool alone = wf_take_begin(p);

	if (wf_unlikely(!alone))
		wf_lock(&p->yield_lock);
	return alone;
}

wf_inline void wf_yielders_let_go(struct wf_proc *p, bool alone)
{
	if (wf_unlikely(!alone))
		wf_unlock(&p->yield_lock);
	wf_take_end(p);
}

/* A thief comes; false: it may not take anything. */
static inline bool wf_rob_begin(struct wf_proc *v)
{
	(void)wf_add_rlx(&v->thieves, 1);
	/* [pair: share.thieves] One of us sees the other. */
	wf_fence_seq();
	/* [pair: share.done] See what the holder took before it was open. */
	if (wf_load_acq(&v->open))
		return true;
	(void)wf_sub_rlx(&v->thieves, 1);
	return false;
}

static inline void wf_rob_end(struct wf_proc *v)
{
	/* [pair: share.thieves] What we took is seen by the holder. */
	(void)wf_sub_rel(&v->thieves, 1);
}

#endif
