/* SPDX-License-Identifier: MIT */
/*
 * queue/runq_inline.h - helpers of both implementations of the run queue.
 */
#ifndef WF_QUEUE_RUNQ_INLINE_H
#define WF_QUEUE_RUNQ_INLINE_H

#include "base/units.h"
#include "queue/runq.h"

/* Half of len entries, rounded up if `up'; at most `most'. */
static inline size_t wf_runq_half(size_t len, bool up, size_t most)
{
	return wf_min_size(up ? len - len / 2 : len / 2, most);
}

/*
 * Append the tasks of entries [at, at + n), which the caller has taken, to out.
 */
static inline void wf_runq_link(struct wf_runq *q, uint64_t at, size_t n,
	wf_claim_fn *claim, struct wf_batch *out)
{
	for (size_t i = 0; i < n; i++) {
		wf_entry e = wf_load_rlx(&q->slots[(at + i) & q->mask]);

		if (!wf_entry_is_ticket(e) || claim(e))
			wf_batch_add(out, wf_entry_task(e));
	}
}

/* Copy n entries of from, from index h + 1 on, behind the tail of to. */
static inline void wf_runq_copy(
	struct wf_runq *to, struct wf_runq *from, uint64_t h, size_t n)
{
	uint64_t t = wf_load_rlx(&to->tail);

	for (size_t i = 0; i < n; i++) {
		uint64_t at = (h + 1 + i) & from->mask;
		wf_entry e = wf_load_rlx(&from->slots[at]);

		wf_store_rlx(&to->slots[(t + i) & to->mask], e);
	}
}

#endif
