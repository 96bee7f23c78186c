/* SPDX-License-Identifier: MIT */
/*
 * queue/runq_locked.h - the local run queue under a lock, for comparison.
 *
 * Struct, operations and roles are those of queue/runq.h.  Every operation
 * holds the queue's lock as long as it touches head or tail, at most for a copy
 * of half a queue.  A thief holds only its victim's lock while it copies, so no
 * thread ever holds two locks.
 */
#ifndef WF_QUEUE_RUNQ_LOCKED_H
#define WF_QUEUE_RUNQ_LOCKED_H

#include "queue/runq.h"

extern const struct wf_runq_ops wf_runq_locked_ops;

bool wf_runq_locked_push(struct wf_runq *q, wf_entry e);
wf_entry wf_runq_locked_pop(struct wf_runq *q);
wf_entry wf_runq_locked_steal(struct wf_runq *to, struct wf_runq *from,
	bool lone, size_t most, size_t *moved);
size_t wf_runq_locked_grab(struct wf_runq *q, wf_entry *out, size_t max);
size_t wf_runq_locked_offload(struct wf_runq *q, wf_claim_fn *claim,
	size_t most, struct wf_batch *out);

#endif
