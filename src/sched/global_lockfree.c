/* SPDX-License-Identifier: MIT */
/*
 * sched/global_lockfree.c - inboxes as one global queue.
 */
#include "sched/global_lockfree.h"

#include "queue/inbox.h"
#include "sched/idle.h"
#include "sched/runtime.h"

size_t wf_lockfree_len(struct wf_group *g)
{
	size_t n = 0;

	for (uint32_t i = 0; i < g->count; i++)
		n += !wf_inbox_is_empty(&g->procs[i].inbox);
	return n;
}

void wf_lockfree_push(
	struct wf_group *g, struct wf_proc *p, struct wf_batch *batch)
{
	if (p == NULL)
		p = &g->procs[wf_add_rlx(&g->rt->outside.next_inbox, 1) %
			g->count];
	wf_inbox_push(&p->inbox, batch);
}

size_t wf_lockfree_take(struct wf_proc *p, struct wf_group *g, size_t sharers,
	size_t max, struct wf_batch *out)
{
	bool rest = false;
	size_t n = 0;

	if (wf_inbox_has_rest(&p->inbox))
		n = wf_inbox_take(
			&p->inbox, &p->inbox, sharers, max, out, &rest);
	for (uint32_t i = 0; n == 0 && i < g->count; i++) {
		struct wf_proc *q = &g->procs[p->inbox_turn++ % g->count];

		n = wf_inbox_take(
			&p->inbox, &q->inbox, sharers, max, out, &rest);
	}
	if (rest)
		wf_wake_for_outside(p->group);
	return n;
}
