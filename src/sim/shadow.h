/* SPDX-License-Identifier: MIT */
/*
 * sim/shadow.h - the state of every 8 bytes: accesses, and whether they are
 * allocated.
 *
 * A plain access races with an access of another thread, if one of the two is a
 * write and that access did not happen before.  Each cell of 8 bytes has
 * records, one for each set of bytes that were ever accessed together: the last
 * write, and each thread's last read.  Accesses of different sizes are compared
 * where their bytes overlap; so neighbours never disturb each other.
 *
 * Freeing memory counts as a write to all of it; any later access is a use
 * after free.  The heap (sim/heap.h) knows memory that was never allocated; it
 * is asked when a cell is first touched in a run.
 *
 * Discarding memory, which makes it new, counts as a plain write too, except
 * where there are atomics: there it counts as atomic stores, because a page
 * disappears at once for all threads, and an atomic access at the same time is
 * not a race.
 *
 * Cells are found by page, for any address, and are never cleared: the number
 * of the run shows that a cell is from an earlier run.
 */
#ifndef WF_SIM_SHADOW_H
#define WF_SIM_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine.h"

enum wf_sim_memory {		/* the state of a cell's memory */
	WF_SIM_THERE,
	WF_SIM_FREED,
	WF_SIM_NOWHERE,		/* in the arena, but never allocated */
	WF_SIM_GUARD,
	WF_SIM_PARTLY,		/* some of its bytes are allocated */
};

struct wf_sim_cell {
	uint32_t run;		/* in which it was touched last */
	uint32_t locs;		/* atomic locations, or 0 */
	uint32_t records;	/* plain accesses, or 0 */
	uint32_t memory;
};

wf_must_check int wf_sim_shadow_open(void);
void wf_sim_shadow_reset(void);

/*
 * Do not watch this: thread-local variables, whose address all threads share.
 */
#define WF_SIM_IGNORED 2	/* number of such ranges */
void wf_sim_shadow_ignore(const void *p, size_t bytes);

/* The cell of an address, valid for this run; NULL: not watched. */
struct wf_sim_cell *wf_sim_cell(uintptr_t addr);

/* A plain access by the current thread. */
void wf_sim_read(const void *p, size_t bytes, uintptr_t pc);
void wf_sim_write(const void *p, size_t bytes, uintptr_t pc);

/* Check an atomic access of the bytes in mask against plain ones. */
void wf_sim_shadow_atomic(
	struct wf_sim_cell *c, uintptr_t addr, unsigned mask, bool write);

/*
 * The plain write that a new atomic location starts from: its thread and clock.
 */
bool wf_sim_shadow_written(struct wf_sim_cell *c, unsigned mask,
	uint32_t *thread, int32_t *clock);

/* The memory is freed; or is discarded, and new again. */
void wf_sim_shadow_free(const void *p, size_t bytes);
void wf_sim_shadow_fresh(const void *p, size_t bytes);

#endif
