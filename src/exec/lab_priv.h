/* SPDX-License-Identifier: MIT */
/*
 * exec/lab_priv.h - the structs of the laboratory, for its three files.
 *
 * SHOWN is the number of tasks that a call has put where other workers see
 * them.  The caller passes it on to wf_lab_wake (L1).
 */
#ifndef WF_EXEC_LAB_PRIV_H
#define WF_EXEC_LAB_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/random.h"
#include "exec/exec.h"
#include "exec/notice.h"
#include "exec/lab.h"
#include "os/lock.h"
#include "os/os.h"
#include "queue/bounded.h"
#include "queue/inject.h"
#include "queue/runq.h"
#include "sched/thread.h"

struct wf_lab_worker {
	/* Part 1: its own. */
	struct wf_thread stand_in;	/* exec/foreign.h */
	struct wf_lab *lab;		/* fixed */
	uint64_t bit;			/* fixed; in the masks */
	struct wf_os_thread os;		/* by create and destroy */
	struct wf_random random;
	weft_task *slot;
	uint32_t streak;		/* picks from the slot in a row */
	uint64_t picks;
	bool claimed;			/* FLARE: as a spinner, for a task that
					 * may still be there */
	uint8_t victims[WF_LAB_WORKERS_MAX];	/* the others, in some order */
	_Atomic(uint64_t) counts[WF_LAB_COUNTERS];	/* all may read */

	/* Part 2: for thieves; cfg.local says which of the two is used. */
	struct wf_runq ring;
	struct wf_inject list;

	/* Part 3: for the waker that cleared its sleeping bit. */
	_Atomic(uint32_t) woken wf_aligned(WF_FALSE_SHARING);
};

struct wf_lab {
	struct wf_exec exec;		/* must be first */
	struct wf_lab_config cfg;	/* fixed */
	const struct wf_runq_ops *ops;	/* fixed; of the rings */
	struct wf_inject global;	/* also the list behind BOUNDED */
	struct wf_bounded bounded;

	/* For wakers. */
	_Atomic(uint64_t) sleeping wf_aligned(WF_FALSE_SHARING);
	_Atomic(uint64_t) looking;	/* GO: searchers; FLARE: spinners */
	_Atomic(uint32_t) pending;	/* FLARE: a sleeper should get up */

	/* The end. */
	struct wf_lock rest_lock wf_aligned(WF_FALSE_SHARING);
	uint32_t idle;			/* by rest_lock (L4) */
	struct wf_notice *leaver;	/* by rest_lock; NULL: none waits */
	_Atomic(bool) stop;

	/* Of submitters outside. */
	_Atomic(uint64_t) visitors wf_aligned(WF_FALSE_SHARING);
	_Atomic(uint64_t) counts[WF_LAB_COUNTERS];

	struct wf_lab_worker workers[];
};

/* Count n more of c; w is the worker that the caller is, or NULL. */
static inline void wf_lab_count(struct wf_lab *lab, struct wf_lab_worker *w,
	enum wf_lab_counter c, uint64_t n)
{
	if (w != NULL)
		wf_store_rlx(&w->counts[c], wf_load_rlx(&w->counts[c]) + n);
	else
		(void)wf_add_rlx(&lab->counts[c], n);
}

/* exec/lab_queues.c */
size_t wf_lab_queue_bytes(const struct wf_lab_config *c);
void wf_lab_queues_init(struct wf_lab *lab, void *memory);
bool wf_lab_has_tasks(struct wf_lab *lab);
void wf_lab_push_global(
	struct wf_lab *lab, struct wf_lab_worker *w, weft_task *task);
size_t wf_lab_push(struct wf_lab_worker *w, weft_task *task);
weft_task *wf_lab_pop(struct wf_lab_worker *w);
weft_task *wf_lab_take(struct wf_lab_worker *w, size_t *shown);
weft_task *wf_lab_steal(struct wf_lab_worker *w, size_t *shown);

/* exec/lab_wake.c */
void wf_lab_wake(struct wf_lab *lab, struct wf_lab_worker *w, size_t shown);
void wf_lab_search(struct wf_lab_worker *w);
bool wf_lab_spin_begin(struct wf_lab_worker *w);
bool wf_lab_spin_again(struct wf_lab_worker *w, unsigned looks);
void wf_lab_spin_end(struct wf_lab_worker *w, bool found);
void wf_lab_found(struct wf_lab_worker *w);
void wf_lab_park(struct wf_lab_worker *w);
void wf_lab_leave(struct wf_lab *lab, struct wf_notice *l);
void wf_lab_stop(struct wf_lab *lab, uint32_t n);

#endif
