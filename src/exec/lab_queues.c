/* SPDX-License-Identifier: MIT */
/*
 * exec/lab_queues.c - the laboratory's queues: push, pop, take, steal.
 *
 * Nothing here wakes a worker.  A task that moves from one queue to another is
 * in no queue for a moment, and a worker may fall asleep in that moment; so the
 * task counts as shown when it arrives.
 */
#include "base/units.h"
#include "exec/lab_priv.h"
#include "queue/fair_share.h"
#include "queue/runq_locked.h"

size_t wf_lab_queue_bytes(const struct wf_lab_config *c)
{
	if (c->queues == WF_LAB_BOUNDED)
		return c->bounded_capacity * sizeof(struct wf_bounded_cell);
	return (size_t)c->workers * c->local_capacity * sizeof(wf_entry);
}

/* memory is zero and has wf_lab_queue_bytes. */
void wf_lab_queues_init(struct wf_lab *lab, void *memory)
{
	const struct wf_lab_config *c = &lab->cfg;
	_Atomic(wf_entry) *slots = memory;

	lab->ops = c->local == WF_LAB_RING ? &wf_runq_ops : &wf_runq_locked_ops;
	if (c->queues == WF_LAB_BOUNDED)
		wf_bounded_init(&lab->bounded, memory, c->bounded_capacity);
	for (uint32_t i = 0; c->queues == WF_LAB_LOCAL && i < c->workers; i++)
		wf_runq_init(&lab->workers[i].ring,
			slots + (size_t)i * c->local_capacity,
			c->local_capacity);
}

static bool has_list(const struct wf_lab_worker *w)
{
	return w->lab->cfg.local == WF_LAB_LIST;
}

static size_t local_len(struct wf_lab_worker *w)
{
	return has_list(w) ? wf_inject_len(&w->list) : wf_runq_len(&w->ring);
}

static bool push_local(struct wf_lab_worker *w, weft_task *task)
{
	struct wf_batch one = { task, task, 1 };

	if (!has_list(w))
		return w->lab->ops->push(&w->ring, wf_entry_of(task));
	wf_inject_push(&w->list, &one);
	return true;
}

/* The oldest task of w; NULL: none. */
weft_task *wf_lab_pop(struct wf_lab_worker *w)
{
	struct wf_batch one = { 0 };

	if (w->lab->cfg.queues != WF_LAB_LOCAL)
		return NULL;
	if (!has_list(w))
		return wf_entry_task(w->lab->ops->pop(&w->ring));
	(void)wf_inject_take(&w->list, 1, &one);
	return wf_batch_take(&one);
}

/* Keep the first task of a batch, push the others.  NULL: there is none. */
static weft_task *keep_first(
	struct wf_lab_worker *w, struct wf_batch *batch, size_t *shown)
{
	weft_task *first = wf_batch_take(batch), *task;

	*shown = batch->count;
	while ((task = wf_batch_take(batch)) != NULL)
		if (!push_local(w, task))
			wf_assert(false, "a worker took more than it has room");
	return first;
}

/* Whether there is a task in any queue; a push under way counts. */
bool wf_lab_has_tasks(struct wf_lab *lab)
{
	if (wf_inject_len(&lab->global) != 0)
		return true;
	if (lab->cfg.queues == WF_LAB_BOUNDED)
		return wf_bounded_len(&lab->bounded) != 0;
	for (uint32_t i = 0; i < lab->cfg.workers; i++)
		if (local_len(&lab->workers[i]) != 0)
			return true;
	return false;
}

/* While the list behind BOUNDED has tasks, new ones join it, to be in order. */
void wf_lab_push_global(
	struct wf_lab *lab, struct wf_lab_worker *w, weft_task *task)
{
	struct wf_batch one = { task, task, 1 };

	if (lab->cfg.queues == WF_LAB_BOUNDED) {
		if (wf_inject_len(&lab->global) == 0 &&
			wf_bounded_push(&lab->bounded, task))
			return;
		wf_lab_count(lab, w, WF_LAB_OVERFLOWS, 1);
	}
	wf_inject_push(&lab->global, &one);
}

/* Push to w's local queue, or if it has no room to the global queue: shown. */
size_t wf_lab_push(struct wf_lab_worker *w, weft_task *task)
{
	struct wf_lab *lab = w->lab;
	bool local = lab->cfg.queues == WF_LAB_LOCAL;
	struct wf_batch half = { 0 };
	size_t n = 0;

	if (local && push_local(w, task))
		return 1;
	if (local && lab->cfg.offload == WF_LAB_OFFLOAD_HALF)
		n = lab->ops->offload(&w->ring, NULL, SIZE_MAX, &half);
	if (n > 0)
		wf_inject_push(&lab->global, &half);
	wf_lab_count(lab, w, WF_LAB_OFFLOADED, local ? n + 1 : 0);
	wf_lab_push_global(lab, w, task);
	return n + 1;
}

/* How many tasks w takes from the global queue; so many have room. */
static size_t portion(struct wf_lab_worker *w)
{
	const struct wf_lab_config *c = &w->lab->cfg;
	size_t most = SIZE_MAX;

	if (c->queues != WF_LAB_LOCAL || c->take == WF_LAB_TAKE_ONE)
		return 1;
	/* Only w fills its ring; one task is not pushed but run. */
	if (!has_list(w))
		most = c->local_capacity - wf_runq_len(&w->ring) + 1;
	if (c->take == WF_LAB_TAKE_ALL)
		return most;
	return wf_fair_share(wf_inject_len(&w->lab->global), c->workers, most);
}

/* A task from the global queue; w may put others into its own. */
weft_task *wf_lab_take(struct wf_lab_worker *w, size_t *shown)
{
	struct wf_batch some = { 0 };
	weft_task *task = NULL;

	*shown = 0;
	if (w->lab->cfg.queues == WF_LAB_BOUNDED)
		task = wf_bounded_pop(&w->lab->bounded);
	if (task != NULL)
		return task;
	(void)wf_inject_take(&w->lab->global, portion(w), &some);
	return keep_first(w, &some, shown);
}

static weft_task *steal_from(
	struct wf_lab_worker *w, struct wf_lab_worker *victim, size_t *shown)
{
	size_t len = local_len(victim), moved = 0;
	size_t most = w->lab->cfg.steal == WF_LAB_STEAL_ONE ? 1 : len - len / 2;
	struct wf_batch some = { 0 };
	weft_task *task;

	if (len == 0)
		return NULL;
	if (has_list(w)) {
		moved = wf_inject_take(&victim->list, most, &some);
		task = keep_first(w, &some, shown);
	} else {
		task = wf_entry_task(w->lab->ops->steal(
			&w->ring, &victim->ring, true, most, &moved));
		*shown = moved > 0 ? moved - 1 : 0;
	}
	wf_lab_count(w->lab, w, WF_LAB_STEALS, moved > 0);
	wf_lab_count(w->lab, w, WF_LAB_STOLEN, moved);
	return task;
}

/* From one random victim, or from all in random order until one has tasks. */
weft_task *wf_lab_steal(struct wf_lab_worker *w, size_t *shown)
{
	const struct wf_lab_config *c = &w->lab->cfg;
	uint32_t others = c->queues == WF_LAB_LOCAL ? c->workers - 1 : 0;
	uint32_t tries = c->victims == WF_LAB_VICTIMS_ONE ? 1 : others;
	weft_task *task = NULL;

	*shown = 0;
	for (uint32_t i = 0; task == NULL && i < tries && i < others; i++) {
		uint32_t at = i + wf_random_below(&w->random, others - i);
		uint8_t chosen = w->victims[at];

		w->victims[at] = w->victims[i];
		w->victims[i] = chosen;
		task = steal_from(w, &w->lab->workers[chosen], shown);
	}
	return task;
}
