/* SPDX-License-Identifier: MIT */
/*
 * idle/serve.c - the step that serves events.
 *
 * Every place that fires timers comes through here.  Timers return the fibers
 * whose waits they ended, and this step makes them ready.
 */
#include "idle/serve.h"

#include "base/compiler.h"
#include "sched/proc.h"
#include "sched/serve.h"
#include "sched/submit.h"
#include "sched/tuning.h"
#include "wait/timers.h"

bool wf_serve_timers(struct wf_timers *timers, int64_t now_ns, size_t most)
{
	bool any = false, more = true;

	while (more && most > 0) {
		size_t some = wf_min_size(most, WF_TIMERS_AT_ONCE);
		struct wf_batch due = { 0 };
		weft_task *task;

		more = wf_timers_fire(timers, now_ns, some, &due);
		most -= some;
		any |= !wf_batch_is_empty(&due);
		while ((task = wf_batch_take(&due)) != NULL)
			wf_make_due(wf_fiber_of(task));
	}
	return any;
}

bool wf_serve(struct wf_proc *p, int64_t now_ns)
{
	size_t room;

	wf_proc_clock(p, now_ns);
	if (wf_likely(wf_timers_next(p->timers) > now_ns))
		return false;
	room = (size_t)p->runq.mask + 1 - wf_runq_len(&p->runq);
	return wf_serve_timers(
		p->timers, now_ns, wf_max_size(room, wf_tuning.serve_min));
}
