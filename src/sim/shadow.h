/* SPDX-License-Identifier: MIT */
/*
 * sim/shadow.h - what is known of every 8 bytes: who touched them, are they
 * there at all.
 *
 * A plain access races with one of another thread, one of them a write, that
 * did not happen before it.  Each cell of 8 bytes has records, one for each set
 * of bytes that were ever accessed together: the last write, and each thread's
 * last read.  Accesses of different sizes are compared where their bytes
 * overlap; so neighbours never disturb each other.
 *
 * Freeing memory counts as a write to all of it, and any access after that is
 * one of freed memory.  What was never allocated is told from that by the heap
 * (sim/heap.h), which is asked when a cell is first touched in a run.
 *
 * Memory that is made new, because it was discarded, counts as written too; but
 * where there are atomics they are stored to, as a page that goes is gone at
 * once for everybody: an atomic access at the same time is no race.
 *
 * Cells are found by page, for any address, and are never cleared: a cell of an
 * earlier run is told by its number.
 */
#ifndef WF_SIM_SHADOW_H
#define WF_SIM_SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine.h"

enum wf_sim_memory {		/* what the memory of a cell is */
	WF_SIM_THERE,
	WF_SIM_FREED,
	WF_SIM_NOWHERE,		/* in the arena, but never allocated */
	WF_SIM_GUARD,
	WF_SIM_PARTLY,		/* some of its bytes are there, some not */
};

struct wf_sim_cell {
	uint32_t run;		/* that it was touched in */
	uint32_t locs;		/* atomic locations, or 0 */
	uint32_t records;	/* plain accesses, or 0 */
	uint32_t memory;
};

wf_must_check int wf_sim_shadow_open(void);
void wf_sim_shadow_reset(void);

/* Not watched: thread-local variables, which move from thread to thread. */
#define WF_SIM_IGNORED 2	/* such ranges */
void wf_sim_shadow_ignore(const void *p, size_t bytes);

/* The cell of an address, as of this run; NULL: not watched. */
struct wf_sim_cell *wf_sim_cell(uintptr_t addr);

/* A plain access by the current thread. */
void wf_sim_read(const void *p, size_t bytes, uintptr_t pc);
void wf_sim_write(const void *p, size_t bytes, uintptr_t pc);

/* An atomic access of the bytes in mask, judged against plain ones. */
void wf_sim_shadow_atomic(
	struct wf_sim_cell *c, uintptr_t addr, unsigned mask, bool write);

/* The plain write a new atomic location starts from: thread's clock. */
bool wf_sim_shadow_written(struct wf_sim_cell *c, unsigned mask,
	uint32_t *thread, int32_t *clock);

/* The memory is given back, or is new again. */
void wf_sim_shadow_free(const void *p, size_t bytes);
void wf_sim_shadow_fresh(const void *p, size_t bytes);

#endif
