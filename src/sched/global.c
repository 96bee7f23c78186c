/* SPDX-License-Identifier: MIT */
/*
 * sched/global.c - the global queue, in three forms.
 */
#include "sched/global.h"

#include "queue/fair_share.h"
#include "sched/global_lockfree.h"
#include "sched/runtime.h"

size_t wf_global_len_other(struct wf_group *g)
{
	if (wf_global_is_lockfree(g))
		return wf_lockfree_len(g);
	return wf_bounded_len(&g->bounded) + wf_inject_len(&g->inject);
}

/* Push one task after the other; from the first that does not fit, overflow. */
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

void wf_global_push(
	struct wf_group *g, struct wf_proc *p, struct wf_batch *batch)
{
	if (wf_global_is_lockfree(g))
		wf_lockfree_push(g, p, batch);
	else if (wf_unlikely(wf_policy_of(g)->queue == WEFT_QUEUE_BOUNDED))
		push_bounded(g, p, batch);
	else
		wf_inject_push(&g->inject, batch);
}

static size_t take_bounded(struct wf_group *g, size_t max, struct wf_batch *out)
{
	/* Read first: a task that joins the list later may be the youngest. */
	bool listed = wf_inject_has_any(&g->inject);
	size_t n = 0;
	weft_task *task;

	while (n < max && (task = wf_bounded_pop(&g->bounded)) != NULL) {
		wf_batch_add(out, task);
		n++;
	}
	if (n > 0 || !listed || wf_bounded_len(&g->bounded) != 0)
		return n; /* a push to the bounded queue is under way: older */
	return wf_inject_take(&g->inject, max, out);
}

size_t wf_global_take(struct wf_proc *p, struct wf_group *g, size_t sharers,
	size_t max, struct wf_batch *out)
{
	if (wf_global_is_lockfree(g))
		return wf_lockfree_take(p, g, sharers, max, out);
	max = wf_fair_share(wf_global_len(g), sharers, max);
	if (wf_unlikely(wf_policy_of(g)->queue == WEFT_QUEUE_BOUNDED))
		return take_bounded(g, max, out);
	return wf_inject_take(&g->inject, max, out);
}
