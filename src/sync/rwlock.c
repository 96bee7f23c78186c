/* SPDX-License-Identifier: MIT */
/*
 * sync/rwlock.c - a lock for many readers, or one writer.
 *
 * WORD:
 *	LOCK	bit 0, the lock of the lists: see sync/mutex.h
 *	WRITER	a writer holds the rwlock
 *	QUEUED	there is a waiter: a node is in one of the lists
 *	readers	how many readers hold it; 0 with WRITER
 *
 *	(R1) If a reader waits, a writer holds the rwlock or a writer waits.
 *	(R2) If a writer waits, the rwlock is held.
 *
 * So a call that takes the last holder, or the last waiting writer, away
 * restores both, by grant: it lets in the next waiters, which hold the rwlock
 * when they are woken.  A waiter that gives up does so too.  New readers wait
 * if QUEUED: that is when a writer waits (R1).
 *
 * After a writer it is the readers' turn, after readers a writer's.
 *
 * Unlock touches nothing after the compare-and-swap, or the store, by which
 * another fiber can have the rwlock.
 */
#include <errno.h>
#include <stddef.h>

#include <weft/rwlock.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/sanitize.h"
#include "os/spin.h"
#include "sync/mutex.h"
#include "wait/wait.h"

#define WF_RW_WRITER ((uint64_t)2)
#define WF_RW_QUEUED ((uint64_t)4)
#define WF_RW_READER ((uint64_t)8) /* one reader */

enum mode { READ, WRITE };

/* What a holder adds to the word. */
static const uint64_t weight[] = { WF_RW_READER, WF_RW_WRITER };

struct rwlock_waiter {
	struct wf_waiter w; /* must be first */
	struct wf_node node;
	weft_rwlock *lock;
	enum mode mode;
};

_Static_assert(sizeof(weft_rwlock) == 48, "weft_rwlock is part of the ABI");

static _Atomic(uint64_t) *word_of(weft_rwlock *l)
{
	return (_Atomic(uint64_t) *)&l->word_;
}

static _Atomic(uint64_t) *owner_of(weft_rwlock *l)
{
	return (_Atomic(uint64_t) *)&l->owner_;
}

/* The waiters for that mode. */
static struct wf_list *list_of(weft_rwlock *l, enum mode mode)
{
	return (struct wf_list *)&l->waiters_[2 * mode];
}

/* ------------------------------------------------------------------------ */
/* Holding LOCK. */

/* May a caller have the rwlock in mode now, if it is the turn of turn? */
static bool may_have(
	weft_rwlock *l, uint64_t word, enum mode mode, enum mode turn)
{
	if (mode == WRITE)
		return !(word & ~(WF_BIT_LOCK | WF_RW_QUEUED));
	return !(word & WF_RW_WRITER) &&
		(turn == READ || list_of(l, WRITE)->first == NULL);
}

/*
 * The word is to be `word'.  Let the waiters in that may have the rwlock, those
 * of turn first; give LOCK back, and wake them.
 */
static void grant(weft_rwlock *l, uint64_t word, enum mode turn)
{
	const enum mode order[] = { turn, turn == READ ? WRITE : READ };
	struct wf_claimed claimed;
	struct wf_node *n;

	wf_claimed_open(&claimed);
	word &= ~(WF_BIT_LOCK | WF_RW_QUEUED);
	for (unsigned i = 0; i < 2; i++) {
		struct wf_list *list = list_of(l, order[i]);

		while (may_have(l, word, order[i], turn) &&
			(n = wf_list_claim(list)) != NULL) {
			wf_claimed_add(&claimed, n);
			word += weight[order[i]];
		}
		if (list->first != NULL)
			word |= WF_RW_QUEUED;
	}
	wf_bit_unlock(word_of(l), word);
	wf_claimed_wake(&claimed);
}

/* Take the rwlock and give LOCK back; false: wait, and LOCK is still held. */
static bool have(weft_rwlock *l, uint64_t seen, enum mode mode)
{
	if (!may_have(l, seen, mode, WRITE))
		return false;
	wf_bit_unlock(word_of(l), seen + weight[mode]);
	return true;
}

/* ------------------------------------------------------------------------ */
/* Lock. */

/* Wait, or take the rwlock right away: then commit refuses. */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct rwlock_waiter *s = (struct rwlock_waiter *)a;
	weft_rwlock *l = s->lock;
	uint64_t seen = wf_bit_lock(word_of(l));
	bool waits;

	(void)f;
	if (have(l, seen, s->mode))
		return false;
	waits = wf_list_publish(list_of(l, s->mode), &s->node);
	wf_bit_unlock(word_of(l), waits ? seen | WF_RW_QUEUED : seen);
	return waits;
}

/* s waits no longer; waiters that it held back may go on.  Inside. */
static wf_noinline int give_up(weft_rwlock *l, struct rwlock_waiter *s, int err)
{
	uint64_t seen = wf_bit_lock(word_of(l));

	wf_list_leave(list_of(l, s->mode), &s->node);
	grant(l, seen, WRITE);
	return err;
}

/* Is the caller the writer?  No other fiber stores our OWNER. */
static bool writes(weft_rwlock *l)
{
	return wf_owner_same(wf_load_rlx(owner_of(l)), wf_owner_runs());
}

/* Inside.  shielded: nothing but the rwlock ends the wait. */
static wf_noinline wf_may_switch int lock_slow(
	weft_rwlock *l, enum mode mode, weft_time deadline, bool shielded)
{
	struct rwlock_waiter s;
	uint64_t seen = wf_bit_lock(word_of(l));
	int err;

	if (have(l, seen, mode))
		return 0;
	wf_bit_unlock(word_of(l), seen);
	s.lock = l;
	s.mode = mode;
	wf_node_open(&s.node, &s.w);
	wf_assert(deadline != WEFT_FOREVER || !writes(l),
		"weft_rwlock %p: its writer locks it again", (void *)l);
	err = shielded ? wf_wait_shielded(&s.w, commit, "rwlock", l)
		       : wf_wait(&s.w, commit, "rwlock", l, deadline);
	return err < 0 ? give_up(l, &s, err) : 0;
}

static inline int rdlock(weft_rwlock *l, weft_time deadline, bool shielded)
{
	struct wf_thread *t = wf_enter();
	uint64_t seen;
	int err = 0;

	if (wf_unlikely(wf_owner_spends(t) == 0)) {
		(void)wf_owner_spent();
		t = wf_here();
	}
	seen = wf_load_rlx(word_of(l));
	do {
		if (seen & (WF_BIT_LOCK | WF_RW_WRITER | WF_RW_QUEUED)) {
			err = lock_slow(l, READ, deadline, shielded);
			t = wf_here();
			break;
		}
		/* [pair: rwlock.word] See all that the last writer did. */
	} while (!wf_cas_weak_acq(word_of(l), &seen, seen + WF_RW_READER));
	if (!err)
		wf_san_api_lock_taken(
			l, &l->owner_, true, deadline == WEFT_FOREVER);
	wf_leave(t);
	return err;
}

static inline int wrlock(weft_rwlock *l, weft_time deadline, bool shielded)
{
	struct wf_thread *t = wf_enter();
	uint64_t me = wf_owner_spends(t), free = 0;
	int err = 0;

	if (wf_unlikely(me == 0)) {
		me = wf_owner_spent();
		t = wf_here();
	}
	/* [pair: rwlock.word] See all that the last holders did. */
	if (wf_unlikely(!wf_cas_acq(word_of(l), &free, WF_RW_WRITER))) {
		err = lock_slow(l, WRITE, deadline, shielded);
		t = wf_here();
		me = wf_owner_runs();
	}
	if (!err) {
		wf_san_api_lock_taken(
			l, &l->owner_, false, deadline == WEFT_FOREVER);
		wf_store_rlx(owner_of(l), me);
	}
	wf_leave(t);
	return err;
}

void weft_rwlock_rdlock(weft_rwlock *l)
{
	(void)rdlock(l, WEFT_FOREVER, true);
}

int weft_rwlock_rdlock_by(weft_rwlock *l, weft_time deadline)
{
	return rdlock(l, deadline, false);
}

void weft_rwlock_wrlock(weft_rwlock *l)
{
	(void)wrlock(l, WEFT_FOREVER, true);
}

int weft_rwlock_wrlock_by(weft_rwlock *l, weft_time deadline)
{
	return wrlock(l, deadline, false);
}

/* ------------------------------------------------------------------------ */
/* Unlock. */

/* There are waiters: give up what the caller holds.  Outside. */
static wf_noinline void unlock_slow(
	weft_rwlock *l, enum mode held, enum mode turn)
{
	struct wf_thread *t = wf_enter();
	uint64_t seen = wf_bit_lock(word_of(l));

	grant(l, seen - weight[held], turn);
	wf_leave(t);
}

void weft_rwlock_rdunlock(weft_rwlock *l)
{
	uint64_t seen = wf_load_rlx(word_of(l));

	(void)wf_san_api_lock_left(l, true);
	do {
		wf_assert(seen >= WF_RW_READER,
			"weft_rwlock %p: the caller ends a read, but there "
			"is no reader",
			(void *)l);
		if (seen & (WF_BIT_LOCK | WF_RW_QUEUED)) {
			unlock_slow(l, READ, WRITE);
			return;
		}
		/* [pair: rwlock.word] Show all we did; our last access. */
	} while (!wf_cas_weak_rel(word_of(l), &seen, seen - WF_RW_READER));
}

void weft_rwlock_wrunlock(weft_rwlock *l)
{
	uint64_t seen = WF_RW_WRITER;

	wf_assert(writes(l),
		"weft_rwlock %p: the caller ends a write, but is not the "
		"writer",
		(void *)l);
	wf_store_rlx(owner_of(l), wf_san_api_lock_left(l, false));
	/* [pair: rwlock.word] Show all we did; our last access. */
	if (wf_unlikely(!wf_cas_rel(word_of(l), &seen, 0)))
		unlock_slow(l, WRITE, READ);
}
