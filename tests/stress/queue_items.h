/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/queue_items.h - tasks that remember their producer and batch.
 */
#ifndef WEFT_TESTS_STRESS_QUEUE_ITEMS_H
#define WEFT_TESTS_STRESS_QUEUE_ITEMS_H

#include <stdbool.h>
#include <stddef.h>

#include <weft/task.h>

#include "base/random.h"
#include "queue/batch.h"

enum { ITEMS_BATCH_MAX = 20 };

/*
 * The producer writes all but taker before the push, the taker reads them:
 * plain fields, so that ThreadSanitizer checks that the queue orders them.
 */
struct item {
	weft_task task;
	unsigned producer;
	unsigned inbox;			/* where it was pushed, if to one */
	size_t seq;			/* counted by its producer */
	bool more;			/* the next is of the same batch */
	unsigned taker;			/* written by the consumer */
};

/*
 * The producer's next batch, from its item number seq on, of n in all: half of
 * the batches are single tasks.  Returns the number after the batch.
 */
static inline size_t items_batch(struct item *items, size_t seq, size_t n,
	unsigned producer, struct wf_random *random, struct wf_batch *batch)
{
	bool one = wf_random_below(random, 2);
	size_t some = one ? 1 : 1 + wf_random_below(random, ITEMS_BATCH_MAX);

	for (; some > 0 && seq < n; some--, seq++) {
		items[seq].producer = producer;
		items[seq].seq = seq;
		items[seq].more = some > 1 && seq + 1 < n;
		wf_batch_add(batch, &items[seq].task);
	}
	return seq;
}

#endif
