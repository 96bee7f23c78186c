/* SPDX-License-Identifier: MIT */
/*
 * sched/turn.h - taking from the global queue, and whose turn it is.
 *
 * A local queue that overflows sends its oldest tasks to the global queue.
 * Suppose that newer tasks keep coming to the local queue, and only every 61st
 * pick takes one of the older: then a program that starts as many fibers as end
 * has more and more of them.  So while the global queue is not empty the two
 * queues take TURNS:
 *
 *	LOCAL	until every task has run that was in the local queue when the
 *		turns began (the 61st pick still takes one from the global
 *		queue)
 *	GLOBAL	until every task has been taken, by any processor, that was in
 *		the global queue when the turns began.  The global queue stands
 *		in for the local one, one task for each pick.  Or, if the local
 *		queue is at most half full, the processor takes a share, which
 *		runs behind the tasks that are there and before the next turn.
 *
 * So a task in the global queue is overtaken by at most two local queues, and
 * by as many tasks as were before it.
 *
 * A joinable fiber that overflowed (AWAY, fiber/fiber.h) ends the GLOBAL turn.
 * It is probably a part of a tree of forks, and a tree must not begin many of
 * its parts at once: each would take a stack, and fill the queue again.
 *
 * In the lock-free mode yielders are in the global queue.  They run after every
 * task that was in the local queue when they yielded, so the 61st pick takes
 * nothing in the LOCAL turn; the GLOBAL turn is the rest of one chain
 * (sched/global_lockfree.h).
 *
 * Reads next: sched/pick.h
 */
#ifndef WF_SCHED_TURN_H
#define WF_SCHED_TURN_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/task.h>

#include "sched/global.h"
#include "sched/proc.h"

/*
 * Take a share of g's global queue, as one of sharers, up to max tasks: the
 * first is the result, counted as a pick, and the others go to p's local queue,
 * which has room for them.  NULL: the queue is empty.  Holder.
 */
weft_task *wf_grab(
	struct wf_proc *p, struct wf_group *g, size_t sharers, size_t max);

/*
 * wf_grab for a processor whose local queue is empty, as much as the policy
 * says; alone: the tasks are fine, and no other processor needs a share.
 */
weft_task *wf_grab_share(struct wf_proc *p, struct wf_group *g, bool alone);

/*
 * A pick has stopped for a turn: take from the global queue, if it may be taken
 * from now.  Holder.
 */
weft_task *wf_turn_take(struct wf_proc *p);

/* In the GLOBAL turn: is it over? */
static inline bool wf_turn_is_over(struct wf_proc *p)
{
	return wf_global_passed(p, &p->turn.global_mark);
}

/* In the GLOBAL turn: take one task.  NULL: the turn is over.  Holder. */
weft_task *wf_turn_take_one(struct wf_proc *p);

#endif
