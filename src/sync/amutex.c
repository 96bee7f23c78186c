/* SPDX-License-Identifier: MIT */
/*
 * sync/amutex.c - the asynchronous mutex: tasks wait for it, not fibers.
 *
 * Roles.  LOCKERS call lock, each with a task.  The HOLDER is the task that has
 * the mutex, or the thread that unlocks for it.  WAITERS are tasks that lie in
 * the mutex.
 *
 * A waiter has room for a link, next_, and for nothing else: its run must stay.
 * So the mutex keeps the executors, in PLACES; with six of them it is as large
 * as a cache line.  A place is set once, by compare-and-swap, and does not
 * change: the first executors whose tasks have to wait get one each.  A waiter
 * whose executor finds all places taken by others waits with a RECORD, which is
 * allocated, links in the waiter's stead, and names both.
 *
 * A REF is the address of a waiter and, in its low bits, the number of the
 * place of its executor; or the address of a record, and RECORD.
 *
 * WORD:
 *	FREE	(0) no holder, no waiters
 *	HELD	(1) there is a holder, and no waiter is pushed
 *	a ref	there is a holder; the newest of the pushed waiters, linked by
 *		next_ (a ref, too) down to the oldest
 *
 *	FREE -> HELD		lock, and its task is the holder
 *	HELD, ref -> ref	lock: its task is pushed
 *	ref -> HELD		unlock takes all that were pushed, and puts them
 *				aside, the oldest first
 *	HELD -> FREE		unlock, if none is aside: its last access
 *
 * ASIDE, a ref: the waiters that were taken, in order.  By the holder.
 *
 *	(A1) There is at most one holder: FREE -> HELD makes one, and a
 *	     hand-over leaves the word as it is.
 *	(A2) No waiter is lost or handed the mutex twice: it is in the word
 *	     until one exchange takes it, and then aside until it is handed the
 *	     mutex.  The word becomes FREE only if none is aside and none was
 *	     pushed.
 *	(A3) Waiters get the mutex in the order of their pushes: the waiters
 *	     aside are older than those in the word.  No newcomer overtakes
 *	     them: the word is not FREE.
 *	(A4) Each holder's section happens before the next: by the word if it
 *	     was FREE between them, otherwise by the submit of the next.
 *	(A5) The unlocker touches the mutex last before it submits the next
 *	     holder, or by HELD -> FREE.
 *	(A6) No thread waits for another.  (An allocation may: only a record
 *	     needs one.)
 *
 * A push may find the word as it was although the list was taken and its newest
 * waiter has come back: it links to the waiter that is the newest then, and
 * reads no more of the list.
 *
 * A reader will assume that a place needs an order.  The locker that read or
 * set the place pushes afterwards, and the unlocker reads the place after it
 * has taken the push [amutex.push]; the place does not change in between.
 *
 * Rejected: a third word in weft_task, for its executor.  Every task of every
 * program would pay for it, and the first cache line of a fiber's descriptor,
 * which begins with a task, is full.  Rejected: to free a place when its last
 * waiter is gone.  Lockers of one executor that set a place at the same moment
 * would set several, so the last place could go with two executors.
 *
 * Reads next: exec/strand.c, a list of this kind for tasks of one executor.
 */
#include <weft/amutex.h>

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/limits.h"
#include "os/os.h"
#include "queue/resubmit_check.h"

typedef uintptr_t ref;

#define WF_AMUTEX_FREE ((ref)0)
#define WF_AMUTEX_HELD ((ref)1)

/* The low bits of a ref. */
#define WF_REF_BITS ((ref)7)
#define WF_REF_RECORD ((ref)7)

#define WF_PLACES_MAX (sizeof(((weft_amutex *)0)->places_) / sizeof(void *))

/* The public struct has no atomics, so that C++ can have it too. */
struct amutex {
	_Atomic(ref) word;		/* WORD */
	ref aside;			/* ASIDE */
	_Atomic(weft_executor *) place[WF_PLACES_MAX];	/* NULL: not set */
};

struct record {
	weft_task link;			/* must be first; only its next_ */
	weft_task *waiter;
	weft_executor *executor;
};

_Static_assert(sizeof(weft_amutex) == 64, "weft_amutex is part of the ABI");
_Static_assert(sizeof(weft_amutex) == sizeof(struct amutex), "same fields");
_Static_assert(WF_AMUTEX_PLACES <= WF_PLACES_MAX, "in the struct");
_Static_assert(WF_PLACES_MAX <= WF_REF_RECORD, "in a ref");
_Static_assert(_Alignof(weft_task) > WF_REF_BITS, "a task leaves the bits");

static struct amutex *amutex_of(weft_amutex *m)
{
	return (struct amutex *)m;
}

/* ------------------------------------------------------------------------ */
/* Refs. */

/* The task that links: the waiter itself, or that of its record. */
static weft_task *link_of(ref r)
{
	return (weft_task *)(r & ~WF_REF_BITS);
}

/* The number of the place of e; RECORD: all places are those of others. */
static ref find_place(struct amutex *m, weft_executor *e)
{
	for (ref i = 0; i < WF_AMUTEX_PLACES; i++) {
		weft_executor *at = wf_load_rlx(&m->place[i]);

		if (at == NULL && wf_cas_rlx(&m->place[i], &at, e))
			return i;
		if (at == e)
			return i;
	}
	return WF_REF_RECORD;
}

/* A ref for t, which will wait; 0: no memory. */
static ref ref_make(struct amutex *m, weft_task *t, weft_executor *e)
{
	ref place = find_place(m, e);
	struct record *r;

	if (place != WF_REF_RECORD)
		return (ref)t | place;
	r = wf_os_alloc(sizeof(*r));
	if (r == NULL)
		return 0;
	r->waiter = t;
	r->executor = e;
	return (ref)r | WF_REF_RECORD;
}

/* The waiter and executor of a ref, which is used up. */
static weft_task *ref_redeem(struct amutex *m, ref r, weft_executor **e)
{
	weft_task *t = link_of(r);
	struct record *record = (struct record *)t;

	if ((r & WF_REF_BITS) != WF_REF_RECORD) {
		*e = wf_load_rlx(&m->place[r & WF_REF_BITS]);
		return t;
	}
	t = record->waiter;
	*e = record->executor;
	wf_os_free(record);
	return t;
}

/* ------------------------------------------------------------------------ */
/* Lock. */

static bool take(struct amutex *m)
{
	ref seen = WF_AMUTEX_FREE;

	/* [pair: amutex.word] See all that the last holder did. */
	return wf_cas_acq(&m->word, &seen, WF_AMUTEX_HELD);
}

/* t holds m, which may be gone when this returns 0. */
static int begin(weft_amutex *m, weft_task *t, weft_executor *e)
{
	int err = e->submit(e, t, WEFT_HINT_DEFAULT);

	if (wf_unlikely(err))
		weft_amutex_unlock(m);
	return err;
}

/* Push the waiter of r; false: m is free. */
static bool push(struct amutex *m, ref r)
{
	ref seen = wf_load_rlx(&m->word);

	do {
		if (seen == WF_AMUTEX_FREE)
			return false;
		link_of(r)->next_ =
			(weft_task *)(seen == WF_AMUTEX_HELD ? 0 : seen);
		/* [pair: amutex.push] The waiter before the word. */
	} while (!wf_cas_weak_rel(&m->word, &seen, r));
	return true;
}

/* m was not free. */
static wf_noinline int lock_slow(
	weft_amutex *public, weft_task *t, weft_executor *e)
{
	struct amutex *m = amutex_of(public);
	ref r = ref_make(m, t, e);

	if (r == 0)
		return -ENOMEM;
	wf_resubmit_enter(t);
	while (!push(m, r)) {
		if (take(m)) {
			t = ref_redeem(m, r, &e);
			wf_resubmit_leave(t);
			return begin(public, t, e);
		}
	}
	return 0;
}

int weft_amutex_lock(weft_amutex *m, weft_task *t, weft_executor *e)
{
	if (t->run == NULL)
		return -EINVAL;
	return wf_likely(take(amutex_of(m))) ? begin(m, t, e)
					     : lock_slow(m, t, e);
}

/* ------------------------------------------------------------------------ */
/* Unlock. */

/* Take all that were pushed, the oldest first. */
static ref take_pushed(struct amutex *m)
{
	/* [pair: amutex.push] See the waiters. */
	ref r = wf_xchg_acq(&m->word, WF_AMUTEX_HELD), above = 0, below;

	for (; r != 0; r = below) {
		below = (ref)link_of(r)->next_;
		link_of(r)->next_ = (weft_task *)above;
		above = r;
	}
	return above;
}

/* Hand m over to the waiter of r, the first of those aside. */
static void hand_over(struct amutex *m, ref r)
{
	weft_executor *e;
	weft_task *t;

	m->aside = (ref)link_of(r)->next_;
	/* Our last access to m. */
	t = ref_redeem(m, r, &e);
	wf_resubmit_leave(t);
	if (wf_unlikely(e->submit(e, t, WEFT_HINT_NEXT) != 0)) {
		int err = weft_submit(weft_inline(), t, WEFT_HINT_DEFAULT);

		wf_assert(!err, "the inline executor refused a task");
	}
}

void weft_amutex_unlock(weft_amutex *public)
{
	struct amutex *m = amutex_of(public);
	ref held = WF_AMUTEX_HELD, first = m->aside;

	if (first == 0) {
		/* [pair: amutex.word] Show all we did; our last access. */
		if (wf_cas_rel(&m->word, &held, WF_AMUTEX_FREE))
			return;
		wf_assert(held != WF_AMUTEX_FREE,
			"weft_amutex %p: unlocked, but no task holds it",
			(void *)m);
		first = take_pushed(m);
	}
	hand_over(m, first);
}
