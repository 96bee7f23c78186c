/* SPDX-License-Identifier: MIT */
/*
 * sched/foreign.h - fibers whose executor is not a runtime.
 *
 * Contract: implemented in exec/.
 *
 * A foreign executor (the baseline pool, a strand, a manual or inline executor,
 * or one that the user wrote) runs a fiber by resuming it.  The rooms below
 * exec/ know only these calls.
 *
 * Reads next: exec/foreign.h
 */
#ifndef WF_SCHED_FOREIGN_H
#define WF_SCHED_FOREIGN_H

#include <weft/fiber.h>
#include <weft/task.h>

#include "base/compiler.h"

struct weft_rt;
struct wf_spawn_args;
struct wf_thread;
struct wf_timers;

/*
 * Spawn a fiber on e, which is not a runtime, with attributes a or, if a is
 * NULL, their defaults.  o has the rest of the arguments (life/spawn.h).
 * -EINVAL, -ENOMEM, or the error of e's submit.
 */
wf_must_check int wf_foreign_spawn(weft_executor *e, weft_fiber **out,
	const weft_fiber_attr *a, struct wf_spawn_args *o);

/* wf_suspend and wf_yield (sched/run.h) of a fiber on a foreign executor. */
wf_may_switch int wf_foreign_suspend(
	struct wf_thread *v, weft_fiber *f, struct weft_awaiter *a);
wf_may_switch void wf_foreign_yield(struct wf_thread *v, weft_fiber *f);

/* Submit f, which waits, to its executor; the executor must not refuse. */
void wf_foreign_ready(weft_fiber *f, weft_hint hint);

/* Hold the pool of foreign fibers, made if need be.  -ENOMEM.  Let go of it. */
wf_must_check int wf_foreign_pool_hold(struct weft_rt **pool);
void wf_foreign_pool_drop(void);

/*
 * The timers of the pool of foreign fibers, which the caller holds.  A thread
 * fires them; NULL: the system refused that thread.
 */
struct wf_timers *wf_foreign_pool_timers(struct weft_rt *pool);

#endif
