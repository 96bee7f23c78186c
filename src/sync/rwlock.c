/* SPDX-License-Identifier: MIT */
/*
 * sync/rwlock.c - many who read, or one who writes.
 *
 * WORD:
 *	LIST	see sync/mutex.h
 *	WRITER	one writes
 *	QUEUED	somebody waits: there is a node in one of the lists
 *	readers	how many read; 0 with WRITER
 *
 *	(R1) If there is a reader in its list, one writes or there is a writer
 *	     in the other.
 *	(R2) If there is a writer in its list, the lock is held.
 *
 * So whoever takes the last holder, or the last waiting writer, away restores
 * both, by grant: it lets in who is next, and the lock is theirs when they are
 * woken.  A waiter that gives up, too.  New readers wait if QUEUED: that is
 * when a writer waits (R1).
 *
 * After a writer it is the readers' turn, after readers a writer's.
 *
 * Unlock touches nothing after the compare-and-swap, or the store, by which
 * somebody else can have it.
 */
#include <errno.h>
#include <stddef.h>

#include <weft/rwlock.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "wait/wait.h"
#include "sync/mutex.h"

#define WF_RW_WRITER ((uint64_t)2)
#define WF_RW_QUEUED ((uint64_t)4)
#define WF_RW_READER ((uint64_t)8) /* one of them */

enum mode { READ, WRITE };

/* What a holder adds to the word. */
static const uint64_t weight[] = { WF_RW_READER, WF_RW_WRITER };

struct sleeper {
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

/* Those who wait for that. */
static struct wf_list *list_of(weft_rwlock *l, enum mode mode)
{
	return (struct wf_list *)&l->waiters_[2 * mode];
}

/* ------------------------------------------------------------------------ */
/* Holding LIST. */

/* May somebody have it now, if it is the turn of those? */
static bool may_have(
	weft_rwlock *l, uint64_t word, enum mode mode, enum mode turn)
{
	if (mode == WRITE)
		return !(word & ~(WF_WORD_LIST | WF_RW_QUEUED));
	return !(word & WF_RW_WRITER) &&
		(turn == READ || list_of(l, WRITE)->first == NULL);
}

/*
 * The word is to be `word': let in who may, those of turn first; give LIST
 * back, and wake them.
 */
static void grant(weft_rwlock *l, uint64_t word, enum mode turn)
{
	const enum mode order[] = { turn, turn == READ ? WRITE : READ };
	struct wf_node *claimed = NULL, *n;

	word &= ~(WF_WORD_LIST | WF_RW_QUEUED);
	for (unsigned i = 0; i < 2; i++) {
		struct wf_list *list = list_of(l, order[i]);

		while (may_have(l, word, order[i], turn) &&
			(n = wf_list_claim(list)) != NULL) {
			n->next = claimed;
			claimed = n;
			word += weight[order[i]];
		}
		if (list->first != NULL)
			word |= WF_RW_QUEUED;
	}
	wf_word_let_go(word_of(l), word);
	wf_list_wake_all(claimed, WEFT_HINT_DEFAULT);
}

/* Have it, and give LIST back; false: one has to wait, and LIST is held. */
static bool have(weft_rwlock *l, uint64_t seen, enum mode mode)
{
	if (!may_have(l, seen, mode, WRITE))
		return false;
	wf_word_let_go(word_of(l), seen + weight[mode]);
	return true;
}

/* ------------------------------------------------------------------------ */
/* Lock. */

/* Wait, or have it right away: then commit refuses. */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct sleeper *s = (struct sleeper *)wf_waiter_of(a);
	weft_rwlock *l = s->lock;
	struct wf_list *list = list_of(l, s->mode);
	struct wf_node *n = &s->node;
	uint64_t seen = wf_word_hold(word_of(l));

	(void)f;
	if (have(l, seen, s->mode))
		return false;
	wf_list_add(list, n);
	if (!wf_waiter_park(&s->w)) {
		wf_list_remove(list, n);
		wf_word_let_go(word_of(l), seen);
		return false;
	}
	wf_word_let_go(word_of(l), seen | WF_RW_QUEUED);
	return true;
}

/* s waits no longer, and holds nobody back. */
static wf_noinline int give_up(weft_rwlock *l, struct sleeper *s, int err)
{
	uint64_t seen = wf_word_hold(word_of(l));

	wf_list_leave(list_of(l, s->mode), &s->node);
	grant(l, seen, WRITE);
	return err;
}

/* Do we write?  Nobody else stores what we look for. */
static bool writes(weft_rwlock *l)
{
	return wf_who_same(wf_load_rlx(owner_of(l)), wf_who_runs());
}

/* firm: nothing but the lock ends it. */
static wf_noinline wf_may_switch int lock_slow(
	weft_rwlock *l, enum mode mode, weft_time deadline, bool firm)
{
	struct sleeper s;
	uint64_t seen = wf_word_hold(word_of(l));
	int err;

	if (have(l, seen, mode))
		return 0;
	wf_word_let_go(word_of(l), seen);
	s.lock = l;
	s.mode = mode;
	wf_node_open(&s.node, &s.w);
	wf_assert(deadline != WEFT_FOREVER || !writes(l),
		"weft_rwlock %p: locked by who writes already", (void *)l);
	err = firm ? wf_wait_firm(&s.w, commit, "rwlock", l)
		   : wf_wait(&s.w, commit, "rwlock", l, deadline);
	return err < 0 ? give_up(l, &s, err) : 0;
}

static inline int rdlock(weft_rwlock *l, weft_time deadline, bool firm)
{
	uint64_t seen;

	if (wf_unlikely(wf_who_spends() == 0))
		(void)wf_who_spent();
	seen = wf_load_rlx(word_of(l));
	while (!(seen & (WF_WORD_LIST | WF_RW_WRITER | WF_RW_QUEUED)))
		/* [pair: rwlock.word] See all that the last writer did. */
		if (wf_cas_weak_acq(word_of(l), &seen, seen + WF_RW_READER))
			return 0;
	return lock_slow(l, READ, deadline, firm);
}

static inline int wrlock(weft_rwlock *l, weft_time deadline, bool firm)
{
	uint64_t me = wf_who_spends(), free = 0;
	int err = 0;

	if (wf_unlikely(me == 0))
		me = wf_who_spent();

	/* [pair: rwlock.word] See all that the last holders did. */
	if (wf_unlikely(!wf_cas_acq(word_of(l), &free, WF_RW_WRITER))) {
		err = lock_slow(l, WRITE, deadline, firm);
		me = wf_who_runs();
	}
	if (!err)
		wf_store_rlx(owner_of(l), me);
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

void weft_rwlock_rdunlock(weft_rwlock *l)
{
	uint64_t seen = wf_load_rlx(word_of(l));

	do {
		wf_assert(seen >= WF_RW_READER,
			"weft_rwlock %p: unlocked, but nobody reads",
			(void *)l);
		if (seen & (WF_WORD_LIST | WF_RW_QUEUED)) {
			seen = wf_word_hold(word_of(l));
			grant(l, seen - WF_RW_READER, WRITE);
			return;
		}
		/* [pair: rwlock.word] Show all we did; our last access. */
	} while (!wf_cas_weak_rel(word_of(l), &seen, seen - WF_RW_READER));
}

void weft_rwlock_wrunlock(weft_rwlock *l)
{
	uint64_t seen = WF_RW_WRITER;

	wf_assert(writes(l), "weft_rwlock %p: unlocked by who does not write",
		(void *)l);
	wf_store_rlx(owner_of(l), 0);
	/* [pair: rwlock.word] Show all we did; our last access. */
	if (wf_likely(wf_cas_rel(word_of(l), &seen, 0)))
		return;
	seen = wf_word_hold(word_of(l));
	grant(l, seen - WF_RW_WRITER, READ);
}
