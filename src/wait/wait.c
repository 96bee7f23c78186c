/* SPDX-License-Identifier: MIT */
/*
 * wait/wait.c - waiting, for fibers and for threads.
 */
#include "wait/wait.h"

#include <errno.h>

#include "base/units.h"
#include "os/os.h"
#include "exec/foreign_pool.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "wait/timers.h"
#include "wait/wait_inline.h"

/* A deadline that far ahead of a time that is not quite recent is ahead. */
#define WF_WAIT_FAR_NS (100 * WF_NS_PER_MS)

/* A wait may last longer by one part in so many. */
#define WF_WAIT_SLACK_SHIFT 8

/* Has it passed?  now_ns becomes a time that is recent enough for it. */
static bool is_past(struct wf_thread *t, weft_time deadline, int64_t *now_ns)
{
	*now_ns = 0;
	if (deadline == WEFT_FOREVER)
		return false;
	if (deadline <= 0)
		return true;
	*now_ns = t ? wf_thread_clock(t) : 0;
	if (deadline - *now_ns < WF_WAIT_FAR_NS || *now_ns == 0)
		*now_ns = wf_os_now_ns();
	return deadline <= *now_ns;
}

/*
 * When a wait until deadline has to end at the latest: it may last a little
 * longer, so that those which end about together end together.  By a power of
 * two, so that those which are about equally long and have the same deadline
 * end in the order in which they began.
 */
static int64_t latest(weft_time deadline, int64_t now_ns)
{
	int64_t slack = (deadline - now_ns) >> WF_WAIT_SLACK_SHIFT;

	if (slack > WF_SLACK_MAX_NS)
		slack = WF_SLACK_MAX_NS;
	if (slack > 1)
		slack = (int64_t)1 << (63 - __builtin_clzll((uint64_t)slack));
	return deadline < INT64_MAX - slack ? deadline + slack : deadline;
}

/*
 * The fiber was cut.  If it runs for long the time it knows is not recent, and
 * a deadline that has passed looked as if it were ahead.
 */
static wf_noinline int refuse(weft_time deadline)
{
	return deadline <= wf_os_now_ns() ? -ETIMEDOUT : -ECANCELED;
}

static int prepare(struct wf_waiter *w, struct wf_thread *t, weft_fiber *f,
	weft_time deadline)
{
	uint64_t epoch = wf_load_rlx(&f->wait) & -WF_WAIT_EPOCH;
	bool shield = f->own & WF_OWN_SHIELD;
	int64_t now_ns;

	if (is_past(t, deadline, &now_ns))
		return -ETIMEDOUT;
	w->wait = epoch + WF_WAIT_EPOCH + (shield ? WF_WAIT_FIRM : 0);
	if (!shield &&
		(wf_load_rlx(&f->cut) != 0 || wf_load_rlx(&t->rt->stopping)))
		return refuse(deadline);
	if ((f->own & WF_OWN_LIMIT) && !shield && f->limit < deadline) {
		deadline = f->limit;
		if (is_past(t, deadline, &now_ns))
			return -ETIMEDOUT;
	}
	if (deadline == WEFT_FOREVER)
		return 0;
	if (wf_unlikely(t->visitor) && wf_home_timers(wf_fiber_rt(f)) == NULL)
		return -EAGAIN;
	w->wait |= WF_WAIT_TIMED;
	wf_store_rlx(&f->until, deadline);
	wf_store_rlx(&f->latest, latest(deadline, now_ns));
	return 0;
}

int wf_wait_prepare(struct wf_waiter *w, struct wf_thread *t, weft_fiber *f,
	weft_time deadline)
{
	int err = prepare(w, t, f, deadline);

	/* Who only tries, again and again, gives way too. */
	if (err)
		wf_spend(t, f);
	return err;
}

/* Who claimed us is done with the waiter. */
static void wait_released(struct wf_waiter *w)
{
	/* [pair: waiter.word] See all that was done before the wake. */
	while (wf_load_acq(&w->word) != WF_WAITER_WOKEN)
		wf_os_thread_yield();
}

int wf_wait_outcome(struct wf_waiter *w, weft_fiber *f, uint64_t seen)
{
	if ((seen & WF_WAIT_PHASE) == WF_WAIT_IDLE)
		return w->err ? w->err : 1;
	if (seen & WF_WAIT_CUT)
		return -ECANCELED;
	if (seen & WF_WAIT_LATE)
		return wf_fiber_is_cut(f) ? -ECANCELED : -ETIMEDOUT;
	wait_released(w);
	return 0;
}

static int sleep_thread(struct wf_waiter *w, weft_time deadline)
{
	if (!w->awaiter.commit(&w->awaiter, NULL)) {
		uint32_t seen = wf_load_rlx(&w->word);

		if (seen == WF_WAITER_WAITING || seen == WF_WAITER_GONE)
			return 1;
		wait_released(w);
		return 0;
	}
	for (;;) {
		/* [pair: waiter.word] See all that was done before the wake. */
		uint32_t seen = wf_load_acq(&w->word);

		if (seen == WF_WAITER_WOKEN)
			return 0;
		if (seen == WF_WAITER_CLAIMED)
			wf_os_thread_yield();
		else if (wf_os_futex_wait(&w->word, seen, deadline) ==
				-ETIMEDOUT &&
			wf_cas_rlx(&w->word, &seen, WF_WAITER_GONE))
			return -ETIMEDOUT;
	}
}

int wf_wait_thread(struct wf_waiter *w, weft_time deadline)
{
	int64_t now_ns;

	return is_past(NULL, deadline, &now_ns) ? -ETIMEDOUT
						: sleep_thread(w, deadline);
}

wf_may_switch int wf_wait(struct wf_waiter *w, wf_commit_fn *commit,
	const char *what, const void *on, weft_time deadline)
{
	return wf_wait_here(w, commit, what, on, deadline);
}

wf_may_switch int wf_wait_firm(struct wf_waiter *w, wf_commit_fn *commit,
	const char *what, const void *on)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;

	wf_waiter_open(w, commit, f);
	if (f == NULL)
		return sleep_thread(w, WEFT_FOREVER);
	w->wait = (wf_load_rlx(&f->wait) & -WF_WAIT_EPOCH) + WF_WAIT_EPOCH +
		WF_WAIT_FIRM;
	return wf_wait_fiber(w, t, f, what, on);
}

/* Take the wait back, which is in phase; false: it was claimed. */
static bool take_back(struct wf_waiter *w, uint64_t phase)
{
	uint64_t seen = w->wait | phase;

	return wf_cas_rlx(&w->fiber->wait, &seen, w->wait & -WF_WAIT_EPOCH);
}

/*
 * The wait begins, in phase.  Was the fiber cut?  Then take it back; false: the
 * commit is to refuse.
 */
static bool begin(struct wf_waiter *w, uint64_t phase)
{
	weft_fiber *f = w->fiber;
	struct weft_rt *rt = wf_fiber_rt(f);
	struct wf_timers *timers = NULL;

	if (w->wait & WF_WAIT_TIMED)
		timers = wf_timers_hold(f);
	/* [pair: fiber.wake] Who claims finds the fiber off its stack. */
	wf_store_rel(&f->wait, w->wait | phase);
	if (timers != NULL)
		wf_timers_let_go(timers);
	if (w->wait & WF_WAIT_FIRM)
		return true;
	/*
	 * [pair: fiber.cut] The wait before the look at who cuts it short, and
	 * [pair: rt.stopping] at whether all are.
	 */
	wf_fence_light();
	if (wf_unlikely(!rt->membarrier))
		wf_fence_seq(); /* [pair: fiber.cut] */
	if (wf_likely(wf_load_rlx(&f->cut) == 0 && !wf_load_rlx(&rt->stopping)))
		return true;
	return wf_waiter_cut(w, phase);
}

bool wf_waiter_cut(struct wf_waiter *w, uint64_t phase)
{
	if (!take_back(w, phase))
		return phase == WF_WAIT_PARKED;
	w->err = -ECANCELED;
	return false;
}

bool wf_waiter_park(struct wf_waiter *w)
{
	return w->fiber == NULL || begin(w, WF_WAIT_PARKED);
}

bool wf_waiter_arm(struct wf_waiter *w)
{
	return w->fiber == NULL || begin(w, WF_WAIT_ARMED);
}

bool wf_waiter_settle(struct wf_waiter *w)
{
	uint64_t seen = w->wait | WF_WAIT_ARMED;

	if (w->fiber == NULL)
		return true;
	/* [pair: fiber.wake] Who claims finds the fiber off its stack. */
	return wf_cas_rel(&w->fiber->wait, &seen, w->wait | WF_WAIT_PARKED);
}

bool wf_waiter_disarm(struct wf_waiter *w)
{
	uint32_t waiting = WF_WAITER_WAITING;

	if (w->fiber != NULL)
		(void)take_back(w, WF_WAIT_ARMED);
	else
		(void)wf_cas_rlx(&w->word, &waiting, WF_WAITER_GONE);
	return false;
}

bool wf_waiter_claim(struct wf_node *n)
{
	struct wf_waiter *w = n->waiter;
	uint32_t waiting = WF_WAITER_WAITING;
	enum wf_claim claim;

	if (w->fiber == NULL) {
		if (!wf_cas_rlx(&w->word, &waiting, WF_WAITER_CLAIMED))
			return false;
	} else {
		claim = wf_wait_claim(w->fiber, w->wait, 0);
		if (claim == WF_CLAIM_LOST)
			return false;
		w->runs = claim == WF_CLAIM_RUNS;
	}
	w->won = n;
	return true;
}

void wf_waiter_wake(struct wf_waiter *w, weft_hint hint)
{
	weft_fiber *f = w->fiber;

	if (wf_likely(f != NULL && !w->runs)) {
		wf_make_ready(f, hint);
		return;
	}
	/* [pair: waiter.word] Our last access; the address may be reused. */
	wf_store_rel(&w->word, WF_WAITER_WOKEN);
	if (f == NULL)
		(void)wf_os_futex_wake(&w->word, 1);
}

bool wf_waiter_leave(struct wf_waiter *w)
{
	uint32_t waiting = WF_WAITER_WAITING;

	if (wf_load_rlx(&w->word) == WF_WAITER_GONE ||
		wf_cas_rlx(&w->word, &waiting, WF_WAITER_GONE))
		return true;
	wait_released(w);
	return false;
}

bool wf_waiter_disown(struct wf_node *n)
{
	uint32_t waiting = WF_WAITER_WAITING;

	/* [pair: waiter.word] Our last access to the waiter. */
	return wf_cas_rel(&n->waiter->word, &waiting, WF_WAITER_WOKEN);
}

/*
 * Where many have waited for long, each touch of one is a miss.  So they come
 * by that many, and what will be touched of all of these is fetched first.
 */
#define WF_LIST_AHEAD 16

/* Some of the fibers from n on will be claimed. */
static void fetch_waits(const struct wf_node *n)
{
	for (unsigned i = 0; n != NULL && i < WF_LIST_AHEAD; i++, n = n->next)
		if (n->waiter->fiber != NULL) {
			wf_prefetch(&n->waiter->fiber->wait);
			wf_prefetch(n->waiter->fiber);
		}
}

struct wf_node *wf_list_claim_all(struct wf_list *list)
{
	struct wf_node *first = NULL, **end = &first, *n;
	unsigned count = 0;

	for (;;) {
		if (count++ % WF_LIST_AHEAD == 0)
			fetch_waits(list->first);
		n = wf_list_claim(list);
		if (n == NULL)
			break;
		*end = n;
		end = &n->next;
	}
	*end = NULL;
	return first;
}

void wf_list_wake_all(struct wf_node *n, weft_hint hint)
{
	struct wf_waiter *w[WF_LIST_AHEAD];
	unsigned count;

	while (n != NULL) {
		for (count = 0; n != NULL && count < WF_LIST_AHEAD; count++) {
			w[count] = n->waiter;
			if (n->waiter->fiber != NULL && !n->waiter->runs)
				wf_fiber_prefetch(n->waiter->fiber);
			n = n->next;
		}
		for (unsigned i = 0; i < count; i++)
			wf_waiter_wake(w[i], hint);
	}
}

void wf_cut_mark(weft_fiber *f, uint32_t bit)
{
	wf_fiber_use(f);
	(void)wf_or_rlx(&f->cut, bit);
}

void wf_cut_fence(struct weft_rt *rt)
{
	/*
	 * [pair: fiber.cut] The bits, and [pair: rt.stopping] that all stop,
	 * before the look at the waits.
	 */
	wf_fence_seq();
	/* [pair: fiber.cut] In those who have only the light fence. */
	if (rt->membarrier)
		wf_os_membarrier();
}

bool wf_cut_claim(weft_fiber *f)
{
	uint64_t seen = wf_load_rlx(&f->wait);
	uint64_t phase = seen & WF_WAIT_PHASE;

	if (phase != WF_WAIT_ARMED && phase != WF_WAIT_PARKED)
		return false;
	return !(seen & WF_WAIT_FIRM) &&
		wf_wait_claim(f, seen, WF_WAIT_CUT) == WF_CLAIM_WAKE;
}

void wf_cut_wake(weft_fiber *f)
{
	if (wf_cut_claim(f))
		wf_make_ready(f, WEFT_HINT_DEFAULT);
}
