/* SPDX-License-Identifier: MIT */
/*
 * sync/once.c - something that is done once.
 *
 * WORD:
 *	LIST	see sync/mutex.h
 *	BEGUN	somebody is at it
 *	DONE	it is done: nothing else is set, and that stays so
 *	first	of those who wait, the last that came; NULL: nobody
 *
 *	0 -> BEGUN		whoever is first, and calls fn
 *	+first			who finds it BEGUN, by its commit
 *	BEGUN ... -> DONE	fn has returned; the last access
 */
#include <stddef.h>

#include <weft/once.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "wait/wait.h"
#include "sync/mutex.h"

#define WF_ONCE_BEGUN ((uint64_t)2)
#define WF_ONCE_DONE ((uint64_t)4)
#define WF_ONCE_BITS ((uint64_t)7)

struct sleeper {
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

/* Among those who wait, unless it is done by now. */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct sleeper *s = (struct sleeper *)wf_waiter_of(a);
	_Atomic(uint64_t) *word = word_of(s->once);
	struct wf_node *n = &s->node;
	uint64_t seen = wf_word_hold(word);

	(void)f;
	n->next = first_of(seen);
	if ((seen & WF_ONCE_DONE) || !wf_waiter_park(&s->w)) {
		wf_word_let_go(word, seen);
		return false;
	}
	wf_word_let_go(word, WF_ONCE_BEGUN | (uintptr_t)n);
	return true;
}

/* It is done: nobody waits any longer. */
static void finish(weft_once *o)
{
	struct wf_node *first, *n;

	wf_store_rlx(owner_of(o), 0);
	first = first_of(wf_word_hold(word_of(o)));
	for (n = first; n != NULL; n = n->next) {
		bool won = wf_waiter_claim(n);

		wf_assert(won, "weft_once %p: a waiter is gone", (void *)o);
	}
	wf_word_let_go(word_of(o), WF_ONCE_DONE);
	wf_list_wake_all(first, WEFT_HINT_DEFAULT);
}

static wf_noinline wf_may_switch void do_slow(
	weft_once *o, void (*fn)(void *), void *arg)
{
	struct sleeper s;
	uint64_t seen = 0;

	if (wf_cas_rlx(word_of(o), &seen, WF_ONCE_BEGUN)) {
		wf_store_rlx(owner_of(o), wf_who_runs());
		fn(arg);
		finish(o);
		return;
	}
	wf_assert(!wf_who_same(wf_load_rlx(owner_of(o)), wf_who_runs()),
		"weft_once %p: called again from its own function", (void *)o);
	s.once = o;
	wf_node_open(&s.node, &s.w);
	/* [pair: sync.word] See all that fn did. */
	while (wf_load_acq(word_of(o)) != WF_ONCE_DONE)
		if (wf_wait_firm(&s.w, commit, "once", o) == 0)
			return;
}

void weft_once_do(weft_once *o, void (*fn)(void *), void *arg)
{
	/* [pair: sync.word] See all that fn did. */
	if (wf_likely(wf_load_acq(word_of(o)) == WF_ONCE_DONE))
		wf_wait_not();
	else
		do_slow(o, fn, arg);
}
