/* SPDX-License-Identifier: MIT */
/*
 * exec/pool.c - threads with one queue, a lock and a condition: the yardstick.
 *
 * There is nothing clever here, on purpose: schedulers are measured against it.
 *
 *	(T1) A thread is idle from when it finds the queue empty until it looks
 *	     again; idle is written together with the queue.  So if all are and
 *	     the queue is empty, nothing is queued or running.
 *	(T2) Who submits touches nothing of the pool after its unlock: the task
 *	     may have been the last, and the pool may be gone.
 *
 * Destroy (exec/exec.h): the leaver makes itself known and calls one of the
 * threads, if any sleeps; the last to become idle when no fiber lives tells it.
 * Then the threads are ended, which find nothing to do and so take no time.
 *
 * Reads next: exec/inline.c
 */
#include <errno.h>

#include "base/units.h"
#include "exec/exec.h"
#include "os/cond.h"
#include "os/lock.h"
#include "os/os.h"
#include "queue/batch.h"
#include "queue/resubmit_check.h"
#include "exec/foreign.h"
#include "stack/overflow.h"

#define WF_POOL_THREADS_MAX 4096

struct pool {
	struct wf_exec exec;		/* must be first */
	unsigned threads;		/* fixed */
	struct wf_lock lock wf_aligned(WF_FALSE_SHARING);
	struct wf_cond work;		/* queue, leaver or stop has changed */
	struct wf_batch queue;		/* these by lock */
	unsigned idle;
	bool stop;
	struct wf_leaver *leaver;	/* NULL: none to be told */
	struct wf_os_thread os[];	/* by who makes and unmakes it */
};

int wf_pool_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct pool *p = (struct pool *)e;

	(void)hint;
	wf_twice_enter(task);
	wf_lock(&p->lock);
	wf_batch_add(&p->queue, task);
	wf_cond_signal_unlock(&p->work, &p->lock);
	return 0;
}

/* Holding the lock, the queue being empty: sleep without it, maybe. */
static void be_idle(struct pool *p)
{
	struct wf_leaver *leaver = p->leaver;

	p->idle++;
	if (leaver != NULL && p->idle == p->threads &&
		!wf_exec_has_fibers(&p->exec)) {
		p->leaver = NULL;
		wf_unlock(&p->lock);
		wf_leaver_tell(leaver);
		wf_lock(&p->lock);
	} else {
		wf_cond_wait(&p->work, &p->lock);
	}
	p->idle--;
}

/* The oldest task; NULL: the thread shall end. */
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
	/* Without it an overflow ends the program with no word. */
	bool reports = wf_overflow_enter(&alternate) == 0;
	struct wf_thread v;
	weft_task *task;

	wf_visit_begin(&v, &p->exec.base);
	while ((task = take(p)) != NULL) {
		wf_twice_leave(task);
		task->run(task);
	}
	wf_visit_end(&v);
	if (reports)
		wf_overflow_leave(&alternate);
}

/* End the first n threads, which are or become idle. */
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
	err = wf_exec_open(
		&made, sizeof(*p) + threads * sizeof(p->os[0]), wf_pool_submit);
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

wf_may_switch int wf_pool_destroy(weft_executor *e)
{
	struct pool *p = (struct pool *)e;
	struct wf_leaver l;

	wf_leaver_begin(&l);
	wf_lock(&p->lock);
	p->leaver = &l;
	wf_cond_signal_unlock(&p->work, &p->lock);
	wf_leaver_wait(&l);
	stop(p, p->threads);
	wf_exec_close(&p->exec);
	return 0;
}
