/* SPDX-License-Identifier: MIT */
/*
 * exec/exec.h - what the executors of this room have in common.
 *
 * Each that is made, rather than always there, begins with a struct wf_exec,
 * holds the home (exec/foreign_pool.h) and counts its fibers.  Its submit tells it
 * from others.
 *
 * DESTROY waits until an executor is at REST: nothing is queued or running, and
 * no fiber on it lives.  A fiber ends in a run of its task; so who has just run
 * a task is the one who can find that it was the last, and nobody waits for
 * anything else.
 *
 *	who destroys, the LEAVER	who runs the tasks
 *	  make itself known		  run a task
 *	  wait				  at rest, and a leaver is known?
 *					  let go of the executor
 *	  free it			  tell the leaver
 *
 * It is no wait in an object that others know, and nothing can end it early:
 * not even a cancellation, since what is waited for lives in the executor.
 *
 * A leaver's STATE:
 *	BUSY	it has not gone to wait
 *	WAITS	it sleeps, a fiber off its stack or a thread; who tells wakes it
 *	TOLD	the last access of who tells: the frame may be gone after it
 *
 *	BUSY -> WAITS		the leaver
 *	BUSY, WAITS -> TOLD	tell
 *
 * Reads next: exec/manual.c, the simplest; then exec/pool.c, exec/strand.c
 */
#ifndef WF_EXEC_EXEC_H
#define WF_EXEC_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/fiber.h>
#include <weft/group.h>
#include <weft/task.h>

#include "base/atomic.h"
#include "base/compiler.h"

struct wf_exec {
	weft_executor base;		/* must be first */
	weft_group fibers;		/* those that have not ended */
};

/*
 * Make one of bytes bytes, zero but for what it begins with: -ENOMEM.  Unmake
 * it when it is at rest.
 */
wf_must_check int wf_exec_open(struct wf_exec **e, size_t bytes,
	int (*submit)(weft_executor *, weft_task *, weft_hint));
void wf_exec_close(struct wf_exec *e);

/* Does a fiber on it live?  In a visit: in a fiber it could switch to look. */
bool wf_exec_has_fibers(struct wf_exec *e);

/* In the frame of who destroys. */
struct wf_leaver {
	struct weft_awaiter awaiter;
	weft_fiber *fiber;		/* NULL: a plain thread; fixed */
	_Atomic(uint32_t) state;	/* STATE */
};

/* Begin to be one, and wait to be told.  Tell: once. */
void wf_leaver_begin(struct wf_leaver *l);
wf_may_switch void wf_leaver_wait(struct wf_leaver *l);
void wf_leaver_tell(struct wf_leaver *l);

/* Their submits, and how they are destroyed from outside of them. */
int wf_pool_submit(weft_executor *e, weft_task *task, weft_hint hint);
int wf_manual_submit(weft_executor *e, weft_task *task, weft_hint hint);
int wf_strand_submit(weft_executor *e, weft_task *task, weft_hint hint);

wf_may_switch int wf_pool_destroy(weft_executor *e);
wf_may_switch int wf_manual_destroy(weft_executor *e);
wf_may_switch int wf_strand_destroy(weft_executor *e);

#endif
