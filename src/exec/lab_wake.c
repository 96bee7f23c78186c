/* SPDX-License-Identifier: MIT */
/*
 * exec/lab_wake.c - the laboratory's wake rules and two-phase parking.
 *
 * exec/lab.h has the protocol and the rules.
 *
 * What a reader will wrongly assume: that the masks need more than relaxed
 * order.  The full fences [lab.sleep] order them against the queues, and a
 * queue orders the contents of its tasks.
 */
#include "exec/lab_priv.h"
#include "os/spin.h"

/* Clear the lowest bit of a mask and return it; 0: there is none. */
static uint64_t clear_lowest(_Atomic(uint64_t) *mask)
{
	uint64_t seen = wf_load_rlx(mask);

	while (seen != 0)
		if (wf_cas_weak_rlx(mask, &seen, seen & (seen - 1)))
			return seen & -seen;
	return 0;
}

static void get_up(struct wf_lab *lab, struct wf_lab_worker *w,
	struct wf_lab_worker *sleeper)
{
	/* [pair: lab.woken] It sees what we did before, the stop above all. */
	wf_store_rel(&sleeper->woken, 1);
	(void)wf_os_futex_wake(&sleeper->woken, 1);
	wf_lab_count(lab, w, WF_LAB_FUTEX, 1);
}

/* Wake the lowest sleeper; false: there is none. */
static bool wake_sleeper(struct wf_lab *lab, struct wf_lab_worker *w)
{
	uint64_t bit = clear_lowest(&lab->sleeping);

	if (bit == 0)
		return false;
	/*
	 * It is a searcher from here on, and not earlier: if no sleeper were
	 * left, another submitter would rely on a searcher that does not exist.
	 */
	if (lab->cfg.wake == WF_LAB_WAKE_GO)
		(void)wf_or_rlx(&lab->looking, bit);
	wf_lab_count(lab, w, WF_LAB_WAKES, 1);
	get_up(lab, w, &lab->workers[__builtin_ctzll(bit)]);
	return true;
}

/* For one task, by flare's rule; false: all workers are busy. */
static bool claim_or_wake(struct wf_lab *lab, struct wf_lab_worker *w)
{
	if (clear_lowest(&lab->looking) == 0)
		return wake_sleeper(lab, w);
	wf_lab_count(lab, w, WF_LAB_CLAIMS, 1);
	return true;
}

/* The caller has shown so many tasks; w is the worker that it is, or NULL. */
void wf_lab_wake(struct wf_lab *lab, struct wf_lab_worker *w, size_t shown)
{
	if (shown == 0)
		return;
	/* [pair: lab.sleep] The tasks before the look at the workers. */
	wf_fence_seq();
	switch (lab->cfg.wake) {
	case WF_LAB_WAKE_GO:
		if (wf_load_rlx(&lab->looking) == 0)
			(void)wake_sleeper(lab, w);
		break;
	case WF_LAB_WAKE_EVERY:
		while (shown-- > 0 && wake_sleeper(lab, w))
			continue;
		break;
	default:
		while (shown-- > 0 && claim_or_wake(lab, w))
			continue;
	}
}

/* w looks into the queues of other workers. */
void wf_lab_search(struct wf_lab_worker *w)
{
	if (w->lab->cfg.wake == WF_LAB_WAKE_GO)
		(void)wf_or_rlx(&w->lab->looking, w->bit);
}

/* w searches no more; was it the last searcher? */
static bool search_end(struct wf_lab_worker *w)
{
	if (w->lab->cfg.wake != WF_LAB_WAKE_GO ||
		!(wf_load_rlx(&w->lab->looking) & w->bit))
		return false;
	return wf_and_rlx(&w->lab->looking, ~w->bit) == w->bit;
}

/*
 * w has a task.  If submitters relied on w alone, another searcher takes its
 * place.  If w was claimed, that may have been for another task than this one.
 */
void wf_lab_found(struct wf_lab_worker *w)
{
	bool more = search_end(w);

	if (w->claimed) {
		w->claimed = false;
		/* [pair: lab.sleep] See the task that w was claimed for. */
		wf_fence_seq();
		more = wf_lab_has_tasks(w->lab);
	}
	wf_lab_wake(w->lab, w, more);
}

/* By flare's rule w becomes a spinner, if there are fewer than two (L3). */
bool wf_lab_spin_begin(struct wf_lab_worker *w)
{
	uint64_t seen = wf_load_rlx(&w->lab->looking);

	if (w->lab->cfg.wake != WF_LAB_WAKE_FLARE)
		return false;
	while (__builtin_popcountll(seen) < WF_LAB_SPINNERS_MAX)
		if (wf_cas_weak_rlx(&w->lab->looking, &seen, seen | w->bit))
			return true;
	return false;
}

/* Shall spinner w look once more?  looks counts from 1. */
bool wf_lab_spin_again(struct wf_lab_worker *w, unsigned looks)
{
	struct wf_lab *lab = w->lab;

	if (wf_load_rlx(&lab->pending) && wf_xchg_rlx(&lab->pending, false))
		(void)wake_sleeper(lab, w);
	wf_spin_pause(looks);
	return looks <= lab->cfg.spins &&
		(wf_load_rlx(&lab->looking) & w->bit);
}

void wf_lab_spin_end(struct wf_lab_worker *w, bool found)
{
	if (!(wf_and_rlx(&w->lab->looking, ~w->bit) & w->bit))
		w->claimed = true;
	if (found)
		wf_store_rlx(&w->lab->pending, true);
}

/* One more worker is idle; the last one tells the leaver (L4). */
static void be_idle(struct wf_lab *lab)
{
	struct wf_notice *told = NULL;

	wf_lock(&lab->rest_lock);
	if (++lab->idle == lab->cfg.workers && lab->leaver != NULL &&
		!wf_exec_has_fibers(&lab->exec) && !wf_lab_has_tasks(lab)) {
		told = lab->leaver;
		lab->leaver = NULL;
	}
	wf_unlock(&lab->rest_lock);
	if (told != NULL)
		wf_notice_tell(told);
}

/* The bit of w was set, and a waker has cleared it or will. */
static void wait_for_waker(struct wf_lab_worker *w)
{
	/*
	 * [pair: lab.woken] See what the waker did.  Were this a load and a
	 * store, the store could undo a second wake, by wf_lab_stop.
	 */
	while (wf_xchg_acq(&w->woken, 0) == 0) {
		wf_lab_count(w->lab, w, WF_LAB_FUTEX, 1);
		(void)wf_os_futex_wait(&w->woken, 0, INT64_MAX);
	}
}

/* Sleep until woken; return at once if there is a task. */
void wf_lab_park(struct wf_lab_worker *w)
{
	struct wf_lab *lab = w->lab;

	(void)search_end(w);
	(void)wf_or_rlx(&lab->sleeping, w->bit);
	/* [pair: lab.sleep] The bit before the last look at the queues. */
	wf_fence_seq();
	if (wf_lab_has_tasks(lab)) {
		if (!(wf_and_rlx(&lab->sleeping, ~w->bit) & w->bit))
			wait_for_waker(w);
		/* Submitters may have relied on w while it still searched. */
		wf_lab_search(w);
		return;
	}
	w->claimed = false;
	wf_lab_count(lab, w, WF_LAB_PARKS, 1);
	be_idle(lab);
	wait_for_waker(w);
	wf_lock(&lab->rest_lock);
	lab->idle--;
	wf_unlock(&lab->rest_lock);
}

/* The lab is to be destroyed: some worker passes be_idle after this. */
void wf_lab_leave(struct wf_lab *lab, struct wf_notice *l)
{
	wf_lock(&lab->rest_lock);
	lab->leaver = l;
	wf_unlock(&lab->rest_lock);
	/* A worker that was idle before has set its bit before. */
	(void)wake_sleeper(lab, NULL);
}

/* End the first n workers, which have no task. */
void wf_lab_stop(struct wf_lab *lab, uint32_t n)
{
	wf_store_rlx(&lab->stop, true);
	for (uint32_t i = 0; i < n; i++)
		get_up(lab, NULL, &lab->workers[i]);
	for (uint32_t i = 0; i < n; i++)
		wf_os_thread_join(&lab->workers[i].os);
}
