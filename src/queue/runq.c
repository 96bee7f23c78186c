/* SPDX-License-Identifier: MIT */
/*
 * queue/runq.c - take many entries at once from the local queue, lock-free.
 *
 * A thief copies entries first and takes them afterwards: if head has moved
 * meanwhile, it discards the copy.  The owner may take first and read
 * afterwards, because only the owner writes its slots.
 *
 * A thief copies straight into its own ring, behind its tail, where no thread
 * reads before tail moves.  A thief that steals from this thief does no harm:
 * it reads only up to the tail it saw.
 */
#include "queue/runq.h"

#include "base/assert.h"
#include "base/units.h"
#include "queue/runq_inline.h"

void wf_runq_init(
	struct wf_runq *q, _Atomic(wf_entry) *slots, uint64_t capacity)
{
	wf_assert(wf_is_pow2(capacity) && capacity >= WF_RUNQ_CAP_MIN &&
			capacity <= WF_RUNQ_CAP_MAX,
		"a run queue cannot hold %llu entries",
		(unsigned long long)capacity);
	*q = (struct wf_runq){ .mask = capacity - 1, .slots = slots };
}

/*
 * The entries a taker sees: returns how many, from index *h on.  Looks again if
 * the two indices do not fit together, because another taker was faster.
 */
static size_t look(struct wf_runq *q, uint64_t *h)
{
	uint64_t n;

	do {
		*h = wf_load_rlx(&q->head);
		/*
		 * [pair: runq.publish] See the slots below tail, and the tasks
		 * in them, as they were when tail was stored.
		 */
		n = wf_load_acq(&q->tail) - *h;
	} while (n > q->mask + 1);
	return (size_t)n;
}

/* Take the copied entries [h, h + n); false: another taker was faster. */
static bool take(struct wf_runq *q, uint64_t h, size_t n)
{
	/*
	 * [pair: runq.consume] Our reads of the slots end before the owner sees
	 * that they are free.
	 */
	return wf_cas_rel(&q->head, &h, h + n);
}

wf_entry wf_runq_steal(struct wf_runq *to, struct wf_runq *from, bool lone,
	size_t most, size_t *moved)
{
	uint64_t t = wf_load_rlx(&to->tail);
	size_t room = wf_runq_room(to, t), n;
	wf_entry first;
	uint64_t h;

	most = wf_min_size(most, room + 1);
	do {
		n = wf_runq_half(look(from, &h), lone, most);
		if (n == 0) {
			*moved = 0;
			return 0;
		}
		first = wf_load_rlx(&from->slots[h & from->mask]);
		wf_runq_copy(to, from, h, n - 1);
	} while (!take(from, h, n));
	if (n > 1)
		/*
		 * [pair: runq.publish] Store the slots before tail, as in push.
		 */
		wf_store_rel(&to->tail, t + n - 1);
	*moved = n;
	return first;
}

size_t wf_runq_grab(struct wf_runq *q, wf_entry *out, size_t max)
{
	uint64_t h;
	size_t n;

	do {
		n = wf_min_size(look(q, &h), max);
		if (n == 0)
			return 0;
		for (size_t i = 0; i < n; i++)
			out[i] = wf_load_rlx(&q->slots[(h + i) & q->mask]);
	} while (!take(q, h, n));
	return n;
}

size_t wf_runq_offload(struct wf_runq *q, wf_claim_fn *claim, size_t most,
	struct wf_batch *out)
{
	uint64_t t = wf_load_rlx(&q->tail);
	uint64_t h = wf_load_rlx(&q->head);
	size_t n;

	/* Relaxed, as in pop: only the owner writes slots and tail. */
	do {
		n = wf_runq_half((size_t)(t - h), true, most);
		if (n == 0)
			return 0;
	} while (!wf_cas_rlx(&q->head, &h, h + n));
	wf_runq_link(q, h, n, claim, out);
	return n;
}

size_t wf_runq_sift(struct wf_runq *q, wf_claim_fn *fresh)
{
	uint64_t t = wf_load_rlx(&q->tail), to = t;
	uint64_t h = wf_load_rlx(&q->head);

	/*
	 * Take all entries, then push back those that stay.  Index t + i is the
	 * slot of index h + i or one before it, so no entry is overwritten
	 * before it is read.
	 */
	/*
	 * [pair: runq.consume] Thieves that took entries since the queue was
	 * full have read their slots, as in wf_runq_room.
	 */
	while (!wf_cas_acq(&q->head, &h, t))
		continue;
	q->head_seen = t;
	for (; h != t; h++) {
		wf_entry e = wf_load_rlx(&q->slots[h & q->mask]);

		if (!wf_entry_is_ticket(e) || fresh(e))
			wf_store_rlx(&q->slots[to++ & q->mask], e);
	}
	/* [pair: runq.publish] Store the slots before tail, as in push. */
	wf_store_rel(&q->tail, to);
	return (size_t)(to - t);
}

void wf_runq_shuffle(struct wf_runq *q, struct wf_random *r)
{
	uint64_t h = wf_load_rlx(&q->head), t = wf_load_rlx(&q->tail);

	/* Relaxed: the handshake that admits thieves publishes the stores. */
	for (uint64_t n = t - h; n > 1; n--) {
		uint64_t at = h + wf_random_below(r, (uint32_t)n);
		_Atomic(wf_entry) *one = &q->slots[at & q->mask];
		_Atomic(wf_entry) *last = &q->slots[(h + n - 1) & q->mask];
		wf_entry e = wf_load_rlx(one);

		wf_store_rlx(one, wf_load_rlx(last));
		wf_store_rlx(last, e);
	}
}

bool wf_runq_check(struct wf_runq *q)
{
	uint64_t h = wf_load_rlx(&q->head), t = wf_load_rlx(&q->tail);

	if (h > t || t - h > q->mask + 1 || q->head_seen > h)
		return false;
	for (uint64_t i = h; i < t; i++)
		if (wf_load_rlx(&q->slots[i & q->mask]) == 0)
			return false;
	return true;
}

/* The inline functions, for the table. */
static bool push(struct wf_runq *q, wf_entry e)
{
	return wf_runq_push(q, e);
}

static wf_entry pop(struct wf_runq *q)
{
	return wf_runq_pop(q);
}

const struct wf_runq_ops wf_runq_ops = {
	.name = "lock-free",
	.push = push,
	.pop = pop,
	.steal = wf_runq_steal,
	.grab = wf_runq_grab,
	.offload = wf_runq_offload,
};
