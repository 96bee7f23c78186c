/* SPDX-License-Identifier: MIT */
/*
 * wait/wait.h - one wait of a fiber or a plain thread, that several may end.
 *
 * A WAITER lies in the frame of who waits, and so do its NODES, by which it is
 * in the lists of objects; most have one.  Who may end the wait: whoever finds
 * a node in an object, a deadline, a cancellation.  One of them wins, by
 * compare-and-swap on the fiber's WAIT word (fiber/fiber.h) or, for a thread,
 * on the waiter's own; the others find that they lost.
 *
 *	who waits: wf_wait		who ends it
 *	  leave the stack
 *	  commit:
 *	    lock the object		  lock the object
 *	    look again			  wf_waiter_claim: won?
 *	    node into the list		  take its node out of the list
 *	    wf_waiter_park		  unlock: the last access to the object
 *	    unlock			  wf_waiter_wake: the last to the waiter
 *
 * Everything is published after the fiber has left its stack, under the lock of
 * the object.  So a waker that finds a node, and wins, has the frame of who
 * waits to itself until it wakes it: a value can be copied there.  And whoever
 * comes back without having been claimed (-ETIMEDOUT, -ECANCELED) finds its
 * node in the list, or taken out by a waker that lost: it takes the lock to
 * see, and may return only then.
 *
 * With several objects, or one without a lock, the order is wf_waiter_arm,
 * publish everywhere, wf_waiter_settle: between the two the waiter may be
 * claimed while its commit still works on it.  The commit then is refused, and
 * who waits runs on; but not before its waker has called wf_waiter_wake.
 *
 * A plain thread runs its commit on its own stack and sleeps on the word:
 *
 *	WAITING -> CLAIMED -> WOKEN	by its waker
 *	WAITING -> GONE			by itself: its time was up
 *
 * The fiber notes what it waits for, on which object, since about when; that
 * costs three stores and is always on.
 *
 * Reads next: wait/wait_inline.h, the wait itself; then sync/event.c, an object.
 */
#ifndef WF_SCHED_WAIT_H
#define WF_SCHED_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/fiber.h>
#include <weft/time.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "fiber/fiber.h"
#include "sched/run.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/thread.h"

struct wf_list;
struct wf_waiter;

struct wf_node {
	struct wf_node *next;		/* these three by the object's lock */
	struct wf_node *prev;
	struct wf_list *list;		/* that it is in; NULL: none */
	struct wf_waiter *waiter;	/* fixed */
};

/* First come, first served; all-zero is empty.  By the object's lock. */
struct wf_list {
	struct wf_node *first;
	struct wf_node *last;
};

/* What a claimer touches comes last, next to the node of most. */
struct wf_waiter {
	struct weft_awaiter awaiter;	/* must be first */
	_Atomic(uint32_t) word;		/* see above */
	int16_t err;			/* of ours, if the commit refused */
	bool runs;			/* by its claimer: it was ARMED */
	weft_fiber *fiber;		/* NULL: a plain thread; fixed */
	uint64_t wait;			/* the fiber's WAIT, but for PHASE */
	struct wf_node *won;		/* by its claimer: which node it was */
};

typedef bool wf_commit_fn(struct weft_awaiter *a, weft_fiber *f);

/*
 * Wait, as commit says, on the object `on'; w needs no initialisation.  The
 * caller has found that it would have to wait.
 *
 *	0		claimed: w->won says by which node
 *	1		commit refused: there is nothing to wait for, look again
 *	-ETIMEDOUT	the deadline has passed: the caller takes its nodes out
 *	-ECANCELED	the fiber was cancelled: the same
 *	-EAGAIN		(abroad) no thread could be had for the deadline
 *
 * On an error the node may never have been in a list: wf_list_leave knows.
 */
wf_must_check wf_may_switch int wf_wait(struct wf_waiter *w,
	wf_commit_fn *commit, const char *what, const void *on,
	weft_time deadline);

/* The same, and nothing but a claim ends it: 0 or 1. */
wf_must_check wf_may_switch int wf_wait_firm(struct wf_waiter *w,
	wf_commit_fn *commit, const char *what, const void *on);

/*
 * In commit, the node being in the list and the object locked.  True: unlock,
 * and true is what commit returns.  False: take the node out, unlock, and
 * return false.
 */
wf_must_check bool wf_waiter_park(struct wf_waiter *w);

/*
 * In commit, for several objects: arm; false: commit returns false at once.
 * Then publish everywhere, and return what settle says.  Or, having found that
 * there is nothing to wait for, return what disarm says: false.
 */
wf_must_check bool wf_waiter_arm(struct wf_waiter *w);
wf_must_check bool wf_waiter_settle(struct wf_waiter *w);
wf_must_check bool wf_waiter_disarm(struct wf_waiter *w);

/*
 * Holding the object's lock: be the one who ends the wait.  False: it was ended
 * otherwise; the node may still be taken out, and is not ours once the lock is
 * given back.
 */
wf_must_check bool wf_waiter_claim(struct wf_node *n);

/* The last access to a waiter that was claimed.  Not under a lock. */
void wf_waiter_wake(struct wf_waiter *w, weft_hint hint);

/*
 * For an object that may be freed while somebody who gave up is still about to
 * look at it (sync/group.c).  leave, by who gave up: true: the node is still
 * the object's, take it out; false: do not touch the object.  disown, by who
 * lost the claim, holding the lock: true: take the node out and forget it;
 * false: it is about to leave and needs the object.
 */
wf_must_check bool wf_waiter_leave(struct wf_waiter *w);
wf_must_check bool wf_waiter_disown(struct wf_node *n);

/* The fiber was cut when its wait began in phase: as wf_waiter_park. */
wf_must_check bool wf_waiter_cut(struct wf_waiter *w, uint64_t phase);

/*
 * The same as wf_waiter_park, wf_waiter_claim and wf_waiter_wake, with what is
 * likely inline, for objects that must be fast.  t is the thread we are on.
 */
wf_must_check wf_inline bool wf_waiter_is_plain(const struct wf_waiter *w)
{
	const weft_fiber *f = w->fiber;

	return wf_likely(f != NULL &&
		!(w->wait & (WF_WAIT_TIMED | WF_WAIT_FIRM)) &&
		((struct weft_rt *)wf_fiber_rt(f))->membarrier);
}

/* w is plain; false: it was cut, see wf_waiter_cut. */
wf_must_check wf_inline bool wf_waiter_park_plain(struct wf_waiter *w)
{
	weft_fiber *f = w->fiber;
	struct weft_rt *rt = wf_fiber_rt(f);

	/* [pair: fiber.wake] Who claims finds the fiber off its stack. */
	wf_store_rel(&f->wait, w->wait | WF_WAIT_PARKED);
	/* [pair: fiber.cut] [pair: rt.stopping] As in wf_waiter_park. */
	wf_fence_light();
	return wf_likely(
		wf_load_rlx(&f->cut) == 0 && !wf_load_rlx(&rt->stopping));
}

/* The same, but false may also mean that it is not so simple. */
wf_must_check wf_inline bool wf_waiter_claim_fast(struct wf_node *n)
{
	struct wf_waiter *w = n->waiter;
	weft_fiber *f = w->fiber;
	uint64_t seen = w->wait | WF_WAIT_PARKED;

	/*
	 * [pair: fiber.wake] See all that its commit did after it was in our
	 * list.
	 */
	if (wf_unlikely(f == NULL ||
		    !wf_cas_acq(&f->wait, &seen, w->wait | WF_WAIT_CLAIMED)))
		return false;
	w->won = n;
	return true;
}

/* With the default hint; false: nothing was done. */
wf_must_check wf_inline bool wf_waiter_wake_fast(
	struct wf_thread *t, struct wf_waiter *w)
{
	weft_fiber *f = w->fiber;
	struct wf_proc *p = t->proc;

	if (wf_unlikely(f == NULL || w->runs || t->rt != wf_fiber_rt(f)))
		return false;
	wf_store_rlx(&f->ready_us, p->clock_us);
	return wf_push_fast(p, wf_entry_of(&f->task));
}

/* n, in no list, is one of w's. */
static inline void wf_node_open(struct wf_node *n, struct wf_waiter *w)
{
	n->list = NULL;
	n->waiter = w;
}

static inline struct wf_waiter *wf_waiter_of(struct weft_awaiter *a)
{
	return (struct wf_waiter *)a;
}

static inline void wf_list_add(struct wf_list *list, struct wf_node *n)
{
	n->next = NULL;
	n->prev = list->last;
	n->list = list;
	if (list->last != NULL)
		list->last->next = n;
	else
		list->first = n;
	list->last = n;
}

static inline void wf_list_remove(struct wf_list *list, struct wf_node *n)
{
	if (n->prev != NULL)
		n->prev->next = n->next;
	else
		list->first = n->next;
	if (n->next != NULL)
		n->next->prev = n->prev;
	else
		list->last = n->prev;
	n->list = NULL;
}

/* Holding the lock, after an error of wf_wait. */
static inline void wf_list_leave(struct wf_list *list, struct wf_node *n)
{
	if (n->list != NULL)
		wf_list_remove(list, n);
}

/* Holding the lock: take the first out. */
wf_inline void wf_list_shift(struct wf_list *list)
{
	struct wf_node *n = list->first;

	list->first = n->next;
	if (n->next != NULL)
		n->next->prev = NULL;
	else
		list->last = NULL;
	n->list = NULL;
}

/*
 * Holding the lock: take nodes out until one is claimed, which is the result;
 * NULL: nobody waits.  The claim comes first: it would have to wait for stores
 * to the node, which is cold.
 */
static inline struct wf_node *wf_list_claim(struct wf_list *list)
{
	struct wf_node *n;
	bool won = false;

	while (!won && (n = list->first) != NULL) {
		won = wf_waiter_claim(n);
		wf_list_shift(list);
	}
	return n;
}

/* The same; NULL may also mean that it is not so simple. */
wf_inline struct wf_node *wf_list_claim_fast(struct wf_list *list)
{
	struct wf_node *n = list->first;

	if (wf_unlikely(n == NULL || !wf_waiter_claim_fast(n)))
		return NULL;
	wf_list_shift(list);
	return n;
}

/*
 * Holding the lock: claim all who wait.  They are linked by node.next; wake
 * them all after the lock was given back.
 */
struct wf_node *wf_list_claim_all(struct wf_list *list);
void wf_list_wake_all(struct wf_node *claimed, weft_hint hint);

/* A call that need not wait spends a unit of the budget.  May switch. */
static inline void wf_wait_not(void)
{
	struct wf_thread *t = wf_enter();

	if (t != NULL && t->current != NULL)
		wf_spend(t, t->current);
}

/*
 * Cancel: set bit in f's CUT.  Then, once for as many as were cut, fence; then
 * end the wait of each that is in one.  f must be known to live.
 */
void wf_cut_mark(weft_fiber *f, uint32_t bit);
void wf_cut_fence(struct weft_rt *rt);
void wf_cut_wake(weft_fiber *f);

/* The same in two steps, for who holds a lock: true: make it ready later. */
wf_must_check bool wf_cut_claim(weft_fiber *f);

#endif
