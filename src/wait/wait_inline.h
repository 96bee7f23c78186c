/* SPDX-License-Identifier: MIT */
/*
 * wait/wait_inline.h - the wait itself, for the functions that may switch.
 *
 * wf_wait is one; objects whose waits must be fast have it inline in theirs, so
 * that the registers of the caller are saved once, and there is one return on
 * the way back to it (wf_return_by_jump).
 *
 * Reads next: wait/wait.c
 */
#ifndef WF_SCHED_WAIT_HERE_H
#define WF_SCHED_WAIT_HERE_H

#include "sched/switch.h"
#include "wait/wait.h"

/* The word of a waiter that is a plain thread. */
enum { WF_WAITER_WAITING, WF_WAITER_CLAIMED, WF_WAITER_WOKEN, WF_WAITER_GONE };

/* What a fiber's wait is like, into w; or it may not wait at all. */
wf_must_check int wf_wait_prepare(struct wf_waiter *w, struct wf_thread *t,
	weft_fiber *f, weft_time deadline);

/* The commit of f's wait refused, or nobody's claim ended it: as wf_wait. */
wf_must_check int wf_wait_outcome(
	struct wf_waiter *w, weft_fiber *f, uint64_t seen);

/* As wf_wait, for a plain thread. */
wf_must_check int wf_wait_thread(struct wf_waiter *w, weft_time deadline);

/* Field by field: to clear all of it takes longer than the rest of a wait. */
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
 * Most wait for as long as it takes, and nothing was asked of them.  If all are
 * stopped, they find out when the wait begins.
 */
wf_inline bool wf_wait_is_plain(
	struct wf_waiter *w, weft_fiber *f, weft_time deadline)
{
	uint64_t epoch = wf_load_rlx(&f->wait) & -WF_WAIT_EPOCH;

	w->wait = epoch + WF_WAIT_EPOCH;
	return deadline == WEFT_FOREVER && (f->own | wf_load_rlx(&f->cut)) == 0;
}

/* f, on t, waits as w says. */
wf_inline int wf_wait_fiber(struct wf_waiter *w, struct wf_thread *t,
	weft_fiber *f, const char *what, const void *on)
{
	uint64_t seen;
	int refused;

	wf_own_stack(t, f);
	wf_fiber_note(f, what, on, wf_thread_clock(t));
	if (wf_unlikely(t->visitor))
		refused = wf_visit_suspend(t, f, &w->awaiter);
	else
		refused = wf_suspend_here(t, f, &w->awaiter,
			wf_pick_quick(t->proc), WF_AFTER_COMMIT);
	/* Relaxed: what the claimer did came by the queue, or by the word. */
	seen = wf_load_rlx(&f->wait);
	wf_store_rlx(&f->waits_for, NULL);
	wf_store_rlx(&f->wait, seen & -WF_WAIT_EPOCH);
	if (wf_likely(!refused && !(seen & (WF_WAIT_CUT | WF_WAIT_LATE))))
		return 0;
	return wf_wait_outcome(w, f, seen);
}

/* As wf_wait. */
wf_inline int wf_wait_here(struct wf_waiter *w, wf_commit_fn *commit,
	const char *what, const void *on, weft_time deadline)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;
	int err;

	wf_waiter_open(w, commit, f);
	if (wf_unlikely(f == NULL))
		return wf_wait_thread(w, deadline);
	if (wf_unlikely(!wf_wait_is_plain(w, f, deadline))) {
		err = wf_wait_prepare(w, t, f, deadline);
		if (err)
			return err;
	}
	return wf_wait_fiber(w, t, f, what, on);
}

#endif
