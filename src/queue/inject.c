/* SPDX-License-Identifier: MIT */
/*
 * queue/inject.c - the global queue under two short locks.
 */
#include "queue/inject.h"

#include "base/assert.h"
#include "base/units.h"

void wf_inject_push(struct wf_inject *q, struct wf_batch *batch)
{
	wf_debug_assert(batch->count > 0, "an empty batch cannot be pushed");
	wf_lock(&q->back_lock);
	/* [pair: inject.pushed] Show all that was done before. */
	wf_store_rel(&q->pushed, wf_load_rlx(&q->pushed) + batch->count);
	wf_batch_append(&q->back, batch);
	wf_unlock(&q->back_lock);
}

/* Holding front_lock, with front empty: move all of back to front. */
static void turn(struct wf_inject *q)
{
	wf_lock(&q->back_lock);
	wf_batch_append(&q->front, &q->back);
	wf_unlock(&q->back_lock);
}

size_t wf_inject_take(struct wf_inject *q, size_t max, struct wf_batch *out)
{
	struct wf_batch some = { 0 };
	size_t n;

	if (wf_inject_len(q) == 0 || max == 0)
		return 0;
	wf_lock(&q->front_lock);
	if (wf_batch_is_empty(&q->front))
		turn(q);
	n = wf_min_size(q->front.count, max);
	if (n > 1 && q->fetch != NULL)
		q->fetch(q->front.first, n);
	if (n > 0)
		wf_batch_split(&q->front, n, &some);
	/* [pair: inject.taken] Show their push too, which we saw (I2). */
	wf_store_rel(&q->taken, wf_load_rlx(&q->taken) + n);
	wf_unlock(&q->front_lock);
	wf_batch_append(out, &some);
	return n;
}
