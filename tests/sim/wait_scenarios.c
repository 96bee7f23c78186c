/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/wait_scenarios.c - one wait that several may end (sched/wait.h).
 *
 * The object is a slot for one waiter under a lock.  The waiter lies in memory
 * of its own, which is freed the instant the wait is over: whoever still
 * touches it then is caught.
 */
#include "sim/fiber_kit.h"

#include <errno.h>

#include "os/lock.h"
#include "os/os.h"
#include "sched/submit.h"
#include "sched/wait.h"

struct slot {
	struct wf_lock lock;
	struct wf_waiter *waiter; /* by lock */
	bool signal;		  /* by lock: do not wait */
	int work;		  /* what was done before a wake */
	weft_time deadline;
	weft_fiber *fiber; /* who waits, if a fiber does */
	int result;
};

static struct slot *slot;

static void slot_open(void)
{
	slot = duo_alloc(sizeof(*slot));
	slot->deadline = WEFT_FOREVER;
}

static void slot_close(void)
{
	weft_sim_assert(slot->waiter == NULL, "the waiter is still there");
	wf_os_free(slot);
}

/* In the slot, or not because it was signalled before. */
static bool enlist(struct wf_waiter *w)
{
	bool signal;

	wf_lock(&slot->lock);
	signal = slot->signal;
	if (!signal)
		slot->waiter = w;
	wf_unlock(&slot->lock);
	return !signal;
}

static void delist(void)
{
	wf_lock(&slot->lock);
	slot->waiter = NULL;
	wf_unlock(&slot->lock);
}

/* Wait for the signal, as sync/group.c does; the waiter is freed at once. */
static int slot_wait(void)
{
	struct wf_waiter *w = duo_alloc(sizeof(*w));
	int err = wf_waiter_begin(w, "slot", slot);

	if (err == 0 && !enlist(w)) {
		wf_waiter_drop(w);
	} else if (err == 0) {
		err = wf_waiter_sleep(w, slot->deadline);
		if (err != 0 && !wf_waiter_leave(w))
			err = 0;
		else if (err != 0)
			delist();
	}
	wf_os_free(w);
	if (err == 0)
		weft_sim_assert(slot->work == 1, "it was woken too early");
	return err;
}

/* Claim under the lock, let go of the object, then of the waiter. */
static void slot_signal(void)
{
	struct wf_batch ready = { 0 };
	enum wf_taken taken = WF_TAKEN_NOT;
	struct wf_waiter *w;

	slot->work = 1;
	wf_lock(&slot->lock);
	slot->signal = true;
	w = slot->waiter;
	if (w != NULL)
		taken = wf_waiter_claim(w, &ready);
	if (taken != WF_TAKEN_NOT)
		slot->waiter = NULL;
	wf_unlock(&slot->lock);
	if (taken == WF_TAKEN_HELD)
		wf_waiter_release(w);
	wf_make_all_ready(&ready, WEFT_HINT_NEXT);
}

static void signal_from_thread(void *arg)
{
	(void)arg;
	slot_signal();
}

/* A plain thread waits; with arg, not for long. */
void wait_thread(void *arg)
{
	int waker, err;

	slot_open();
	if (arg != NULL)
		slot->deadline = weft_after(1000);
	waker = duo_thread(signal_from_thread, NULL, "waker");
	err = slot_wait();
	weft_sim_assert(err == 0 || (arg != NULL && err == -ETIMEDOUT),
		"the wait ended with %d", err);
	(void)weft_sim_join(waker);
	slot_close();
}

static void *waiting_fiber(void *arg)
{
	(void)arg;
	slot->result = slot_wait();
	duo_check_here(slot->fiber);
	return &slot->result;
}

static void *waking_fiber(void *arg)
{
	(void)arg;
	slot_signal();
	return NULL;
}

/* A fiber waits; somebody wakes it who has a processor, or has none (arg). */
void wait_fiber(void *arg)
{
	int waker = -1;

	slot_open();
	duo_open(0);
	slot->fiber = duo_handle(0, waiting_fiber, NULL);
	if (arg == NULL)
		duo_root(1, waking_fiber, NULL);
	duo_start();
	if (arg != NULL)
		waker = duo_thread(signal_from_thread, NULL, "waker");
	duo_join();
	if (arg != NULL)
		(void)weft_sim_join(waker);
	weft_sim_assert(slot->result == 0, "it ended with %d", slot->result);
	weft_detach(slot->fiber);
	duo_close();
	slot_close();
}

static void cancel_from_thread(void *arg)
{
	(void)arg;
	duo_cancel(slot->fiber);
}

/* It is cancelled and woken at once: one of the two it is. */
void wait_cancel(void *arg)
{
	int canceller;

	(void)arg;
	slot_open();
	duo_open(0);
	slot->fiber = duo_handle(0, waiting_fiber, NULL);
	duo_root(1, waking_fiber, NULL);
	duo_start();
	canceller = duo_thread(cancel_from_thread, NULL, "canceller");
	duo_join();
	(void)weft_sim_join(canceller);
	weft_sim_assert(slot->result == 0 || slot->result == -ECANCELED,
		"it ended with %d", slot->result);
	weft_detach(slot->fiber);
	duo_close();
	slot_close();
}
