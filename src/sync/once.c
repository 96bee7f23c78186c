/* SPDX-License-Identifier: MIT */
/*
 * sync/once.c - something that is done once.
 *
 * WORD:
 *	LOCK	bit 0, the lock of the list: see sync/mutex.h
 *	BEGUN	the first caller runs fn
 *	DONE	fn has returned: nothing else is set, and that stays so
 *	first	the waiter that came last; NULL: there is none
 *
 *	0 -> BEGUN		by the first caller, which then runs fn
 *	+first			by the commit of a caller that finds it BEGUN
 *	BEGUN ... -> DONE	by the first caller, fn having returned; its
 *				last access
 */
#include <stddef.h>

#include <weft/once.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/spin.h"
#include "sync/mutex.h"
#include "wait/wait.h"

#define WF_ONCE_BEGUN ((uint64_t)2)
#define WF_ONCE_DONE ((uint64_t)4)
#define WF_ONCE_BITS ((uint64_t)7)

struct once_waiter {
	struct wf_waiter w; /* must be first */
	struct wf_node node;
	weft_once *once;
};

_Static_assert(sizeof(weft_once) == 16, "weft_once is part of the ABI");
_Static_assert(_Alignof(struct wf_node) > WF_ONCE_BITS, "bits in a pointer");

static _Atomic(uint64_t) *word_of(weft_once *o)
{
	return (_Atomic(uint64_t) *)&o->word_;
}

static _Atomic(uint64_t) *owner_of(weft_once *o)
{
	return (_Atomic(uint64_t) *)&o->owner_;
}

static struct wf_node *first_of(uint64_t word)
{
	return (struct wf_node *)(uintptr_t)(word & ~WF_ONCE_BITS);
}

/* Wait, unless fn has returned by now. */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct once_waiter *s = (struct once_waiter *)a;
	_Atomic(uint64_t) *word = word_of(s->once);
	struct wf_node *n = &s->node;
	uint64_t seen = wf_bit_lock(word);

	(void)f;
	n->next = first_of(seen);
	if ((seen & WF_ONCE_DONE) || !wf_waiter_publish(&s->w)) {
		wf_bit_unlock(word, seen);
		return false;
	}
	wf_bit_unlock(word, WF_ONCE_BEGUN | (uintptr_t)n);
	return true;
}

/* fn has returned: claim all waiters and wake them.  Inside. */
static void finish(weft_once *o)
{
	struct wf_claimed claimed;
	struct wf_node *n, *next;

	wf_claimed_open(&claimed);
	wf_store_rlx(owner_of(o), 0);
	n = first_of(wf_bit_lock(word_of(o)));
	for (; n != NULL; n = next) {
		bool won = wf_waiter_claim(n);

		wf_assert(won, "weft_once %p: another waker claimed a waiter",
			(void *)o);
		next = n->next;
		wf_claimed_add(&claimed, n);
	}
	wf_bit_unlock(word_of(o), WF_ONCE_DONE);
	wf_claimed_wake(&claimed);
}

/* Become the first caller; false: another caller is, or fn has returned. */
static bool begin(weft_once *o)
{
	uint64_t seen = 0;

	if (!wf_cas_rlx(word_of(o), &seen, WF_ONCE_BEGUN))
		return false;
	wf_store_rlx(owner_of(o), wf_owner_runs());
	return true;
}

static wf_noinline wf_may_switch void do_slow(
	weft_once *o, void (*fn)(void *), void *arg)
{
	struct once_waiter w;
	int err = 1;

	wf_assert(fn != NULL, "weft_once %p: the caller passes no function",
		(void *)o);
	(void)wf_enter();
	if (begin(o)) {
		wf_leave_here();
		fn(arg);
		(void)wf_enter();
		finish(o);
		wf_leave_here();
		return;
	}
	wf_assert(!wf_owner_same(wf_load_rlx(owner_of(o)), wf_owner_runs()),
		"weft_once %p: its function calls weft_once_do on it again",
		(void *)o);
	w.once = o;
	wf_node_open(&w.node, &w.w);
	/* [pair: bit.word] See all that fn did. */
	while (err != 0 && wf_load_acq(word_of(o)) != WF_ONCE_DONE)
		err = wf_wait_shielded(&w.w, commit, "once", o);
	wf_leave_here();
}

void weft_once_do(weft_once *o, void (*fn)(void *), void *arg)
{
	/* [pair: bit.word] See all that fn did. */
	if (wf_likely(wf_load_acq(word_of(o)) == WF_ONCE_DONE))
		wf_end_call();
	else
		do_slow(o, fn, arg);
}
