/* SPDX-License-Identifier: MIT */
/*
 * sched/timers.c - setting timers, and what happens when their time has come.
 */
#include "sched/timers.h"

#include "os/os.h"
#include "sched/home.h"
#include "sched/runtime.h"
#include "sched/submit.h"

/* So many fire before others may have the lock. */
#define WF_TIMERS_AT_ONCE 64

static weft_fiber *fiber_of(struct wf_timer *timer)
{
	return (weft_fiber *)((char *)timer - offsetof(weft_fiber, timer));
}

/* Nothing is put in or taken out any more.  Holding the lock. */
static void publish(struct wf_timers *timers)
{
	int64_t next = wf_wheel_next(&timers->wheel);

	wf_store_rlx(&timers->next, next != INT64_MAX ? next : 0);
}

/* Where a timer that is set here and now belongs. */
static struct wf_timers *own(weft_fiber *f)
{
	struct weft_rt *rt = wf_fiber_rt(f);

	return rt->is_home ? wf_home_timers(rt) : &wf_enter()->proc->timers;
}

/*
 * Hold the timers that f's timer is in, if it can stay there until its time has
 * come; else it is in none when this returns NULL.
 */
static struct wf_timers *hold_old(weft_fiber *f, int64_t until)
{
	/*
	 * [pair: timer.in] If it was dropped, who did it is through with it.
	 * Nobody but f puts it in.
	 */
	struct wf_wheel *in = wf_load_acq(&f->timer.in);
	struct wf_timers *timers;

	if (in == NULL)
		return NULL;
	timers = wf_container_of(in, struct wf_timers, wheel);
	wf_spin_lock(&timers->lock);
	if (wf_load_rlx(&f->timer.in) == in) {
		if (f->timer.key <= until)
			return timers;
		wf_wheel_remove(in, &f->timer);
		publish(timers);
	}
	wf_spin_unlock(&timers->lock);
	return NULL;
}

struct wf_timers *wf_timers_hold(weft_fiber *f)
{
	int64_t until = wf_load_rlx(&f->until);
	struct wf_timers *timers = hold_old(f, until);

	if (timers != NULL)
		return timers;
	timers = own(f);
	wf_spin_lock(&timers->lock);
	wf_wheel_insert(&timers->wheel, &f->timer, until);
	if (until < wf_timers_next(timers)) {
		wf_store_rlx(&timers->next, until);
		timers->earlier = true;
	}
	return timers;
}

void wf_timers_let_go(struct wf_timers *timers)
{
	_Atomic(uint32_t) *sleeper = timers->sleeper;
	bool wake = timers->earlier && sleeper != NULL;

	timers->earlier = false;
	if (wake)
		wf_store_rlx(sleeper, 1);
	/* From here on the fiber may have run and ended, and all with it. */
	wf_spin_unlock(&timers->lock);
	if (wake)
		(void)wf_os_futex_wake(sleeper, 1);
}

/* Until when the wait of f lasts; INT64_MIN: it is in none with a deadline. */
static int64_t waits_until(weft_fiber *f, uint64_t wait)
{
	uint64_t phase = wait & WF_WAIT_PHASE;

	if (!(wait & WF_WAIT_TIMED) ||
		(phase != WF_WAIT_ARMED && phase != WF_WAIT_PARKED))
		return INT64_MIN;
	return wf_load_rlx(&f->until);
}

/*
 * The key of f's timer, the first, has come.  True: its wait ended by it, and
 * the caller must make it ready.  Holding the lock.
 */
static bool fire(struct wf_wheel *wheel, weft_fiber *f, int64_t now_ns)
{
	uint64_t wait = wf_load_rlx(&f->wait);
	int64_t until = waits_until(f, wait);

	if (until > now_ns) {
		wf_wheel_change(wheel, &f->timer, until);
		return false;
	}
	wf_wheel_remove(wheel, &f->timer);
	return until != INT64_MIN &&
		wf_wait_claim(f, wait, WF_WAIT_LATE) == WF_CLAIM_WAKE;
}

/* f will run soon, and what it goes on with has long left the caches. */
static void add(struct wf_batch *woken, weft_fiber *f)
{
	char *sp = f->context.sp;

	wf_prefetch(sp);
	wf_prefetch(sp + WF_CACHE_LINE);
	wf_prefetch(sp + 2 * WF_CACHE_LINE);
	wf_batch_add(woken, &f->task);
}

/*
 * Fire some of those that are due; the fibers whose waits ended are added to
 * woken.  True: there are more.
 */
static bool fire_some(
	struct wf_timers *timers, int64_t now_ns, struct wf_batch *woken)
{
	struct wf_timer *first = NULL;

	wf_spin_lock(&timers->lock);
	for (unsigned n = 0; n < WF_TIMERS_AT_ONCE; n++) {
		first = wf_wheel_due(&timers->wheel, now_ns);
		if (first == NULL)
			break;
		if (fire(&timers->wheel, fiber_of(first), now_ns))
			add(woken, fiber_of(first));
	}
	publish(timers);
	wf_spin_unlock(&timers->lock);
	return first != NULL;
}

bool wf_timers_fire(struct wf_timers *timers, int64_t now_ns)
{
	bool any = false, more = true;

	while (more) {
		struct wf_batch woken = { 0 };

		more = fire_some(timers, now_ns, &woken);
		any |= !wf_batch_is_empty(&woken);
		wf_make_all_ready(&woken, WEFT_HINT_DEFAULT);
	}
	return any;
}

/* When it should fire; INT64_MIN: never.  Holding the lock. */
static int64_t ask(struct wf_timer *timer)
{
	weft_fiber *f = fiber_of(timer);

	return waits_until(f, wf_load_rlx(&f->wait));
}

int64_t wf_timers_prune(struct wf_timers *timers)
{
	int64_t next;

	wf_spin_lock(&timers->lock);
	wf_wheel_prune(&timers->wheel, ask);
	publish(timers);
	next = wf_timers_next(timers);
	wf_spin_unlock(&timers->lock);
	return next;
}
