/* SPDX-License-Identifier: MIT */
/*
 * sched/thread.h - an OS thread of a runtime, and the one door into it.
 *
 * A thread runs fibers while it holds a processor.  What is running, on which
 * stack, and what is still to be done for the side that was left belong to the
 * thread; queues and caches belong to the processor.
 *
 * Every public call that may touch a processor begins with wf_enter and ends
 * with wf_leave.  In between no user code runs, except an awaiter's commit.
 *
 * AFTER.  Whoever leaves a stack cannot hand it on, or publish itself, while it
 * is still on it; the side that arrives does it first thing:
 *
 *	COMMIT	 ask the awaiter of the fiber that left
 *	GIVE	 the same, then make its successor ready (weft_awaiter.next)
 *	REQUEUE	 the fiber that left goes into the slot: it had stepped aside
 *	YIELD	 the fiber that left goes behind all others
 *	SPENT	 nobody is on the stack that was left: back with it
 *	ENDED	 (abroad) the fiber that left has ended
 *
 * A thread's own stack, from the system, runs no fiber: it starts the first
 * loop, and is where the thread ends.
 *
 * Reads next: sched/runtime.h, what all of them belong to.
 */
#ifndef WF_SCHED_THREAD_H
#define WF_SCHED_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/context.h"
#include "base/compiler.h"
#include "base/limits.h"
#include "fiber/fiber.h"
#include "os/cxx.h"
#include "os/os.h"
#include "sched/proc.h"
#include "stack/overflow.h"

enum wf_after {
	WF_AFTER_NOTHING,
	WF_AFTER_COMMIT,
	WF_AFTER_GIVE,
	WF_AFTER_REQUEUE,
	WF_AFTER_YIELD,
	WF_AFTER_SPENT,
	WF_AFTER_ENDED,
};

struct wf_thread {
	/* Part 1: the thread's own. */
	struct wf_proc *proc;		/* held; never NULL */
	weft_fiber *current;		/* running; NULL in loop or task */
	struct wf_stack *stack;		/* that we are on */
	struct weft_rt *rt;		/* fixed */
	struct wf_cxx *cxx;		/* its words; set before a fiber runs */

	/* Of a visitor only, see exec/foreign.h; a thread has all of it zero. */
	bool visitor;
	weft_executor *executor;	/* whose tasks it runs */
	struct wf_thread *host;		/* whom wf_enter found before */
	struct wf_batch *inlined;	/* exec/inline.c: what it runs next */
	struct wf_san *below;		/* of the stack it resumes from */
	void *result;			/* ENDED */

	uint32_t budget;		/* calls left until current gives way */
	uint32_t budget_full;		/* fixed */
	uint32_t inlines;		/* children run as calls since current
					   began or gave way to fresh ones */
	int64_t inlines_ns;		/* when there were two */
	enum wf_after after;
	weft_fiber *left;		/* not SPENT: who left */
	struct weft_awaiter *awaiter;	/* COMMIT, GIVE */
	weft_fiber *successor;		/* GIVE */
	weft_hint given;		/* GIVE: how successor is queued */
	weft_fiber *refused;		/* by its commit: it runs on */
	struct wf_stack *spent;		/* SPENT */
	weft_task *handed;		/* what a new loop runs first */
	struct wf_san *san_left;	/* of the stack that was left */

	struct wf_context clean;	/* of a new loop, until it begins */
	struct wf_context own;		/* of the system's stack, while left */
	struct wf_san san;		/* and its name for the sanitizers */
	struct wf_os_altstack alternate;
	struct wf_os_thread os;
	struct wf_thread *next;		/* by rt->threads_lock: the ended */

	/* Part 2: 1: woken.  Set by whoever took the bit of its processor. */
	_Atomic(uint32_t) word wf_aligned(WF_FALSE_SHARING);
};

/* The thread we are on, now inside the runtime; NULL: a plain one. */
static inline struct wf_thread *wf_enter(void)
{
	return wf_os_self();
}

/* The thread we are on, if it is one of rt, also in a visit; or NULL. */
static inline struct wf_thread *wf_thread_in(const struct weft_rt *rt)
{
	struct wf_thread *t = wf_enter();

	while (t != NULL && t->visitor)
		t = t->host;
	return t != NULL && t->rt == rt ? t : NULL;
}

/* About what time it is. */
static inline int64_t wf_thread_clock(struct wf_thread *t)
{
	int64_t ns = wf_load_rlx(&t->proc->clock_ns);

	return wf_likely(ns != 0) ? ns : wf_os_now_ns();
}

/* User code comes next.  What takes processors away hooks in here. */
static inline void wf_leave(struct wf_thread *t)
{
	(void)t;
}

/* Another fiber runs, or this one has just given way. */
static inline void wf_budget_fill(struct wf_thread *t)
{
	t->budget = t->budget_full;
	t->inlines = 0;
}

/*
 * Make a thread that holds p, whose bit in the mask of sleepers the caller has
 * cleared.  -EAGAIN, -ENOMEM: no thread, and the bit is still clear.
 */
wf_must_check int wf_thread_start(struct weft_rt *rt, struct wf_proc *p);

/*
 * wf_thread_start for wakers, which may come thousands of times a second.
 * After the system has refused a thread it is not asked for 1 ms, and after
 * each further refusal for twice as long, up to 1 s; in such a pause the result
 * is -EAGAIN.  A thread that is made ends this.
 */
wf_must_check int wf_thread_ask(
	struct weft_rt *rt, struct wf_proc *p, int64_t now_ns);

/* Wait for threads that have ended, and free them. */
void wf_threads_reap(struct weft_rt *rt);

#endif
