/* SPDX-License-Identifier: MIT */
/*
 * sched/submit.h - where a task that is ready goes.
 *
 *	from inside	DEFAULT	the tail of the own queue
 *			NEXT	the slot; what it displaces, the own queue
 *			YIELD	the list of yielders
 *	from outside		the tail of the global queue
 *
 * A queue that is full of tickets nobody needs any more drops those; otherwise
 * it sends its older half to the global queue.
 *
 * Tickets (queue/entry.h) are for local queues and slots only.
 *
 * Reads next: queue/runq.h, then sched/pick.h
 */
#ifndef WF_SCHED_SUBMIT_H
#define WF_SCHED_SUBMIT_H

#include "queue/batch.h"
#include "queue/entry.h"
#include "queue/runq.h"
#include "sched/proc.h"
#include "sched/runtime.h"
#include "sched/thread.h"
#include "idle/wake.h"

/* Holder: give up what the slot holds to the local queue, put e there. */
void wf_push_next_slow(struct wf_proc *p, wf_entry e);

/* Holder, p's queue being full: as wf_push.  Holder, p->coarse being set. */
void wf_push_slow(struct wf_proc *p, wf_entry e);
void wf_push_flagged(struct wf_proc *p, wf_entry e);

/* Holder: behind what is in the queue. */
static inline void wf_push(struct wf_proc *p, wf_entry e)
{
	if (wf_unlikely(wf_load_rlx(&p->coarse) != 0))
		wf_push_flagged(p, e);
	else if (wf_unlikely(!wf_runq_push(&p->runq, e)))
		wf_push_slow(p, e);
}

/* The same, if that is all there is to do; false: nothing was done. */
wf_must_check wf_inline bool wf_push_fast(struct wf_proc *p, wf_entry e)
{
	return wf_likely(wf_load_rlx(&p->coarse) == 0) &&
		wf_runq_push(&p->runq, e);
}

/* Holder: into the slot. */
static inline void wf_push_next(struct wf_proc *p, wf_entry e)
{
	if (wf_unlikely(wf_load_rlx(&p->slot) != 0))
		wf_push_next_slow(p, e);
	else
		/*
		 * [pair: slot.take] The task before the entry.  No exchange:
		 * others only empty the slot.
		 */
		wf_store_rel(&p->slot, e);
}

/* Holder: behind everything that is ready. */
void wf_push_yield(struct wf_proc *p, weft_task *task);

/* Holder, t's processor: as hint says; e may be a ticket unless YIELD. */
static inline void wf_push_hint(struct wf_proc *p, wf_entry e, weft_hint hint)
{
	if (hint == WEFT_HINT_NEXT)
		wf_push_next(p, e);
	else if (hint == WEFT_HINT_YIELD)
		wf_push_yield(p, wf_entry_task(e));
	else
		wf_push(p, e);
}

/*
 * Calls from outside are counted while they last (sched/runtime.h).  The
 * runtime must be known to live when enter is called.
 */
void wf_outside_enter(struct weft_rt *rt);
void wf_outside_leave(struct weft_rt *rt);

/* Enter with something new; false: it is stopping. */
wf_must_check bool wf_outside_accept(struct weft_rt *rt);

/* Between the two: a batch, not empty, into the global queue. */
void wf_submit_outside(struct weft_rt *rt, struct wf_batch *batch);

/* Make a fiber that nobody runs runnable, from anywhere. */
void wf_make_ready(weft_fiber *f, weft_hint hint);

/*
 * The same, its deadline having come.  Timers come in bursts, for which others
 * are not woken by the gate's rule: if it takes long the monitor sees to it.
 */
void wf_make_due(weft_fiber *f);

/* As make_ready, for many; they may be of several runtimes. */
void wf_make_all_ready(struct wf_batch *fibers, weft_hint hint);

/*
 * Many fibers that become ready at once, all of the runtime of the thread we
 * are on.  Each knows one that comes some way behind it: the queue they go to
 * is a chain, and who follows it would wait for every link.  All-zero is empty.
 */
#define WF_CROWD_AHEAD 8

struct wf_crowd {
	struct wf_batch batch;
	weft_fiber *latest[WF_CROWD_AHEAD];
};

/* In front.  Nobody runs f, and the caller has the right to wake it. */
static inline void wf_crowd_add(
	struct wf_crowd *c, struct wf_thread *t, weft_fiber *f)
{
	weft_fiber **at = &c->latest[c->batch.count % WF_CROWD_AHEAD];

	f->ahead = *at;
	*at = f;
	wf_store_rlx(&f->ready_us, t->proc->clock_us);
	wf_batch_put_back(&c->batch, &f->task);
}

/* Make all of them runnable. */
void wf_crowd_wake(struct wf_crowd *c, struct wf_thread *t);

/* n fibers or tasks from first on are about to be taken from a queue. */
void wf_crowd_fetch(weft_task *first, size_t n);

#endif
