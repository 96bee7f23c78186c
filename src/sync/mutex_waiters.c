/* SPDX-License-Identifier: MIT */
/*
 * sync/mutex_waiters.c - the holder's side of the list.
 */
#include "sync/mutex_waiters.h"

static struct wf_mutex_waiter *waiter_of(uint64_t link)
{
	return (struct wf_mutex_waiter *)(uintptr_t)(link & ~WF_MUTEX_BITS);
}

static struct wf_mutex_waiter *add_first(
	struct wf_mutex_waiter *queue, struct wf_mutex_waiter *s)
{
	s->next = queue;
	s->last = queue ? queue->last : s;
	return s;
}

/* Append a chain that ends with last. */
static struct wf_mutex_waiter *append(struct wf_mutex_waiter *queue,
	struct wf_mutex_waiter *chain, struct wf_mutex_waiter *last)
{
	if (chain == NULL)
		return queue;
	if (queue == NULL)
		queue = chain;
	else
		queue->last->next = chain;
	queue->last = last;
	return queue;
}

struct wf_mutex_waiter *wf_mutex_sort(
	uint64_t word, uint64_t known, struct wf_mutex_waiter *queue)
{
	struct wf_mutex_waiter *oldest = NULL, *newest = NULL, *s;
	struct wf_mutex_waiter *again = NULL;
	uint64_t link = word & WF_MUTEX_LINK;

	for (; link != known && !(link & WF_MUTEX_SORTED); link = s->below) {
		s = waiter_of(link);
		if (s->first_again) {
			again = add_first(again, s);
			continue;
		}
		s->next = oldest;
		oldest = s;
		if (newest == NULL)
			newest = s;
	}
	if (known == 0)
		queue = waiter_of(link);
	queue = append(queue, oldest, newest);
	for (; again != NULL; again = s) {
		s = again->next;
		queue = add_first(queue, again);
	}
	return queue;
}

static bool claim(struct wf_mutex_waiter *s)
{
	return s->pushed != NULL ? wf_waiter_claim_left(&s->node)
				 : wf_waiter_claim(&s->node);
}

struct wf_mutex_waiter *wf_mutex_claim(
	struct wf_mutex_waiter **queue, struct wf_mutex_waiter **gone)
{
	struct wf_mutex_waiter *s;

	while ((s = *queue) != NULL) {
		*queue = s->next;
		if (s->next != NULL)
			s->next->last = s->last;
		if (claim(s))
			return s;
		s->next = *gone;
		*gone = s;
	}
	return NULL;
}

void wf_mutex_waiters_free(struct wf_mutex_waiter *gone)
{
	struct wf_mutex_waiter *next;

	for (; gone != NULL; gone = next) {
		next = gone->next;
		wf_record_give(gone);
	}
}
