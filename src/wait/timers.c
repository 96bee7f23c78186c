/* SPDX-License-Identifier: MIT */
/*
 * wait/timers.c - setting timers, and what happens when their time has come.
 */
#include "wait/timers.h"

#include "base/units.h"
#include "os/os.h"
#include "sched/foreign.h"
#include "sched/runtime.h"
#include "sched/thread.h"

static weft_fiber *fiber_of(struct wf_timer *timer)
{
	return (weft_fiber *)((char *)timer - offsetof(weft_fiber, timer));
}

/* Publish the first key, after all changes.  Holding the lock. */
static void publish(struct wf_timers *timers)
{
	int64_t next = wf_wheel_next(&timers->wheel);

	wf_store_rlx(&timers->next, next != INT64_MAX ? next : 0);
}

/* The timers for a timer that f, which runs here, sets now. */
static struct wf_timers *own(weft_fiber *f)
{
	return wf_fiber_is_foreign(f)
		? wf_foreign_pool_timers(wf_fiber_rt(f))
		: wf_here()->proc->timers;
}

/*
 * Lock the timers that f's timer is in, if its key is not after latest.  NULL:
 * the timer is in none, or has been taken out.
 */
static struct wf_timers *hold_old(weft_fiber *f, int64_t latest)
{
	/*
	 * [pair: timer.in] If the timer was dropped, the thread that did so is
	 * done with it.  Only f puts it in.
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
	/* After this the fiber may have run and ended, and its runtime too. */
	wf_spin_unlock(&timers->lock);
	if (wake)
		(void)wf_os_futex_wake(sleeper, 1);
}

/* The deadline of the wait of f; INT64_MIN: no wait, or one without. */
static int64_t waits_until(weft_fiber *f, uint64_t wait)
{
	uint64_t phase = wait & WF_WAIT_PHASE;

	if (!(wait & WF_WAIT_TIMED) ||
		(phase != WF_WAIT_ARMED && phase != WF_WAIT_SETTLED))
		return INT64_MIN;
	return wf_load_rlx(&f->until);
}

/*
 * The key of f's timer, which was popped, has come.  True: this ended f's wait,
 * and the caller must make f ready.  Holding the lock.
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
 * Pop the first timer, if its key has come, or if its fiber's deadline has: all
 * waits whose deadline has come end together, and a processor wakes up seldom.
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
 * The fibers have long left the caches.  So their lines are prefetched before
 * the first timer fires, and their stacks afterwards.
 */
bool wf_timers_fire(struct wf_timers *timers, int64_t now_ns, size_t most,
	struct wf_batch *out)
{
	struct wf_timer *due[WF_TIMERS_AT_ONCE];
	weft_task *task;
	size_t n = 0;

	wf_spin_lock(&timers->lock);
	while (n < most && (due[n] = pop(&timers->wheel, now_ns)) != NULL) {
		wf_prefetch(fiber_of(due[n]));
		wf_prefetch(&fiber_of(due[n])->wait);
		n++;
	}
	for (size_t i = 0; i < n; i++)
		if (fire(&timers->wheel, fiber_of(due[i]), now_ns))
			wf_batch_add(out, &fiber_of(due[i])->task);
	publish(timers);
	wf_spin_unlock(&timers->lock);
	task = out->first;
	for (size_t i = 0; i < out->count; i++, task = task->next_)
		wf_fiber_prefetch(wf_fiber_of(task));
	return n == most;
}

/* The key that the timer should have; INT64_MIN: none.  Holding the lock. */
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
