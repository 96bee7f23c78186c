/* SPDX-License-Identifier: MIT */
/*
 * sched/global_lockfree.h - the global queue without locks: an inbox for each
 * processor (queue/inbox.h).
 *
 * A submitter pushes a batch to one inbox by compare-and-swap.  A processor
 * takes all of an inbox by one exchange, a CHAIN, uses a share of it, and keeps
 * the REST for its next take or for other processors.  Tasks of different
 * inboxes have no order among them, so a mark in this queue says only whether
 * there was a rest: the rest of a chain is older than the mark, and if there
 * was none, so is the first task of the next chain; the tasks that follow in
 * that chain may be younger.
 *
 * Only sched/global.[ch] calls these functions.
 */
#ifndef WF_SCHED_GLOBAL_LOCKFREE_H
#define WF_SCHED_GLOBAL_LOCKFREE_H

#include <stdbool.h>
#include <stddef.h>

#include "queue/batch.h"
#include "sched/group.h"
#include "sched/proc.h"

/* How many inboxes of g hold something. */
size_t wf_lockfree_len(struct wf_group *g);

/* Append batch to the inbox of p; NULL: from outside, to each in turn. */
void wf_lockfree_push(
	struct wf_group *g, struct wf_proc *p, struct wf_batch *batch);

/*
 * Append p's share of one chain to out.  First the rest of p's last chain; then
 * the first inbox that holds something, beginning with the next one each time.
 * So a task in the inbox of a processor that computes, or was stopped, waits
 * for at most one chain of each other processor.  Returns how many.  Holder.
 */
size_t wf_lockfree_take(struct wf_proc *p, struct wf_group *g, size_t sharers,
	size_t max, struct wf_batch *out);

#endif
