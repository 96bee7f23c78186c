/* SPDX-License-Identifier: MIT */
/*
 * exec/manual.c - the executor that is run by hand.
 *
 * A queue under a lock.  Who runs it takes one task at a time, so several may,
 * and a task that runs it goes on where its own runner was.
 *
 * Runners, those who have taken a task and are not done, are known to destroy:
 * mostly there is one, and that it has gone is a store and no locked one.
 *
 *	(M1) A runner is known from the lock under which it took its first task.
 *	     So what was submitted is in the queue or with a known runner until
 *	     it has run.
 *	(M2) A runner's going is its last access to the executor: who then finds
 *	     it at rest may destroy it.
 *	(M3) queued is the length of the queue.  Who reads 0 without the lock
 *	     has missed only what was submitted at the same time.
 *
 * Reads next: exec/pool.c
 */
#include <errno.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "exec/exec.h"
#include "os/lock.h"
#include "queue/batch.h"
#include "queue/resubmit_check.h"
#include "exec/foreign.h"

struct manual {
	struct wf_exec exec;		/* must be first */
	struct wf_lock lock;
	struct wf_batch queue;		/* by lock */
	_Atomic(size_t) queued;		/* written by lock */
	_Atomic(bool) one;		/* set by lock; its runner clears it */
	size_t others;			/* by lock: all runners but that one */
};

/* What a call of run is to the executor. */
enum runner { NONE, ONE, OTHER };

int wf_manual_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct manual *m = (struct manual *)e;

	(void)hint;
	wf_twice_enter(task);
	wf_lock(&m->lock);
	wf_batch_add(&m->queue, task);
	wf_store_rlx(&m->queued, m->queue.count);
	wf_unlock(&m->lock);
	return 0;
}

int weft_manual_create(weft_executor **e)
{
	struct wf_exec *made;
	int err = wf_exec_open(&made, sizeof(struct manual), wf_manual_submit);

	if (!err)
		*e = &made->base;
	return err;
}

/* Holding the lock: be known. */
static enum runner come(struct manual *m)
{
	/*
	 * [pair: manual.one] All that the one before us ran: who sees us gone
	 * must see that too.
	 */
	if (!wf_load_acq(&m->one)) {
		wf_store_rlx(&m->one, true);
		return ONE;
	}
	m->others++;
	return OTHER;
}

static void go(struct manual *m, enum runner as)
{
	if (as == ONE) {
		/* [pair: manual.one] Behind all that we ran (M2). */
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
		*as = come(m);
	wf_unlock(&m->lock);
	return task;
}

size_t weft_manual_run(weft_executor *e, size_t at_most)
{
	struct manual *m = (struct manual *)e;
	enum runner as = NONE;
	struct wf_thread v;
	size_t n;

	wf_assert(e->submit == wf_manual_submit,
		"weft_manual_run: %p is no manual executor", (void *)e);
	wf_visit_begin(&v, e);
	for (n = 0; n < at_most; n++) {
		weft_task *task = take(m, &as);

		if (task == NULL)
			break;
		wf_twice_leave(task);
		task->run(task);
	}
	wf_visit_end(&v);
	go(m, as);
	return n;
}

/*
 * As long as we hold the lock and find nothing else, nobody runs a fiber; so
 * one that lives does not end behind our back.  In a visit, where it cannot
 * switch to look.
 */
static bool rests(struct manual *m)
{
	struct wf_thread v;
	bool yes;

	wf_visit_begin(&v, &m->exec.base);
	wf_lock(&m->lock);
	/* [pair: manual.one] See all that was run, before it is freed. */
	yes = !wf_load_acq(&m->one) && m->others == 0 &&
		wf_batch_is_empty(&m->queue) && !wf_exec_has_fibers(&m->exec);
	wf_unlock(&m->lock);
	wf_visit_end(&v);
	return yes;
}

wf_may_switch int wf_manual_destroy(weft_executor *e)
{
	struct manual *m = (struct manual *)e;

	if (!rests(m))
		return -EBUSY;
	wf_exec_close(&m->exec);
	return 0;
}
