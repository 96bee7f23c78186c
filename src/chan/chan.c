/* SPDX-License-Identifier: MIT */
/*
 * chan/chan.c - channels: making, sending, receiving, closing.
 */
#include "chan/chan.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "os/os.h"
#include "wait/wait_inline.h"

#define WF_CHAN_READY ((1u << WF_CHAN_SEND) | (1u << WF_CHAN_RECV))

_Static_assert(offsetof(weft_chan, count) == WF_CACHE_LINE,
	"what is needed without a ring is in one line");

/* One who waits on one channel. */
struct wait {
	struct wf_waiter waiter; /* must be first */
	struct wf_chan_node node;
	weft_chan *chan;
	weft_time deadline;
};

static bool is_closed(weft_chan *c)
{
	return wf_load_rlx(&c->state) & WF_CHAN_CLOSED;
}

/* STATE as it has to be, but for CLOSED. */
wf_inline uint32_t ready_now(weft_chan *c)
{
	bool send = c->count < c->capacity ||
		c->waiters[WF_CHAN_RECV].first != NULL;
	bool recv = c->count != 0 || c->waiters[WF_CHAN_SEND].first != NULL;

	return (uint32_t)send << WF_CHAN_SEND | (uint32_t)recv << WF_CHAN_RECV;
}

/* Give the lock back, our last access to c, whatever was done. */
static wf_noinline void unlock(weft_chan *c)
{
	wf_chan_unlock(c,
		is_closed(c) ? WF_CHAN_CLOSED | WF_CHAN_READY : ready_now(c));
}

/* The same, somebody having been taken out of the list of side. */
wf_inline void unlock_taken(weft_chan *c, enum wf_side side)
{
	if (c->waiters[side].first == NULL && c->capacity == 0)
		wf_store_rlx(
			&c->state, wf_load_rlx(&c->state) & ~(1u << !side));
	wf_spin_unlock(&c->lock);
}

/* Common sizes without a call. */
wf_inline void copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 4)
		memcpy(to, from, 4);
	else if (bytes == 16)
		memcpy(to, from, 16);
	else
		memcpy(to, from, bytes);
}

/* The nth element of the ring, from the oldest. */
static void *slot(weft_chan *c, size_t nth)
{
	size_t at = c->head + nth;

	return c->ring +
		(at < c->capacity ? at : at - c->capacity) * c->elem_bytes;
}

/* Holding the lock: who has waited longest on this side; NULL: nobody. */
static struct wf_chan_node *claim(weft_chan *c, enum wf_side side)
{
	return (struct wf_chan_node *)wf_list_claim(&c->waiters[side]);
}

/* We need not wait, and n need not any more. */
static wf_noinline int pass(struct wf_chan_node *n)
{
	wf_waiter_wake(n->node.waiter, WEFT_HINT_DEFAULT);
	wf_wait_not();
	return 0;
}

/* The element goes to, or from, n, which was claimed. */
static wf_noinline int hand_over(
	struct wf_chan_node *n, void *to, const void *from, size_t bytes)
{
	if (to != NULL)
		copy(to, from, bytes);
	return pass(n);
}

/*
 * The same.  What is likely is in a row and calls nothing, so that no register
 * has to be saved; all else is a jump elsewhere.
 */
wf_inline int hand_over_fast(
	struct wf_chan_node *n, void *to, const void *from, size_t bytes)
{
	struct wf_thread *t = wf_enter();

	if (wf_unlikely(bytes != 8 || to == NULL))
		return hand_over(n, to, from, bytes);
	memcpy(to, from, 8);
	if (wf_unlikely(t == NULL || t->current == NULL ||
		    !wf_waiter_wake_fast(t, n->node.waiter)))
		return pass(n);
	if (wf_unlikely(--t->budget == 0))
		wf_yield(t, t->current);
	return 0;
}

/* The channel is closed: a call that need not wait.  Gives the lock back. */
static wf_noinline int broken(weft_chan *c)
{
	unlock(c);
	wf_wait_not();
	return -EPIPE;
}

/* Holding the lock, and give it back. */
wf_inline int send_locked(weft_chan *c, const void *v)
{
	size_t bytes = c->elem_bytes;
	struct wf_chan_node *n;

	if (wf_unlikely(is_closed(c)))
		return broken(c);
	n = claim(c, WF_CHAN_RECV);
	if (n != NULL) {
		unlock_taken(c, WF_CHAN_RECV);
		return hand_over_fast(n, n->value, v, bytes);
	}
	if (c->count == c->capacity) {
		unlock(c);
		return -EAGAIN;
	}
	copy(slot(c, c->count), v, bytes);
	c->count++;
	wf_chan_unlock(c, ready_now(c));
	wf_wait_not();
	return 0;
}

/* The same: there is something in the ring. */
wf_inline int take_oldest(weft_chan *c, void *v)
{
	size_t bytes = c->elem_bytes;
	struct wf_chan_node *n;

	if (v != NULL)
		copy(v, slot(c, 0), bytes);
	n = claim(c, WF_CHAN_SEND);
	c->head = c->head + 1 < c->capacity ? c->head + 1 : 0;
	if (n != NULL)
		copy(slot(c, c->count - 1), n->value, bytes);
	else
		c->count--;
	unlock(c);
	if (n != NULL)
		return pass(n);
	wf_wait_not();
	return 0;
}

/* Holding the lock, and give it back. */
wf_inline int recv_locked(weft_chan *c, void *v)
{
	size_t bytes = c->elem_bytes;
	struct wf_chan_node *n;

	if (c->count != 0)
		return take_oldest(c, v);
	n = claim(c, WF_CHAN_SEND);
	if (n == NULL) {
		if (is_closed(c))
			return broken(c);
		unlock(c);
		return -EAGAIN;
	}
	unlock_taken(c, WF_CHAN_SEND);
	return hand_over_fast(n, v, n->value, bytes);
}

wf_inline int try_locked(weft_chan *c, enum wf_side side, void *value)
{
	return side == WF_CHAN_SEND ? send_locked(c, value)
				    : recv_locked(c, value);
}

int wf_chan_try(weft_chan *c, enum wf_side side, void *value)
{
	wf_spin_lock(&c->lock);
	return try_locked(c, side, value);
}

/* Holding the lock, and give it back: x is in the list; is it parked, too? */
static bool parked(struct wait *x, enum wf_side side, bool is)
{
	weft_chan *c = x->chan;

	if (is) {
		wf_chan_unlock(c, 1u << !side);
	} else {
		wf_list_remove(&c->waiters[side], &x->node.node);
		unlock(c);
	}
	return is;
}

/* Holding the lock, and give it back: x was cut when it was parked. */
static wf_noinline bool commit_cut(struct wait *x, enum wf_side side)
{
	return parked(x, side, wf_waiter_cut(&x->waiter, WF_WAIT_PARKED));
}

/* As commit, for any waiter. */
static wf_noinline bool commit_slow(struct wait *x, enum wf_side side)
{
	weft_chan *c = x->chan;

	wf_spin_lock(&c->lock);
	if (wf_chan_is_ready(c, side)) {
		wf_spin_unlock(&c->lock);
		return false;
	}
	wf_store_rlx(&c->guest, x->waiter.fiber);
	wf_list_add(&c->waiters[side], &x->node.node);
	return parked(x, side, wf_waiter_park(&x->waiter));
}

/*
 * Who waits is off its stack: is there still nothing but to wait?  What is
 * likely calls nothing, so that nothing is saved on the stack of who is next.
 */
wf_inline bool commit(struct weft_awaiter *a, enum wf_side side)
{
	struct wait *x = (struct wait *)a;
	weft_chan *c = x->chan;

	if (wf_unlikely(
		    !wf_waiter_is_plain(&x->waiter) || !wf_spin_try(&c->lock)))
		return commit_slow(x, side);
	if (wf_unlikely(wf_chan_is_ready(c, side))) {
		wf_spin_unlock(&c->lock);
		return false;
	}
	wf_store_rlx(&c->guest, x->waiter.fiber);
	wf_list_add(&c->waiters[side], &x->node.node);
	if (wf_unlikely(!wf_waiter_park_plain(&x->waiter)))
		return commit_cut(x, side);
	/* Now x is there only until its fiber has the lock. */
	wf_chan_unlock(c, 1u << !side);
	return true;
}

static bool commit_send(struct weft_awaiter *a, weft_fiber *f)
{
	(void)f;
	return commit(a, WF_CHAN_SEND);
}

static bool commit_recv(struct weft_awaiter *a, weft_fiber *f)
{
	(void)f;
	return commit(a, WF_CHAN_RECV);
}

/*
 * A call that did not succeed at once.  What is needed after the wait is kept
 * in x, not in registers that would have to be saved.
 */
wf_inline int persist(
	weft_chan *c, enum wf_side side, void *value, weft_time deadline)
{
	struct wait x;
	int err;

	if (wf_unlikely(deadline <= WEFT_NOW)) {
		wf_wait_not();
		return -ETIMEDOUT;
	}
	x.node.node.waiter = &x.waiter;
	x.node.value = value;
	x.node.result = 0;
	x.chan = c;
	x.deadline = deadline;
	do {
		x.node.node.list = NULL;
		err = wf_wait_here(&x.waiter,
			side == WF_CHAN_SEND ? commit_send : commit_recv,
			side == WF_CHAN_SEND ? "chan send" : "chan recv",
			x.chan, x.deadline);
		if (wf_likely(err == 0))
			return x.node.result;
		if (err < 0) {
			wf_chan_delist(x.chan, side, &x.node);
			return err;
		}
		err = wf_chan_try(x.chan, side, x.node.value);
	} while (err == -EAGAIN);
	return err;
}

static wf_return_by_jump wf_may_switch int send_slow(
	weft_chan *c, void *v, weft_time deadline)
{
	return persist(c, WF_CHAN_SEND, v, deadline);
}

static wf_return_by_jump wf_may_switch int recv_slow(
	weft_chan *c, void *v, weft_time deadline)
{
	return persist(c, WF_CHAN_RECV, v, deadline);
}

/* Holding the lock. */
wf_inline int go_on(
	weft_chan *c, enum wf_side side, void *value, weft_time deadline)
{
	int err = try_locked(c, side, value);

	if (wf_likely(err != -EAGAIN))
		return err;
	return side == WF_CHAN_SEND ? send_slow(c, value, deadline)
				    : recv_slow(c, value, deadline);
}

static wf_noinline int send_now(weft_chan *c, void *v, weft_time deadline)
{
	wf_spin_lock(&c->lock);
	return go_on(c, WF_CHAN_SEND, v, deadline);
}

static wf_noinline int recv_now(weft_chan *c, void *v, weft_time deadline)
{
	wf_spin_lock(&c->lock);
	return go_on(c, WF_CHAN_RECV, v, deadline);
}

/* The same, holding the lock. */
static wf_noinline int send_rest(weft_chan *c, void *v, weft_time deadline)
{
	return go_on(c, WF_CHAN_SEND, v, deadline);
}

static wf_noinline int recv_rest(weft_chan *c, void *v, weft_time deadline)
{
	return go_on(c, WF_CHAN_RECV, v, deadline);
}

/* What will be touched if who waited last is to go on; a thread has nothing. */
wf_inline void expect(weft_chan *c)
{
	const weft_fiber *f = wf_load_rlx(&c->guest);

	if (wf_likely(f != NULL)) {
		wf_prefetch(&f->wait);
		wf_prefetch(f);
	}
}

int weft_chan_send(weft_chan *c, const void *v, weft_time deadline)
{
	size_t bytes = c->elem_bytes;
	struct wf_chan_node *n;

	if (!wf_chan_is_ready(c, WF_CHAN_SEND))
		return send_slow(c, (void *)v, deadline);
	if (c->capacity != 0)
		return send_now(c, (void *)v, deadline);
	expect(c);
	if (wf_unlikely(!wf_spin_try(&c->lock)))
		return send_now(c, (void *)v, deadline);
	/* On a closed channel nobody can be claimed (C3). */
	n = (struct wf_chan_node *)wf_list_claim_fast(
		&c->waiters[WF_CHAN_RECV]);
	if (wf_unlikely(n == NULL))
		return send_rest(c, (void *)v, deadline);
	unlock_taken(c, WF_CHAN_RECV);
	return hand_over_fast(n, n->value, v, bytes);
}

int weft_chan_recv(weft_chan *c, void *v, weft_time deadline)
{
	size_t bytes = c->elem_bytes;
	struct wf_chan_node *n;

	if (!wf_chan_is_ready(c, WF_CHAN_RECV))
		return recv_slow(c, v, deadline);
	if (c->capacity != 0)
		return recv_now(c, v, deadline);
	expect(c);
	if (wf_unlikely(!wf_spin_try(&c->lock)))
		return recv_now(c, v, deadline);
	n = (struct wf_chan_node *)wf_list_claim_fast(
		&c->waiters[WF_CHAN_SEND]);
	if (wf_unlikely(n == NULL))
		return recv_rest(c, v, deadline);
	unlock_taken(c, WF_CHAN_SEND);
	return hand_over_fast(n, v, n->value, bytes);
}

/* Is there somebody on side, but for cases of the same select? */
static bool is_met(weft_chan *c, enum wf_side side, struct wf_waiter *w)
{
	struct wf_node *n = c->waiters[side].first;

	while (n != NULL && n->waiter == w)
		n = n->next;
	return n != NULL;
}

bool wf_chan_enlist_met(weft_chan *c, enum wf_side side, struct wf_chan_node *n)
{
	bool ready = is_closed(c) || is_met(c, !side, n->node.waiter) ||
		(side == WF_CHAN_SEND ? c->count < c->capacity : c->count != 0);

	if (!ready)
		wf_list_add(&c->waiters[side], &n->node);
	unlock(c);
	return !ready;
}

int weft_chan_close(weft_chan *c)
{
	struct wf_node *n[2], *next;

	wf_spin_lock(&c->lock);
	if (is_closed(c)) {
		unlock(c);
		return -EALREADY;
	}
	wf_store_rlx(&c->state, WF_CHAN_CLOSED | WF_CHAN_READY);
	for (int side = 0; side < 2; side++)
		n[side] = wf_list_claim_all(&c->waiters[side]);
	unlock(c);
	for (int side = 0; side < 2; side++)
		for (; n[side] != NULL; n[side] = next) {
			next = n[side]->next;
			((struct wf_chan_node *)n[side])->result = -EPIPE;
			wf_waiter_wake(n[side]->waiter, WEFT_HINT_DEFAULT);
		}
	return 0;
}

size_t weft_chan_len(weft_chan *c)
{
	size_t count;

	wf_spin_lock(&c->lock);
	count = c->count;
	unlock(c);
	return count;
}

int weft_chan_create(weft_chan **c, size_t elem_bytes, size_t capacity)
{
	size_t bytes;
	weft_chan *made;

	if (elem_bytes == 0 ||
		__builtin_mul_overflow(elem_bytes, capacity, &bytes))
		return -EINVAL;
	if (__builtin_add_overflow(bytes, sizeof(*made), &bytes))
		return -ENOMEM;
	made = wf_os_alloc(bytes);
	if (made == NULL)
		return -ENOMEM;
	made->elem_bytes = elem_bytes;
	made->capacity = capacity;
	wf_store_rlx(&made->refs, 1);
	wf_store_rlx(&made->state, capacity ? 1u << WF_CHAN_SEND : 0);
	*c = made;
	return 0;
}

weft_chan *weft_chan_ref(weft_chan *c)
{
	(void)wf_add_rlx(&c->refs, 1);
	return c;
}

void weft_chan_unref(weft_chan *c)
{
	/* [pair: chan.refs] Who frees it does so after all that we did. */
	if (wf_sub_rel(&c->refs, 1) != 1)
		return;
	/* [pair: chan.refs] See all that the others did. */
	(void)wf_load_acq(&c->refs);
	wf_assert(c->waiters[WF_CHAN_SEND].first == NULL &&
			c->waiters[WF_CHAN_RECV].first == NULL,
		"weft_chan %p: somebody waits on it and nobody holds it",
		(void *)c);
	wf_os_free(c);
}
