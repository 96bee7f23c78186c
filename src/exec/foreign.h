/* SPDX-License-Identifier: MIT */
/*
 * exec/foreign.h - tasks and fibers on executors that are not runtimes.
 *
 * A FOREIGN RUN is the time in which a thread runs tasks of such an executor.
 * The thread may be one of the pool, one that submits to the inline executor,
 * or a worker of a runtime in a task of a strand.  While the run lasts, wf_here
 * finds a STAND-IN: a struct wf_thread in the frame where the run began.  Its
 * processor and runtime are all zero and only read.  So spawn, which finds no
 * descriptor there, and other fast paths need not test for foreign threads.
 * The stand-in's host is the thread, or stand-in, that wf_here found before.
 *
 * The task of a FOREIGN FIBER has wf_foreign_resume as its run: that takes a
 * stack if the fiber has none, switches to it, and gets control back when the
 * fiber waits, yields or ends.  Then it does what the fiber wants done (AFTER,
 * sched/thread.h), on the stack of the resumer.  A fiber stays on one thread
 * from a resume until it switches back, so the stand-in stays valid.
 *
 *	fiber				resumer
 *	  after = COMMIT, YIELD, ENDED	  switch
 *	  switch back			  commit, or submit it again, or end it
 *
 * Its descriptor, stack and credit come from the pool of foreign fibers
 * (exec/foreign_pool.c).
 *
 * Reads next: exec/foreign_pool.c, then exec/strand.c, an executor.
 */
#ifndef WF_EXEC_FOREIGN_H
#define WF_EXEC_FOREIGN_H

#include <stdbool.h>

#include <weft/task.h>

#include "base/compiler.h"
#include "fiber/fiber.h"
#include "os/os.h"
#include "sched/thread.h"

/* A stand-in's; only read: empty caches, no clock, never stopping. */
extern struct wf_proc wf_proc_none;
extern struct weft_rt wf_rt_none;

/*
 * From here on this thread runs tasks of e, until wf_foreign_end, in the same
 * frame.  v is the stand-in; it needs no initialisation.  Foreign runs nest.
 */
static inline void wf_foreign_begin(struct wf_thread *v, weft_executor *e)
{
	v->foreign = true;
	v->executor = e;
	v->inlined = NULL;
	v->proc = &wf_proc_none;
	v->rt = &wf_rt_none;
	v->current = NULL;
	v->stack = NULL;
	v->host = wf_os_self_set(v);
	v->cxx = NULL;
}

static inline void wf_foreign_end(struct wf_thread *v)
{
	(void)wf_os_self_set(v->host);
}

/* Is t in a foreign run of e, and in none of its fibers? */
static inline bool wf_foreign_runs(const struct wf_thread *t, weft_executor *e)
{
	return t != NULL && t->foreign && t->executor == e &&
		t->current == NULL;
}

/* Is this thread in a foreign run of e, or in a fiber on e, at any depth? */
bool wf_foreign_is_inside(weft_executor *e);

/* The run of a foreign fiber's task. */
wf_may_switch void wf_foreign_resume(weft_task *task);

#endif
