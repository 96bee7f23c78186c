/* SPDX-License-Identifier: MIT */
/*
 * sync/sem.c - the semaphore.
 *
 * STATE, one word:
 *
 *	LOCK	bit 0 (os/spin.h): the list and WAITERS are being changed, only
 *		by the holder of the lock
 *	WAITERS	the list has waiters; there are no permits then
 *	count	permits that anyone may take
 *
 *	count - 1			acquire, whatever the bits are
 *	count + n			release, if both bits are clear
 *	+LOCK				a waiter begins or gives up; release
 *	-LOCK, +-WAITERS, count + n	unlock
 *
 * Release gives permits to the waiters, in their order: it claims them under
 * the lock and adds the permits that are left to the count.  It does not claim
 * a waiter whose time was up, so that permit goes to the next waiter.
 *
 * One read-modify-write of the word publishes the permits of a release, and is
 * its last access to the semaphore; it wakes the claimed waiters afterwards.
 * So a fiber that has acquired them may free the semaphore.
 */
#include <weft/sem.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/spin.h"
#include "wait/wait.h"

#define WF_SEM_WAITERS ((uint64_t)2)
#define WF_SEM_ONE ((uint64_t)1 << 32) /* as WEFT_SEM_INIT has it */

struct sem_waiter {
	struct wf_waiter waiter; /* must be first */
	struct wf_node node;
	weft_sem *sem;
};

_Static_assert(sizeof(weft_sem) == 24, "weft_sem is part of the ABI");

static _Atomic(uint64_t) *word_of(weft_sem *s)
{
	return (_Atomic(uint64_t) *)&s->state_;
}

static struct wf_list *list_of(weft_sem *s)
{
	return (struct wf_list *)s->waiters_;
}

/*
 * Give the lock back, with so many permits more; seen is what wf_bit_lock gave.
 * A fiber that takes a permit sees what was done before the release.
 */
static void unlock(weft_sem *s, uint64_t seen, uint32_t more)
{
	uint64_t change = more * WF_SEM_ONE - (seen & WF_SEM_WAITERS);

	if (list_of(s)->first != NULL)
		change += WF_SEM_WAITERS;
	wf_bit_unlock_add(word_of(s), change);
}

static bool take(weft_sem *s)
{
	uint64_t seen = wf_load_rlx(word_of(s));

	while (seen >= WF_SEM_ONE)
		/* [pair: sem.count] See what was done before the release. */
		if (wf_cas_weak_acq(word_of(s), &seen, seen - WF_SEM_ONE))
			return true;
	return false;
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct sem_waiter *w = (struct sem_waiter *)a;
	weft_sem *s = w->sem;
	uint64_t seen = wf_bit_lock(word_of(s));
	/* While we have the lock a release gives no permits. */
	bool waits =
		seen < WF_SEM_ONE && wf_list_publish(list_of(s), &w->node);

	(void)f;
	unlock(s, seen, 0);
	return waits;
}

int weft_sem_acquire(weft_sem *s, weft_time deadline)
{
	struct sem_waiter w;
	uint64_t seen;
	int err;

	w.sem = s;
	do {
		if (wf_likely(take(s))) {
			wf_end_call();
			return 0;
		}
		wf_node_open(&w.node, &w.waiter);
		(void)wf_enter();
		err = wf_wait(&w.waiter, commit, "sem", s, deadline);
		wf_leave_here();
	} while (err > 0);
	if (err == 0)
		return 0;
	seen = wf_bit_lock(word_of(s));
	wf_list_leave(list_of(s), &w.node);
	unlock(s, seen, 0);
	return err;
}

static void check(weft_sem *s, uint64_t seen, uint32_t more)
{
	wf_assert(seen / WF_SEM_ONE + more <= UINT32_MAX,
		"weft_sem %p: the caller adds too many permits", (void *)s);
}

static wf_noinline void release_slow(weft_sem *s, uint32_t n)
{
	struct wf_claimed claimed;
	struct wf_thread *t;
	struct wf_node *next;
	uint64_t seen = wf_bit_lock(word_of(s));

	wf_claimed_open(&claimed);
	for (; n > 0 && (next = wf_list_claim(list_of(s))) != NULL; n--)
		wf_claimed_add(&claimed, next);
	check(s, seen, n);
	unlock(s, seen, n);
	t = wf_enter();
	wf_claimed_wake(&claimed);
	wf_leave(t);
}

void weft_sem_release(weft_sem *s, uint32_t n)
{
	uint64_t seen = wf_load_rlx(word_of(s));

	while (!(seen & (WF_BIT_LOCK | WF_SEM_WAITERS))) {
		check(s, seen, n);
		/*
		 * [pair: sem.count] Show what was done before to the fiber that
		 * takes the permits.  Our last access.
		 */
		if (wf_cas_weak_rel(word_of(s), &seen, seen + n * WF_SEM_ONE))
			return;
	}
	release_slow(s, n);
}
