/* SPDX-License-Identifier: MIT */
/*
 * sched/shuffle.h - after a large theft thief and victim shuffle their queues.
 *
 * Fibers that were started one after another lie one after another in memory,
 * and so do the objects they use.  After a thief took half of a long queue, two
 * processors run neighbouring parts, each in the order of its addresses, round
 * after round.  The hardware prefetchers of one processor then run past the end
 * of its part, and take away cache lines that the other processor writes.  With
 * 100 ping-pong pairs this cost more than it gained to have a second processor.
 * In a random order the prefetchers find no stream to follow.  docs/HISTORY.md
 * has the measurements; the cause was shown by gaps between the two parts.
 *
 * The thief marks both processors.  Each holder shuffles its own queue at its
 * next stop (sched/pick.c) at which
 *
 *	only the holder takes from the queue (sched/handshake.h);
 *	the tasks are fine: a run of coarse ones gains nothing;
 *	neither yielders nor a turn have marked a place in the queue;
 *	no task of the queue was shuffled before.
 *
 * So a task is shuffled at most once while it waits, and at most one more local
 * queue overtakes it: BOUND in sched/pick.h counts that.
 *
 * Reads next: sched/steal.c, which sets the mark.
 */
#ifndef WF_SCHED_SHUFFLE_H
#define WF_SCHED_SHUFFLE_H

#include <stddef.h>

#include "base/limits.h"
#include "sched/proc.h"

/* thief took so many entries from victim's queue. */
static inline void wf_shuffle_mark(
	struct wf_proc *thief, struct wf_proc *victim, size_t moved)
{
	if (moved < WF_SHUFFLE_MIN)
		return;
	wf_store_rlx(&thief->to_shuffle, true);
	wf_store_rlx(&victim->to_shuffle, true);
}

/* p is marked: shuffle its queue, if that is allowed now.  Holder. */
void wf_shuffle(struct wf_proc *p);

#endif
