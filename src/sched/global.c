/* SPDX-License-Identifier: MIT */
/*
 * sched/global.c - the global queue, in three forms.
 */
#include "sched/global.h"

#include "queue/fair_share.h"
#include "sched/runtime.h"
#include "idle/wake.h"

/* How many inboxes of g have something. */
static size_t inboxes_len(struct wf_group *g)
{
	size_t n = 0;

	for (uint32_t i = 0; i < g->count; i++)
		n += !wf_inbox_is_empty(&g->procs[i].inbox);
	return n;
}

size_t wf_global_len_other(struct wf_group *g, const weft_policy *policy)
{
	if (policy->locks == WEFT_LOCKS_NONE)
		return inboxes_len(g);
	return wf_bounded_len(&g->bounded) + wf_inject_len(&g->inject);
}

/* One after the other, until one does not fit; the others overflow. */
static void push_bounded(
	struct wf_group *g, struct wf_proc *p, struct wf_batch *batch)
{
	weft_task *task;

	while ((task = wf_batch_take(batch)) != NULL) {
		if (wf_inject_len(&g->inject) == 0 &&
			wf_bounded_push(&g->bounded, task))
			continue;
		wf_batch_put_back(batch, task);
		break;
	}
	if (wf_batch_is_empty(batch))
		return;
	if (p != NULL)
		wf_bump(&p->counters.overflows, batch->count);
	else
		(void)wf_add_rlx(&g->rt->outside.overflows, batch->count);
	wf_inject_push(&g->inject, batch);
}

/* From outside: into each inbox in turn. */
static struct wf_inbox *inbox_for(struct wf_group *g, struct wf_proc *p)
{
	if (p == NULL)
		p = &g->procs[wf_add_rlx(&g->rt->outside.next_inbox, 1) %
			g->count];
	return &p->inbox;
}

void wf_global_push(
	struct wf_group *g, struct wf_proc *p, struct wf_batch *batch)
{
	const weft_policy *policy = wf_policy_of(g);

	if (wf_unlikely(policy->locks == WEFT_LOCKS_NONE))
		wf_inbox_push(inbox_for(g, p), batch);
	else if (wf_unlikely(policy->queue == WEFT_QUEUE_BOUNDED))
		push_bounded(g, p, batch);
	else
		wf_inject_push(&g->inject, batch);
}

static size_t take_bounded(struct wf_group *g, size_t max, struct wf_batch *out)
{
	/* Before: what comes into the list later may be younger than all. */
	bool listed = wf_inject_has_any(&g->inject);
	size_t n = 0;
	weft_task *task;

	while (n < max && (task = wf_bounded_pop(&g->bounded)) != NULL) {
		wf_batch_add(out, task);
		n++;
	}
	if (n > 0 || !listed || wf_bounded_len(&g->bounded) != 0)
		return n; /* one is on its way, and older */
	return wf_inject_take(&g->inject, max, out);
}

/*
 * The rest of the last chain first.  Then from each inbox in turn, the first
 * that has something: so what is in that of a processor which computes, or has
 * been stopped, waits for a chain of each of the others at most.
 */
static size_t take_inboxes(struct wf_proc *p, struct wf_group *g,
	size_t sharers, size_t max, struct wf_batch *out)
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

size_t wf_global_take(struct wf_proc *p, struct wf_group *g, size_t sharers,
	size_t max, struct wf_batch *out)
{
	const weft_policy *policy = wf_policy_of(g);
	size_t len;

	if (wf_unlikely(policy->locks == WEFT_LOCKS_NONE))
		return take_inboxes(p, g, sharers, max, out);
	len = wf_global_len(g);
	max = wf_share(len, sharers, max);
	if (wf_unlikely(policy->queue == WEFT_QUEUE_BOUNDED))
		return take_bounded(g, max, out);
	return wf_inject_take(&g->inject, max, out);
}
