/* SPDX-License-Identifier: MIT */
/*
 * sched/wait.c - waiting, for fibers and for threads.
 */
#include "sched/wait.h"

#include <errno.h>

#include "os/os.h"
#include "sched/run.h"
#include "sched/runtime.h"
#include "sched/submit.h"

enum { WAITING, CLAIMED, WOKEN, GONE };

int wf_waiter_begin(struct wf_waiter *w, const char *what, const void *on)
{
	struct wf_thread *t = wf_enter();

	*w = (struct wf_waiter){ .fiber = t ? t->current : NULL };
	if (w->fiber == NULL)
		return 0;
	/*
	 * [pair: rt.stopping] A fiber that shutdown did not find, because it
	 * was just being spawned, finds out here.
	 */
	wf_fence_light();
	if (wf_load_rlx(&t->rt->stopping) ||
		!wf_wait_begin(w->fiber, &w->epoch))
		return -ECANCELED;
	wf_fiber_note(w->fiber, what, on, wf_thread_clock(t));
	return 0;
}

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	return wf_wait_park(f);
}

/* Who claimed us is done with the waiter. */
static void wait_released(struct wf_waiter *w)
{
	/* [pair: waiter.word] See all that was done before the wake. */
	while (wf_load_acq(&w->word) != WOKEN)
		wf_os_thread_yield();
}

static wf_may_switch int sleep_fiber(struct wf_waiter *w)
{
	struct weft_awaiter a = { .commit = commit };
	weft_fiber *f = w->fiber;
	bool ran_on = wf_suspend(wf_os_self(), f, &a) != 0;

	wf_store_rlx(&f->waits_for, NULL);
	if (wf_wait_end(f))
		return -ECANCELED;
	if (ran_on)
		wait_released(w);
	return 0;
}

static int sleep_thread(struct wf_waiter *w, weft_time deadline)
{
	for (;;) {
		/* [pair: waiter.word] See all that was done before the wake. */
		uint32_t seen = wf_load_acq(&w->word);

		if (seen == WOKEN)
			return 0;
		if (seen == CLAIMED)
			wf_os_thread_yield();
		else if (wf_os_futex_wait(&w->word, seen, deadline) ==
			-ETIMEDOUT)
			return -ETIMEDOUT;
	}
}

wf_may_switch int wf_waiter_sleep(struct wf_waiter *w, weft_time deadline)
{
	if (w->fiber != NULL)
		return sleep_fiber(w);
	return sleep_thread(w, deadline);
}

void wf_waiter_drop(struct wf_waiter *w)
{
	if (w->fiber == NULL)
		return;
	wf_store_rlx(&w->fiber->waits_for, NULL);
	(void)wf_wait_end(w->fiber);
}

bool wf_waiter_leave(struct wf_waiter *w)
{
	uint32_t waiting = WAITING;

	if (wf_cas_rlx(&w->word, &waiting, GONE))
		return true;
	wait_released(w);
	return false;
}

enum wf_taken wf_waiter_claim(struct wf_waiter *w, struct wf_batch *ready)
{
	weft_fiber *f = w->fiber;
	uint32_t waiting = WAITING;

	if (!wf_cas_rlx(&w->word, &waiting, CLAIMED))
		return WF_TAKEN_NOT;
	if (f == NULL || wf_wait_claim(f, w->epoch) != WF_CLAIM_WAKE)
		return WF_TAKEN_HELD;
	wf_batch_add(ready, &f->task);
	return WF_TAKEN_READY;
}

void wf_waiter_release(struct wf_waiter *w)
{
	bool thread = w->fiber == NULL;

	/* [pair: waiter.word] Our last access; the address may be reused. */
	wf_store_rel(&w->word, WOKEN);
	if (thread)
		(void)wf_os_futex_wake(&w->word, 1);
}

bool wf_waiter_wake(struct wf_waiter *w, weft_hint hint)
{
	struct wf_batch ready = { 0 };
	enum wf_taken taken = wf_waiter_claim(w, &ready);

	if (taken == WF_TAKEN_HELD)
		wf_waiter_release(w);
	else if (taken == WF_TAKEN_READY)
		wf_make_all_ready(&ready, hint);
	return taken != WF_TAKEN_NOT;
}

int wf_deadline_check(weft_time deadline)
{
	struct wf_thread *t = wf_enter();

	if (deadline == WEFT_FOREVER)
		return 0;
	if (deadline <= 0 || deadline <= wf_os_now_ns())
		return -ETIMEDOUT;
	return t != NULL && t->current != NULL ? -ENOTSUP : 0;
}
