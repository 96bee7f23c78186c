/* SPDX-License-Identifier: MIT */
/*
 * sync/barrier.c - the barrier.
 *
 * A caller that is not the last of its phase waits in the list; here_ counts
 * the waiters.  The last caller takes all of them out: this ends the phase, and
 * the next begins.
 *
 * A waiter whose time is up belongs to the phase until it has taken itself out.
 * If the last caller was faster, the phase is complete, and the waiter returns
 * 0 like the others: the lock decides which of the two was first.
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

/* Holding the lock: would one more caller be the last? */
static bool is_last(const weft_barrier *b)
{
	return (uint64_t)b->here_ + 1 >= b->parties_;
}

/* End the phase if the caller is the last of it; false: it is not. */
static bool complete(weft_barrier *b)
{
	struct wf_claimed claimed;
	struct wf_thread *t;
	bool last;

	wf_claimed_open(&claimed);
	wf_spin_lock(lock_of(b));
	last = is_last(b);
	if (last) {
		wf_list_claim_all(list_of(b), &claimed);
		b->here_ = 0;
	}
	wf_spin_unlock(lock_of(b));
	t = wf_enter();
	wf_claimed_wake(&claimed);
	wf_leave(t);
	return last;
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct barrier_waiter *w = (struct barrier_waiter *)a;
	weft_barrier *b = w->barrier;
	bool waits;

	(void)f;
	wf_spin_lock(lock_of(b));
	waits = !is_last(b) && wf_list_publish(list_of(b), &w->node);
	w->came = waits;
	b->here_ += waits;
	wf_spin_unlock(lock_of(b));
	return waits;
}

/* An error ended the wait; 0: the phase was complete all the same. */
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
			wf_end_call();
			return 1;
		}
		wf_node_open(&w.node, &w.waiter);
		(void)wf_enter();
		err = wf_wait(&w.waiter, commit, "barrier", b, deadline);
		wf_leave_here();
	} while (err > 0);
	return err ? give_up(b, &w, err) : 0;
}
