/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/wait_scenarios.c - one wait that several may end (wait/wait.h).
 *
 * The object is a slot with a lock and a list.  The waiter lies in memory of
 * its own, which is freed the instant the wait is over: a waker that still
 * touches it then is caught.
 */
#include "sim/scenario.h"

#include "sim/fiber_kit.h"

#include <errno.h>

#include "os/os.h"
#include "os/spin.h"
#include "sched/submit.h"
#include "wait/wait_inline.h"

struct slot {
	struct wf_spin lock;
	struct wf_list list; /* by lock */
	bool signal;	     /* by lock: do not wait */
	int work;	     /* what was done before a wake */
};

static struct {
	struct slot *slot[2];
	unsigned slots; /* of them are waited on, each by a node */
	weft_time deadline;
	bool shielded, fast;
	weft_fiber *fiber; /* that waits, if a fiber does */
	int result;
	_Atomic(uint32_t) ended; /* how often by a claim */
	_Atomic(uint32_t) here;	 /* it is in the list, or will not be */
} s;

struct wait {
	struct wf_waiter w; /* must be first */
	struct wf_node own; /* of commit_one */
	struct wf_node node[2];
	int value; /* by the claimer, until it is woken */
};

static void slots_open(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		s.slot[i] = duo_alloc(sizeof(*s.slot[i]));
	s.slots = n;
	s.deadline = WEFT_FOREVER;
}

static void slots_close(void)
{
	for (unsigned i = 0; i < s.slots; i++) {
		weft_sim_assert(s.slot[i]->list.first == NULL,
			"the waiter is still there");
		wf_os_free(s.slot[i]);
	}
}

/* ------------------------------------------------------------------------ */
/* One object. */

/* As a channel does it. */
static bool park_fast(struct wf_waiter *w)
{
	if (!wf_waiter_is_plain(w))
		return wf_waiter_publish(w);
	return wf_waiter_publish_plain(w) ||
		wf_waiter_cancel(w, WF_WAIT_SETTLED);
}

static bool commit_one(struct weft_awaiter *a, weft_fiber *f)
{
	struct wf_waiter *w = (struct wf_waiter *)a;
	struct wf_node *n = &((struct wait *)a)->own;
	struct slot *slot = s.slot[0];

	(void)f;
	wf_spin_lock(&slot->lock);
	if (slot->signal) {
		wf_spin_unlock(&slot->lock);
		return false;
	}
	wf_list_add(&slot->list, n);
	if (!(s.fast ? park_fast(w) : wf_waiter_publish(w))) {
		wf_list_remove(&slot->list, n);
		wf_spin_unlock(&slot->lock);
		return false;
	}
	wf_store_rlx(&s.here, 1);
	wf_spin_unlock(&slot->lock);
	return true;
}

static void leave(struct slot *slot, struct wf_node *n)
{
	wf_spin_lock(&slot->lock);
	wf_list_leave(&slot->list, n);
	wf_spin_unlock(&slot->lock);
}

/* Wait for the signal, as sync/event.c does; the waiter is freed at once. */
static int slot_wait(void)
{
	struct wait *w = duo_alloc(sizeof(*w));
	int err;

	wf_node_open(&w->own, &w->w);
	err = s.shielded
		? wf_wait_shielded(&w->w, commit_one, "slot", s.slot[0])
		: wf_wait(&w->w, commit_one, "slot", s.slot[0], s.deadline);

	if (err < 0)
		leave(s.slot[0], &w->own);
	else
		weft_sim_assert(s.slot[0]->work == 1, "woken too early");
	if (err == 0)
		weft_sim_assert(w->value == 1 && w->w.won == &w->own,
			"what was handed over?");
	wf_os_free(w);
	return err > 0 ? 0 : err;
}

/* Claim under the lock, let go of the object, then of the waiter. */
static void slot_signal(struct slot *slot)
{
	struct wf_node *n;

	slot->work = 1;
	wf_spin_lock(&slot->lock);
	slot->signal = true;
	n = wf_list_claim(&slot->list);
	if (n != NULL)
		((struct wait *)n->waiter)->value = 1;
	wf_spin_unlock(&slot->lock);
	if (n == NULL)
		return;
	(void)wf_add_rlx(&s.ended, 1);
	wf_waiter_wake(n->waiter, WEFT_HINT_NEXT);
}

static void signal_from_thread(void *arg)
{
	(void)arg;
	slot_signal(s.slot[0]);
}

/* A plain thread waits; with arg, not for long. */
void wait_thread(void *arg)
{
	int waker, err;

	slots_open(1);
	if (arg != NULL)
		s.deadline = weft_after(1000);
	waker = duo_thread(signal_from_thread, NULL, "waker");
	err = slot_wait();
	weft_sim_assert(err == 0 || (arg != NULL && err == -ETIMEDOUT),
		"the wait ended with %d", err);
	(void)weft_sim_join(waker);
	slots_close();
}

static void *waiting_fiber(void *arg)
{
	(void)arg;
	s.result = slot_wait();
	duo_check_here(s.fiber);
	return &s.result;
}

static void *waking_fiber(void *arg)
{
	(void)arg;
	slot_signal(s.slot[0]);
	return NULL;
}

/* A fiber waits; somebody wakes it who has a processor, or has none (arg). */
void wait_fiber(void *arg)
{
	int waker = -1;

	slots_open(1);
	duo_open(0);
	s.fiber = duo_handle(0, waiting_fiber, NULL);
	if (arg == NULL)
		duo_root(1, waking_fiber, NULL);
	duo_start();
	if (arg != NULL)
		waker = duo_thread(signal_from_thread, NULL, "waker");
	duo_join();
	if (arg != NULL)
		(void)weft_sim_join(waker);
	weft_sim_assert(s.result == 0, "it ended with %d", s.result);
	weft_detach(s.fiber);
	duo_close();
	slots_close();
}

static void cancel_from_thread(void *arg)
{
	(void)arg;
	duo_cancel(s.fiber);
}

/* It is cancelled and woken at once: one of the two it is. */
void wait_cancel(void *arg)
{
	int canceller;

	(void)arg;
	slots_open(1);
	duo_open(0);
	s.fiber = duo_handle(0, waiting_fiber, NULL);
	duo_root(1, waking_fiber, NULL);
	duo_start();
	canceller = duo_thread(cancel_from_thread, NULL, "canceller");
	duo_join();
	(void)weft_sim_join(canceller);
	weft_sim_assert(s.result == 0 || s.result == -ECANCELED,
		"it ended with %d", s.result);
	weft_detach(s.fiber);
	duo_close();
	slots_close();
}

/* A wait that is shielded: nothing except the waker ends it. */
static void wait_shielded(void *arg)
{
	s.shielded = true;
	wait_cancel(arg);
	weft_sim_assert(s.result == 0, "it ended with %d", s.result);
}

/* ------------------------------------------------------------------------ */
/* Several objects. */

static bool enlist(struct slot *slot, struct wf_node *n)
{
	bool signal;

	wf_spin_lock(&slot->lock);
	signal = slot->signal;
	if (!signal)
		wf_list_add(&slot->list, n);
	wf_spin_unlock(&slot->lock);
	return !signal;
}

static bool commit_several(struct weft_awaiter *a, weft_fiber *f)
{
	struct wait *w = (struct wait *)a;

	(void)f;
	if (!wf_waiter_arm(&w->w))
		return false;
	for (unsigned i = 0; i < s.slots; i++) {
		w->node[i].waiter = &w->w;
		if (!enlist(s.slot[i], &w->node[i]))
			return wf_waiter_disarm(&w->w);
	}
	return wf_waiter_settle(&w->w);
}

/* Wait for the first signal; as chan/select.c does. */
static int wait_several(void)
{
	struct wait *w = duo_alloc(sizeof(*w));
	int err =
		wf_wait(&w->w, commit_several, "slots", s.slot[0], s.deadline);

	for (unsigned i = 0; i < s.slots; i++)
		leave(s.slot[i], &w->node[i]);
	if (err == 0) {
		weft_sim_assert(w->value == 1, "what was handed over?");
		weft_sim_assert(s.slot[w->w.won - w->node]->work == 1,
			"by which node?");
		weft_sim_assert(wf_load_rlx(&s.ended) == 1, "by how many?");
	}
	wf_os_free(w);
	return err > 0 ? 0 : err;
}

static void signal_other(void *arg)
{
	(void)arg;
	slot_signal(s.slot[1]);
}

/* A thread waits for two; with arg, not for long. */
static void several_thread(void *arg)
{
	int one, other, err;

	slots_open(2);
	if (arg != NULL)
		s.deadline = weft_after(1000);
	one = duo_thread(signal_from_thread, NULL, "one");
	other = duo_thread(signal_other, NULL, "other");
	err = wait_several();
	weft_sim_assert(err == 0 || (arg != NULL && err == -ETIMEDOUT),
		"the wait ended with %d", err);
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	slots_close();
}

static void *fiber_for_several(void *arg)
{
	(void)arg;
	s.result = wait_several();
	duo_check_here(s.fiber);
	return NULL;
}

/* A fiber does; woken by one who has a processor, and one who has none. */
static void several_fiber(void *arg)
{
	int other;

	(void)arg;
	slots_open(2);
	duo_open(0);
	s.fiber = duo_handle(0, fiber_for_several, NULL);
	duo_root(1, waking_fiber, NULL);
	duo_start();
	other = duo_thread(signal_other, NULL, "other");
	duo_join();
	(void)weft_sim_join(other);
	weft_sim_assert(s.result == 0, "it ended with %d", s.result);
	weft_detach(s.fiber);
	duo_close();
	slots_close();
}

/* ------------------------------------------------------------------------ */
/* Nobody signals: it ends by its cancellation, or never. */

static void cancel_waiter(
	void *(*waiter)(void *), unsigned slots, unsigned flags)
{
	int canceller;

	slots_open(slots);
	duo_open(flags | DUO_COARSE);
	s.fiber = duo_handle(0, waiter, NULL);
	duo_start();
	canceller = duo_thread(cancel_from_thread, NULL, "canceller");
	duo_join();
	(void)weft_sim_join(canceller);
	weft_sim_assert(s.result == -ECANCELED, "it ended with %d", s.result);
	weft_detach(s.fiber);
	duo_close();
	slots_close();
}

static void cancel_one(void *flags)
{
	cancel_waiter(waiting_fiber, 1, (unsigned)(uintptr_t)flags);
}

static void cancel_fast(void *flags)
{
	s.fast = true;
	cancel_one(flags);
}

static void cancel_several(void *flags)
{
	cancel_waiter(fiber_for_several, 2, (unsigned)(uintptr_t)flags);
}

/* ------------------------------------------------------------------------ */
/* The drainer frees the object, even if a waiter gives up meanwhile. */

/* Holding the lock; false: somebody is about to leave. */
static bool drain(struct slot *slot, struct wf_node **claimed)
{
	struct wf_node *n = slot->list.first;

	if (n == NULL)
		return true;
	wf_list_remove(&slot->list, n);
	if (wf_waiter_claim(n)) {
		*claimed = n;
		((struct wait *)n->waiter)->value = 1;
		return true;
	}
	if (wf_waiter_disown(n))
		return true;
	wf_list_add(&slot->list, n);
	return false;
}

static void drain_and_free(void *arg)
{
	struct slot *slot = s.slot[0];
	struct wf_node *claimed = NULL;

	(void)arg;
	duo_await(&s.here, 1);
	(void)weft_sleep_until(s.deadline);
	slot->work = 1;
	wf_spin_lock(&slot->lock);
	slot->signal = true;
	while (!drain(slot, &claimed)) {
		wf_spin_unlock(&slot->lock);
		weft_sim_yield();
		wf_spin_lock(&slot->lock);
	}
	wf_spin_unlock(&slot->lock);
	wf_os_free(slot);
	if (claimed != NULL)
		wf_waiter_wake(claimed->waiter, WEFT_HINT_DEFAULT);
}

/* A waiter that was never listed may not touch the object, perhaps gone. */
static void wait_and_leave(void)
{
	struct wait *w = duo_alloc(sizeof(*w));
	int err;

	wf_node_open(&w->own, &w->w);
	err = wf_wait(&w->w, commit_one, "slot", s.slot[0], s.deadline);

	weft_sim_assert(err == 0 || err == -ETIMEDOUT, "it ended with %d", err);
	if (err == 0)
		weft_sim_assert(w->value == 1, "what was handed over?");
	else if (wf_load_rlx(&s.here) == 0)
		wf_store_rlx(&s.here, 1);
	else if (wf_waiter_leave(&w->w))
		leave(s.slot[0], &w->own);
	wf_os_free(w);
}

static void *leaving_fiber(void *arg)
{
	wait_and_leave();
	return arg;
}

static void leave_open(void)
{
	slots_open(1);
	s.deadline = (weft_now() + ((weft_time)1 << 21)) &
		-((weft_time)1 << 21);
}

static void leave_thread(void *arg)
{
	int drainer;

	(void)arg;
	leave_open();
	drainer = duo_thread(drain_and_free, NULL, "drainer");
	wait_and_leave();
	(void)weft_sim_join(drainer);
}

static void leave_fiber(void *arg)
{
	int drainer;

	(void)arg;
	leave_open();
	duo_open(DUO_COARSE);
	duo_root(0, leaving_fiber, NULL);
	duo_start();
	drainer = duo_thread(drain_and_free, NULL, "drainer");
	duo_join();
	(void)weft_sim_join(drainer);
	duo_close();
}

/* ------------------------------------------------------------------------ */

#define NUMBER(n) ((void *)(uintptr_t)(n))

static const struct scenario table[] = {
	{ .name = "word/late",
		.body = word_wait,
		.arg = NUMBER(1),
		.opts.preemptions = 2,
		.complete = 1 },
	{ .name = "wait/shielded", .body = wait_shielded },
	{ .name = "wait/several", .body = several_thread },
	{ .name = "wait/several-timed",
		.body = several_thread,
		.arg = NUMBER(1) },
	{ .name = "wait/several-fiber", .body = several_fiber },
	{ .name = "wait/cancel-one", .body = cancel_one },
	{ .name = "wait/cancel-one-fenced",
		.body = cancel_one,
		.arg = NUMBER(DUO_FENCED) },
	{ .name = "wait/cancel-fast",
		.body = cancel_fast,
		.arg = NUMBER(DUO_FENCED) },
	{ .name = "wait/cancel-several", .body = cancel_several },
	{ .name = "wait/cancel-several-fenced",
		.body = cancel_several,
		.arg = NUMBER(DUO_FENCED) },
	{ .name = "wait/leave", .body = leave_thread },
	{ .name = "wait/leave-fiber", .body = leave_fiber },
};

const struct scenarios wait_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
