/* SPDX-License-Identifier: MIT */
/*
 * queue/runq_locked.c - the local run queue under a lock.
 *
 * The fields are atomic because the lock-free variant needs it and because
 * wf_runq_len reads them without the lock; here the lock gives all orders.
 */
#include "queue/runq_locked.h"

#include "queue/runq_inline.h"

/* Under the lock: the number of entries, from index *h on. */
static size_t look(struct wf_runq *q, uint64_t *h)
{
	*h = wf_load_rlx(&q->head);
	return (size_t)(wf_load_rlx(&q->tail) - *h);
}

bool wf_runq_locked_push(struct wf_runq *q, wf_entry e)
{
	uint64_t h, t;
	bool room;

	wf_lock(&q->lock);
	room = look(q, &h) <= q->mask;
	if (room) {
		t = wf_load_rlx(&q->tail);
		wf_store_rlx(&q->slots[t & q->mask], e);
		wf_store_rlx(&q->tail, t + 1);
	}
	wf_unlock(&q->lock);
	return room;
}

size_t wf_runq_locked_grab(struct wf_runq *q, wf_entry *out, size_t max)
{
	uint64_t h;
	size_t n;

	wf_lock(&q->lock);
	n = wf_min_size(look(q, &h), max);
	for (size_t i = 0; i < n; i++)
		out[i] = wf_load_rlx(&q->slots[(h + i) & q->mask]);
	wf_store_rlx(&q->head, h + n);
	wf_unlock(&q->lock);
	return n;
}

wf_entry wf_runq_locked_pop(struct wf_runq *q)
{
	wf_entry e = 0;

	wf_runq_locked_grab(q, &e, 1);
	return e;
}

wf_entry wf_runq_locked_steal(struct wf_runq *to, struct wf_runq *from,
	bool lone, size_t most, size_t *moved)
{
	wf_entry first = 0;
	size_t room, n;
	uint64_t h;

	wf_lock(&to->lock);
	room = (size_t)to->mask + 1 - look(to, &h);
	wf_unlock(&to->lock);
	wf_lock(&from->lock);
	n = wf_runq_half(look(from, &h), lone, wf_min_size(most, room + 1));
	if (n > 0) {
		first = wf_load_rlx(&from->slots[h & from->mask]);
		wf_runq_copy(to, from, h, n - 1);
		wf_store_rlx(&from->head, h + n);
	}
	wf_unlock(&from->lock);
	if (n > 1) {
		wf_lock(&to->lock);
		wf_store_rlx(&to->tail, wf_load_rlx(&to->tail) + n - 1);
		wf_unlock(&to->lock);
	}
	*moved = n;
	return first;
}

/*
 * Only the owner writes slots, so it may link the tasks after it has unlocked.
 */
size_t wf_runq_locked_offload(struct wf_runq *q, wf_claim_fn *claim,
	size_t most, struct wf_batch *out)
{
	uint64_t h;
	size_t n;

	wf_lock(&q->lock);
	n = wf_runq_half(look(q, &h), true, most);
	wf_store_rlx(&q->head, h + n);
	wf_unlock(&q->lock);
	wf_runq_link(q, h, n, claim, out);
	return n;
}

const struct wf_runq_ops wf_runq_locked_ops = {
	.name = "mutex",
	.push = wf_runq_locked_push,
	.pop = wf_runq_locked_pop,
	.steal = wf_runq_locked_steal,
	.grab = wf_runq_locked_grab,
	.offload = wf_runq_locked_offload,
};
