/* SPDX-License-Identifier: MIT */
/*
 * wait/wait.h - one wait of a fiber or a plain thread, that several may end.
 *
 * A WAITER, the record of one wait, lies in the frame of the function that
 * waits, and so do its NODES, by which it is in the lists of objects; most have
 * one.  Several wakers may try to end a wait: one that finds a node in an
 * object, a deadline, a cancellation.  One of them wins, by compare-and-swap on
 * the fiber's WAIT word (fiber/fiber.h) or, for a thread, on the waiter's own.
 * The others find that they lost.
 *
 *	waiter: wf_wait			waker
 *	  leave the stack
 *	  commit:
 *	    lock the object		  lock the object
 *	    look again			  wf_list_claim: the first node whose
 *	    wf_list_publish: node	    claim is won, out of the list
 *	      into the list		  unlock: its last access to the object
 *	    unlock			  wf_waiter_wake: its last to the waiter
 *
 * The commit publishes the node after the fiber has left its stack, under the
 * lock of the object.  So a waker that finds a node, and wins, has the frame of
 * the waiter to itself until it wakes the waiter: it can copy a value there.
 * A waiter that comes back without having been claimed (-ETIMEDOUT, -ECANCELED)
 * may still be in the list.  It takes the lock, calls wf_list_leave, and may
 * return only then.
 *
 * With several objects, or one without a lock, the order is wf_waiter_arm,
 * publish everywhere, wf_waiter_settle: between the two a waker may claim the
 * waiter while its commit still works on it.  The commit is refused then, and
 * the fiber runs on; but not before its waker has called wf_waiter_wake.
 *
 * A plain thread runs its commit on its own stack and sleeps on the word:
 *
 *	WAITING -> CLAIMED -> WOKEN	by its waker
 *	WAITING -> GONE			by itself: its time was up
 *
 * The fiber notes what it waits for, on which object, since about when; that
 * costs three stores and is always on.
 *
 * THE DOOR (sched/thread.h).  A public function enters the runtime before it
 * calls wf_wait, wf_waiter_wake or wf_claimed_wake, and leaves afterwards.
 * Locks, lists and claims touch no processor: they need no door.
 *
 * Reads next: sync/sem.c, a primitive; then wait/wait_inline.h
 */
#ifndef WF_WAIT_WAIT_H
#define WF_WAIT_WAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/fiber.h>
#include <weft/time.h>

#include "base/compiler.h"
#include "base/trail.h"
#include "queue/batch.h"
#include "sched/run.h"
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

/* The fields that a claimer touches come last, next to the node of most. */
struct wf_waiter {
	struct weft_awaiter awaiter;	/* must be first */
	_Atomic(uint32_t) word;		/* of a thread: see above */
	int16_t err;			/* of ours, if the commit refused */
	bool runs;			/* by its claimer: it was ARMED */
	weft_fiber *fiber;		/* NULL: a plain thread; fixed */
	uint64_t wait;			/* the fiber's WAIT, but for PHASE */
	struct wf_node *won;		/* by its claimer: the claimed node */
};

typedef bool wf_commit_fn(struct weft_awaiter *a, weft_fiber *f);

/* ------------------------------------------------------------------------ */
/* Wait. */

/*
 * Wait, as commit says, on the object `on'; w needs no initialisation.  The
 * caller has found that it would have to wait.  Inside; may switch.
 *
 *	0		claimed: w->won says by which node
 *	1		commit refused: there is nothing to wait for, look again
 *	-ETIMEDOUT	the deadline has passed: the caller takes its nodes out
 *	-ECANCELED	the fiber was canceled: the caller takes its nodes out
 *	-EAGAIN		(foreign executor) no thread for the deadline
 *
 * On an error the node may never have been in a list: wf_list_leave knows.
 */
wf_must_check wf_may_switch int wf_wait(struct wf_waiter *w,
	wf_commit_fn *commit, const char *what, const void *on,
	weft_time deadline);

/* wf_wait without a deadline, and no cancellation ends it: 0 or 1. */
wf_must_check wf_may_switch int wf_wait_shielded(struct wf_waiter *w,
	wf_commit_fn *commit, const char *what, const void *on);

/* Not a wait yet: pause for about as long as a short critical section. */
void wf_wait_spin(void);

/* Before a wait: n, in no list, is one of the nodes of w. */
static inline void wf_node_open(struct wf_node *n, struct wf_waiter *w)
{
	n->list = NULL;
	n->waiter = w;
}

/*
 * In commit, the node being in the list and the object locked: wakers can claim
 * the waiter from here on.  True: unlock, and commit returns true.  False: take
 * the node out, unlock, and commit returns false.
 */
wf_must_check bool wf_waiter_publish(struct wf_waiter *w);

/*
 * A public call ends that did not have to wait: spend a unit of the budget of
 * the fiber that made the call.  Outside; may switch.
 */
static inline void wf_end_call(void)
{
	struct wf_thread *t = wf_enter();

	if (t != NULL && t->current != NULL && wf_unlikely(--t->budget == 0)) {
		wf_yield(t, t->current);
		t = wf_here();
	}
	wf_leave(t);
}

/* wf_end_call for code that is inside already. */
static inline void wf_budget_spend(void)
{
	struct wf_thread *t = wf_here();

	if (t != NULL && t->current != NULL)
		wf_spend(t, t->current);
}

/* ------------------------------------------------------------------------ */
/* Claim and wake. */

/*
 * Holding the object's lock: try to be the one that ends the wait.  False:
 * another waker did.  The caller may still take the node out, and must not
 * touch it after it has given the lock back.
 */
wf_must_check bool wf_waiter_claim(struct wf_node *n);

/* The last access to a claimed waiter.  Inside, and not under a lock. */
void wf_waiter_wake(struct wf_waiter *w, weft_hint hint);

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

/* Holding the lock, after an error of wf_wait: take the node out, if in. */
static inline void wf_list_leave(struct wf_list *list, struct wf_node *n)
{
	if (n->list != NULL)
		wf_list_remove(list, n);
}

/*
 * In commit, holding the lock: put the node into the list and publish its
 * waiter.  Commit unlocks and returns the result; false: the node is out again.
 */
wf_must_check static inline bool wf_list_publish(
	struct wf_list *list, struct wf_node *n)
{
	wf_list_add(list, n);
	if (wf_waiter_publish(n->waiter))
		return true;
	wf_list_remove(list, n);
	return false;
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
 * NULL: no waiter is left.  The claim comes first: it would have to wait for
 * stores to the node, which is cold.
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

/*
 * Several claimed waiters, to be woken after the lock was given back.  Fibers
 * of one runtime are linked by their tasks, so that many become ready at once.
 */
struct wf_claimed {
	struct wf_batch fibers;		/* in order, of rt */
	struct weft_rt *rt;		/* of the first fiber */
	uint32_t ready_us;		/* READY of the fibers */
	struct wf_node *others;		/* all other waiters, linked by next */
	struct wf_trail trail;		/* of fibers */
};

static inline void wf_claimed_open(struct wf_claimed *c)
{
	c->fibers = (struct wf_batch){ 0 };
	c->others = NULL;
	c->trail.count = 0;
}

/* Add a node that the caller has claimed and taken out of its list. */
void wf_claimed_add(struct wf_claimed *c, struct wf_node *n);

/* Holding the lock: claim all waiters of the list, which is empty then. */
void wf_list_claim_all(struct wf_list *list, struct wf_claimed *c);

/* wf_waiter_wake for all of them, with the default hint. */
void wf_claimed_wake(struct wf_claimed *c);

/* ------------------------------------------------------------------------ */
/* For few primitives. */

/*
 * In commit, for several objects: arm; false: commit returns false at once.
 * Then publish everywhere, and return what settle says.  Or, having found that
 * there is nothing to wait for, return what disarm says: false.
 */
wf_must_check bool wf_waiter_arm(struct wf_waiter *w);
wf_must_check bool wf_waiter_settle(struct wf_waiter *w);
wf_must_check bool wf_waiter_disarm(struct wf_waiter *w);

/*
 * Memory for a waiter that cannot leave the list of its object and so outlives
 * the function that gives up: the thread that takes it out gives it back.  Not
 * cleared.  NULL: no memory.  Each processor keeps a few, so a wait does not
 * call the allocator again and again.  Inside; give: by any thread.
 */
#define WF_RECORD_BYTES 192

wf_must_check void *wf_record_take(void);
void wf_record_give(void *record);

/* wf_waiter_settle for fiber f, whose waiter may be gone; wait: of that. */
wf_must_check bool wf_wait_settle(weft_fiber *f, uint64_t wait);

/*
 * In the commit of a shielded wait that was published before its node: there is
 * nothing to wait for.  Returns false, as commit then does.
 */
wf_must_check bool wf_waiter_take_back(struct wf_waiter *w);

/*
 * For an object that may be freed while a waiter that gave up is still about to
 * look at it (sync/group.c).  leave, by that waiter: true: the node is still
 * the object's, take it out; false: do not touch the object.  disown, by a
 * waker that lost the claim, holding the lock: true: take the node out and
 * forget it; false: the waiter is about to leave and needs the object.
 *
 * With wf_waiter_claim_left (sync/mutex.c), leave says: true: the waiter stays
 * in the list, do not touch it; false: a waker has claimed it, and has woken.
 */
wf_must_check bool wf_waiter_leave(struct wf_waiter *w);
wf_must_check bool wf_waiter_disown(struct wf_node *n);

/*
 * wf_waiter_claim of a waiter whose owner, having called wf_waiter_leave, may
 * have left it behind with its fiber and its runtime freed.  False: it has.
 */
wf_must_check bool wf_waiter_claim_left(struct wf_node *n);

#endif
