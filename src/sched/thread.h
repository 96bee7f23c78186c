/* SPDX-License-Identifier: MIT */
/*
 * sched/thread.h - an OS thread of a runtime, and the one door into it.
 *
 * A thread runs fibers while it holds a processor.  The running fiber, its
 * stack, and the step that is still to be done for the side that left belong to
 * the thread; queues and caches belong to the processor.
 *
 * THE DOOR.  A public call that may touch a processor begins with wf_enter and
 * ends with wf_leave.  In between only one piece of user code may run: the
 * commit of an awaiter.
 * A call that only reads, or that works on an object in the user's memory and
 * does not wait or wake, needs neither.
 *
 * AFTER.  A fiber or loop that leaves a stack cannot hand the stack on, or
 * publish itself, while it is still on it.  The side that arrives first does
 * this for the side that left:
 *
 *	COMMIT	 call the commit of the fiber that left
 *	GIVE	 COMMIT, then make its successor ready (weft_awaiter.next)
 *	REQUEUE	 put the fiber that left into the slot: it had stepped aside
 *	YIELD	 put the fiber that left behind all others
 *	SPENT	 give back the stack that was left: nothing runs on it
 *	ENDED	 (foreign executors) end the fiber that left
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

#include <weft/fiber.h>
#include <weft/task.h>

#include "arch/context.h"
#include "base/compiler.h"
#include "base/sanitize.h"
#include "os/os.h"

struct weft_rt;
struct wf_batch;
struct wf_cxx;
struct wf_proc;
struct wf_stack;

enum wf_after {
	WF_AFTER_NOTHING,
	WF_AFTER_COMMIT,
	WF_AFTER_GIVE,
	WF_AFTER_REQUEUE,
	WF_AFTER_YIELD,
	WF_AFTER_SPENT,
	WF_AFTER_ENDED,
};

/* What a thread sleeps on until another wakes it: see idle/parker.h. */
struct wf_parker {
	_Atomic(uint32_t) word;		/* futex; 1: woken */
};

struct wf_thread {
	/* Part 1: the thread's own. */
	struct wf_proc *proc;		/* held; never NULL */
	weft_fiber *current;		/* running; NULL in loop or task */
	struct wf_stack *stack;		/* that current, or the loop, is on */
	struct weft_rt *rt;		/* fixed */
	struct wf_cxx *cxx;		/* words of the C++ runtime; set before
					   a fiber runs */

	/* Of a foreign executor's visit only (exec/foreign.h); else zero. */
	bool foreign;
	weft_executor *executor;	/* whose tasks it runs */
	struct wf_thread *host;		/* that wf_here found before */
	struct wf_batch *inlined;	/* tasks to run next: exec/inline.c */
	struct wf_san *below;		/* of the stack that resumes fibers */
	void *result;			/* ENDED */

	uint32_t budget;		/* calls left until current gives way */
	uint32_t budget_full;		/* fixed */
	uint32_t inlines;		/* children run as calls since current
					   began or gave way to fresh ones */
	int64_t inlines_ns;		/* when there were two */
	enum wf_after after;
	weft_fiber *left;		/* the fiber that left; not in SPENT */
	struct weft_awaiter *awaiter;	/* COMMIT, GIVE */
	weft_fiber *successor;		/* GIVE */
	weft_hint given;		/* GIVE: how successor is queued */
	weft_fiber *refused;		/* its commit refused: it runs on */
	struct wf_stack *spent;		/* SPENT */
	weft_task *handed;		/* task that a new loop runs first */
	struct wf_san *san_left;	/* of the stack that was left */

	struct wf_context clean;	/* of a new loop, until it begins */
	struct wf_context own;		/* of the system's stack, while left */
	struct wf_san san;		/* its name for the sanitizers */
	struct wf_os_altstack alternate;
	struct wf_os_thread os;
	struct wf_thread *next;		/* by rt->threads_lock: of the threads
					   that have ended */

	/* Part 2: for the waker that cleared the sleeping bit of its
	 * processor. */
	struct wf_parker parker wf_aligned(WF_FALSE_SHARING);
};

/*
 * The thread that the caller is on, inside the runtime or in a signal handler;
 * NULL: a plain thread.  A fiber asks again after every call that may switch.
 */
static inline struct wf_thread *wf_here(void)
{
	return wf_os_self();
}

/*
 * User code enters the runtime.  Returns the thread it is on; NULL: a plain
 * thread.  Every return of the function that entered comes after wf_leave.
 */
static inline wf_enters struct wf_thread *wf_enter(void)
{
	return wf_here();
}

/*
 * User code runs next, on t, which is the thread the caller is on now; or NULL.
 * Leases of processors will hook in here and in wf_enter.
 */
static inline wf_leaves void wf_leave(struct wf_thread *t)
{
	(void)t;
}

/* wf_leave, on the thread that the caller is on now: after a switch. */
static inline wf_leaves void wf_leave_here(void)
{
}

/*
 * The thread of rt that t is, also while it runs tasks of a foreign executor;
 * NULL: t, which may be NULL too, does not belong to rt.
 */
static inline struct wf_thread *wf_thread_of(
	struct wf_thread *t, const struct weft_rt *rt)
{
	while (t != NULL && t->foreign)
		t = t->host;
	return t != NULL && t->rt == rt ? t : NULL;
}

/* wf_thread_of the thread that the caller is on. */
static inline struct wf_thread *wf_thread_in(const struct weft_rt *rt)
{
	return wf_thread_of(wf_here(), rt);
}

/* Another fiber runs, or current has just given way. */
static inline void wf_budget_fill(struct wf_thread *t)
{
	t->budget = wf_san_budget(t->budget_full);
	t->inlines = 0;
}

#endif
