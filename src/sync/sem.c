/* SPDX-License-Identifier: MIT */
/*
 * sync/sem.c - the semaphore.
 *
 * STATE, one word:
 *
 *	count	permits that anyone may take
 *	WAITERS	the list has waiters; there are no permits then
 *	LOCK	the list and WAITERS are being changed, for a few instructions,
 *		and only by who set it
 *
 *	count - 1		acquire, whatever the bits are
 *	count + n		release, if both bits are clear
 *	+LOCK			who would wait or gives up; release, otherwise
 *	-LOCK, +-WAITERS, count + n	unlock
 *
 * Release gives permits to those who wait, in their order: they are claimed
 * under the lock, and what is left goes into the count.  A waiter whose time
 * was up is not claimed, so its permit goes to the next.
 *
 * One read-modify-write of the word makes the permits of a release known, and
 * it is its last access to the semaphore; who was claimed is woken afterwards.
 * So whoever has acquired them may free it.
 */
#include <weft/sem.h>

#include "arch/context.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/limits.h"
#include "os/os.h"
#include "wait/wait.h"

#define WF_SEM_LOCK ((uint64_t)1)
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

/* Take the lock; what the word was. */
static uint64_t lock(weft_sem *s)
{
	unsigned tries = 0;
	uint64_t seen;

	/* [pair: sem.list] The list as its last changer left it. */
	while ((seen = wf_or_acq(word_of(s), WF_SEM_LOCK)) & WF_SEM_LOCK) {
		if (++tries % WF_LOCK_SPINS == 0)
			wf_os_thread_yield();
		wf_cpu_relax();
	}
	return seen;
}

/* Give it back, with so many permits more.  seen is what lock gave. */
static void unlock(weft_sem *s, uint64_t seen, uint32_t more)
{
	uint64_t change = more * WF_SEM_ONE - WF_SEM_LOCK;

	change -= seen & WF_SEM_WAITERS;
	if (list_of(s)->first != NULL)
		change += WF_SEM_WAITERS;
	/*
	 * [pair: sem.list] Show what we did to the list, and [pair: sem.count]
	 * what was done before the release.  Our last access.
	 */
	(void)wf_add_rel(word_of(s), change);
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
	struct wf_node *n = &w->node;
	weft_sem *s = w->sem;
	uint64_t seen = lock(s);
	bool parked = false;

	(void)f;
	/* Nobody gives permits while we have the lock. */
	if (seen < WF_SEM_ONE) {
		wf_list_add(list_of(s), n);
		parked = wf_waiter_park(&w->waiter);
		if (!parked)
			wf_list_remove(list_of(s), n);
	}
	unlock(s, seen, 0);
	return parked;
}

int weft_sem_acquire(weft_sem *s, weft_time deadline)
{
	struct sem_waiter w;
	uint64_t seen;
	int err;

	w.sem = s;
	do {
		if (wf_likely(take(s))) {
			wf_wait_not();
			return 0;
		}
		wf_node_open(&w.node, &w.waiter);
		err = wf_wait(&w.waiter, commit, "sem", s, deadline);
	} while (err > 0);
	if (err == 0)
		return 0;
	seen = lock(s);
	wf_list_leave(list_of(s), &w.node);
	unlock(s, seen, 0);
	return err;
}

static void check(weft_sem *s, uint64_t seen, uint32_t more)
{
	wf_assert(seen / WF_SEM_ONE + more <= UINT32_MAX,
		"weft_sem %p: it has too many permits", (void *)s);
}

static wf_noinline void release_slow(weft_sem *s, uint32_t n)
{
	struct wf_node *first = NULL, **end = &first, *next;
	uint64_t seen = lock(s);

	for (; n > 0 && (next = wf_list_claim(list_of(s))) != NULL; n--) {
		*end = next;
		end = &next->next;
	}
	*end = NULL;
	check(s, seen, n);
	unlock(s, seen, n);
	wf_list_wake_all(first, WEFT_HINT_DEFAULT);
}

void weft_sem_release(weft_sem *s, uint32_t n)
{
	uint64_t seen = wf_load_rlx(word_of(s));

	while (!(seen & (WF_SEM_LOCK | WF_SEM_WAITERS))) {
		check(s, seen, n);
		/*
		 * [pair: sem.count] Show what was done before to who takes
		 * them.  Our last access.
		 */
		if (wf_cas_weak_rel(word_of(s), &seen, seen + n * WF_SEM_ONE))
			return;
	}
	release_slow(s, n);
}
