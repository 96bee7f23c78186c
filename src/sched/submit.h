/* SPDX-License-Identifier: MIT */
/*
 * sched/submit.h - where a task that is ready goes.
 *
 *	from inside	DEFAULT	to the tail of the local queue
 *			NEXT	to the slot; the task that it displaces goes to
 *				the local queue
 *			YIELD	to the list of yielders
 *	from outside		to the tail of the global queue
 *
 * A full local queue drops its dead tickets, or if it has few of them sends its
 * older half to the global queue.
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

/* All wf_push functions are for the holder of p. */

/* wf_push_next, if the slot is full or p has none. */
void wf_push_next_slow(struct wf_proc *p, wf_entry e);

/* wf_push, if the local queue is full. */
void wf_push_slow(struct wf_proc *p, wf_entry e);

/* wf_push, if p->push_flags is not 0. */
void wf_push_flagged(struct wf_proc *p, wf_entry e);

/* Push e to the tail of the local queue. */
static inline void wf_push(struct wf_proc *p, wf_entry e)
{
	if (wf_unlikely(wf_load_rlx(&p->push_flags) != 0))
		wf_push_flagged(p, e);
	else if (wf_unlikely(!wf_runq_push(&p->runq, e)))
		wf_push_slow(p, e);
}

/* wf_push without its slow paths.  False: nothing was done. */
wf_must_check wf_inline bool wf_push_fast(struct wf_proc *p, wf_entry e)
{
	return wf_likely(wf_load_rlx(&p->push_flags) == 0) &&
		wf_runq_push(&p->runq, e);
}

/* Put e into the slot. */
static inline void wf_push_next(struct wf_proc *p, wf_entry e)
{
	if (wf_unlikely(wf_load_rlx(&p->slot) != 0 ||
		    (wf_load_rlx(&p->push_flags) & WF_PUSH_SLOTLESS)))
		wf_push_next_slow(p, e);
	else
		/*
		 * [pair: slot.take] The task before the entry.  No exchange is
		 * needed: thieves only empty the slot.
		 */
		wf_store_rel(&p->slot, e);
}

/* Put task behind all tasks that are ready. */
void wf_push_yield(struct wf_proc *p, weft_task *task);

/* Push e as hint says.  A ticket must not be pushed with YIELD. */
static inline void wf_push_hint(struct wf_proc *p, wf_entry e, weft_hint hint)
{
	if (hint == WEFT_HINT_NEXT)
		wf_push_next(p, e);
	else if (hint == WEFT_HINT_YIELD)
		wf_push_yield(p, wf_entry_task(e));
	else
		wf_push(p, e);
}

/* The submit of a runtime's executor; it tells a runtime from the others. */
int wf_rt_submit(weft_executor *e, weft_task *task, weft_hint hint);

/* Inside wf_outside_enter: a batch, not empty, into the global queue. */
void wf_submit_outside(struct weft_rt *rt, struct wf_batch *batch);

/*
 * Make a suspended fiber runnable, wherever it belongs.  The caller has the
 * right to wake it.  on: the caller is on t, or on a plain thread: NULL.
 */
void wf_make_ready(weft_fiber *f, weft_hint hint);
void wf_make_ready_on(struct wf_thread *t, weft_fiber *f, weft_hint hint);

/*
 * wf_make_ready for a fiber whose deadline has come.  Timers come in bursts, so
 * by the gate's rule they wake no sleeper: if a burst takes long the monitor
 * sends help.
 */
void wf_make_due(weft_fiber *f);

/* wf_make_ready for each of fibers, which may be of several runtimes. */
void wf_make_all_ready(struct wf_batch *fibers, weft_hint hint);

/*
 * Make a batch of fibers, not empty, runnable.  The queue that many fibers go
 * to is a chain.  Each fiber may know one that comes some way behind it (ahead,
 * fiber/fiber.h), so that a walk along the chain does not wait for every link.
 */
void wf_push_all(struct wf_proc *p, struct wf_batch *fibers);

/* The caller is about to take n fibers or tasks from a queue, from first on. */
void wf_prefetch_chain(weft_task *first, size_t n);

#endif
