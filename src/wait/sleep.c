/* SPDX-License-Identifier: MIT */
/*
 * wait/sleep.c - the wait that has nothing but a deadline.
 *
 * There is no object, and no lock by which who comes back could know that its
 * commit has left its frame alone; so the commit says so itself.
 *
 *	commit, on another thread	the sleeper, woken by its timer
 *	  stage = BEGUN
 *	  WAIT = PARKED, timer set	  runs
 *	  last looks at the waiter
 *	  stage = OVER			  until stage != BEGUN: wait
 *
 * Reads next: exec/foreign_pool.h, for those who sleep abroad.
 */
#include <errno.h>

#include <weft/time.h>

#include "base/units.h"
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
	bool parked;

	(void)f;
	wf_store_rlx(&s->stage, BEGUN);
	parked = wf_waiter_park(&s->waiter);
	/* [pair: sleep.stage] The frame is the sleeper's again. */
	wf_store_rel(&s->stage, OVER);
	return parked;
}

/* Was it an inherited deadline that came, and not t? */
static bool is_cut(weft_time t)
{
	weft_fiber *f = weft_self();

	return f != NULL && (f->own & WF_OWN_LIMIT) &&
		!(f->own & WF_OWN_SHIELD) && f->limit < t && wf_os_now_ns() < t;
}

wf_may_switch int weft_sleep_until(weft_time t)
{
	struct sleeper s;
	int err;

	wf_store_rlx(&s.stage, UNTOUCHED);
	err = wf_wait(&s.waiter, commit, "sleep", NULL, t);
	/* [pair: sleep.stage] Nobody touches the frame after this. */
	while (wf_load_acq(&s.stage) == BEGUN)
		wf_os_thread_yield();
	return err == -ETIMEDOUT && !is_cut(t) ? 0 : err;
}

wf_may_switch int weft_sleep(int64_t ns)
{
	return weft_sleep_until(ns > 0 ? weft_after(ns) : WEFT_NOW);
}
