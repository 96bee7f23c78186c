/* SPDX-License-Identifier: MIT */
/*
 * wait/wait_inline.h - the fast form of wait/wait.h, for channels and mutexes.
 *
 * wf_wait is made of the functions here.  An object whose waits must be fast
 * has them inline in its own function that may switch.  So the registers of its
 * caller are saved once, and there is one return on the way back to the caller
 * (wf_return_by_jump).
 *
 * A PLAIN wait has no deadline and no shield, and its runtime has membarrier:
 * most waits.  Each fast function says what it leaves to the slow one.
 *
 * Reads next: wait/wait.c
 */
#ifndef WF_WAIT_WAIT_INLINE_H
#define WF_WAIT_WAIT_INLINE_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "fiber/fiber.h"
#include "sched/foreign.h"
#include "sched/submit.h"
#include "sched/switch.h"
#include "wait/wait.h"

/* The word of a waiter that is a plain thread. */
enum { WF_WAITER_WAITING, WF_WAITER_CLAIMED, WF_WAITER_WOKEN, WF_WAITER_GONE };

/* ------------------------------------------------------------------------ */
/* In commit. */

/*
 * The wait of a fiber begins, in phase: wakers can claim it from here on.
 * fence is false in a runtime that has membarrier.  False: the fiber was
 * canceled, or its runtime stops; the caller calls wf_waiter_cancel.
 */
wf_must_check wf_inline bool wf_waiter_begin(
	struct wf_waiter *w, uint64_t phase, bool fence)
{
	weft_fiber *f = w->fiber;
	struct weft_rt *rt = wf_fiber_rt(f);

	/*
	 * [pair: fiber.wake] A waker that claims it SETTLED finds the fiber off
	 * its stack.
	 */
	wf_store_rel(&f->wait, w->wait | phase);
	/*
	 * [pair: fiber.cancel] The wait before the look at CANCEL, and
	 * [pair: rt.stopping] before the look at whether the runtime stops.
	 */
	wf_fence_light();
	if (fence)
		wf_fence_seq(); /* [pair: fiber.cancel] */
	return wf_likely(
		wf_load_rlx(&f->cancel) == 0 && !wf_load_rlx(&rt->stopping));
}

/*
 * The fiber was canceled when its wait began in phase.  The result is what
 * wf_waiter_publish or wf_waiter_arm returns.
 */
wf_must_check bool wf_waiter_cancel(struct wf_waiter *w, uint64_t phase);

wf_must_check wf_inline bool wf_waiter_is_plain(const struct wf_waiter *w)
{
	const weft_fiber *f = w->fiber;

	return wf_likely(f != NULL &&
		!(w->wait & (WF_WAIT_TIMED | WF_WAIT_SHIELDED)) &&
		((struct weft_rt *)wf_fiber_rt(f))->membarrier);
}

/* wf_waiter_publish of a plain waiter; false: see wf_waiter_cancel. */
wf_must_check wf_inline bool wf_waiter_publish_plain(struct wf_waiter *w)
{
	return wf_waiter_begin(w, WF_WAIT_SETTLED, false);
}

/* ------------------------------------------------------------------------ */
/* Claim and wake. */

/* wf_waiter_claim; false: try that one, the waiter may be a thread or ARMED. */
wf_must_check wf_inline bool wf_waiter_claim_fast(struct wf_node *n)
{
	struct wf_waiter *w = n->waiter;
	weft_fiber *f = w->fiber;
	uint64_t seen = w->wait | WF_WAIT_SETTLED;

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

/* wf_list_claim; NULL: try that one, see wf_waiter_claim_fast. */
wf_inline struct wf_node *wf_list_claim_fast(struct wf_list *list)
{
	struct wf_node *n = list->first;

	if (wf_unlikely(n == NULL || !wf_waiter_claim_fast(n)))
		return NULL;
	wf_list_shift(list);
	return n;
}

/*
 * wf_waiter_wake with the default hint, by a fiber on t; false: nothing was
 * done, the waiter may be a thread, ARMED, or of another runtime, or the local
 * queue full.
 */
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

/* ------------------------------------------------------------------------ */
/* Wait. */

/* Set up w for a wait of f that is not plain; an error: f may not wait. */
wf_must_check int wf_wait_prepare(struct wf_waiter *w, struct wf_thread *t,
	weft_fiber *f, weft_time deadline);

/*
 * The result of a wait of f whose commit refused, or that a deadline or a
 * cancellation ended; seen is the WAIT word as it ended.
 */
wf_must_check int wf_wait_outcome(
	struct wf_waiter *w, weft_fiber *f, uint64_t seen);

/* wf_wait of a plain thread. */
wf_must_check int wf_wait_thread(struct wf_waiter *w, weft_time deadline);

/* Field by field: to clear all of w takes longer than the rest of a wait. */
wf_inline void wf_waiter_open(
	struct wf_waiter *w, wf_commit_fn *commit, weft_fiber *f)
{
	w->awaiter.commit = commit;
	w->awaiter.next = NULL;
	w->fiber = f;
	wf_store_rlx(&w->word, WF_WAITER_WAITING);
	w->err = 0;
	w->runs = false;
}

/*
 * Set up w for a wait without a deadline of a fiber that is neither shielded
 * nor canceled; false: it is another wait.  If the runtime stops, the beginning
 * of the wait finds out.
 */
wf_inline bool wf_wait_is_plain(
	struct wf_waiter *w, weft_fiber *f, weft_time deadline)
{
	uint64_t epoch = wf_load_rlx(&f->wait) & -WF_WAIT_EPOCH;

	w->wait = epoch + WF_WAIT_EPOCH;
	return deadline == WEFT_FOREVER &&
		(f->own | wf_load_rlx(&f->cancel)) == 0;
}

/* f, on *t, waits as w says; *t is then the thread it is on afterwards. */
wf_inline int wf_wait_fiber(struct wf_waiter *w, struct wf_thread **t,
	weft_fiber *f, const char *what, const void *on)
{
	uint64_t seen;
	int refused;

	wf_own_stack(*t, f);
	wf_fiber_note(f, what, on, wf_proc_time((*t)->proc));
	if (wf_unlikely((*t)->foreign)) {
		refused = wf_foreign_suspend(*t, f, &w->awaiter);
		*t = wf_here();
	} else {
		refused = wf_suspend_inline(t, f, &w->awaiter,
			wf_pick_quick((*t)->proc), WF_AFTER_COMMIT);
	}
	/* Relaxed: what the claimer did came by the queue, or by the word. */
	seen = wf_load_rlx(&f->wait);
	wf_store_rlx(&f->waits_for, NULL);
	wf_store_rlx(&f->wait, seen & -WF_WAIT_EPOCH);
	if (wf_likely(!refused && !(seen & (WF_WAIT_CANCELED | WF_WAIT_LATE))))
		return 0;
	return wf_wait_outcome(w, f, seen);
}

/* wf_wait on *t, which is then the thread that the caller is on afterwards. */
wf_inline int wf_wait_inline(struct wf_thread **t, struct wf_waiter *w,
	wf_commit_fn *commit, const char *what, const void *on,
	weft_time deadline)
{
	weft_fiber *f = *t ? (*t)->current : NULL;
	int err;

	wf_waiter_open(w, commit, f);
	if (wf_unlikely(f == NULL))
		return wf_wait_thread(w, deadline);
	if (wf_unlikely(!wf_wait_is_plain(w, f, deadline))) {
		/* After an error it may have given way. */
		err = wf_wait_prepare(w, *t, f, deadline);
		if (err) {
			*t = wf_here();
			return err;
		}
	}
	return wf_wait_fiber(w, t, f, what, on);
}

#endif
