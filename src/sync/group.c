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
 * A waiter that gives up takes itself out of the list, unless who drains was
 * faster; and who drains waits for one that is about to.  It leaves WAITERS
 * set: somebody may be about to drain.
 */
#include <errno.h>

#include <weft/group.h>

#include "arch/context.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "os/os.h"
#include "wait/wait.h"

#define WF_GROUP_LOCK ((uint64_t)1)
#define WF_GROUP_WAITERS ((uint64_t)2)
#define WF_GROUP_ONE ((uint64_t)4)
#define WF_GROUP_COUNT_MAX ((int64_t)1 << 60)

_Static_assert(sizeof(weft_group) == 24, "weft_group is part of the ABI");

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

static struct wf_list *list_of(weft_group *g)
{
	return (struct wf_list *)g->waiters_;
}

/*
 * Holding the lock: take whoever waits out of the list, and put the nodes of
 * those that are claimed into *claimed, linked by next.  Who is about to leave
 * stays; false: there are such.
 */
static bool claim_all(weft_group *g, struct wf_node **claimed)
{
	struct wf_list *list = list_of(g);
	struct wf_node *last = list->last, *n;
	bool was_last = last == NULL;

	while (!was_last) {
		n = list->first;
		was_last = n == last;
		wf_list_remove(list, n);
		if (wf_waiter_claim(n)) {
			n->next = *claimed;
			*claimed = n;
		} else if (!wf_waiter_disown(n)) {
			wf_list_add(list, n);
		}
	}
	return list->first == NULL;
}

static wf_noinline void drain(weft_group *g)
{
	struct wf_node *claimed = NULL;

	(void)lock(g);
	while (!claim_all(g, &claimed)) {
		/* Somebody is on the way out and needs the lock for that. */
		unlock(g);
		wf_os_thread_yield();
		(void)lock(g);
	}
	/*
	 * [pair: group.zero] The last access to the group: whoever sees zero,
	 * or is woken below, may free it.
	 */
	(void)wf_and_rel(word_of(g), ~(WF_GROUP_LOCK | WF_GROUP_WAITERS));
	wf_list_wake_all(claimed, WEFT_HINT_DEFAULT);
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

struct wait {
	struct wf_waiter w; /* must be first */
	struct wf_node node;
	weft_group *g;
};

/*
 * Holding the lock: somebody will drain.  False: the count became zero before
 * WAITERS was set, so nobody will.
 */
static bool is_awaited(weft_group *g)
{
	/* [pair: group.zero] If it is zero: all that was done is seen. */
	uint64_t seen = wf_or_acq(word_of(g), WF_GROUP_WAITERS);

	return seen / WF_GROUP_ONE != 0 || (seen & WF_GROUP_WAITERS);
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct wait *wait = (struct wait *)a;
	struct wf_node *n = &wait->node;
	weft_group *g = wait->g;

	(void)f;
	(void)lock(g);
	if (!is_awaited(g)) {
		/* [pair: group.list] */
		(void)wf_and_rel(
			word_of(g), ~(WF_GROUP_LOCK | WF_GROUP_WAITERS));
		return false;
	}
	wf_list_add(list_of(g), n);
	if (wf_waiter_park(&wait->w)) {
		unlock(g);
		return true;
	}
	wf_list_remove(list_of(g), n);
	unlock(g);
	return false;
}

int weft_group_wait(weft_group *g, weft_time deadline)
{
	struct wait wait = { .g = g };
	int err;

	/* [pair: group.zero] See all that was done. */
	if (wf_load_acq(word_of(g)) == 0) {
		wf_wait_not();
		return 0;
	}
	wf_node_open(&wait.node, &wait.w);
	err = wf_wait(&wait.w, commit, "group", g, deadline);
	if (err >= 0)
		return 0;
	if (wf_waiter_leave(&wait.w)) {
		(void)lock(g);
		wf_list_leave(list_of(g), &wait.node);
		unlock(g);
	}
	return err;
}
