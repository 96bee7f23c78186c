/* SPDX-License-Identifier: MIT */
/*
 * sync/group.c - the wait group.
 *
 * STATE, one word:
 *	LOCK	bit 0 (os/spin.h): the list of waiters is being changed
 *	WAITERS	there may be waiters; must not be clear with one in the list
 *	count	how much is left to wait for
 *
 * The call that lowers the count to zero while WAITERS is set DRAINS the group:
 * it takes the lock, claims each waiter, clears both bits, its last access to
 * the group, and only then wakes the waiters.  Until it clears the bits the
 * word is not zero, so no other call returns 0 and frees the group; a waiter
 * that comes meanwhile joins the list and is drained too.
 *
 * A waiter that gives up takes itself out of the list, unless a drainer was
 * faster; and a drainer waits for one that is about to.  The waiter leaves
 * WAITERS set: a drainer may be about to come.
 */
#include <errno.h>

#include <weft/group.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "os/spin.h"
#include "wait/wait.h"

#define WF_GROUP_WAITERS ((uint64_t)2)
#define WF_GROUP_ONE ((uint64_t)4)
#define WF_GROUP_COUNT_MAX ((int64_t)1 << 60)

struct group_waiter {
	struct wf_waiter waiter; /* must be first */
	struct wf_node node;
	weft_group *group;
};

_Static_assert(sizeof(weft_group) == 24, "weft_group is part of the ABI");

/* The public struct has no atomics, so that C++ can have it too. */
static _Atomic(uint64_t) *word_of(weft_group *g)
{
	return (_Atomic(uint64_t) *)&g->state_;
}

static struct wf_list *list_of(weft_group *g)
{
	return (struct wf_list *)g->waiters_;
}

/*
 * Holding the lock: take the waiters out of the list and claim them.  A waiter
 * that is about to leave stays in the list; false: there are such.
 */
static bool claim_all(weft_group *g, struct wf_claimed *claimed)
{
	struct wf_list *list = list_of(g);
	struct wf_node *last = list->last, *n;
	bool was_last = last == NULL;

	while (!was_last) {
		n = list->first;
		was_last = n == last;
		wf_list_remove(list, n);
		if (wf_waiter_claim(n))
			wf_claimed_add(claimed, n);
		else if (!wf_waiter_disown(n))
			wf_list_add(list, n);
	}
	return list->first == NULL;
}

static wf_noinline void drain(weft_group *g)
{
	struct wf_claimed claimed;
	struct wf_thread *t;
	uint64_t seen = wf_bit_lock(word_of(g));

	wf_claimed_open(&claimed);
	while (!claim_all(g, &claimed)) {
		/* A waiter that is about to leave needs the lock for that. */
		wf_bit_unlock_add(word_of(g), 0);
		wf_os_thread_yield();
		seen = wf_bit_lock(word_of(g));
	}
	/*
	 * The last access to the group: a call that sees zero, or a waiter that
	 * is woken below, may free it.
	 */
	wf_bit_unlock_add(word_of(g), -(seen & WF_GROUP_WAITERS));
	t = wf_enter();
	wf_claimed_wake(&claimed);
	wf_leave(t);
}

static void lower(weft_group *g, uint64_t by)
{
	/*
	 * [pair: group.zero] A waiter sees all that was done before; so does a
	 * drainer, when it takes the lock.
	 */
	uint64_t old = wf_sub_rel(word_of(g), by * WF_GROUP_ONE);

	wf_assert(old / WF_GROUP_ONE >= by,
		"weft_group %p: the caller lowers the count below zero",
		(void *)g);
	if (wf_unlikely(old / WF_GROUP_ONE == by && (old & WF_GROUP_WAITERS)))
		drain(g);
}

void weft_group_add(weft_group *g, int64_t n)
{
	uint64_t old;

	if (n < 0) {
		wf_assert(n >= -WF_GROUP_COUNT_MAX,
			"weft_group_add: the caller adds %lld, out of range",
			(long long)n);
		lower(g, (uint64_t)-n);
		return;
	}
	wf_assert(n <= WF_GROUP_COUNT_MAX,
		"weft_group_add: the caller adds %lld, out of range",
		(long long)n);
	old = wf_add_rlx(word_of(g), (uint64_t)n * WF_GROUP_ONE);
	wf_assert(old / WF_GROUP_ONE + (uint64_t)n <=
			(uint64_t)WF_GROUP_COUNT_MAX,
		"weft_group %p: the caller makes the count too large",
		(void *)g);
}

void weft_group_done(weft_group *g)
{
	lower(g, 1);
}

/*
 * Holding the lock: will a drainer come?  False: the count became zero before
 * WAITERS was set.
 */
static bool is_awaited(weft_group *g)
{
	/* [pair: group.zero] If it is zero: see all that was done. */
	uint64_t seen = wf_or_acq(word_of(g), WF_GROUP_WAITERS);

	return seen / WF_GROUP_ONE != 0 || (seen & WF_GROUP_WAITERS);
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct group_waiter *w = (struct group_waiter *)a;
	weft_group *g = w->group;
	bool waits;

	(void)f;
	(void)wf_bit_lock(word_of(g));
	if (!is_awaited(g)) {
		wf_bit_unlock_add(word_of(g), -WF_GROUP_WAITERS);
		return false;
	}
	waits = wf_list_publish(list_of(g), &w->node);
	wf_bit_unlock_add(word_of(g), 0);
	return waits;
}

int weft_group_wait(weft_group *g, weft_time deadline)
{
	struct group_waiter w;
	int err;

	/* [pair: group.zero] See all that was done. */
	if (wf_load_acq(word_of(g)) == 0) {
		wf_end_call();
		return 0;
	}
	w.group = g;
	wf_node_open(&w.node, &w.waiter);
	(void)wf_enter();
	err = wf_wait(&w.waiter, commit, "group", g, deadline);
	wf_leave_here();
	if (err >= 0)
		return 0;
	if (wf_waiter_leave(&w.waiter)) {
		(void)wf_bit_lock(word_of(g));
		wf_list_leave(list_of(g), &w.node);
		wf_bit_unlock_add(word_of(g), 0);
	}
	return err;
}
