/* SPDX-License-Identifier: MIT */
/*
 * sync/cond.c - the condition variable.
 *
 *	waiter, holding m		signaller
 *	  leave the stack
 *	  commit:			  [change what m guards, holding m]
 *	    arm
 *	    node into the list		  some_ is 0, no waiter: return
 *	    unlock m			  claim a node
 *	    settle			  wake its waiter
 *	  go on: lock m
 *
 * The commit releases the mutex when the node is in the list, so the next
 * holder of the mutex finds the node, and some_.  A signal is a claim: it does
 * not claim a waiter whose time was up, and goes to the next.
 *
 * Why armed: the commit unlocks m, and a signaller may claim the fiber
 * meanwhile.  ARMED, the fiber does not run before the commit is done; else it
 * would find the mutex to be its own.
 *
 * A waiter that was claimed does not touch the cond again.
 */
#include <weft/cond.h>

#include "base/atomic.h"
#include "os/spin.h"
#include "wait/wait.h"
#include "sync/mutex.h"

struct cond_waiter {
	struct wf_waiter waiter; /* must be first */
	struct wf_node node;
	weft_cond *cond;
	weft_mutex *mutex;
	bool released; /* the mutex; the node was in the list */
};

_Static_assert(sizeof(weft_cond) == 24, "weft_cond is part of the ABI");

static struct wf_list *list_of(weft_cond *c)
{
	return (struct wf_list *)c->waiters_;
}

/*
 * Are there waiters?  Changed by the lock.  Relaxed: the mutex orders a waiter
 * and a signaller that has changed something since.
 */
static _Atomic(uint32_t) *some_of(weft_cond *c)
{
	return (_Atomic(uint32_t) *)&c->some_;
}

static void lock(weft_cond *c)
{
	wf_spin_lock((struct wf_spin *)&c->lock_);
}

static void unlock(weft_cond *c)
{
	wf_store_rlx(some_of(c), list_of(c)->first != NULL);
	wf_spin_unlock((struct wf_spin *)&c->lock_);
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct cond_waiter *w = (struct cond_waiter *)a;

	if (!wf_waiter_arm(&w->waiter))
		return false;
	w->released = true;
	lock(w->cond);
	wf_list_add(list_of(w->cond), &w->node);
	unlock(w->cond);
	wf_mutex_unlock_for(w->mutex, f);
	return wf_waiter_settle(&w->waiter);
}

int weft_cond_wait(weft_cond *c, weft_mutex *m, weft_time deadline)
{
	struct cond_waiter w;
	int err;

	w.cond = c;
	w.mutex = m;
	w.released = false;
	wf_node_open(&w.node, &w.waiter);
	(void)wf_enter();
	err = wf_wait(&w.waiter, commit, "cond", c, deadline);
	if (w.released) {
		if (err != 0) {
			lock(c);
			wf_list_leave(list_of(c), &w.node);
			unlock(c);
		}
		wf_mutex_lock(m);
	}
	wf_leave_here();
	return err;
}

void weft_cond_signal(weft_cond *c)
{
	struct wf_thread *t;
	struct wf_node *n;

	if (wf_load_rlx(some_of(c)) == 0)
		return;
	lock(c);
	n = wf_list_claim(list_of(c));
	unlock(c);
	if (n == NULL)
		return;
	t = wf_enter();
	wf_waiter_wake(n->waiter, WEFT_HINT_DEFAULT);
	wf_leave(t);
}

void weft_cond_broadcast(weft_cond *c)
{
	struct wf_claimed claimed;
	struct wf_thread *t;

	if (wf_load_rlx(some_of(c)) == 0)
		return;
	wf_claimed_open(&claimed);
	lock(c);
	wf_list_claim_all(list_of(c), &claimed);
	unlock(c);
	t = wf_enter();
	wf_claimed_wake(&claimed);
	wf_leave(t);
}
