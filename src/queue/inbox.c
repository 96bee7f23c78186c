/* SPDX-License-Identifier: MIT */
/*
 * queue/inbox.c - the global queue without a lock.
 */
#include "queue/inbox.h"

#include <stdint.h>

#include "base/assert.h"
#include "queue/fair_share.h"

/* Mark a link that leads to the batch below. */
static weft_task *below(weft_task *top)
{
	return (weft_task *)((uintptr_t)top | 1);
}

static bool is_below(weft_task *link)
{
	return (uintptr_t)link & 1;
}

static weft_task *unmark(weft_task *link)
{
	return (weft_task *)((uintptr_t)link & ~(uintptr_t)1);
}

void wf_inbox_push(struct wf_inbox *inbox, struct wf_batch *batch)
{
	weft_task *top = wf_load_rlx(&inbox->in);

	wf_debug_assert(batch->count > 0, "an empty batch cannot be pushed");
	do {
		batch->last->next_ = below(top);
		/*
		 * [pair: inbox.in] Store the tasks and their links before the
		 * word by which a taker finds them.  (If top was taken and
		 * pushed again meanwhile, that is harmless: it is the top
		 * again.)
		 */
	} while (!wf_cas_weak_rel(&inbox->in, &top, batch->first));
	*batch = (struct wf_batch){ 0 };
}

/* Turn batches, the newest first, into one chain, the oldest first. */
static struct wf_batch in_order(weft_task *newest)
{
	struct wf_batch chain = { 0 };

	while (newest != NULL) {
		weft_task *last = newest;
		size_t n = 1;

		for (; !is_below(last->next_); n++)
			last = last->next_;
		struct wf_batch older = { newest, last, n };
		newest = unmark(last->next_);
		wf_batch_append(&older, &chain);
		chain = older;
	}
	return chain;
}

/* Take all tasks of one inbox, in order. */
static struct wf_batch take_all(struct wf_inbox *from)
{
	weft_task *first = NULL;

	if (wf_load_rlx(&from->out) != NULL)
		/*
		 * [pair: inbox.out] See the chain's links as they were stored;
		 * [pair: inbox.empty] a thread that finds the inbox empty sees
		 * all we did before.
		 */
		first = wf_xchg_acqrel(&from->out, NULL);
	if (first != NULL)
		return (struct wf_batch){ .first = first,
			.count = wf_load_rlx(&from->out_count) };
	if (wf_load_rlx(&from->in) == NULL)
		return (struct wf_batch){ 0 };
	/*
	 * [pair: inbox.in] See the batches' links as they were pushed;
	 * [pair: inbox.empty] a thread that finds the inbox empty sees all we
	 * did before.
	 */
	return in_order(wf_xchg_acqrel(&from->in, NULL));
}

/*
 * Split n tasks, or as many as there are, off the chain.  The chain ends with
 * NULL, because its count may be that of another chain.
 */
static struct wf_batch cut(weft_task *first, size_t n, weft_task **rest)
{
	struct wf_batch some = { 0 };

	while (first != NULL && some.count < n) {
		weft_task *next = first->next_;

		wf_batch_add(&some, first);
		first = next;
	}
	*rest = first;
	return some;
}

size_t wf_inbox_take(struct wf_inbox *mine, struct wf_inbox *from,
	size_t sharers, size_t max, struct wf_batch *out, bool *rest)
{
	struct wf_batch all, some;
	weft_task *left;
	size_t share, n;

	*rest = false;
	if (max == 0)
		return 0;
	all = take_all(from);
	if (all.first == NULL)
		return 0;
	if (all.last != NULL)
		all.last->next_ = NULL;
	share = wf_fair_share(all.count, sharers, max);
	/* The count may be 0 though the chain is not empty. */
	some = cut(all.first, share > 0 ? share : 1, &left);
	n = some.count;
	if (left != NULL) {
		wf_debug_assert(wf_load_rlx(&mine->out) == NULL,
			"a processor puts its rest only where nothing is");
		wf_store_rlx(
			&mine->out_count, all.count > n ? all.count - n : 1);
		/* [pair: inbox.out] Store the links before the word. */
		wf_store_rel(&mine->out, left);
		*rest = true;
	}
	wf_batch_append(out, &some);
	return n;
}
