/* SPDX-License-Identifier: MIT */
/*
 * life/cancel.c - cancel a fiber, and shield one from cancellation.
 *
 * A cancellation sets a bit in the fiber and ends the wait that it is in
 * (wait/wait.h).  Every later wait finds the bit.  Nothing else is done to it.
 */
#include <weft/fiber.h>

#include "life/scope.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "wait/cancel.h"
#include "wait/wait.h"

int weft_cancel(weft_fiber *f)
{
	struct weft_rt *rt = wf_fiber_rt(f);
	struct wf_thread *t = wf_enter();

	/* A fiber that this wakes may be the last of a stopping runtime. */
	wf_outside_enter(rt);
	if (!(wf_load_rlx(&f->state) & WF_FIBER_DONE))
		wf_scope_cancel_of(f, WF_CANCEL_SELF);
	wf_outside_leave(rt);
	wf_leave(t);
	return 0;
}

bool weft_shield(bool on)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;
	bool was = false;

	if (f != NULL) {
		was = f->own & WF_OWN_SHIELD;
		wf_fiber_use(f);
		f->own = on ? f->own | WF_OWN_SHIELD
			    : f->own & ~(WF_OWN_SHIELD | WF_OWN_SHELTER);
	}
	wf_leave(t);
	return was;
}
