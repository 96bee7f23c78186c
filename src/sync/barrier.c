/* SPDX-License-Identifier: MIT */
/*
 * sync/barrier.c - the barrier.
 *
 * Who comes and is not the last waits in the list, and here_ counts those.  The
 * last one takes all of them out: this ends the phase, and the next begins.
 *
 * A waiter whose time is up is of the phase until it has taken itself out.  If
 * the last one was faster, the phase is complete with it, and it gets 0 like
 * the others: which of the two was first is decided by the lock.
 */
#include <weft/barrier.h>

#include "os/spin.h"
#include "wait/wait.h"

struct barrier_waiter {
	struct wf_waiter waiter; /* must be first */
	struct wf_node node;
	weft_barrier *barrier;
	bool came; /* it was in the list */
};

_Static_assert(sizeof(weft_barrier) == 32, "weft_barrier is part of the ABI");

static struct wf_spin *lock_of(weft_barrier *b)
{
	return (struct wf_spin *)&b->lock_;
}

static struct wf_list *list_of(weft_barrier *b)
{
	return (struct wf_list *)b->waiters_;
}

/* Holding the lock: would one more be the last? */
static bool is_last(const weft_barrier *b)
{
	return (uint64_t)b->here_ + 1 >= b->parties_;
}

/* Come as the last one; false: that one is not here yet. */
static bool complete(weft_barrier *b)
{
	struct wf_node *claimed = NULL;
	bool last;

	wf_spin_lock(lock_of(b));
	last = is_last(b);
	if (last) {
		claimed = wf_list_claim_all(list_of(b));
		b->here_ = 0;
	}
	wf_spin_unlock(lock_of(b));
	wf_list_wake_all(claimed, WEFT_HINT_DEFAULT);
	return last;
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct barrier_waiter *w = (struct barrier_waiter *)a;
	struct wf_node *n = &w->node;
	weft_barrier *b = w->barrier;
	bool parked = false;

	(void)f;
	wf_spin_lock(lock_of(b));
	if (!is_last(b)) {
		wf_list_add(list_of(b), n);
		parked = wf_waiter_park(&w->waiter);
		w->came = parked;
		if (parked)
			b->here_++;
		else
			wf_list_remove(list_of(b), n);
	}
	wf_spin_unlock(lock_of(b));
	return parked;
}

/* An error ended the wait; or was it complete all the same? */
static int give_up(weft_barrier *b, struct barrier_waiter *w, int err)
{
	struct wf_node *n = &w->node;

	wf_spin_lock(lock_of(b));
	if (n->list != NULL) {
		wf_list_remove(list_of(b), n);
		b->here_--;
	} else if (w->came) {
		err = 0;
	}
	wf_spin_unlock(lock_of(b));
	return err;
}

int weft_barrier_wait(weft_barrier *b, weft_time deadline)
{
	struct barrier_waiter w;
	int err;

	w.barrier = b;
	w.came = false;
	do {
		if (complete(b)) {
			wf_wait_not();
			return 1;
		}
		wf_node_open(&w.node, &w.waiter);
		err = wf_wait(&w.waiter, commit, "barrier", b, deadline);
	} while (err > 0);
	return err ? give_up(b, &w, err) : 0;
}
