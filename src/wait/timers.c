/* SPDX-License-Identifier: MIT */
/*
 * wait/timers.c - setting timers, and what happens when their time has come.
 */
#include "wait/timers.h"

#include "base/units.h"
#include "os/os.h"
#include "exec/foreign_pool.h"
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
static struct wf_timers *hold_old(weft_fiber *f, int64_t latest)
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
		if (f->timer.key <= latest)
			return timers;
		wf_wheel_remove(in, &f->timer);
		publish(timers);
	}
	wf_spin_unlock(&timers->lock);
	return NULL;
}

struct wf_timers *wf_timers_hold(weft_fiber *f)
{
	int64_t latest = wf_load_rlx(&f->latest);
	struct wf_timers *timers = hold_old(f, latest);

	if (timers != NULL)
		return timers;
	timers = own(f);
	wf_spin_lock(&timers->lock);
	wf_wheel_insert(&timers->wheel, &f->timer, latest);
	if (latest < wf_timers_next(timers)) {
		wf_store_rlx(&timers->next, latest);
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
 * The key of f's timer, which is popped, has come.  True: its wait ended by it,
 * and the caller must make it ready.  Holding the lock.
 */
static bool fire(struct wf_wheel *wheel, weft_fiber *f, int64_t now_ns)
{
	uint64_t wait = wf_load_rlx(&f->wait);
	int64_t until = waits_until(f, wait);

	if (until > now_ns) {
		wf_wheel_put(wheel, &f->timer, wf_load_rlx(&f->latest));
		return false;
	}
	wf_wheel_drop(&f->timer);
	return until != INT64_MIN &&
		wf_wait_claim(f, wait, WF_WAIT_LATE) == WF_CLAIM_WAKE;
}

/*
 * The first timer, if its key has come, or if it may fire already: so all that
 * may do so end together, and a processor wakes up seldom.
 */
static struct wf_timer *pop(struct wf_wheel *wheel, int64_t now_ns)
{
	struct wf_timer *first =
		wf_wheel_due(wheel, wf_time_add(now_ns, WF_SLACK_MAX_NS));

	if (first == NULL ||
		(first->key > now_ns &&
			wf_load_rlx(&fiber_of(first)->until) > now_ns))
		return NULL;
	return wf_wheel_pop(wheel, INT64_MAX - 1);
}

/*
 * Fire some of those that are due.  Their fibers have long left the caches, so
 * what will be touched of all of them is fetched before the first is fired.
 * How many fibers' waits ended by it; more: there are more due.
 */
static unsigned fire_some(struct wf_timers *timers, int64_t now_ns, size_t most,
	weft_fiber *woken[WF_TIMERS_AT_ONCE], bool *more)
{
	struct wf_timer *due[WF_TIMERS_AT_ONCE];
	unsigned n = 0, count = 0;

	wf_spin_lock(&timers->lock);
	while (n < most && (due[n] = pop(&timers->wheel, now_ns)) != NULL) {
		wf_prefetch(fiber_of(due[n]));
		wf_prefetch(&fiber_of(due[n])->wait);
		n++;
	}
	for (unsigned i = 0; i < n; i++)
		if (fire(&timers->wheel, fiber_of(due[i]), now_ns))
			woken[count++] = fiber_of(due[i]);
	publish(timers);
	wf_spin_unlock(&timers->lock);
	*more = n == most;
	return count;
}

bool wf_timers_fire(struct wf_timers *timers, int64_t now_ns, size_t most)
{
	weft_fiber *woken[WF_TIMERS_AT_ONCE];
	bool any = false, more = true;

	while (more && most > 0) {
		size_t some = wf_min_size(most, WF_TIMERS_AT_ONCE);
		unsigned n = fire_some(timers, now_ns, some, woken, &more);

		most -= some;
		any |= n != 0;
		for (unsigned i = 0; i < n; i++)
			wf_fiber_prefetch(woken[i]);
		for (unsigned i = 0; i < n; i++)
			wf_make_due(woken[i]);
	}
	return any;
}

/* When it should fire; INT64_MIN: never.  Holding the lock. */
static int64_t ask(struct wf_timer *timer)
{
	weft_fiber *f = fiber_of(timer);

	if (waits_until(f, wf_load_rlx(&f->wait)) == INT64_MIN)
		return INT64_MIN;
	return wf_load_rlx(&f->latest);
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
