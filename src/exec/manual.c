/* SPDX-License-Identifier: MIT */
/*
 * exec/manual.c - the executor that is run by hand.
 *
 * A queue under a lock.  weft_manual_run takes one task at a time, so several
 * threads may call it, and so may a task that it runs.
 *
 * A RUNNER is a call of weft_manual_run that has taken a task and has not
 * returned.  Destroy must know whether there are runners.  Mostly there is one;
 * its end is a plain store, not a locked instruction.
 *
 *	(M1) A runner becomes known under the lock under which it takes its
 *	     first task.  So a submitted task is in the queue or with a known
 *	     runner until it has run.
 *	(M2) A runner's end is its last access to the executor: a destroyer that
 *	     then finds the executor at rest may free it.
 *	(M3) queued is the length of the queue.  A runner that reads 0 without
 *	     the lock has missed only tasks submitted at the same time.
 *
 * Reads next: exec/pool.c
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "exec/exec.h"
#include "exec/foreign.h"
#include "os/lock.h"
#include "queue/batch.h"
#include "queue/resubmit_check.h"

struct manual {
	struct wf_exec exec;		/* must be first */
	struct wf_lock lock;
	struct wf_batch queue;		/* by lock */
	_Atomic(size_t) queued;		/* written by lock */
	_Atomic(bool) one;		/* a runner; set by lock, it clears */
	size_t others;			/* by lock: all other runners */
};

/* How a call of weft_manual_run is known. */
enum runner { NONE, ONE, OTHER };

static int submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct manual *m = (struct manual *)e;

	(void)hint;
	wf_resubmit_enter(task);
	wf_lock(&m->lock);
	wf_batch_add(&m->queue, task);
	wf_store_rlx(&m->queued, m->queue.count);
	wf_unlock(&m->lock);
	return 0;
}

/*
 * Without runners and queued tasks, as long as the lock is held, no fiber runs;
 * so a fiber that lives cannot end meanwhile.
 */
static bool is_at_rest(struct manual *m)
{
	bool yes;

	wf_lock(&m->lock);
	/* [pair: manual.one] See all that ran, before the executor is freed. */
	yes = !wf_load_acq(&m->one) && m->others == 0 &&
		wf_batch_is_empty(&m->queue) && !wf_exec_has_fibers(&m->exec);
	wf_unlock(&m->lock);
	return yes;
}

static int destroy(struct wf_exec *e)
{
	struct manual *m = (struct manual *)e;

	if (!is_at_rest(m))
		return -EBUSY;
	wf_exec_close(&m->exec);
	return 0;
}

int weft_manual_create(weft_executor **e)
{
	struct wf_exec *made;
	int err = wf_exec_open(&made, sizeof(struct manual), submit, destroy);

	if (!err)
		*e = &made->base;
	return err;
}

/* Holding the lock: become known. */
static enum runner become_runner(struct manual *m)
{
	/*
	 * [pair: manual.one] See all that the runner before ran: a destroyer
	 * that sees this runner's end must see that too.
	 */
	if (!wf_load_acq(&m->one)) {
		wf_store_rlx(&m->one, true);
		return ONE;
	}
	m->others++;
	return OTHER;
}

static void end_runner(struct manual *m, enum runner as)
{
	if (as == ONE) {
		/* [pair: manual.one] After all that it ran (M2). */
		wf_store_rel(&m->one, false);
	} else if (as == OTHER) {
		wf_lock(&m->lock);
		m->others--;
		wf_unlock(&m->lock);
	}
}

/* The oldest task, or NULL. */
static weft_task *take(struct manual *m, enum runner *as)
{
	weft_task *task;

	if (wf_load_rlx(&m->queued) == 0)
		return NULL;
	wf_lock(&m->lock);
	task = wf_batch_take(&m->queue);
	wf_store_rlx(&m->queued, m->queue.count);
	if (task != NULL && *as == NONE)
		*as = become_runner(m);
	wf_unlock(&m->lock);
	return task;
}

size_t weft_manual_run(weft_executor *e, size_t at_most)
{
	struct manual *m = (struct manual *)e;
	enum runner as = NONE;
	struct wf_thread v;
	size_t n;

	wf_assert(e->submit == submit,
		"weft_manual_run: %p is not a manual executor", (void *)e);
	wf_foreign_begin(&v, e);
	for (n = 0; n < at_most; n++) {
		weft_task *task = take(m, &as);

		if (task == NULL)
			break;
		wf_resubmit_leave(task);
		task->run(task);
	}
	wf_foreign_end(&v);
	end_runner(m, as);
	return n;
}
