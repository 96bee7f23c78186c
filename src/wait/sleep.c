/* SPDX-License-Identifier: MIT */
/*
 * wait/sleep.c - the wait that has nothing but a deadline.
 *
 * A sleeper has no object, so it has no lock to take when it comes back, by
 * which it would know that its commit has left its frame alone.  So the commit
 * says so itself.
 *
 *	commit, on another thread	the sleeper, woken by its timer
 *	  stage = BEGUN
 *	  WAIT = SETTLED, timer set	  runs
 *	  last looks at the waiter
 *	  stage = OVER			  until stage != BEGUN: wait
 *
 * Reads next: exec/foreign_pool.c, the timers of fibers on foreign executors.
 */
#include <errno.h>

#include <weft/time.h>

#include "base/atomic.h"
#include "base/units.h"
#include "fiber/fiber.h"
#include "os/os.h"
#include "wait/wait.h"

enum { UNTOUCHED, BEGUN, OVER };

struct sleeper {
	struct wf_waiter waiter; /* must be first */
	_Atomic(uint32_t) stage;
};

static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct sleeper *s = (struct sleeper *)a;
	bool waits;

	(void)f;
	wf_store_rlx(&s->stage, BEGUN);
	waits = wf_waiter_publish(&s->waiter);
	/* [pair: sleep.stage] The frame is the sleeper's again. */
	wf_store_rel(&s->stage, OVER);
	return waits;
}

/* Did a deadline that f inherited end its sleep, and not t? */
static bool is_cut_short(weft_fiber *f, weft_time t)
{
	return f != NULL && (f->own & WF_OWN_LIMIT) &&
		!(f->own & WF_OWN_SHIELD) && f->limit < t && wf_os_now_ns() < t;
}

wf_may_switch int weft_sleep_until(weft_time t)
{
	struct wf_thread *thread = wf_enter();
	weft_fiber *f = thread ? thread->current : NULL;
	struct sleeper s;
	int err;

	wf_store_rlx(&s.stage, UNTOUCHED);
	err = wf_wait(&s.waiter, commit, "sleep", NULL, t);
	/* [pair: sleep.stage] The commit touches the frame no more. */
	while (wf_load_acq(&s.stage) == BEGUN)
		wf_os_thread_yield();
	wf_leave_here();
	return err == -ETIMEDOUT && !is_cut_short(f, t) ? 0 : err;
}

wf_may_switch int weft_sleep(int64_t ns)
{
	return weft_sleep_until(ns > 0 ? weft_after(ns) : WEFT_NOW);
}
