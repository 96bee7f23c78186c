/* SPDX-License-Identifier: MIT */
/*
 * exec/foreign.h - tasks and fibers on executors that are no runtime.
 *
 * A VISIT is the time in which a thread runs tasks of such an executor.  It may
 * be any thread: the pool's own, one that submits to the inline executor, a
 * worker of a runtime in a task of a strand.  While it lasts, wf_enter finds a
 * struct wf_thread that lies in the frame where the visit began, the VISITOR.
 * It has no processor and no runtime but all-zero stand-ins for them, which are
 * only read: so the fast paths of a runtime's fibers, which find no descriptor
 * there, need not ask where they are.  Its host is who wf_enter found before.
 *
 * A FIBER ABROAD is a task whose run is wf_fiber_resume: it takes a stack if it
 * has none, switches to it, and comes back when the fiber waits, yields or
 * ends; then it does what the fiber wanted done (AFTER, sched/thread.h), on the
 * stack of who resumed it.  A fiber stays on one thread from one resume to its
 * return, so the visitor stays where it is.
 *
 *	fiber				who resumes it
 *	  after = COMMIT, YIELD, ENDED	  switch
 *	  switch back			  commit, or submit it again, or end it
 *
 * Its descriptor, stack and credit come from the home (exec/foreign_pool.h).  Who
 * waits for an executor's fibers to end counts them in a group (R1.3).
 *
 * Reads next: exec/foreign_pool.h, then exec/strand.c, an executor.
 */
#ifndef WF_SCHED_VISIT_H
#define WF_SCHED_VISIT_H

#include <stdbool.h>

#include <weft/group.h>
#include <weft/task.h>

#include "base/compiler.h"
#include "fiber/fiber.h"
#include "os/os.h"
#include "sched/thread.h"

/* What a visitor has; read only: empty caches, no clock, nothing that stops. */
extern struct wf_proc wf_proc_none;
extern struct weft_rt wf_rt_none;

/*
 * From here on this thread runs tasks of e, until end, in the same frame; v is
 * the caller's memory and needs no initialisation.  Visits nest.
 */
static inline void wf_visit_begin(struct wf_thread *v, weft_executor *e)
{
	v->visitor = true;
	v->executor = e;
	v->inlined = NULL;
	v->proc = &wf_proc_none;
	v->rt = &wf_rt_none;
	v->current = NULL;
	v->stack = NULL;
	v->host = wf_os_self_set(v);
	v->cxx = NULL;
}

static inline void wf_visit_end(struct wf_thread *v)
{
	(void)wf_os_self_set(v->host);
}

/* Are we in a visit of e, or in a fiber on it, however deep? */
bool wf_visit_is_inside(weft_executor *e);

/* The fibers on e are counted in fibers, until they have ended. */
static inline void wf_visit_count(weft_executor *e, weft_group *fibers)
{
	e->reserved_[0] = fibers;
}

/* The run of a fiber abroad. */
wf_may_switch void wf_fiber_resume(weft_task *task);

/* Start one: it is f, from the home, filled in but for its executor. */
wf_must_check int wf_fiber_send(
	weft_fiber *f, weft_executor *e, weft_hint hint);

/* Make one ready; e must not refuse. */
void wf_fiber_send_again(weft_fiber *f, weft_hint hint);

/* The visitor's side of wf_suspend and wf_yield (sched/run.h). */
wf_may_switch int wf_visit_suspend(
	struct wf_thread *v, weft_fiber *f, struct weft_awaiter *a);
wf_may_switch void wf_visit_yield(struct wf_thread *v, weft_fiber *f);

#endif
