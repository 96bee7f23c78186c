/* SPDX-License-Identifier: MIT */
/*
 * queue/inbox.h - the global queue without a lock: one inbox per processor.
 *
 * An inbox has two ends, each one word:
 *
 *	in	batches that were pushed, the newest first
 *	out	a chain of tasks, the oldest first: the tasks that were left
 *		over when the inbox's processor last took its share
 *
 * Any thread pushes into any inbox.  A processor takes from its own inbox, and
 * when that is empty from another's: all of out, or if out is empty all of in,
 * by one exchange.  It puts the chain in order, keeps its share and stores the
 * other tasks in its OWN out, where all processors can take them.
 *
 * Invariants.
 *	(N1) Only its processor stores a chain into out, and only when it has
 *	     just seen out empty; other threads only exchange it for NULL.  So
 *	     chains are never joined: each only gets shorter, from the oldest
 *	     end.
 *	(N2) In a chain, tasks are in the order of their pushes.
 *
 * So no task starves.  It waits for the tasks that were in its inbox before it
 * and not for later ones, except for tasks that processors take from other
 * chains meanwhile.  A processor that stops holds back the tasks that it took
 * in one exchange; no other operation waits for it.
 *
 * Links.  In in, the next_ of a batch's last task points to the batch below,
 * with its lowest bit set: pushing a batch is O(1), and the taker can tell
 * where batches end when it reverses their order.
 *
 * What a reader will wrongly assume: that empty inboxes mean no work.  Between
 * its exchange and its store of out, a processor has the chain in hand.  So its
 * store of out is a submit like any other, and the same wake must follow.
 *
 * Reads next: queue/fair_share.h, how many a processor takes.
 */
#ifndef WF_QUEUE_INBOX_H
#define WF_QUEUE_INBOX_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/task.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "queue/batch.h"

/* A zeroed inbox is empty. */
struct wf_inbox {
	_Atomic(weft_task *) in wf_aligned(WF_FALSE_SHARING);
	_Atomic(weft_task *) out wf_aligned(WF_FALSE_SHARING);
	_Atomic(size_t) out_count;	/* length of out; may be wrong */
};

/* Push batch, which is not empty; it is empty afterwards.  Any thread. */
void wf_inbox_push(struct wf_inbox *inbox, struct wf_batch *batch);

/*
 * Take a share (see wf_fair_share) of the tasks of from and append it to out;
 * store the remaining ones in mine, the caller's own inbox.  Either from is
 * mine, or the caller has just found mine empty.  Returns how many were taken;
 * *rest says whether tasks were stored in mine that other processors could run.
 */
size_t wf_inbox_take(struct wf_inbox *mine, struct wf_inbox *from,
	size_t sharers, size_t max, struct wf_batch *out, bool *rest);

/* Whether out has tasks.  Only by the inbox's processor. */
static inline bool wf_inbox_has_rest(struct wf_inbox *mine)
{
	return wf_load_rlx(&mine->out) != NULL;
}

/* If true, the caller sees all that the taker of the last task did before. */
static inline bool wf_inbox_is_empty(struct wf_inbox *inbox)
{
	/* [pair: inbox.empty] */
	return wf_load_acq(&inbox->in) == NULL &&
		wf_load_acq(&inbox->out) == NULL;
}

#endif
