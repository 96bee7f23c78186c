/* SPDX-License-Identifier: MIT */
/*
 * exec/exec.h - the beginning and the end of an executor.
 *
 * The pool, a strand and a manual executor each begin with a struct wf_exec,
 * hold the pool of foreign fibers (exec/foreign_pool.c) and count the fibers
 * that live on them.
 *
 * DESTROY waits until an executor is at REST: no task is queued or running, and
 * no fiber on it lives.  A fiber ends in a run of its task.  So only a thread
 * that has just run a task, its RUNNER, can find that the executor has come to
 * rest, and the LEAVER, the fiber or thread that destroys, waits for a runner.
 *
 *	leaver				runner
 *	  make itself known		  run a task
 *	  wait				  at rest, and a leaver is known?
 *					  last access to the executor
 *	  free the executor		  tell the leaver
 *
 * No deadline and no cancellation ends this wait: the tasks it waits for use
 * the executor.
 *
 * The leaver waits for a notice (exec/notice.h), which the runner tells.
 *
 * Reads next: exec/manual.c, the simplest; then exec/pool.c, exec/strand.c
 */
#ifndef WF_EXEC_EXEC_H
#define WF_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/task.h>

#include "base/atomic.h"
#include "base/compiler.h"

/*
 * fibers needs no order of its own.  The executor orders the run in which a
 * fiber ends before the look that finds the executor at rest: by its lock or by
 * its word.  A spawn has returned before destroy is called, or is called in
 * such a run.
 */
struct wf_exec {
	weft_executor base;		/* must be first */
	int (*destroy)(struct wf_exec *e);	/* fixed; may switch */
	_Atomic(uint64_t) fibers;	/* that have not ended */
};

/* e if wf_exec_open made it; NULL: a runtime, or an executor of the user. */
static inline struct wf_exec *wf_exec_of(weft_executor *e)
{
	return e->reserved_[0] == e ? (struct wf_exec *)e : NULL;
}

/*
 * Make an executor of bytes bytes, which are zero after the struct wf_exec.
 * -ENOMEM.  Free it when it is at rest.
 */
wf_must_check int wf_exec_open(struct wf_exec **e, size_t bytes,
	int (*submit)(weft_executor *, weft_task *, weft_hint),
	int (*destroy)(struct wf_exec *));
void wf_exec_close(struct wf_exec *e);

/* Does a fiber on e live?  Called when e is otherwise at rest. */
static inline bool wf_exec_has_fibers(struct wf_exec *e)
{
	return wf_load_rlx(&e->fibers) != 0;
}

#endif
