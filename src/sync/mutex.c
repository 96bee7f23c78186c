/* SPDX-License-Identifier: MIT */
/*
 * sync/mutex.c - the mutex.
 *
 * WORD:
 *	LOCKED	the mutex has a holder
 *	WOKEN	an unlock chose a waiter to try for the mutex, and that waiter
 *		has neither got it nor gone back; there is at most one
 *	HANDOFF	unlock hands the mutex over to the first waiter
 *	link	the waiters: see sync/mutex_waiters.h
 *
 *	(M1) A waiter in the list will be chosen: LOCKED or WOKEN is set unless
 *	     the list is empty.
 *	(M2) HANDOFF is set only together with LOCKED, and WOKEN is not; so no
 *	     newcomer can take the mutex before the first waiter.
 *
 *	0 -> LOCKED			lock
 *	-LOCKED -> +LOCKED		lock, the fastest newcomer (take)
 *	+waiter				lock, by its commit, if LOCKED
 *	LOCKED -> 0			unlock
 *	-LOCKED +WOKEN, -waiter		unlock; the first waiter tries
 *	+LOCKED -WOKEN			the woken waiter got the mutex
 *	-WOKEN, +waiter			it did not: it is the first again; and
 *	+HANDOFF			it has waited for too long
 *	-waiter [-HANDOFF]		unlock hands over: it stays LOCKED
 *
 * A hand-over costs a switch for every turn, so unlock mostly does without.  A
 * fiber that comes by and finds the mutex free is faster than one that has to
 * be switched to, and many short sections are done meanwhile.
 *
 * LOCK-FREE.  Each step above is one compare-and-swap, and nothing is locked
 * besides the mutex.  A thread that is stopped anywhere in lock or unlock, and
 * neither holds the mutex nor was chosen or has chosen another, delays no other
 * thread.  From the choice until the chosen waiter has the mutex or has gone
 * back, that waiter and the thread that wakes it have the turn: if one of them
 * is stopped then, the waiters behind wait, as for a holder; newcomers do not.
 * A waiter that gives up leaves its record in the list and returns at once.
 *
 * A WOKEN waiter that gives up takes the mutex, if it is free, even after its
 * deadline: no other waiter would be chosen (M1).
 *
 * Unlock touches nothing of the mutex after the compare-and-swap by which
 * another fiber can have it.
 *
 * Reads next: sync/rwlock.c
 */
#include "sync/mutex.h"

#include <errno.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/sanitize.h"
#include "sync/mutex_waiters.h"

/*
 * So many looks at a mutex that is taken, a while apart: each takes the cache
 * line away from the holder, which may lock and unlock many times in between.
 */
#define WF_MUTEX_LOOKS 4

/* A waiter that has waited for 1 ms has the mutex handed over. */
#define WF_MUTEX_PATIENCE_NS ((int64_t)1000000)

_Static_assert(sizeof(weft_mutex) == 16, "weft_mutex is part of the ABI");

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
/* Lock. */

/* The caller, me, has taken the mutex; waits: by a call without a deadline. */
static inline void own(weft_mutex *m, uint64_t me, bool waits)
{
	wf_san_api_lock_taken(m, &m->owner_, false, waits);
	wf_store_rlx(owner_of(m), me);
}

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
static bool take(weft_mutex *m, bool woken, weft_time deadline)
{
	uint64_t me = wf_owner_runs();
	unsigned looks = deadline > WEFT_NOW ? WF_MUTEX_LOOKS : 0;

	for (;;) {
		uint64_t seen = wf_load_rlx(word_of(m));

		if (seen & WF_MUTEX_LOCKED) {
			if (looks-- == 0 || !may_run(m, seen, me))
				return false;
			wf_wait_spin();
		} else if (take_seen(m, seen, woken)) {
			own(m, me, deadline == WEFT_FOREVER);
			return true;
		}
	}
}

/*
 * Push s if the mutex is taken; false: it is free.  The push is the last access
 * to s.
 */
static bool push(struct wf_mutex_waiter *s)
{
	_Atomic(uint64_t) *word = word_of(s->mutex);
	uint64_t seen = wf_load_rlx(word), next;

	do {
		if (!(seen & WF_MUTEX_LOCKED))
			return false;
		next = wf_mutex_push(s, seen);
		if (s->first_again)
			next &= ~WF_MUTEX_WOKEN;
		if (s->hungry)
			next |= WF_MUTEX_HANDOFF;
		/* [pair: mutex.push] The holder sees s as it is. */
	} while (!wf_cas_weak_rel(word, &seen, next));
	return true;
}

/* Only an unlock can claim s: its wait begins before the push. */
static bool commit_shielded(struct weft_awaiter *a, weft_fiber *f)
{
	struct wf_mutex_waiter *s = (struct wf_mutex_waiter *)a;

	(void)f;
	return wf_waiter_publish(&s->w) &&
		(push(s) || wf_waiter_take_back(&s->w));
}

/*
 * s may be claimed, and freed by an unlock, as soon as it is pushed.  But its
 * fiber does not run before this commit has returned: its frame is there.
 */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct wf_mutex_waiter *s = (struct wf_mutex_waiter *)a;
	uint64_t wait = s->w.wait;
	bool *pushed = s->pushed;

	if (!wf_waiter_arm(&s->w))
		return false;
	*pushed = true;
	if (push(s))
		return f == NULL || wf_wait_settle(f, wait);
	*pushed = false;
	return wf_waiter_disarm(&s->w);
}

/*
 * The caller was chosen and gives up: another waiter must have the turn.
 * Returns err, or 0 if the caller has the mutex after all.
 */
static int pass_turn(weft_mutex *m, int err)
{
	uint64_t seen = wf_load_rlx(word_of(m));

	for (;;) {
		if (!(seen & WF_MUTEX_LOCKED)) {
			if (!take_seen(m, seen, true)) {
				seen = wf_load_rlx(word_of(m));
				continue;
			}
			own(m, wf_owner_runs(), false);
			return 0;
		}
		if (wf_cas_weak_rlx(word_of(m), &seen, seen & ~WF_MUTEX_WOKEN))
			return err;
	}
}

/* Is the caller the holder?  No other fiber writes our OWNER. */
static bool has_it(weft_mutex *m)
{
	return wf_owner_same(wf_load_rlx(owner_of(m)), wf_owner_runs());
}

/*
 * How the caller waits, again and again until it has the mutex.  shielded:
 * nothing but the mutex ends the wait.
 */
struct attempt {
	weft_mutex *mutex;
	weft_time deadline;
	bool shielded;
	bool pushed;		/* the waiter belongs to the list (V2) */
	bool woken;		/* the caller is the waiter that WOKEN means */
	int64_t since_ns;
};

/* Wait once with s.  1: try for the mutex.  0: the caller has it. */
static wf_may_switch int wait_once(
	struct attempt *a, struct wf_mutex_waiter *s)
{
	weft_mutex *m = a->mutex;
	int64_t now_ns = wf_os_now_ns();
	int err;

	if (a->since_ns == 0)
		a->since_ns = now_ns;
	wf_node_open(&s->node, &s->w);
	s->mutex = m;
	s->pushed = a->shielded ? NULL : &a->pushed;
	s->since_ns = a->since_ns;
	s->first_again = a->woken;
	s->hungry = a->woken && now_ns - a->since_ns > WF_MUTEX_PATIENCE_NS;
	s->handed = false;
	a->pushed = false;
	err = a->shielded
		? wf_wait_shielded(&s->w, commit_shielded, "mutex", m)
		: wf_wait(&s->w, commit, "mutex", m, a->deadline);
	if (err != 0)
		return err;
	if (!s->handed) {
		a->woken = true;
		return 1;
	}
	own(m, wf_owner_runs(), a->deadline == WEFT_FOREVER);
	return 0;
}

/*
 * The wait of s has ended with err, without an unlock.  True: s belongs to the
 * list, and the caller must not touch it.  False: s is the caller's; an unlock
 * may have chosen it meanwhile.
 */
static bool is_left(struct attempt *a, struct wf_mutex_waiter *s)
{
	struct wf_thread *t = wf_here();

	if (!a->pushed)
		return false;
	/* The wait of a plain thread ends by GONE. */
	if (t == NULL || t->current == NULL || wf_waiter_leave(&s->w))
		return true;
	a->woken = true;
	return false;
}

/* The caller gives up, with err: -ETIMEDOUT, ...; or has the mutex then: 0. */
static int give_up(struct attempt *a, struct wf_mutex_waiter *s, int err)
{
	bool handed;

	if (is_left(a, s))
		return err;
	handed = s->handed;
	wf_record_give(s);
	if (handed) {
		own(a->mutex, wf_owner_runs(), false);
		return 0;
	}
	return a->woken ? pass_turn(a->mutex, err) : err;
}

/* Lock a mutex that was taken.  s is the caller's until it gives up. */
static wf_may_switch int lock_waiting(
	struct attempt *a, struct wf_mutex_waiter *s)
{
	int err;

	do {
		err = wait_once(a, s);
	} while (err == 1 && !take(a->mutex, a->woken, a->deadline));
	if (err < 0)
		return give_up(a, s, err);
	if (!a->shielded)
		wf_record_give(s);
	return 0;
}

static wf_noinline wf_may_switch int lock_shielded(struct attempt *a)
{
	struct wf_mutex_waiter s;

	return lock_waiting(a, &s);
}

static wf_noinline wf_may_switch int lock_open(struct attempt *a)
{
	struct wf_mutex_waiter *s = wf_record_take();

	return s != NULL ? lock_waiting(a, s) : -ENOMEM;
}

/* Lock a mutex that is taken, or me is 0.  Inside. */
static wf_noinline wf_may_switch int lock_slow(
	weft_mutex *m, uint64_t me, weft_time deadline, bool shielded)
{
	struct attempt a = { .mutex = m,
		.deadline = deadline,
		.shielded = shielded };

	if (me == 0)
		(void)wf_owner_spent();
	if (take(m, false, deadline))
		return 0;
	if (deadline <= WEFT_NOW)
		return -ETIMEDOUT;
	wf_assert(deadline != WEFT_FOREVER || !has_it(m),
		"weft_mutex %p: its holder locks it again", (void *)m);
	return shielded ? lock_shielded(&a) : lock_open(&a);
}

/* Take the mutex, if it is free and the caller need not give way before. */
static inline bool lock_fast(weft_mutex *m, uint64_t me, weft_time deadline)
{
	uint64_t free = 0;

	/* [pair: mutex.word] See all that the last holder did. */
	if (wf_unlikely(
		    me == 0 || !wf_cas_acq(word_of(m), &free, WF_MUTEX_LOCKED)))
		return false;
	own(m, me, deadline == WEFT_FOREVER);
	return true;
}

void weft_mutex_lock(weft_mutex *m)
{
	struct wf_thread *t = wf_enter();
	uint64_t me = wf_owner_spends(t);

	if (wf_unlikely(!lock_fast(m, me, WEFT_FOREVER))) {
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

	if (wf_unlikely(!lock_fast(m, me, deadline))) {
		err = lock_slow(m, me, deadline, false);
		t = wf_here();
	}
	wf_leave(t);
	return err;
}

void wf_mutex_lock(weft_mutex *m)
{
	uint64_t me = wf_owner_spends(wf_here());

	if (wf_unlikely(!lock_fast(m, me, WEFT_FOREVER)))
		(void)lock_slow(m, me, WEFT_FOREVER, true);
}

/* ------------------------------------------------------------------------ */
/* Unlock. */

/* Does the first of queue still have the mutex handed over after s? */
static bool stays_handoff(struct wf_mutex_waiter *s,
	struct wf_mutex_waiter *queue, int64_t now_ns)
{
	return queue != NULL && now_ns - s->since_ns >= WF_MUTEX_PATIENCE_NS;
}

/* The word when s, claimed, or NULL, was taken out and queue is left. */
static uint64_t word_after(uint64_t seen, struct wf_mutex_waiter *s,
	struct wf_mutex_waiter *queue)
{
	uint64_t next = queue ? (uintptr_t)queue | WF_MUTEX_SORTED : 0;

	if (s == NULL)
		return next;
	s->handed = seen & WF_MUTEX_HANDOFF;
	if (!s->handed)
		return next | WF_MUTEX_WOKEN;
	next |= WF_MUTEX_LOCKED;
	if (stays_handoff(s, queue, wf_os_now_ns()))
		next |= WF_MUTEX_HANDOFF;
	return next;
}

/*
 * The mutex has waiters, and none is WOKEN: let the first have it, or try for
 * it.  No other thread sets WOKEN meanwhile.
 */
static void choose(weft_mutex *m)
{
	struct wf_mutex_waiter *queue = NULL, *gone = NULL, *s = NULL;
	uint64_t known = 0, seen, next;

	do {
		/* [pair: mutex.push] See the waiters as they were pushed. */
		seen = wf_load_acq(word_of(m));
		queue = wf_mutex_sort(seen, known, queue);
		known = seen & WF_MUTEX_LINK;
		if (s == NULL)
			s = wf_mutex_claim(&queue, &gone);
		next = word_after(seen, s, queue);
		/* [pair: mutex.word] Show all we did; our last access. */
	} while (!wf_cas_rel(word_of(m), &seen, next));
	wf_mutex_waiters_free(gone);
	if (s != NULL)
		wf_waiter_wake(&s->w, WEFT_HINT_DEFAULT);
}

/* There is a waiter, or one was woken. */
static wf_noinline void unlock_slow(weft_mutex *m, uint64_t seen)
{
	wf_assert(seen & WF_MUTEX_LOCKED,
		"weft_mutex %p: the caller unlocks it, but it is not locked",
		(void *)m);
	do {
		if ((seen & WF_MUTEX_LINK) && !(seen & WF_MUTEX_WOKEN)) {
			choose(m);
			return;
		}
		/* [pair: mutex.word] Show all we did; our last access. */
	} while (!wf_cas_weak_rel(
		word_of(m), &seen, seen & ~WF_MUTEX_LOCKED));
}

static inline void release(weft_mutex *m)
{
	uint64_t seen = WF_MUTEX_LOCKED;

	wf_store_rlx(owner_of(m), wf_san_api_lock_left(m, false));
	/* [pair: mutex.word] Show all we did; our last access. */
	if (wf_unlikely(!wf_cas_rel(word_of(m), &seen, 0)))
		unlock_slow(m, seen);
}

/* Unlock by a plain thread, or by a fiber that is not the holder. */
static wf_noinline void unlock_checked(weft_mutex *m)
{
	wf_assert(has_it(m), "weft_mutex %p: the caller unlocks it, but %s",
		(void *)m,
		wf_load_rlx(word_of(m)) & WF_MUTEX_LOCKED
			? "another fiber or thread holds it"
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
