/* SPDX-License-Identifier: MIT */
/*
 * sync/cond.c - the condition variable.
 *
 *	who waits, holding m		who signals
 *	  leave the stack
 *	  commit:			  [change what m guards, holding m]
 *	    arm
 *	    node into the list		  some_?  nobody waits: return
 *	    unlock m			  claim a node
 *	    settle			  wake it
 *	  go on: lock m
 *
 * The mutex is released when the node is in the list, so who has it afterwards
 * finds the node, and some_.  A signal is a claim: a waiter whose time was up
 * is not claimed, and the signal goes to the next.
 *
 * Why armed: m is unlocked in the commit, where the fiber may be claimed, but
 * does not go on before that is done.  It would find the mutex to be its own.
 *
 * Who was claimed does not touch the cond again.
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
 * Are there waiters?  Changed by the lock.  Relaxed: the mutex orders who waits
 * and who has changed something since.
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
	err = wf_wait(&w.waiter, commit, "cond", c, deadline);
	if (!w.released)
		return err;
	if (err != 0) {
		lock(c);
		wf_list_leave(list_of(c), &w.node);
		unlock(c);
	}
	weft_mutex_lock(m);
	return err;
}

void weft_cond_signal(weft_cond *c)
{
	struct wf_node *n;

	if (wf_load_rlx(some_of(c)) == 0)
		return;
	lock(c);
	n = wf_list_claim(list_of(c));
	unlock(c);
	if (n != NULL)
		wf_waiter_wake(n->waiter, WEFT_HINT_DEFAULT);
}

void weft_cond_broadcast(weft_cond *c)
{
	struct wf_node *claimed;

	if (wf_load_rlx(some_of(c)) == 0)
		return;
	lock(c);
	claimed = wf_list_claim_all(list_of(c));
	unlock(c);
	wf_list_wake_all(claimed, WEFT_HINT_DEFAULT);
}
