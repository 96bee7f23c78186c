/* SPDX-License-Identifier: MIT */
/*
 * exec/pool.c - threads with one queue, a lock and a condition: the yardstick.
 *
 * It is kept simple on purpose: schedulers are measured against it.
 *
 *	(T1) A thread is idle from when it finds the queue empty until it looks
 *	     again; idle is written under the lock of the queue.  So if all
 *	     threads are idle and the queue is empty, no task is queued or
 *	     running.
 *	(T2) A submitter touches nothing of the pool after its unlock: its task
 *	     may have been the last, and the pool may be gone.
 *
 * Destroy (exec/exec.h): the leaver makes itself known and wakes a thread, if
 * one sleeps.  The last thread to become idle when no fiber lives tells the
 * leaver.  Then the leaver ends the threads, which are all idle.
 *
 * Reads next: exec/inline.c
 */
#include <errno.h>

#include "base/units.h"
#include "exec/exec.h"
#include "exec/foreign.h"
#include "exec/notice.h"
#include "os/cond.h"
#include "os/lock.h"
#include "os/os.h"
#include "queue/batch.h"
#include "queue/resubmit_check.h"
#include "stack/overflow.h"

#define WF_POOL_THREADS_MAX 4096

struct pool {
	struct wf_exec exec;		/* must be first */
	unsigned threads;		/* fixed */
	struct wf_lock lock wf_aligned(WF_FALSE_SHARING);
	struct wf_cond work;		/* queue, leaver or stop changed */
	struct wf_batch queue;		/* these by lock */
	unsigned idle;
	bool stop;
	struct wf_notice *leaver;	/* NULL: none waits */
	struct wf_os_thread os[];	/* by create and destroy */
};

static int submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct pool *p = (struct pool *)e;

	(void)hint;
	wf_resubmit_enter(task);
	wf_lock(&p->lock);
	wf_batch_add(&p->queue, task);
	wf_cond_signal_unlock(&p->work, &p->lock);
	return 0;
}

/* Holding the lock, the queue being empty: tell the leaver, or sleep. */
static void be_idle(struct pool *p)
{
	struct wf_notice *leaver = p->leaver;

	p->idle++;
	if (leaver != NULL && p->idle == p->threads &&
		!wf_exec_has_fibers(&p->exec)) {
		p->leaver = NULL;
		wf_unlock(&p->lock);
		wf_notice_tell(leaver);
		wf_lock(&p->lock);
	} else {
		wf_cond_wait(&p->work, &p->lock);
	}
	p->idle--;
}

/* The oldest task; NULL: the thread must end. */
static weft_task *take(struct pool *p)
{
	weft_task *task;

	wf_lock(&p->lock);
	while (wf_batch_is_empty(&p->queue) && !p->stop)
		be_idle(p);
	task = wf_batch_take(&p->queue);
	wf_unlock(&p->lock);
	return task;
}

static void thread_main(void *arg)
{
	struct pool *p = arg;
	struct wf_os_altstack alternate;
	/* Without it a stack overflow ends the program without a message. */
	bool reports = wf_overflow_enter(&alternate) == 0;
	struct wf_thread v;
	weft_task *task;

	wf_foreign_begin(&v, &p->exec.base);
	while ((task = take(p)) != NULL) {
		wf_resubmit_leave(task);
		task->run(task);
	}
	wf_foreign_end(&v);
	if (reports)
		wf_overflow_leave(&alternate);
}

/* End the first n threads. */
static void stop(struct pool *p, unsigned n)
{
	wf_lock(&p->lock);
	p->stop = true;
	wf_cond_broadcast_unlock(&p->work, &p->lock);
	for (unsigned i = 0; i < n; i++)
		wf_os_thread_join(&p->os[i]);
}

static int start(struct pool *p)
{
	for (unsigned i = 0; i < p->threads; i++) {
		if (wf_os_thread_start(
			    &p->os[i], thread_main, p, 0, "weft-pool") != 0) {
			stop(p, i);
			return -EAGAIN;
		}
	}
	return 0;
}

static wf_may_switch int destroy(struct wf_exec *e)
{
	struct pool *p = (struct pool *)e;
	struct wf_notice l;

	wf_notice_open(&l);
	wf_lock(&p->lock);
	p->leaver = &l;
	wf_cond_signal_unlock(&p->work, &p->lock);
	wf_notice_wait(&l);
	stop(p, p->threads);
	wf_exec_close(&p->exec);
	return 0;
}

int weft_pool_create(weft_executor **e, unsigned threads)
{
	struct wf_exec *made;
	struct pool *p;
	int err;

	if (threads > WF_POOL_THREADS_MAX)
		return -EINVAL;
	if (threads == 0)
		threads = (unsigned)wf_min_size(
			wf_os_cpus_default(), WF_POOL_THREADS_MAX);
	err = wf_exec_open(&made, sizeof(*p) + threads * sizeof(p->os[0]),
		submit, destroy);
	if (err)
		return err;
	p = (struct pool *)made;
	p->threads = threads;
	err = start(p);
	if (err) {
		wf_exec_close(&p->exec);
		return err;
	}
	*e = &made->base;
	return 0;
}
