/* SPDX-License-Identifier: MIT */
/*
 * sync/mutex.c - the mutex.
 *
 * WORD:
 *	LIST	see sync/mutex.h
 *	LOCKED	somebody has it
 *	WOKEN	somebody was taken out of the ring to try for it, and has
 *		neither got it nor gone back; there is at most one
 *	HANDOFF	who unlocks hands it over to the first of the ring
 *	first	of those who wait, in a ring; NULL: nobody
 *
 *	(M1) Who waits in the ring is woken by somebody: LOCKED or WOKEN is set
 *	     unless the ring is empty.
 *	(M2) HANDOFF is set only together with LOCKED, and WOKEN is not; so
 *	     nobody comes in between.
 *
 *	0 -> LOCKED			lock
 *	-LOCKED -> +LOCKED		lock, whoever is faster (take)
 *	+first				lock, by its commit, if LOCKED
 *	LOCKED -> 0			unlock
 *	-LOCKED +WOKEN, first -> next	unlock; the first one tries
 *	+LOCKED -WOKEN			it got it
 *	-WOKEN, first -> it		it did not: it is the first again; and
 *	+HANDOFF			it has waited for too long
 *	first -> next [-HANDOFF]	unlock hands over: it stays LOCKED
 *
 * To have it handed over costs a switch for every turn, so most of the time it
 * is not.  A fiber that comes by and finds it free is faster than one that has
 * to be switched to, and in the meantime many short sections are done.
 *
 * A waiter that gives up and is WOKEN takes the mutex, if it is free, whatever
 * its deadline: nobody else would be woken (M1).
 *
 * Unlock touches nothing after the compare-and-swap, or the store, by which
 * somebody else can have it.
 *
 * Reads next: sync/rwlock.c
 */
#include "sync/mutex.h"

#include <errno.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/units.h"
#include "wait/wait.h"

#define WF_MUTEX_LOCKED ((uint64_t)2)
#define WF_MUTEX_WOKEN ((uint64_t)4)
#define WF_MUTEX_HANDOFF ((uint64_t)8)
#define WF_MUTEX_BITS ((uint64_t)15)

/*
 * So many looks at a mutex that is taken, a while apart: each takes the line
 * away from who has it, and in between that one may be through many times.
 */
#define WF_MUTEX_LOOKS 4

/* Who has waited for so long has it handed over. */
#define WF_MUTEX_PATIENCE_NS WF_NS_PER_MS

struct sleeper {
	struct wf_waiter w;	     /* must be first */
	struct wf_node node;	     /* in no list */
	struct sleeper *next, *prev; /* the ring; by LIST */
	bool listed;		     /* in the ring; by LIST */
	bool handed;		     /* by who claimed it: it has it */
	bool woken;		     /* WOKEN is for it */
	bool hungry;		     /* it has waited for too long */
	int64_t since_ns;
	weft_mutex *mutex;
} wf_aligned(16);

_Static_assert(sizeof(weft_mutex) == 16, "weft_mutex is part of the ABI");
_Static_assert(_Alignof(struct weft_fiber) > WF_WHO_ON, "bits in a pointer");
_Static_assert(_Alignof(struct sleeper) > WF_MUTEX_BITS, "bits in a pointer");

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
/* The ring: who is its first is in the word. */

static struct sleeper *first_of(uint64_t word)
{
	return (struct sleeper *)(uintptr_t)(word & ~WF_MUTEX_BITS);
}

static uint64_t with_first(uint64_t word, struct sleeper *first)
{
	return (word & WF_MUTEX_BITS) | (uintptr_t)first;
}

/* s as the last, or as the first, of the ring of word. */
static uint64_t ring_add(uint64_t word, struct sleeper *s, bool front)
{
	struct sleeper *first = first_of(word);

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

/* s out of it; nobody is left to hand over to, if it was the last. */
static uint64_t ring_remove(uint64_t word, struct sleeper *s)
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
 * It is taken: is it worth to look again?  Only if who has it may run, which is
 * not so on the thread that we are on.
 */
static bool may_run(weft_mutex *m, uint64_t seen, uint64_t me)
{
	return !(seen & WF_MUTEX_HANDOFF) &&
		!wf_who_beside(wf_load_rlx(owner_of(m)), me);
}

/* Take it, which was seen to be free. */
static bool take_seen(weft_mutex *m, uint64_t seen, bool woken)
{
	uint64_t next = seen | WF_MUTEX_LOCKED;

	if (woken)
		next &= ~WF_MUTEX_WOKEN;
	/* [pair: mutex.word] As in lock_fast. */
	return wf_cas_weak_acq(word_of(m), &seen, next);
}

/* Take it if it is free, or becomes so within some looks. */
static bool take(weft_mutex *m, bool woken, unsigned looks)
{
	uint64_t me = wf_who_runs();
	unsigned waits = 0;

	for (;;) {
		uint64_t seen = wf_load_rlx(word_of(m));

		if (seen & WF_MUTEX_LOCKED) {
			if (looks-- == 0 || !may_run(m, seen, me))
				return false;
			for (unsigned i = 0; i < WF_LOCK_SPINS; i++)
				wf_cpu_relax();
		} else if (seen & WF_WORD_LIST) {
			wf_word_pause(++waits);
		} else if (take_seen(m, seen, woken)) {
			wf_store_rlx(owner_of(m), me);
			return true;
		}
	}
}

/* Wait in the ring, unless it is free by now. */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct sleeper *s = (struct sleeper *)wf_waiter_of(a);
	_Atomic(uint64_t) *word = word_of(s->mutex);
	uint64_t seen = wf_word_hold(word), next = seen;
	bool woken = s->woken;

	(void)f;
	if (!(seen & WF_MUTEX_LOCKED)) {
		wf_word_let_go(word, seen);
		return false;
	}
	if (woken)
		next &= ~WF_MUTEX_WOKEN;
	if (s->hungry)
		next |= WF_MUTEX_HANDOFF;
	next = ring_add(next, s, woken);
	s->woken = false;
	if (!wf_waiter_park(&s->w)) {
		(void)ring_remove(next, s);
		s->woken = woken;
		wf_word_let_go(word, seen);
		return false;
	}
	wf_word_let_go(word, next);
	return true;
}

/* s will not wait any longer: err, or 0 if it has the mutex after all. */
static wf_noinline int give_up(weft_mutex *m, struct sleeper *s, int err)
{
	uint64_t next = wf_word_hold(word_of(m));

	if (s->listed)
		next = ring_remove(next, s);
	if (s->woken) {
		next &= ~WF_MUTEX_WOKEN;
		if (!(next & WF_MUTEX_LOCKED)) {
			next |= WF_MUTEX_LOCKED;
			wf_store_rlx(owner_of(m), wf_who_runs());
			err = 0;
		}
	}
	wf_word_let_go(word_of(m), next);
	return err;
}

/* Do we have it?  Nobody else writes what we look for. */
static bool has_it(weft_mutex *m)
{
	return wf_who_same(wf_load_rlx(owner_of(m)), wf_who_runs());
}

/* It is taken, or me is 0.  firm: nothing but the mutex ends it. */
static wf_noinline wf_may_switch int lock_slow(
	weft_mutex *m, uint64_t me, weft_time deadline, bool firm)
{
	struct sleeper s;
	int err;

	if (me == 0)
		(void)wf_who_spent();
	s.listed = s.handed = s.woken = s.hungry = false;
	s.since_ns = 0;
	s.mutex = m;
	wf_node_open(&s.node, &s.w);
	while (!take(m, s.woken, deadline > WEFT_NOW ? WF_MUTEX_LOOKS : 0)) {
		if (deadline <= WEFT_NOW)
			return -ETIMEDOUT;
		wf_assert(deadline != WEFT_FOREVER || !has_it(m),
			"weft_mutex %p: locked by who has it already",
			(void *)m);
		if (s.since_ns == 0)
			s.since_ns = wf_os_now_ns();
		else
			s.hungry = s.woken &&
				wf_os_now_ns() - s.since_ns >
					WF_MUTEX_PATIENCE_NS;
		err = firm ? wf_wait_firm(&s.w, commit, "mutex", m)
			   : wf_wait(&s.w, commit, "mutex", m, deadline);
		if (err < 0)
			return give_up(m, &s, err);
		if (s.handed) {
			wf_store_rlx(owner_of(m), wf_who_runs());
			return 0;
		}
		if (err == 0)
			s.woken = true;
	}
	return 0;
}

/* Take it, if it is free and who calls need not give way before. */
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
	uint64_t me = wf_who_spends();

	if (wf_unlikely(!lock_fast(m, me)))
		(void)lock_slow(m, me, WEFT_FOREVER, true);
}

int weft_mutex_lock_by(weft_mutex *m, weft_time deadline)
{
	uint64_t me = wf_who_spends();

	return wf_likely(lock_fast(m, me)) ? 0
					   : lock_slow(m, me, deadline, false);
}

/* ------------------------------------------------------------------------ */
/* Unlock. */

/*
 * Holding LIST, the word being seen: take the first out of the ring and let it
 * have the mutex, or try for it; give LIST back.  False: it had given up.
 */
static bool pass_on(weft_mutex *m, uint64_t seen, int64_t now_ns)
{
	struct sleeper *s = first_of(seen);
	uint64_t next = ring_remove(seen, s);
	bool won = wf_waiter_claim(&s->node);

	if (won && (seen & WF_MUTEX_HANDOFF)) {
		s->handed = true;
		if (now_ns - s->since_ns < WF_MUTEX_PATIENCE_NS)
			next &= ~WF_MUTEX_HANDOFF;
	} else if (won) {
		next = (next & ~WF_MUTEX_LOCKED) | WF_MUTEX_WOKEN;
	}
	wf_word_let_go(word_of(m), next);
	if (won)
		wf_waiter_wake(&s->w, WEFT_HINT_DEFAULT);
	return won;
}

/* Somebody waits, or is about to, or was woken. */
static wf_noinline void unlock_slow(weft_mutex *m, uint64_t seen)
{
	int64_t now_ns = seen & WF_MUTEX_HANDOFF ? wf_os_now_ns() : INT64_MAX;

	wf_assert(seen & WF_MUTEX_LOCKED,
		"weft_mutex %p: unlocked, but nobody has it", (void *)m);
	do {
		seen = wf_word_hold(word_of(m));
		if (first_of(seen) == NULL || (seen & WF_MUTEX_WOKEN)) {
			wf_word_let_go(word_of(m), seen & ~WF_MUTEX_LOCKED);
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

/* By who is not the fiber that has it: a plain thread, or a stranger. */
static wf_noinline void unlock_checked(weft_mutex *m)
{
	wf_assert(has_it(m), "weft_mutex %p: unlocked, but %s has it",
		(void *)m, wf_load_rlx(owner_of(m)) ? "another" : "nobody");
	release(m);
}

void weft_mutex_unlock(weft_mutex *m)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;

	if (wf_likely(f != NULL &&
		    wf_who_same(wf_load_rlx(owner_of(m)), (uintptr_t)f)))
		release(m);
	else
		unlock_checked(m);
}

void wf_mutex_unlock_for(weft_mutex *m, weft_fiber *owner)
{
	wf_assert(wf_who_same(wf_load_rlx(owner_of(m)), wf_who(owner, NULL)),
		"weft_mutex %p: waits with it who has it not", (void *)m);
	release(m);
}

uint64_t wf_who_spent(void)
{
	struct wf_thread *t = wf_enter();

	if (t != NULL && t->current != NULL)
		wf_yield(t, t->current);
	return wf_who_runs();
}
