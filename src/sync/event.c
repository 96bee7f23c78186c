/* SPDX-License-Identifier: MIT */
/*
 * sync/event.c - the event.
 *
 * STATE, one word, which is the lock of the list as well:
 *
 *	CLEAR	it has not happened; the list may have waiters
 *	SET	it has; the list is empty
 *	BUSY	somebody changes the list, for a few instructions, and knows
 *		which of the two it was
 *
 *	CLEAR, SET -> BUSY	lock
 *	BUSY -> CLEAR or SET	unlock, the last access to the event
 *
 * So the store that sets the event is the one that gives the lock back: who
 * sees SET may free the event, and so may who was in the list, because it is
 * woken afterwards.
 *
 * Reads next: sync/event.h
 */
#include "sync/event.h"

#include "arch/context.h"
#include "base/atomic.h"
#include "base/limits.h"
#include "os/os.h"

enum { CLEAR, SET, BUSY };

/* So many before a waiter is claimed its fiber is fetched. */
#define WF_EVENT_LEAD 6

struct event_waiter {
	struct wf_waiter waiter; /* must be first */
	struct wf_node node;
	weft_event *event;
	const struct event_waiter *earlier; /* NULL: none; see claim_all */
};

_Static_assert(sizeof(weft_event) == 24, "weft_event is part of the ABI");

/* The public struct has no atomics, so that C++ can have it too. */
static _Atomic(uint32_t) *word_of(weft_event *e)
{
	return (_Atomic(uint32_t) *)&e->state_;
}

static struct wf_list *list_of(weft_event *e)
{
	return (struct wf_list *)e->waiters_;
}

/* Take the lock; what the event is: CLEAR or SET. */
static uint32_t lock(weft_event *e)
{
	unsigned tries = 0;
	uint32_t seen;

	/* [pair: event.word] See what was done under the lock and before. */
	while ((seen = wf_xchg_acq(word_of(e), BUSY)) == BUSY) {
		if (++tries % WF_LOCK_SPINS == 0)
			wf_os_thread_yield();
		wf_cpu_relax();
	}
	return seen;
}

static void unlock(weft_event *e, uint32_t state)
{
	/* [pair: event.word] Show what we did; our last access. */
	wf_store_rel(word_of(e), state);
}

static bool commit(struct weft_awaiter *a, weft_fiber *f);

/*
 * n will be reached soon: fetch what will be touched of it.  Its frame should
 * be there by now, and is asked for another one.  What comes after it.
 */
static struct wf_node *scout(struct wf_node *n)
{
	struct wf_waiter *w;

	if (n == NULL)
		return NULL;
	w = n->waiter;
	if (w->fiber != NULL) {
		wf_prefetch(w->fiber);
		wf_prefetch(&w->fiber->wait);
	}
	if (w->awaiter.commit == commit) {
		const struct event_waiter *e = (struct event_waiter *)w;

		if (e->earlier != NULL) {
			wf_prefetch(e->earlier);
			wf_prefetch(&e->earlier->event);
		}
	}
	return n->prev;
}

/*
 * Holding the lock: claim all who wait.  The fibers that t can make ready go to
 * crowd, the nodes of others into the result.
 *
 * If they are many, their frames have long left the caches, and who goes from
 * one to the next waits for each.  So each knows one that waited some time
 * before it, and we go from the last to the first.  That one may be gone, or
 * wait for something else: it is only fetched.
 */
static struct wf_node *claim_all(
	struct wf_list *list, struct wf_thread *t, struct wf_crowd *crowd)
{
	struct wf_node *n = list->last, *ahead = n, *others = NULL, *prev;

	*list = (struct wf_list){ 0 };
	for (unsigned i = 0; i < WF_EVENT_LEAD; i++)
		ahead = scout(ahead);
	for (; n != NULL; n = prev) {
		struct wf_waiter *w = n->waiter;

		ahead = scout(ahead);
		prev = n->prev;
		n->list = NULL;
		if (!wf_waiter_claim_fast(n) && !wf_waiter_claim(n))
			continue;
		if (wf_likely(t != NULL && w->fiber != NULL && !w->runs &&
			    t->rt == wf_fiber_rt(w->fiber))) {
			wf_crowd_add(crowd, t, w->fiber);
		} else {
			n->next = others;
			others = n;
		}
	}
	return others;
}

void weft_event_set(weft_event *e)
{
	struct wf_crowd crowd = { 0 };
	struct wf_thread *t = wf_enter();
	struct wf_node *others;

	/*
	 * [pair: event.reset] If this is from before a reset, who resets sees
	 * what our caller stored before.
	 */
	if (wf_load_seq(word_of(e)) == SET)
		return;
	(void)lock(e);
	others = claim_all(list_of(e), t, &crowd);
	unlock(e, SET);
	if (!wf_batch_is_empty(&crowd.batch))
		wf_crowd_wake(&crowd, t);
	wf_list_wake_all(others, WEFT_HINT_DEFAULT);
}

void weft_event_reset(weft_event *e)
{
	(void)lock(e);
	unlock(e, CLEAR);
	/* [pair: event.reset] Before what our caller looks at next. */
	wf_fence_seq();
}

bool wf_event_look(weft_event *e)
{
	/* [pair: event.word] See what was done before it was set. */
	uint32_t seen = wf_load_acq(word_of(e));

	if (wf_unlikely(seen == BUSY)) {
		seen = lock(e);
		unlock(e, seen);
	}
	return seen == SET;
}

bool wf_event_enlist(weft_event *e, struct wf_node *n)
{
	uint32_t seen = lock(e);

	if (seen == CLEAR)
		wf_list_add(list_of(e), n);
	unlock(e, seen);
	return seen == CLEAR;
}

void wf_event_delist(weft_event *e, struct wf_node *n)
{
	uint32_t seen = lock(e);

	wf_list_leave(list_of(e), n);
	unlock(e, seen);
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct event_waiter *w = (struct event_waiter *)a;
	struct wf_node *n = &w->node;
	weft_event *e = w->event;
	uint32_t seen = lock(e);
	bool parked = false;

	(void)f;
	if (seen == CLEAR) {
		wf_list_add(list_of(e), n);
		parked = wf_waiter_park(&w->waiter);
		if (!parked)
			wf_list_remove(list_of(e), n);
	}
	unlock(e, seen);
	return parked;
}

/* Who waited on this processor some time ago; w does now. */
static const struct event_waiter *remember(const struct event_waiter *w)
{
	struct wf_thread *t = wf_enter();
	const void **at, *earlier;

	if (t == NULL || t->visitor)
		return NULL;
	at = &t->proc->waited[t->proc->waits++ % WF_PROC_WAITED];
	earlier = *at;
	*at = w;
	return earlier;
}

int weft_event_wait(weft_event *e, weft_time deadline)
{
	struct event_waiter w;
	int err;

	if (wf_event_look(e)) {
		wf_wait_not();
		return 0;
	}
	w.event = e;
	w.earlier = remember(&w);
	wf_node_open(&w.node, &w.waiter);
	err = wf_wait(&w.waiter, commit, "event", e, deadline);
	/* Refused is as good as claimed: it was set. */
	if (err >= 0)
		return 0;
	wf_event_delist(e, &w.node);
	return err;
}
