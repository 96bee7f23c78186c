/* SPDX-License-Identifier: MIT */
/*
 * queue/inbox.h - the global queue without a lock: one inbox per processor.
 *
 * An inbox has two ends, each one word:
 *
 *	in	batches that were pushed, the newest first
 *	out	a chain of tasks in order, the oldest first: what the inbox's
 *		processor had left over when it last took its share
 *
 * Anyone pushes into any inbox.  A processor takes from its own inbox, and when
 * that is empty from another's: all of out, or if there is none all of in, by
 * one exchange; it puts the chain in order, keeps its share and leaves the rest
 * in its OWN out, where all can reach it.
 *
 * Invariants.
 *	(N1) Only its processor stores a chain into out, and only when it has
 *	     just seen out empty; others only exchange it for NULL.  So chains
 *	     are never joined: each only gets shorter, from the oldest end.
 *	(N2) In a chain, tasks are in the order of their pushes.
 *
 * So nothing starves.  A task waits for what was in its inbox before it and for
 * nothing that comes later, except what processors take from other chains
 * meanwhile.  A processor that freezes holds back what it took in one exchange;
 * no other operation waits for it.
 *
 * Links.  Inside in, the next_ of a batch's last task points to the batch below
 * with its lowest bit set: pushing a batch is O(1), and the taker can tell
 * where batches end when it turns their order round.
 *
 * What a reader will wrongly assume: that empty inboxes mean no work.  Between
 * its exchange and its store of out, a processor has the chain in hand; storing
 * the rest is a submit like any other and must be followed by the same wake.
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

/* All-zero is empty. */
struct wf_inbox {
	_Atomic(weft_task *) in wf_aligned(WF_FALSE_SHARING);
	_Atomic(weft_task *) out wf_aligned(WF_FALSE_SHARING);
	_Atomic(size_t) out_count;	/* how long out is; may be off */
};

/* Push batch, not empty; it is then empty.  Anyone. */
void wf_inbox_push(struct wf_inbox *inbox, struct wf_batch *batch);

/*
 * Take a share (see wf_share) of what is in from and append it to out; leave
 * the rest in mine, the caller's own.  Either from is mine, or the caller has
 * just found mine empty.  Returns how many; *rest tells whether work was left
 * in mine that others could run.
 */
size_t wf_inbox_take(struct wf_inbox *mine, struct wf_inbox *from,
	size_t sharers, size_t max, struct wf_batch *out, bool *rest);

/* Is there a rest in out?  Its processor. */
static inline bool wf_inbox_has_rest(struct wf_inbox *mine)
{
	return wf_load_rlx(&mine->out) != NULL;
}

/* True: who took the last ones, and all it did before, is seen. */
static inline bool wf_inbox_is_empty(struct wf_inbox *inbox)
{
	/* [pair: inbox.empty] */
	return wf_load_acq(&inbox->in) == NULL &&
		wf_load_acq(&inbox->out) == NULL;
}

#endif
