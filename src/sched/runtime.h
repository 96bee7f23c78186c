/* SPDX-License-Identifier: MIT */
/*
 * sched/runtime.h - a runtime: groups of processors, threads, all fibers.
 *
 * LIFE.
 *	running	 everything is accepted
 *	stopping shutdown was called: nothing new is accepted, every fiber is
 *		 cancelled; what was accepted goes on
 *	quit	 no fiber is left: a thread that finds nothing to do ends.  A
 *		 task that had begun to start a fiber when shutdown came may
 *		 still do so; then threads stay until that has ended.
 *
 * OUTSIDE.  A plain thread, or one of another runtime, has no processor.  It
 * takes descriptors and credits from caches that all such threads share under a
 * lock, and submits to the global queue.  callers counts those that are inside
 * such a call: stop waits for them before it frees anything, because the fiber
 * they woke may be the last one and end before their call does.
 *
 * How many fibers live is nobody's shared counter: each processor, and outside,
 * counts what it started and what ended.  Reading all that ended first and all
 * that started afterwards never shows too few.
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
#include "idle/monitor.h"
#include "sched/proc.h"
#include "stack/pool.h"

struct wf_outside {
	struct wf_lock lock wf_aligned(WF_FALSE_SHARING);
	struct wf_fiber_cache fibers;	/* by lock */
	struct wf_stack_cache stacks;	/* by lock */
	_Atomic(uint64_t) spawned;	/* written by lock */
	_Atomic(uint32_t) next_group;	/* where the next task goes */
	_Atomic(uint32_t) next_inbox;
	_Atomic(uint64_t) overflows;	/* of bounded queues */
	/* How many, and WF_OUTSIDE_CLOSED, set by lock: nothing new. */
	_Atomic(uint32_t) callers wf_aligned(WF_FALSE_SHARING);
};

#define WF_OUTSIDE_CLOSED ((uint32_t)1 << 31)

/* Who waits until nothing runs: see idle/wait_idle.h. */
struct wf_quiet {
	_Atomic(uint32_t) idlers wf_aligned(WF_FALSE_SHARING);
	_Atomic(uint32_t) word;		/* their futex: look again */
};

struct weft_rt {
	/* Fixed. */
	weft_executor executor;		/* must be first */
	weft_config config;		/* with all defaults; policy is NULL */
	weft_policy policy;
	struct wf_group *groups;
	struct wf_proc *procs;		/* of all groups */
	_Atomic(wf_entry) *slots;	/* of all local queues */
	struct wf_bounded_cell *cells;	/* of all bounded queues; or NULL */
	uint32_t group_count;
	uint32_t proc_count;
	uint32_t global_tick;		/* at least 2: others have turns too */
	bool is_home;			/* exec/foreign_pool.h */
	uint8_t cls;			/* stack class of most fibers */
	size_t promised;		/* bytes of it */
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
	_Atomic(int64_t) ask_ns;	/* wf_thread_ask: not before; or 0 */
	_Atomic(int64_t) ask_pause_ns;	/* and how long that is */

	struct wf_stack_pool stacks;
	struct wf_fiber_pool fibers;
	_Atomic(uint32_t) trims;	/* 1: a thread that sleeps trims them */
	struct wf_outside outside;
	struct wf_quiet quiet;
	struct wf_monitor monitor;
};

/* The submit of a runtime's executor; it tells one from others. */
int wf_rt_submit(weft_executor *e, weft_task *task, weft_hint hint);

/*
 * Open the pools of stacks and descriptors, as the configuration says; they are
 * empty.  0 or -errno.
 */
wf_must_check int wf_rt_open_memory(struct weft_rt *rt);

/* Fibers that have been started and not ended; never too few. */
uint64_t wf_rt_fibers(struct weft_rt *rt);

/*
 * Fill in the defaults of cfg (NULL: all), size bytes of it; 0, -EINVAL or
 * -E2BIG, and then why says what is wrong.
 */
wf_must_check int wf_config_fill(weft_config *out, const weft_config *cfg,
	size_t size, char *why, size_t why_bytes);

#endif
