/* SPDX-License-Identifier: MIT */
/*
 * sched/runtime.h - a runtime: groups of processors, threads, all fibers.
 *
 * LIFE.
 *	running	 the runtime accepts everything
 *	stopping shutdown was called: the runtime accepts nothing new, and every
 *		 fiber is cancelled; fibers and tasks that were accepted run on
 *	quit	 no fiber is left: a thread that finds nothing to do ends.  A
 *		 task that had begun to start a fiber when shutdown came may
 *		 still do so; then threads stay until that fiber has ended.
 *
 * OUTSIDE.  A plain thread, or a thread of another runtime, has no processor.
 * It takes descriptors and credits from caches that all such threads share
 * under a lock, and submits to the global queue.  `callers' counts the threads
 * inside such a call.  Stop waits for them before it frees anything: the fiber
 * that such a thread woke may be the last one, and end before the call does.
 *
 * There is no shared counter of live fibers.  Each processor, and outside,
 * counts the fibers that it started and those that ended.  A reader that adds
 * up the ended ones first and the started ones afterwards never gets too few.
 *
 * Reads next: sched/submit.h, where a task comes in.
 */
#ifndef WF_SCHED_RUNTIME_H
#define WF_SCHED_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/runtime.h>

#include "os/lock.h"
#include "sched/group.h"
#include "sched/proc.h"
#include "stack/pool.h"

struct wf_monitor;
struct wf_timers;

struct wf_outside {
	struct wf_lock lock wf_aligned(WF_FALSE_SHARING);
	struct wf_fiber_cache fibers;	/* by lock */
	struct wf_stack_cache stacks;	/* by lock */
	_Atomic(uint64_t) spawned;	/* written by lock */
	_Atomic(uint32_t) next_group;	/* that the next task goes to */
	_Atomic(uint32_t) next_inbox;
	_Atomic(uint64_t) overflows;	/* of bounded queues */
	/* Threads inside a call; and WF_OUTSIDE_CLOSED, set by lock: the
	 * runtime accepts nothing new. */
	_Atomic(uint32_t) callers wf_aligned(WF_FALSE_SHARING);
};

#define WF_OUTSIDE_CLOSED ((uint32_t)1 << 31)

/* Threads that wait until nothing runs: see idle/wait_idle.h. */
struct wf_idle_wait {
	_Atomic(uint32_t) idlers wf_aligned(WF_FALSE_SHARING);
	_Atomic(uint32_t) word;		/* futex: they look again */
};

struct weft_rt {
	/* Fixed. */
	weft_executor executor;		/* must be first */
	weft_config config;		/* with all defaults; policy is NULL */
	weft_policy policy;
	struct wf_group *groups;
	struct wf_proc *procs;		/* of all groups */
	struct wf_timers *timers;	/* of all processors */
	_Atomic(wf_entry) *slots;	/* of all local queues */
	struct wf_bounded_cell *cells;	/* of all bounded queues; or NULL */
	uint32_t group_count;
	uint32_t proc_count;
	uint32_t global_tick;		/* at least 2: the other queues have
					   turns too */
	bool is_foreign;		/* the pool of foreign fibers:
					   exec/foreign_pool.c */
	uint8_t cls;			/* stack class of most fibers */
	size_t promised;		/* bytes that this class promises */
	int64_t spin_ns;		/* 0: never */
	int64_t linger_ns;		/* an idle thread ends after that */

	/* LIFE; written once each. */
	_Atomic(bool) stopping;
	_Atomic(bool) quit;
	_Atomic(uint32_t) ended;	/* futex: something may have ended */

	bool membarrier;		/* fixed: there is one */
	struct wf_lock threads_lock;
	struct wf_thread *threads_ended;	/* by lock: to be joined */
	_Atomic(uint32_t) threads;	/* that there are */
	_Atomic(uint64_t) thread_fails;
	_Atomic(int64_t) ask_ns;	/* no wf_thread_ask before; 0: now */
	_Atomic(int64_t) ask_pause_ns;	/* the present pause */

	struct wf_stack_pool stacks;
	struct wf_fiber_pool fibers;
	_Atomic(uint32_t) trims;	/* 1: a sleeping thread trims fibers */
	struct wf_outside outside;
	struct wf_idle_wait idle_wait;
	struct wf_monitor *monitor;	/* idle/monitor.h; NULL: none */
};

/*
 * Open the pools of stacks and descriptors, as rt->config says.  They are empty
 * then.  0 or -errno.
 */
wf_must_check int wf_rt_open_memory(struct weft_rt *rt);

/* Is f a fiber of a foreign executor, with memory of exec/foreign_pool.c? */
static inline bool wf_fiber_is_foreign(const weft_fiber *f)
{
	return ((struct weft_rt *)wf_fiber_rt(f))->is_foreign;
}

/* How many fibers were started and have not ended; never too few. */
uint64_t wf_rt_fibers(struct weft_rt *rt);

/*
 * Calls from outside are counted while they last (OUTSIDE).  The caller of
 * enter knows that the runtime lives.
 */
void wf_outside_enter(struct weft_rt *rt);
void wf_outside_leave(struct weft_rt *rt);

/* Enter with something new; false: the runtime is stopping. */
wf_must_check bool wf_outside_accept(struct weft_rt *rt);

/* Tell the threads that wait in stop that fibers or threads may have ended. */
void wf_rt_tell_ended(struct weft_rt *rt);

#endif
