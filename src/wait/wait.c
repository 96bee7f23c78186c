/* SPDX-License-Identifier: MIT */
/*
 * wait/wait.c - waiting, for fibers and for threads.
 */
#include "wait/wait.h"

#include <errno.h>

#include "base/units.h"
#include "os/os.h"
#include "os/spin.h"
#include "sched/foreign.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "wait/cancel.h"
#include "wait/timers.h"
#include "wait/wait_inline.h"

/*
 * A deadline that is this far ahead of the processor's time, which may be old,
 * has not passed.
 */
#define WF_WAIT_FAR_NS (100 * WF_NS_PER_MS)

/* A wait may last longer by one part in so many. */
#define WF_WAIT_SLACK_SHIFT 8

_Static_assert(_Alignof(struct weft_fiber) >= WF_CACHE_LINE,
	"sync/mutex.h has bits of its own in the address of a fiber");

/* Has the deadline passed?  *now_ns is then a time that is recent enough. */
static bool is_past(struct wf_thread *t, weft_time deadline, int64_t *now_ns)
{
	*now_ns = 0;
	if (deadline == WEFT_FOREVER)
		return false;
	if (deadline <= 0)
		return true;
	*now_ns = t ? wf_proc_time(t->proc) : 0;
	if (deadline - *now_ns < WF_WAIT_FAR_NS || *now_ns == 0)
		*now_ns = wf_os_now_ns();
	return deadline <= *now_ns;
}

/*
 * When a wait until deadline has to end at the latest.  It may last a little
 * longer, so that one wake-up of the processor ends all waits that are due at
 * about the same time.  The slack is a power of two, so that waits that are
 * about equally long and have the same deadline end in the order in which they
 * began.
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
 * The fiber was canceled.  If it has run for long, the processor's time is old,
 * and a deadline that has passed looked as if it were ahead.
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
	w->wait = epoch + WF_WAIT_EPOCH + (shield ? WF_WAIT_SHIELDED : 0);
	if (!shield &&
		(wf_load_rlx(&f->cancel) != 0 || wf_load_rlx(&t->rt->stopping)))
		return refuse(deadline);
	if ((f->own & WF_OWN_LIMIT) && !shield && f->limit < deadline) {
		deadline = f->limit;
		if (is_past(t, deadline, &now_ns))
			return -ETIMEDOUT;
	}
	if (deadline == WEFT_FOREVER)
		return 0;
	if (wf_unlikely(t->foreign) &&
		wf_foreign_pool_timers(wf_fiber_rt(f)) == NULL)
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

	/* A fiber that only tries, again and again, gives way too. */
	if (err)
		wf_spend(t, f);
	return err;
}

/* Wait until the claimer has called wf_waiter_wake: it is done with w. */
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
	if (seen & WF_WAIT_CANCELED)
		return -ECANCELED;
	if (seen & WF_WAIT_LATE)
		return wf_fiber_is_canceled(f) ? -ECANCELED : -ETIMEDOUT;
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
			/* [pair: waiter.gone] Our last access to w. */
			wf_cas_rel(&w->word, &seen, WF_WAITER_GONE))
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
	struct wf_thread *t = wf_here();

	return wf_wait_inline(&t, w, commit, what, on, deadline);
}

wf_may_switch int wf_wait_shielded(struct wf_waiter *w, wf_commit_fn *commit,
	const char *what, const void *on)
{
	struct wf_thread *t = wf_here();
	weft_fiber *f = t ? t->current : NULL;

	wf_waiter_open(w, commit, f);
	if (f == NULL)
		return sleep_thread(w, WEFT_FOREVER);
	w->wait = (wf_load_rlx(&f->wait) & -WF_WAIT_EPOCH) + WF_WAIT_EPOCH +
		WF_WAIT_SHIELDED;
	return wf_wait_fiber(w, &t, f, what, on);
}

void wf_wait_spin(void)
{
	wf_spin_while();
}

/* Take the wait back, which began in phase; false: a waker has claimed it. */
static bool take_back(struct wf_waiter *w, uint64_t phase)
{
	uint64_t seen = w->wait | phase;

	return wf_cas_rlx(&w->fiber->wait, &seen, w->wait & -WF_WAIT_EPOCH);
}

/* Begin any wait of a fiber.  False: it was canceled, and commit refuses. */
static bool begin(struct wf_waiter *w, uint64_t phase)
{
	struct weft_rt *rt = wf_fiber_rt(w->fiber);
	struct wf_timers *timers = NULL;
	bool clear;

	if (w->wait & WF_WAIT_TIMED)
		timers = wf_timers_hold(w->fiber);
	clear = wf_waiter_begin(w, phase, !rt->membarrier);
	if (timers != NULL)
		wf_timers_let_go(timers);
	if (clear || (w->wait & WF_WAIT_SHIELDED))
		return true;
	return wf_waiter_cancel(w, phase);
}

bool wf_waiter_cancel(struct wf_waiter *w, uint64_t phase)
{
	if (!take_back(w, phase))
		return phase == WF_WAIT_SETTLED;
	w->err = -ECANCELED;
	return false;
}

bool wf_waiter_publish(struct wf_waiter *w)
{
	return w->fiber == NULL || begin(w, WF_WAIT_SETTLED);
}

bool wf_waiter_arm(struct wf_waiter *w)
{
	return w->fiber == NULL || begin(w, WF_WAIT_ARMED);
}

bool wf_waiter_settle(struct wf_waiter *w)
{
	return w->fiber == NULL || wf_wait_settle(w->fiber, w->wait);
}

bool wf_wait_settle(weft_fiber *f, uint64_t wait)
{
	uint64_t seen = wait | WF_WAIT_ARMED;

	/* [pair: fiber.wake] A claimer finds the fiber off its stack. */
	return wf_cas_rel(&f->wait, &seen, wait | WF_WAIT_SETTLED);
}

bool wf_waiter_take_back(struct wf_waiter *w)
{
	if (w->fiber != NULL)
		(void)take_back(w, WF_WAIT_SETTLED);
	return false;
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

	/* [pair: waiter.gone] Our last access to w, if it is left behind. */
	if (wf_load_rlx(&w->word) == WF_WAITER_GONE ||
		wf_cas_rel(&w->word, &waiting, WF_WAITER_GONE))
		return true;
	wait_released(w);
	return false;
}

bool wf_waiter_claim_left(struct wf_node *n)
{
	uint32_t waiting = WF_WAITER_WAITING;
	struct wf_waiter *w = n->waiter;

	if (!wf_cas_rlx(&w->word, &waiting, WF_WAITER_CLAIMED)) {
		/* [pair: waiter.gone] Its owner does not touch w again. */
		(void)wf_load_acq(&w->word);
		return false;
	}
	/* An owner that a deadline or a cancel woke waits for the word. */
	w->runs = w->fiber == NULL ||
		wf_wait_claim(w->fiber, w->wait, 0) != WF_CLAIM_WAKE;
	return true;
}

bool wf_waiter_disown(struct wf_node *n)
{
	uint32_t waiting = WF_WAITER_WAITING;

	/* [pair: waiter.word] Our last access to the waiter. */
	return wf_cas_rel(&n->waiter->word, &waiting, WF_WAITER_WOKEN);
}

/* The spare records of the caller's processor; NULL: it holds none. */
static struct wf_spares *spares(void)
{
	struct wf_thread *t = wf_here();

	return t != NULL && !t->foreign ? &t->proc->spares : NULL;
}

void *wf_record_take(void)
{
	struct wf_spares *s = spares();
	void *record = s ? wf_spares_take(s) : NULL;

	return record ? record : wf_os_alloc(WF_RECORD_BYTES);
}

void wf_record_give(void *record)
{
	struct wf_spares *s = spares();

	if (s == NULL || !wf_spares_give(s, record))
		wf_os_free(record);
}

/* The fibers of c are of the runtime of f, which is the first of them. */
static void open_batch(struct wf_claimed *c, weft_fiber *f)
{
	struct wf_thread *t;

	c->rt = wf_fiber_rt(f);
	t = wf_thread_in(c->rt);
	c->ready_us = t ? t->proc->clock_us : WF_READY_UNKNOWN;
}

void wf_claimed_add(struct wf_claimed *c, struct wf_node *n)
{
	weft_fiber *f = n->waiter->fiber, *before;

	if (f != NULL && wf_batch_is_empty(&c->fibers))
		open_batch(c, f);
	if (f == NULL || n->waiter->runs || c->rt != wf_fiber_rt(f)) {
		n->next = c->others;
		c->others = n;
		return;
	}
	before = wf_trail_add(&c->trail, f);
	if (before != NULL)
		before->ahead = f;
	f->ahead = NULL;
	wf_store_rlx(&f->ready_us, c->ready_us);
	wf_batch_add(&c->fibers, &f->task);
}

/* A walk will reach n soon.  Returns the node behind it. */
static struct wf_node *prefetch(struct wf_node *n)
{
	if (n == NULL)
		return NULL;
	if (n->waiter->fiber != NULL) {
		wf_prefetch(n->waiter->fiber);
		wf_prefetch(&n->waiter->fiber->wait);
	}
	return n->next;
}

void wf_list_claim_all(struct wf_list *list, struct wf_claimed *c)
{
	struct wf_node *n = list->first, *ahead = n, *next;

	*list = (struct wf_list){ 0 };
	for (unsigned i = 0; i < WF_TRAIL_STEPS; i++)
		ahead = prefetch(ahead);
	for (; n != NULL; n = next) {
		ahead = prefetch(ahead);
		next = n->next;
		n->list = NULL;
		if (wf_waiter_claim_fast(n) || wf_waiter_claim(n))
			wf_claimed_add(c, n);
	}
}

void wf_claimed_wake(struct wf_claimed *c)
{
	struct wf_node *n = c->others, *next;
	struct wf_thread *t;

	if (!wf_batch_is_empty(&c->fibers)) {
		t = wf_thread_in(c->rt);
		if (wf_likely(t != NULL))
			wf_push_all(t->proc, &c->fibers);
		else
			wf_make_all_ready(&c->fibers, WEFT_HINT_DEFAULT);
	}
	for (; n != NULL; n = next) {
		next = n->next;
		wf_waiter_wake(n->waiter, WEFT_HINT_DEFAULT);
	}
}

void wf_cancel_mark(weft_fiber *f, uint32_t bit)
{
	wf_fiber_use(f);
	(void)wf_or_rlx(&f->cancel, bit);
}

void wf_cancel_fence(struct weft_rt *rt)
{
	/*
	 * [pair: fiber.cancel] The bits, and [pair: rt.stopping] that the
	 * runtime stops, before the look at the waits.
	 */
	wf_fence_seq();
	/* [pair: fiber.cancel] For waiters, which have only the light fence. */
	if (rt->membarrier)
		wf_os_membarrier();
}

bool wf_cancel_claim(weft_fiber *f)
{
	uint64_t seen = wf_load_rlx(&f->wait);
	uint64_t phase = seen & WF_WAIT_PHASE;

	if (phase != WF_WAIT_ARMED && phase != WF_WAIT_SETTLED)
		return false;
	return !(seen & WF_WAIT_SHIELDED) &&
		wf_wait_claim(f, seen, WF_WAIT_CANCELED) == WF_CLAIM_WAKE;
}

void wf_cancel_wake(weft_fiber *f)
{
	if (wf_cancel_claim(f))
		wf_make_ready(f, WEFT_HINT_DEFAULT);
}
