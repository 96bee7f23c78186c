/* SPDX-License-Identifier: MIT */
/*
 * exec/lab.h - the laboratory: a textbook work-stealing pool for comparisons.
 *
 * The lab is an executor as simple as the descriptions it follows: workers with
 * local queues, a global queue, thieves, two-phase parking.  It has no gate, no
 * monitor, and no join that runs a child as a call.  Each heuristic is one
 * field of struct wf_lab_config, so that one can change while the others stay.
 *
 * Roles.
 *	WORKER		a thread of the lab, with a local queue and a slot
 *	SUBMITTER	makes a task ready: a worker, or a thread outside
 *	SEARCHER	by Go's rule: a worker without a task that looks for one
 *	SPINNER		by flare's rule: a worker that found no task, and looks
 *			again for a while
 *	SLEEPER		a parked worker
 *
 * Invariants.
 *	(L1) If a worker sleeps while a task is in a queue, another worker is
 *	     awake without a task, and looks at all queues before it sleeps.
 *	     (A slot is not a queue: only its worker sees it.)
 *	(L2) The slot and the local queue of a sleeper are empty.
 *	(L3) By flare's rule at most two workers have their bit in `looking'.
 *	(L4) A worker is idle from when it has found all queues empty until it
 *	     gets up; idle is written under rest_lock.  So if all workers are
 *	     idle and all queues empty, no task is queued or running.
 *
 * Protocol of parking.  One of the two sees the other:
 *	worker				submitter
 *	  set its bit in sleeping	  push the task
 *	  full fence [lab.sleep]	  full fence [lab.sleep]
 *	  look at all queues again;	  look at spinners, searchers, sleepers,
 *	    a task: take the bit back	    by the rule; clear a sleeper's bit
 *	  sleep while woken is 0	  its woken = 1, wake its futex
 * A worker that cannot take its bit back waits for its waker all the same.
 *
 * Rules.  A submitter, or a worker that moved tasks to where others see them:
 *	EVERY	wakes a sleeper for each task.
 *	GO	wakes a sleeper, unless there is a searcher: that one stands for
 *		all.  The woken worker is a searcher.  The last searcher to find
 *		a task wakes the next one.
 *	FLARE	claims a spinner for each task, by clearing its bit; if there is
 *		none, wakes a sleeper.  A spinner that finds a task sets
 *		pending; the next spinner that sees pending clears it and wakes
 *		a sleeper, before a task needs that one.  A spinner may be
 *		claimed when it has just found another task, or when it gives
 *		up, and then again as a sleeper.  So when it has found a task
 *		and there are more it passes the claim on, which flare does in
 *		the second case only; (L1) would not hold otherwise.
 *
 * Destroy (exec/exec.h).  The leaver makes itself known and wakes a sleeper.
 * The last worker to become idle when no fiber lives tells the leaver.  A
 * submitter outside may still be in its call when its task has run; so the
 * leaver waits until `visitors' is 0, and then ends the workers.
 *
 * Reads next: exec/lab_queues.c, exec/lab_wake.c, exec/lab.c
 */
#ifndef WF_EXEC_LAB_H
#define WF_EXEC_LAB_H

#include <stdint.h>

#include <weft/task.h>

#include "base/compiler.h"

#define WF_LAB_WORKERS_MAX 64
#define WF_LAB_SPINNERS_MAX 2

/* LOCAL: local queues and a global one.  GLOBAL, BOUNDED: one queue for all. */
enum wf_lab_queues { WF_LAB_LOCAL, WF_LAB_GLOBAL, WF_LAB_BOUNDED };

/* A ring without a lock; a ring or an unbounded list under a lock. */
enum wf_lab_local { WF_LAB_RING, WF_LAB_RING_LOCKED, WF_LAB_LIST };

enum wf_lab_steal { WF_LAB_STEAL_HALF, WF_LAB_STEAL_ONE };

/* A thief tries all victims, in random order; or one, by chance. */
enum wf_lab_victims { WF_LAB_VICTIMS_ALL, WF_LAB_VICTIMS_ONE };

enum wf_lab_take { WF_LAB_TAKE_SHARE, WF_LAB_TAKE_ONE, WF_LAB_TAKE_ALL };

/* A full ring sends its older half with the new task; or that task alone. */
enum wf_lab_offload { WF_LAB_OFFLOAD_HALF, WF_LAB_OFFLOAD_ONE };

/* Yielders go to the end of this queue. */
enum wf_lab_yield { WF_LAB_YIELD_GLOBAL, WF_LAB_YIELD_LOCAL };

enum wf_lab_wake { WF_LAB_WAKE_GO, WF_LAB_WAKE_EVERY, WF_LAB_WAKE_FLARE };

/* Copy wf_lab_default, then change fields: here 0 is not the default. */
struct wf_lab_config {
	uint32_t workers;		/* at most 64; 0: one for each CPU */
	uint32_t queues;		/* one of the enums, and so on */
	uint32_t local;
	uint32_t local_capacity;	/* of a ring: a power of two, 2..2^16 */
	uint32_t bounded_capacity;	/* of BOUNDED: one too, 2..2^20; a list
					 * takes the tasks that do not fit */
	uint32_t steal;
	uint32_t victims;
	uint32_t take;			/* from the global queue */
	uint32_t offload;
	uint32_t global_every;		/* each n-th pick looks at the global
					 * queue first; 0: no pick does */
	uint32_t yield;
	uint32_t lifo;			/* 1: there is a slot for NEXT; 0: no */
	uint32_t lifo_limit;		/* picks from it in a row; 0: any */
	uint32_t wake;
	uint32_t spins;			/* FLARE: looks of a spinner */
};

extern const struct wf_lab_config wf_lab_default;

enum wf_lab_counter {
	/* Tasks run, by source. */
	WF_LAB_RUNS_SLOT, WF_LAB_RUNS_LOCAL, WF_LAB_RUNS_GLOBAL,
	WF_LAB_RUNS_STOLEN,
	/* Thefts, and the tasks that they took. */
	WF_LAB_STEALS, WF_LAB_STOLEN,
	/* Tasks that full rings sent away, and that BOUNDED had no room for. */
	WF_LAB_OFFLOADED, WF_LAB_OVERFLOWS,
	/* Spinners claimed, sleepers woken, futex calls (wake and wait). */
	WF_LAB_CLAIMS, WF_LAB_WAKES, WF_LAB_FUTEX,
	/* Workers that fell asleep, looks for a task. */
	WF_LAB_PARKS, WF_LAB_LOOPS,
	WF_LAB_COUNTERS
};

/* The mistake in c, as a sentence that begins with its field; NULL: none. */
const char *wf_lab_error(const struct wf_lab_config *c);

/*
 * Make a lab; weft_executor_destroy ends it.  Returns 0 and the lab in *e;
 * -EINVAL if wf_lab_error finds a mistake; -ENOMEM; -EAGAIN: no threads.
 */
wf_must_check int wf_lab_create(
	weft_executor **e, const struct wf_lab_config *c);

/* The counters of lab e; exact while all workers sleep. */
void wf_lab_counts(weft_executor *e, uint64_t counts[WF_LAB_COUNTERS]);

#endif
