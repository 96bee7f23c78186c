/* SPDX-License-Identifier: MIT */
/*
 * queue/batch.h - a list of tasks, linked by next_, that moves as a whole.
 *
 * A zeroed batch is empty.  A batch has one owner; last->next_ is undefined.
 */
#ifndef WF_QUEUE_BATCH_H
#define WF_QUEUE_BATCH_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/task.h>

struct wf_batch {
	weft_task *first;
	weft_task *last;
	size_t count;
};

static inline bool wf_batch_is_empty(const struct wf_batch *b)
{
	return b->count == 0;
}

static inline void wf_batch_add(struct wf_batch *b, weft_task *task)
{
	if (b->count++ == 0)
		b->first = task;
	else
		b->last->next_ = task;
	b->last = task;
}

/* Move all tasks of more to the end of b; more is then empty. */
static inline void wf_batch_append(struct wf_batch *b, struct wf_batch *more)
{
	if (more->count == 0)
		return;
	if (b->count == 0)
		b->first = more->first;
	else
		b->last->next_ = more->first;
	b->last = more->last;
	b->count += more->count;
	*more = (struct wf_batch){ 0 };
}

/* Take the oldest task; NULL if there is none. */
static inline weft_task *wf_batch_take(struct wf_batch *b)
{
	weft_task *task = b->first;

	if (b->count == 0)
		return NULL;
	b->first = task->next_;
	b->count--;
	return task;
}

/* Put back, as the oldest, a task that was just taken. */
static inline void wf_batch_put_back(struct wf_batch *b, weft_task *task)
{
	task->next_ = b->first;
	b->first = task;
	if (b->count++ == 0)
		b->last = task;
}

/* Move the first n tasks, 0 < n <= count, into head, which was empty. */
static inline void wf_batch_split(
	struct wf_batch *b, size_t n, struct wf_batch *head)
{
	weft_task *last = b->first;

	for (size_t i = 1; i < n; i++)
		last = last->next_;
	*head = (struct wf_batch){ b->first, last, n };
	b->first = last->next_;
	b->count -= n;
}

#endif
