/* SPDX-License-Identifier: MIT */
/*
 * life/inspect.c - the running fiber, and the state of any fiber.
 */
#include <weft/fiber.h>

#include "fiber/fiber.h"
#include "sched/run.h"
#include "sched/runtime.h"
#include "sched/thread.h"

weft_fiber *weft_self(void)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;

	wf_leave(t);
	return f;
}

static bool is_cancelled(struct wf_thread *t, weft_fiber *f)
{
	if (f->own & WF_OWN_SHIELD)
		return false;
	if (wf_load_rlx(&f->cancel) != 0 || wf_load_rlx(&t->rt->stopping))
		return true;
	return (f->own & WF_OWN_LIMIT) && f->limit <= wf_os_now_ns();
}

bool weft_cancelled(void)
{
	struct wf_thread *t = wf_enter();
	weft_fiber *f = t ? t->current : NULL;
	bool yes = f != NULL && is_cancelled(t, f);

	wf_leave(t);
	return yes;
}

const char *weft_fiber_name(const weft_fiber *f)
{
	return wf_load_rlx(&((weft_fiber *)f)->name);
}

static weft_fiber_state state_of(weft_fiber *f, const weft_fiber_info *info)
{
	uint32_t ready = wf_load_rlx(&f->ready_us);

	if (wf_load_rlx(&f->state) & WF_FIBER_DONE)
		return WEFT_FIBER_DONE;
	if (ready == WF_READY_INLINE)
		return WEFT_FIBER_WAITING;
	if (ready != 0)
		return WEFT_FIBER_RUNNABLE;
	if (info->waits_for == NULL)
		return WEFT_FIBER_RUNNING;
	/* Until its commit has published it, its wait may be refused. */
	if (info->waits_for != wf_suspend_name &&
		(wf_load_rlx(&f->wait) & WF_WAIT_PHASE) == WF_WAIT_IDLE)
		return WEFT_FIBER_RUNNING;
	return WEFT_FIBER_WAITING;
}

/*
 * The function of f: in start until f first leaves its stack, then in entry.
 * The value read from start is good only if entry is still NULL afterwards.
 */
static void *entry_of(weft_fiber *f)
{
	void *entry = wf_load_rlx(&f->entry), *fn;

	if (entry != NULL)
		return entry;
	fn = wf_load_rlx(&f->start.fn);
	/* [pair: fiber.entry] start before the second look at entry. */
	wf_fence_acq();
	entry = wf_load_rlx(&f->entry);
	return entry != NULL ? entry : fn;
}

void weft_fiber_look(const weft_fiber *fiber, weft_fiber_info *info)
{
	weft_fiber *f = (weft_fiber *)fiber;

	*info = (weft_fiber_info){
		.name = wf_load_rlx(&f->name),
		.entry = entry_of(f),
		.waits_for = wf_load_rlx(&f->waits_for),
	};
	info->state = state_of(f, info);
	if (info->state != WEFT_FIBER_WAITING) {
		info->waits_for = NULL;
	} else if (info->waits_for == NULL) {
		info->waits_for = "join, inline";
	} else {
		info->waits_on = wf_load_rlx(&f->waits_on);
		info->since = wf_load_rlx(&f->since_ns);
	}
}
