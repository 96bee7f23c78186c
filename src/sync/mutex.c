/* SPDX-License-Identifier: MIT */
/*
 * sync/mutex.c - the mutex.
 *
 * WORD:
 *	LOCK	bit 0, the lock of the ring: see sync/mutex.h
 *	LOCKED	the mutex has a holder
 *	WOKEN	an unlocker took a waiter out of the ring to try for the mutex,
 *		and that waiter has neither got it nor gone back; there is at
 *		most one
 *	HANDOFF	unlock hands the mutex over to the first of the ring
 *	first	the first of the waiters, which are a ring; NULL: none
 *
 *	(M1) A waiter in the ring will be woken: LOCKED or WOKEN is set unless
 *	     the ring is empty.
 *	(M2) HANDOFF is set only together with LOCKED, and WOKEN is not; so no
 *	     newcomer can take the mutex before the first of the ring.
 *
 *	0 -> LOCKED			lock
 *	-LOCKED -> +LOCKED		lock, the fastest newcomer (take)
 *	+first				lock, by its commit, if LOCKED
 *	LOCKED -> 0			unlock
 *	-LOCKED +WOKEN, first -> next	unlock; the first waiter tries
 *	+LOCKED -WOKEN			the woken waiter got the mutex
 *	-WOKEN, first -> waiter		it did not: it is the first again; and
 *	+HANDOFF			it has waited for too long
 *	first -> next [-HANDOFF]	unlock hands over: it stays LOCKED
 *
 * A hand-over costs a switch for every turn, so unlock mostly does without.  A
 * fiber that comes by and finds the mutex free is faster than one that has to
 * be switched to, and many short sections are done meanwhile.
 *
 * A WOKEN waiter that gives up takes the mutex, if it is free, even after its
 * deadline: no other waiter would be woken (M1).
 *
 * Unlock touches nothing after the compare-and-swap, or the store, by which
 * another fiber can have the mutex.
 *
 * Reads next: sync/rwlock.c
 */
#include "sync/mutex.h"

#include <errno.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "os/spin.h"
#include "wait/wait.h"

#define WF_MUTEX_LOCKED ((uint64_t)2)
#define WF_MUTEX_WOKEN ((uint64_t)4)
#define WF_MUTEX_HANDOFF ((uint64_t)8)
#define WF_MUTEX_BITS ((uint64_t)15)

/*
 * So many looks at a mutex that is taken, a while apart: each takes the cache
 * line away from the holder, which may lock and unlock many times in between.
 */
#define WF_MUTEX_LOOKS 4

/* A waiter that has waited for 1 ms has the mutex handed over. */
#define WF_MUTEX_PATIENCE_NS ((int64_t)1000000)

struct mutex_waiter {
	struct wf_waiter w;	     /* must be first */
	struct wf_node node;	     /* in no list */
	struct mutex_waiter *next, *prev; /* the ring; by LOCK */
	bool listed;		     /* in the ring; by LOCK */
	bool handed;		     /* by its claimer: it has the mutex */
	bool woken;		     /* it is the waiter that WOKEN means */
	bool hungry;		     /* it has waited for too long */
	int64_t since_ns;
	weft_mutex *mutex;
} wf_aligned(16);

_Static_assert(sizeof(weft_mutex) == 16, "weft_mutex is part of the ABI");
_Static_assert(
	_Alignof(struct mutex_waiter) > WF_MUTEX_BITS, "bits in a pointer");

/* The public struct has no atomics, so that C++ can have it too. */
static inline _Atomic(uint64_t) *word_of(weft_mutex *m)
{
	return (_Atomic(uint64_t) *)&m->word_;
}

static inline _Atomic(uint64_t) *owner_of(weft_mutex *m)
{
	return (_Atomic(uint64_t) *)&m->owner_;
}

/* ------------------------------------------------------------------------ */
/* The ring: the word points to its first. */

static struct mutex_waiter *first_of(uint64_t word)
{
	return (struct mutex_waiter *)(uintptr_t)(word & ~WF_MUTEX_BITS);
}

static uint64_t with_first(uint64_t word, struct mutex_waiter *first)
{
	return (word & WF_MUTEX_BITS) | (uintptr_t)first;
}

/* s as the last, or as the first, of the ring of word. */
static uint64_t ring_add(uint64_t word, struct mutex_waiter *s, bool front)
{
	struct mutex_waiter *first = first_of(word);

	s->listed = true;
	if (first == NULL) {
		s->next = s;
		s->prev = s;
		return with_first(word, s);
	}
	s->next = first;
	s->prev = first->prev;
	s->prev->next = s;
	first->prev = s;
	return front ? with_first(word, s) : word;
}

/* s out of the ring; without a waiter there is no hand-over. */
static uint64_t ring_remove(uint64_t word, struct mutex_waiter *s)
{
	s->listed = false;
	if (s->next == s)
		return with_first(word, NULL) & ~WF_MUTEX_HANDOFF;
	s->next->prev = s->prev;
	s->prev->next = s->next;
	return first_of(word) == s ? with_first(word, s->next) : word;
}

/* ------------------------------------------------------------------------ */
/* Lock. */

/*
 * The mutex is taken: is another look worth while?  Only if the holder may run
 * now, which it does not on the thread that we are on.
 */
static bool may_run(weft_mutex *m, uint64_t seen, uint64_t me)
{
	return !(seen & WF_MUTEX_HANDOFF) &&
		!wf_owner_beside(wf_load_rlx(owner_of(m)), me);
}

/* Take the mutex, which was seen to be free. */
static bool take_seen(weft_mutex *m, uint64_t seen, bool woken)
{
	uint64_t next = seen | WF_MUTEX_LOCKED;

	if (woken)
		next &= ~WF_MUTEX_WOKEN;
	/* [pair: mutex.word] See all that the last holder did. */
	return wf_cas_weak_acq(word_of(m), &seen, next);
}

/* Take the mutex if it is free, or becomes so within some looks. */
static bool take(weft_mutex *m, bool woken, unsigned looks)
{
	uint64_t me = wf_owner_runs();
	unsigned waits = 0;

	for (;;) {
		uint64_t seen = wf_load_rlx(word_of(m));

		if (seen & WF_MUTEX_LOCKED) {
			if (looks-- == 0 || !may_run(m, seen, me))
				return false;
			wf_spin_while();
		} else if (seen & WF_BIT_LOCK) {
			wf_spin_pause(++waits);
		} else if (take_seen(m, seen, woken)) {
			wf_store_rlx(owner_of(m), me);
			return true;
		}
	}
}

/* Wait in the ring, unless the mutex is free by now. */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct mutex_waiter *s = (struct mutex_waiter *)a;
	_Atomic(uint64_t) *word = word_of(s->mutex);
	uint64_t seen = wf_bit_lock(word), next = seen;
	bool woken = s->woken;

	(void)f;
	if (!(seen & WF_MUTEX_LOCKED)) {
		wf_bit_unlock(word, seen);
		return false;
	}
	if (woken)
		next &= ~WF_MUTEX_WOKEN;
	if (s->hungry)
		next |= WF_MUTEX_HANDOFF;
	next = ring_add(next, s, woken);
	s->woken = false;
	if (!wf_waiter_publish(&s->w)) {
		(void)ring_remove(next, s);
		s->woken = woken;
		wf_bit_unlock(word, seen);
		return false;
	}
	wf_bit_unlock(word, next);
	return true;
}

/* s gives up.  Returns err, or 0 if it has the mutex after all. */
static wf_noinline int give_up(weft_mutex *m, struct mutex_waiter *s, int err)
{
	uint64_t next = wf_bit_lock(word_of(m));

	if (s->listed)
		next = ring_remove(next, s);
	if (s->woken) {
		next &= ~WF_MUTEX_WOKEN;
		if (!(next & WF_MUTEX_LOCKED)) {
			next |= WF_MUTEX_LOCKED;
			wf_store_rlx(owner_of(m), wf_owner_runs());
			err = 0;
		}
	}
	wf_bit_unlock(word_of(m), next);
	return err;
}

/* Is the caller the holder?  No other fiber writes our OWNER. */
static bool has_it(weft_mutex *m)
{
	return wf_owner_same(wf_load_rlx(owner_of(m)), wf_owner_runs());
}

/*
 * Lock a mutex that is taken, or me is 0.  Inside.  shielded: nothing but the
 * mutex ends the wait.
 */
static wf_noinline wf_may_switch int lock_slow(
	weft_mutex *m, uint64_t me, weft_time deadline, bool shielded)
{
	struct mutex_waiter s;
	int err;

	if (me == 0)
		(void)wf_owner_spent();
	s.listed = s.handed = s.woken = s.hungry = false;
	s.since_ns = 0;
	s.mutex = m;
	wf_node_open(&s.node, &s.w);
	while (!take(m, s.woken, deadline > WEFT_NOW ? WF_MUTEX_LOOKS : 0)) {
		if (deadline <= WEFT_NOW)
			return -ETIMEDOUT;
		wf_assert(deadline != WEFT_FOREVER || !has_it(m),
			"weft_mutex %p: its holder locks it again",
			(void *)m);
		if (s.since_ns == 0)
			s.since_ns = wf_os_now_ns();
		else
			s.hungry = s.woken &&
				wf_os_now_ns() - s.since_ns >
					WF_MUTEX_PATIENCE_NS;
		err = shielded
			? wf_wait_shielded(&s.w, commit, "mutex", m)
			: wf_wait(&s.w, commit, "mutex", m, deadline);
		if (err < 0)
			return give_up(m, &s, err);
		if (s.handed) {
			wf_store_rlx(owner_of(m), wf_owner_runs());
			return 0;
		}
		if (err == 0)
			s.woken = true;
	}
	return 0;
}

/* Take the mutex, if it is free and the caller need not give way before. */
static inline bool lock_fast(weft_mutex *m, uint64_t me)
{
	uint64_t free = 0;

	/* [pair: mutex.word] See all that the last holder did. */
	if (wf_unlikely(
		    me == 0 || !wf_cas_acq(word_of(m), &free, WF_MUTEX_LOCKED)))
		return false;
	wf_store_rlx(owner_of(m), me);
	return true;
}

void weft_mutex_lock(weft_mutex *m)
{
	struct wf_thread *t = wf_enter();
	uint64_t me = wf_owner_spends(t);

	if (wf_unlikely(!lock_fast(m, me))) {
		(void)lock_slow(m, me, WEFT_FOREVER, true);
		t = wf_here();
	}
	wf_leave(t);
}

int weft_mutex_lock_by(weft_mutex *m, weft_time deadline)
{
	struct wf_thread *t = wf_enter();
	uint64_t me = wf_owner_spends(t);
	int err = 0;

	if (wf_unlikely(!lock_fast(m, me))) {
		err = lock_slow(m, me, deadline, false);
		t = wf_here();
	}
	wf_leave(t);
	return err;
}

void wf_mutex_lock(weft_mutex *m)
{
	uint64_t me = wf_owner_spends(wf_here());

	if (wf_unlikely(!lock_fast(m, me)))
		(void)lock_slow(m, me, WEFT_FOREVER, true);
}

/* ------------------------------------------------------------------------ */
/* Unlock. */

/*
 * Holding LOCK, the word being seen: take the first out of the ring and let it
 * have the mutex, or try for it; give LOCK back.  False: it had given up.
 */
static bool pass_on(weft_mutex *m, uint64_t seen, int64_t now_ns)
{
	struct mutex_waiter *s = first_of(seen);
	uint64_t next = ring_remove(seen, s);
	bool won = wf_waiter_claim(&s->node);

	if (won && (seen & WF_MUTEX_HANDOFF)) {
		s->handed = true;
		if (now_ns - s->since_ns < WF_MUTEX_PATIENCE_NS)
			next &= ~WF_MUTEX_HANDOFF;
	} else if (won) {
		next = (next & ~WF_MUTEX_LOCKED) | WF_MUTEX_WOKEN;
	}
	wf_bit_unlock(word_of(m), next);
	if (won)
		wf_waiter_wake(&s->w, WEFT_HINT_DEFAULT);
	return won;
}

/* There is a waiter, or one is about to wait, or was woken. */
static wf_noinline void unlock_slow(weft_mutex *m, uint64_t seen)
{
	int64_t now_ns = seen & WF_MUTEX_HANDOFF ? wf_os_now_ns() : INT64_MAX;

	wf_assert(seen & WF_MUTEX_LOCKED,
		"weft_mutex %p: the caller unlocks it, but it is not locked",
		(void *)m);
	do {
		seen = wf_bit_lock(word_of(m));
		if (first_of(seen) == NULL || (seen & WF_MUTEX_WOKEN)) {
			wf_bit_unlock(word_of(m), seen & ~WF_MUTEX_LOCKED);
			return;
		}
	} while (!pass_on(m, seen, now_ns));
}

static inline void release(weft_mutex *m)
{
	uint64_t seen = WF_MUTEX_LOCKED;

	wf_store_rlx(owner_of(m), 0);
	/* [pair: mutex.word] Show all we did; our last access. */
	if (wf_unlikely(!wf_cas_rel(word_of(m), &seen, 0)))
		unlock_slow(m, seen);
}

/* Unlock by a plain thread, or by a fiber that is not the holder. */
static wf_noinline void unlock_checked(weft_mutex *m)
{
	wf_assert(has_it(m), "weft_mutex %p: the caller unlocks it, but %s",
		(void *)m,
		wf_load_rlx(owner_of(m)) ? "another fiber or thread holds it"
					 : "it is not locked");
	release(m);
}

void weft_mutex_unlock(weft_mutex *m)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;

	if (wf_likely(f != NULL &&
		    wf_owner_same(wf_load_rlx(owner_of(m)), (uintptr_t)f)))
		release(m);
	else
		unlock_checked(m);
	wf_leave(t);
}

void wf_mutex_unlock_for(weft_mutex *m, weft_fiber *owner)
{
	wf_assert(
		wf_owner_same(wf_load_rlx(owner_of(m)), wf_owner(owner, NULL)),
		"weft_mutex %p: the caller waits on a cond, but does not hold "
		"the mutex",
		(void *)m);
	release(m);
}

uint64_t wf_owner_spent(void)
{
	struct wf_thread *t = wf_here();

	if (t != NULL && t->current != NULL)
		wf_yield(t, t->current);
	return wf_owner_runs();
}
