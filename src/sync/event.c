/* SPDX-License-Identifier: MIT */
/*
 * sync/event.c - the event.  docs/PRIMITIVES.md walks through this file.
 *
 * STATE, one word, which only the holder of its lock bit writes (os/spin.h):
 *
 *	0	the event is not set; the list may have waiters
 *	SET	it is set; the list is empty
 *
 * The store that sets the event also gives the lock back, and is the setter's
 * last access.  So a fiber that sees SET may free the event, and so may a
 * waiter: the setter wakes it after that store.
 *
 * Reads next: sync/event.h
 */
#include "sync/event.h"

#include "base/atomic.h"
#include "os/spin.h"

#define WF_EVENT_SET ((uint64_t)2)

struct event_waiter {
	struct wf_waiter waiter; /* must be first */
	struct wf_node node;
	weft_event *event;
};

_Static_assert(sizeof(weft_event) == 24, "weft_event is part of the ABI");

/* The public struct has no atomics, so that C++ can have it too. */
static _Atomic(uint64_t) *word_of(weft_event *e)
{
	return (_Atomic(uint64_t) *)&e->state_;
}

static struct wf_list *list_of(weft_event *e)
{
	return (struct wf_list *)e->waiters_;
}

void weft_event_set(weft_event *e)
{
	struct wf_claimed claimed;
	struct wf_thread *t;

	/*
	 * [pair: event.reset] If this SET is from before a reset, the thread
	 * that resets sees what our caller stored before.
	 */
	if (wf_load_seq(word_of(e)) == WF_EVENT_SET)
		return;
	wf_claimed_open(&claimed);
	(void)wf_bit_lock(word_of(e));
	wf_list_claim_all(list_of(e), &claimed);
	wf_bit_unlock(word_of(e), WF_EVENT_SET);
	t = wf_enter();
	wf_claimed_wake(&claimed);
	wf_leave(t);
}

void weft_event_reset(weft_event *e)
{
	(void)wf_bit_lock(word_of(e));
	wf_bit_unlock(word_of(e), 0);
	/* [pair: event.reset] Before what our caller looks at next. */
	wf_fence_seq();
}

bool wf_event_look(weft_event *e)
{
	/* [pair: bit.word] See what was done before it was set. */
	return wf_load_acq(word_of(e)) & WF_EVENT_SET;
}

bool wf_event_enlist(weft_event *e, struct wf_node *n)
{
	uint64_t seen = wf_bit_lock(word_of(e));

	if (seen == 0)
		wf_list_add(list_of(e), n);
	wf_bit_unlock(word_of(e), seen);
	return seen == 0;
}

void wf_event_delist(weft_event *e, struct wf_node *n)
{
	uint64_t seen = wf_bit_lock(word_of(e));

	wf_list_leave(list_of(e), n);
	wf_bit_unlock(word_of(e), seen);
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct event_waiter *w = (struct event_waiter *)a;
	weft_event *e = w->event;
	uint64_t seen = wf_bit_lock(word_of(e));
	bool waits = seen == 0 && wf_list_publish(list_of(e), &w->node);

	(void)f;
	wf_bit_unlock(word_of(e), seen);
	return waits;
}

int weft_event_wait(weft_event *e, weft_time deadline)
{
	struct event_waiter w;
	int err;

	if (wf_event_look(e)) {
		wf_end_call();
		return 0;
	}
	w.event = e;
	wf_node_open(&w.node, &w.waiter);
	(void)wf_enter();
	err = wf_wait(&w.waiter, commit, "event", e, deadline);
	wf_leave_here();
	/* A commit that refused is as good as a claim: the event was set. */
	if (err >= 0)
		return 0;
	wf_event_delist(e, &w.node);
	return err;
}
