/* SPDX-License-Identifier: MIT */
/*
 * life/cancel.c - asking a fiber to end, and not wanting to hear of it.
 *
 * Nothing is done to the fiber: a bit is set, and the wait that it is in ends
 * (wait/wait.h).  Every wait after that finds the bit.
 */
#include <weft/fiber.h>

#include "sched/runtime.h"
#include "life/scope.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "wait/wait.h"

int weft_cancel(weft_fiber *f)
{
	struct weft_rt *rt = wf_fiber_rt(f);

	/* What it wakes may be the last fiber of a runtime that stops. */
	wf_outside_enter(rt);
	if (!(wf_load_rlx(&f->state) & WF_FIBER_DONE))
		wf_scope_cancel_of(f, WF_CUT_CANCELLED);
	wf_outside_leave(rt);
	return 0;
}

bool weft_shield(bool on)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;
	bool was;

	if (f == NULL)
		return false;
	was = f->own & WF_OWN_SHIELD;
	wf_fiber_use(f);
	f->own = on ? f->own | WF_OWN_SHIELD
		    : f->own & ~(WF_OWN_SHIELD | WF_OWN_SHELTER);
	return was;
}
