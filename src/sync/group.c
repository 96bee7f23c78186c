/* SPDX-License-Identifier: MIT */
/*
 * sync/group.c - the wait group.
 *
 * STATE, one word:
 *	LOCK	the list of waiters is being changed, for a few instructions
 *	WAITERS	there may be waiters; must not be clear with one in the list
 *	count	what is left to wait for
 *
 * Who lowers the count to zero while WAITERS is set drains: it takes the lock
 * and claims each waiter, clears both bits, its last access to the group, and
 * only then lets the waiters go.  Until that the word is not zero, so nobody
 * else returns 0 and frees the group; who comes in between joins the list and
 * is drained too.
 *
 * A waiter that gives up takes itself out of the list, and who drains waits for
 * that.  It leaves WAITERS set: somebody may be about to drain.
 */
#include <errno.h>

#include <weft/group.h>

#include "arch/context.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "sched/run.h"
#include "sched/submit.h"
#include "sched/wait.h"

#define WF_GROUP_LOCK ((uint64_t)1)
#define WF_GROUP_WAITERS ((uint64_t)2)
#define WF_GROUP_ONE ((uint64_t)4)
#define WF_GROUP_COUNT_MAX ((int64_t)1 << 60)

_Static_assert(sizeof(weft_group) == 16, "weft_group is part of the ABI");

/* The public struct has no atomics, so that C++ can have it too. */
static _Atomic(uint64_t) *word_of(weft_group *g)
{
	return (_Atomic(uint64_t) *)&g->state_;
}

static uint64_t lock(weft_group *g)
{
	_Atomic(uint64_t) *word = word_of(g);
	uint64_t seen;
	unsigned tries = 0;

	for (;;) {
		/* [pair: group.list] The list as its last changer left it. */
		seen = wf_or_acq(word, WF_GROUP_LOCK);
		if (!(seen & WF_GROUP_LOCK))
			return seen;
		if (++tries % 64 == 0)
			wf_os_thread_yield();
		wf_cpu_relax();
	}
}

static void unlock(weft_group *g)
{
	/* [pair: group.list] */
	(void)wf_and_rel(word_of(g), ~WF_GROUP_LOCK);
}

static void list_add(weft_group *g, struct wf_waiter *w)
{
	struct wf_waiter *first = g->waiters_;

	w->next = first;
	w->link = (struct wf_waiter **)&g->waiters_;
	if (first != NULL)
		first->link = &w->next;
	g->waiters_ = w;
}

static void list_remove(struct wf_waiter *w)
{
	*w->link = w->next;
	if (w->next != NULL)
		w->next->link = w->link;
}

/*
 * Holding the lock: take whoever waits out of the list.  Fibers that are off
 * their stacks go to ready, all others to held.  Those who leave stay; false:
 * there are such.
 */
static bool claim_all(
	weft_group *g, struct wf_batch *ready, struct wf_waiter **held)
{
	struct wf_waiter *w = g->waiters_, *next;

	for (; w != NULL; w = next) {
		enum wf_taken taken = wf_waiter_claim(w, ready);

		next = w->next;
		if (taken == WF_TAKEN_NOT)
			continue;
		list_remove(w);
		if (taken == WF_TAKEN_HELD) {
			w->next = *held;
			*held = w;
		}
	}
	return g->waiters_ == NULL;
}

static wf_noinline void drain(weft_group *g)
{
	struct wf_waiter *held = NULL, *next;
	struct wf_batch ready = { 0 };

	(void)lock(g);
	while (!claim_all(g, &ready, &held)) {
		/* Somebody is on the way out and needs the lock for that. */
		unlock(g);
		wf_os_thread_yield();
		(void)lock(g);
	}
	/*
	 * [pair: group.zero] The last access to the group: whoever sees zero,
	 * or is let go below, may free it.
	 */
	(void)wf_and_rel(word_of(g), ~(WF_GROUP_LOCK | WF_GROUP_WAITERS));
	for (; held != NULL; held = next) {
		next = held->next;
		wf_waiter_release(held);
	}
	wf_make_all_ready(&ready, WEFT_HINT_DEFAULT);
}

static void lower(weft_group *g, uint64_t by)
{
	/*
	 * [pair: group.zero] All that was done before is seen by who waits; and
	 * by who drains, when it takes the lock.
	 */
	uint64_t old = wf_sub_rel(word_of(g), by * WF_GROUP_ONE);

	wf_assert(old / WF_GROUP_ONE >= by,
		"weft_group %p: the count went below zero", (void *)g);
	if (wf_unlikely(old / WF_GROUP_ONE == by && (old & WF_GROUP_WAITERS)))
		drain(g);
}

void weft_group_add(weft_group *g, int64_t n)
{
	uint64_t old;

	if (n < 0) {
		wf_assert(n >= -WF_GROUP_COUNT_MAX,
			"weft_group_add: %lld is too much", (long long)n);
		lower(g, (uint64_t)-n);
		return;
	}
	wf_assert(n <= WF_GROUP_COUNT_MAX, "weft_group_add: %lld is too much",
		(long long)n);
	old = wf_add_rlx(word_of(g), (uint64_t)n * WF_GROUP_ONE);
	wf_assert(old / WF_GROUP_ONE + (uint64_t)n <=
			(uint64_t)WF_GROUP_COUNT_MAX,
		"weft_group %p: the count is too large", (void *)g);
}

void weft_group_done(weft_group *g)
{
	lower(g, 1);
}

/*
 * Holding the lock, give it back: w is in the list.  False: the count became
 * zero before WAITERS was set, so nobody will drain, and w is not in it.
 */
static bool enlist(weft_group *g, struct wf_waiter *w)
{
	uint64_t seen;

	list_add(g, w);
	/* [pair: group.zero] If it is zero: all that was done is seen. */
	seen = wf_or_acq(word_of(g), WF_GROUP_WAITERS);
	if (seen / WF_GROUP_ONE != 0 || (seen & WF_GROUP_WAITERS)) {
		unlock(g);
		return true;
	}
	list_remove(w);
	/* [pair: group.list] */
	(void)wf_and_rel(word_of(g), ~(WF_GROUP_LOCK | WF_GROUP_WAITERS));
	return false;
}

/* The count is not zero, or a drain is under way. */
static int wait_slow(weft_group *g, weft_time deadline)
{
	struct wf_waiter w;
	int err = wf_waiter_begin(&w, "group", g);

	if (err)
		return err;
	if (lock(g) == 0) {
		/* It became zero meanwhile, and nobody drains. */
		unlock(g);
		wf_waiter_drop(&w);
		return 0;
	}
	if (!enlist(g, &w)) {
		wf_waiter_drop(&w);
		return 0;
	}
	err = wf_waiter_sleep(&w, deadline);
	if (!err || !wf_waiter_leave(&w))
		return 0;
	(void)lock(g);
	list_remove(&w);
	unlock(g);
	return err;
}

int weft_group_wait(weft_group *g, weft_time deadline)
{
	struct wf_thread *t;
	int err;

	/* [pair: group.zero] See all that was done. */
	if (wf_load_acq(word_of(g)) != 0) {
		err = wf_deadline_check(deadline);
		return err ? err : wait_slow(g, deadline);
	}
	t = wf_enter();
	if (t != NULL && t->current != NULL)
		wf_spend(t, t->current);
	return 0;
}
