/* SPDX-License-Identifier: MIT */
/*
 * chan/chan.c - channels: making, sending, receiving, closing.
 *
 * Send and receive are one function, transfer, for the two sides:
 *
 *	transfer	the likely case, inline: a waiter on the other side of a
 *			channel without a ring
 *	transfer_any	any transfer that succeeds at once
 *	transfer_later	one that has to wait
 *
 * The likely ways of the three, and of commit, call nothing, so that no
 * register has to be saved; each unlikely way is a jump to a function of its
 * own.  So each side has copies of them, in which the compiler knows the side.
 */
#include "chan/chan.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/sanitize.h"
#include "os/os.h"
#include "wait/wait_inline.h"

#define WF_CHAN_READY ((1u << WF_CHAN_SEND) | (1u << WF_CHAN_RECV))

_Static_assert(offsetof(weft_chan, count) == WF_CACHE_LINE,
	"what is needed without a ring is in one line");

/* With WF_DEBUG: how many freed channels are kept, to find calls on them. */
#define WF_CHAN_KEPT 64

/* A waiter on one channel. */
struct chan_waiter {
	struct wf_waiter waiter; /* must be first */
	struct wf_chan_node node;
	weft_chan *chan;
	weft_time deadline;
};

/*
 * A call on c: its caller has a reference.  Without a reference left, c was
 * freed.  The simulator knows freed memory; other builds with WF_DEBUG keep the
 * channels that were freed last, and these have no references.
 */
wf_inline void check_live(weft_chan *c, const char *call)
{
	if (!WF_CHECKING)
		return;
	wf_assert(!wf_san_is_freed(c) &&
			(!WF_DEBUGGING || wf_load_rlx(&c->refs) != 0),
		"weft_chan_%s: channel %p was freed: its references were given "
		"back, perhaps one once too often",
		call, (void *)c);
}

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

/* Give the lock back, the last access to c, after any change. */
static wf_noinline void unlock(weft_chan *c)
{
	wf_chan_unlock(c,
		is_closed(c) ? WF_CHAN_CLOSED | WF_CHAN_READY : ready_now(c));
}

/* unlock for a caller that only took a waiter out of the list of side. */
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

/* Holding the lock: claim the first waiter of this side; NULL: none. */
static struct wf_chan_node *claim(weft_chan *c, enum wf_side side)
{
	return (struct wf_chan_node *)wf_list_claim(&c->waiters[side]);
}

/* ------------------------------------------------------------------------ */
/* Transfer at once. */

/*
 * Copy an element to, or from, the frame of n, which is claimed, and wake its
 * waiter.  to is NULL: there is nothing to copy.
 */
static wf_noinline int hand_over(
	struct wf_chan_node *n, void *to, const void *from, size_t bytes)
{
	(void)wf_enter();
	if (to != NULL)
		copy(to, from, bytes);
	wf_waiter_wake(n->node.waiter, WEFT_HINT_DEFAULT);
	wf_budget_spend();
	wf_leave_here();
	return 0;
}

/* hand_over with the likely way inline. */
wf_inline int hand_over_fast(
	struct wf_chan_node *n, void *to, const void *from, size_t bytes)
{
	struct wf_thread *t;

	if (wf_unlikely(bytes != 8 || to == NULL))
		return hand_over(n, to, from, bytes);
	memcpy(to, from, 8);
	t = wf_enter();
	if (wf_unlikely(t == NULL || t->current == NULL ||
		    !wf_waiter_wake_fast(t, n->node.waiter))) {
		wf_leave(t);
		return hand_over(n, NULL, NULL, 0);
	}
	if (wf_unlikely(--t->budget == 0)) {
		wf_yield(t, t->current);
		t = wf_here();
	}
	wf_leave(t);
	return 0;
}

/* Holding the lock, and give it back: nothing can be transferred now. */
static wf_noinline int refuse(weft_chan *c)
{
	bool closed = is_closed(c);

	unlock(c);
	if (!closed)
		return -EAGAIN;
	wf_end_call();
	return -EPIPE;
}

/* Holding the lock, and give it back: wf_chan_try, to send. */
wf_inline int send_locked(weft_chan *c, const void *v)
{
	size_t bytes = c->elem_bytes;
	struct wf_chan_node *n;

	if (wf_unlikely(is_closed(c)))
		return refuse(c);
	n = claim(c, WF_CHAN_RECV);
	if (n != NULL) {
		unlock_taken(c, WF_CHAN_RECV);
		return hand_over_fast(n, n->value, v, bytes);
	}
	if (c->count == c->capacity)
		return refuse(c);
	copy(slot(c, c->count), v, bytes);
	c->count++;
	wf_chan_unlock(c, ready_now(c));
	wf_end_call();
	return 0;
}

/* Holding the lock, and give it back: receive from the ring, not empty. */
wf_inline int recv_oldest(weft_chan *c, void *v)
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
		return hand_over(n, NULL, NULL, 0);
	wf_end_call();
	return 0;
}

/* Holding the lock, and give it back: wf_chan_try, to receive. */
wf_inline int recv_locked(weft_chan *c, void *v)
{
	size_t bytes = c->elem_bytes;
	struct wf_chan_node *n;

	if (c->count != 0)
		return recv_oldest(c, v);
	n = claim(c, WF_CHAN_SEND);
	if (n == NULL)
		return refuse(c);
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

/* ------------------------------------------------------------------------ */
/* Wait. */

/* Holding the lock, and give it back: x is in the list.  Does it wait? */
static bool end_commit(struct chan_waiter *x, enum wf_side side, bool waits)
{
	weft_chan *c = x->chan;

	if (waits) {
		wf_chan_unlock(c, 1u << !side);
	} else {
		wf_list_remove(&c->waiters[side], &x->node.node);
		unlock(c);
	}
	return waits;
}

/* Holding the lock, and give it back: x was canceled when its wait began. */
static wf_noinline bool commit_canceled(
	struct chan_waiter *x, enum wf_side side)
{
	return end_commit(
		x, side, wf_waiter_cancel(&x->waiter, WF_WAIT_SETTLED));
}

/* commit for any waiter. */
static wf_noinline bool commit_any(struct chan_waiter *x, enum wf_side side)
{
	weft_chan *c = x->chan;

	wf_spin_lock(&c->lock);
	if (wf_chan_is_ready(c, side)) {
		wf_spin_unlock(&c->lock);
		return false;
	}
	wf_store_rlx(&c->last_waiter, x->waiter.fiber);
	wf_list_add(&c->waiters[side], &x->node.node);
	return end_commit(x, side, wf_waiter_publish(&x->waiter));
}

/* The waiter is off its stack: enlist it, if the channel is still not ready. */
wf_inline bool commit(struct weft_awaiter *a, enum wf_side side)
{
	struct chan_waiter *x = (struct chan_waiter *)a;
	weft_chan *c = x->chan;

	if (wf_unlikely(
		    !wf_waiter_is_plain(&x->waiter) || !wf_spin_try(&c->lock)))
		return commit_any(x, side);
	if (wf_unlikely(wf_chan_is_ready(c, side))) {
		wf_spin_unlock(&c->lock);
		return false;
	}
	wf_store_rlx(&c->last_waiter, x->waiter.fiber);
	wf_list_add(&c->waiters[side], &x->node.node);
	if (wf_unlikely(!wf_waiter_publish_plain(&x->waiter)))
		return commit_canceled(x, side);
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
 * A call that did not succeed at once.  x keeps the values that the call needs
 * after the wait: registers would have to be saved.
 */
wf_inline int transfer_later(
	weft_chan *c, enum wf_side side, void *value, weft_time deadline)
{
	struct chan_waiter x;
	struct wf_thread *t;
	int err;

	if (wf_unlikely(deadline <= WEFT_NOW)) {
		wf_end_call();
		return -ETIMEDOUT;
	}
	x.node.node.waiter = &x.waiter;
	x.node.value = value;
	x.node.result = 0;
	x.chan = c;
	x.deadline = deadline;
	do {
		x.node.node.list = NULL;
		t = wf_enter();
		err = wf_wait_inline(&t, &x.waiter,
			side == WF_CHAN_SEND ? commit_send : commit_recv,
			side == WF_CHAN_SEND ? "chan send" : "chan recv",
			x.chan, x.deadline);
		wf_leave(t);
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

static wf_return_by_jump wf_may_switch int send_later(
	weft_chan *c, void *v, weft_time deadline)
{
	return transfer_later(c, WF_CHAN_SEND, v, deadline);
}

static wf_return_by_jump wf_may_switch int recv_later(
	weft_chan *c, void *v, weft_time deadline)
{
	return transfer_later(c, WF_CHAN_RECV, v, deadline);
}

/* ------------------------------------------------------------------------ */
/* Send and receive. */

/* locked: the caller holds the lock already. */
wf_inline int transfer_any(weft_chan *c, enum wf_side side, void *value,
	weft_time deadline, bool locked)
{
	int err;

	if (!locked)
		wf_spin_lock(&c->lock);
	err = try_locked(c, side, value);
	if (wf_likely(err != -EAGAIN))
		return err;
	return side == WF_CHAN_SEND ? send_later(c, value, deadline)
				    : recv_later(c, value, deadline);
}

static wf_noinline int send_any(
	weft_chan *c, void *v, weft_time deadline, bool locked)
{
	return transfer_any(c, WF_CHAN_SEND, v, deadline, locked);
}

static wf_noinline int recv_any(
	weft_chan *c, void *v, weft_time deadline, bool locked)
{
	return transfer_any(c, WF_CHAN_RECV, v, deadline, locked);
}

/* The last waiter may be claimed next; a thread has nothing to prefetch. */
wf_inline void prefetch_waiter(weft_chan *c)
{
	const weft_fiber *f = wf_load_rlx(&c->last_waiter);

	if (wf_likely(f != NULL)) {
		wf_prefetch(&f->wait);
		wf_prefetch(f);
	}
}

wf_inline int transfer(
	weft_chan *c, enum wf_side side, void *value, weft_time deadline)
{
	const bool sends = side == WF_CHAN_SEND;
	size_t bytes = c->elem_bytes;
	struct wf_chan_node *n;

	if (!wf_chan_is_ready(c, side))
		return sends ? send_later(c, value, deadline)
			     : recv_later(c, value, deadline);
	if (c->capacity != 0)
		return sends ? send_any(c, value, deadline, false)
			     : recv_any(c, value, deadline, false);
	prefetch_waiter(c);
	if (wf_unlikely(!wf_spin_try(&c->lock)))
		return sends ? send_any(c, value, deadline, false)
			     : recv_any(c, value, deadline, false);
	/* No waiter of a closed channel can be claimed (C3). */
	n = (struct wf_chan_node *)wf_list_claim_fast(&c->waiters[!side]);
	if (wf_unlikely(n == NULL))
		return sends ? send_any(c, value, deadline, true)
			     : recv_any(c, value, deadline, true);
	unlock_taken(c, !side);
	return sends ? hand_over_fast(n, n->value, value, bytes)
		     : hand_over_fast(n, value, n->value, bytes);
}

int weft_chan_send(weft_chan *c, const void *v, weft_time deadline)
{
	check_live(c, "send");
	return transfer(c, WF_CHAN_SEND, (void *)v, deadline);
}

int weft_chan_recv(weft_chan *c, void *v, weft_time deadline)
{
	check_live(c, "recv");
	return transfer(c, WF_CHAN_RECV, v, deadline);
}

/* ------------------------------------------------------------------------ */

/* Is there a waiter on side, but for cases of the select of w? */
static bool is_met(weft_chan *c, enum wf_side side, struct wf_waiter *w)
{
	struct wf_node *n = c->waiters[side].first;

	while (n != NULL && n->waiter == w)
		n = n->next;
	return n != NULL;
}

bool wf_chan_enlist(weft_chan *c, enum wf_side side, struct wf_chan_node *n)
{
	bool ready;

	wf_spin_lock(&c->lock);
	if (wf_likely(!wf_chan_is_ready(c, side))) {
		wf_chan_enlist_locked(c, side, n);
		return true;
	}
	/* It may be only other cases of the select that made it look ready. */
	ready = is_closed(c) || is_met(c, !side, n->node.waiter) ||
		(side == WF_CHAN_SEND ? c->count < c->capacity : c->count != 0);
	if (!ready)
		wf_list_add(&c->waiters[side], &n->node);
	unlock(c);
	return !ready;
}

void wf_chan_delist(weft_chan *c, enum wf_side side, struct wf_chan_node *n)
{
	wf_spin_lock(&c->lock);
	wf_chan_delist_locked(c, side, n);
}

/* Holding the lock: claim all waiters of side; they return -EPIPE. */
static void claim_closed(
	weft_chan *c, enum wf_side side, struct wf_claimed *claimed)
{
	struct wf_chan_node *n;

	while ((n = claim(c, side)) != NULL) {
		n->result = -EPIPE;
		wf_claimed_add(claimed, &n->node);
	}
}

int weft_chan_close(weft_chan *c)
{
	struct wf_claimed claimed;
	struct wf_thread *t;

	check_live(c, "close");
	wf_spin_lock(&c->lock);
	if (is_closed(c)) {
		unlock(c);
		return -EALREADY;
	}
	wf_claimed_open(&claimed);
	wf_store_rlx(&c->state, WF_CHAN_CLOSED | WF_CHAN_READY);
	claim_closed(c, WF_CHAN_SEND, &claimed);
	claim_closed(c, WF_CHAN_RECV, &claimed);
	unlock(c);
	t = wf_enter();
	wf_claimed_wake(&claimed);
	wf_leave(t);
	return 0;
}

size_t weft_chan_len(weft_chan *c)
{
	size_t count;

	check_live(c, "len");
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
	check_live(c, "ref");
	(void)wf_add_rlx(&c->refs, 1);
	return c;
}

/* Free c; with WF_DEBUG keep it for a while, and free the oldest that is. */
static void discard(weft_chan *c)
{
	static struct {
		struct wf_spin lock;
		uint32_t next;
		weft_chan *chan[WF_CHAN_KEPT];
	} kept;

	if (WF_DEBUGGING && !WF_SIMULATED) {
		weft_chan **place, *oldest;

		wf_spin_lock(&kept.lock);
		place = &kept.chan[kept.next++ % WF_CHAN_KEPT];
		oldest = *place;
		*place = c;
		wf_spin_unlock(&kept.lock);
		c = oldest;
	}
	wf_os_free(c);
}

void weft_chan_unref(weft_chan *c)
{
	size_t before;

	check_live(c, "unref");
	/* [pair: chan.refs] The last user frees it after all that we did. */
	before = wf_sub_rel(&c->refs, 1);
	if (WF_CHECKING)
		wf_assert(before != 0,
			"weft_chan_unref: channel %p was given back once too "
			"often",
			(void *)c);
	if (before != 1)
		return;
	/* [pair: chan.refs] See all that the others did. */
	(void)wf_load_acq(&c->refs);
	wf_assert(c->waiters[WF_CHAN_SEND].first == NULL &&
			c->waiters[WF_CHAN_RECV].first == NULL,
		"weft_chan %p: the caller frees it while a fiber or thread "
		"waits on it",
		(void *)c);
	discard(c);
}
