/* SPDX-License-Identifier: MIT */
/*
 * sim/memory.h - which values a load may see: C11's memory model.
 *
 * Every atomic location keeps its last WF_SIM_STORES stores, in the order they
 * were made, which is its modification order.  A load may read the newest or
 * one further back, unless the thread has seen a newer one.  Clocks say what
 * was seen: a store notes, for each thread, that thread's clock when it first
 * saw the store; a thread whose view has reached any of these has seen it.
 *
 * Two clocks per thread:
 *	hb	everything that happened before; decides about races on plain
 *		data
 *	view	everything it sees: hb, and what sequentially consistent fences
 *		and membarriers add, which order accesses but excuse no race
 *
 *	release store	attaches both; a relaxed one attaches those of the last
 *			release fence; a read-modify-write keeps those of the
 *			store that it replaces
 *	acquire load	joins both; a relaxed one keeps them for an acquire
 *			fence
 *	SC fence	acquire; view and the global SC view become their join;
 *			release
 *	SC store, load	numbered by the lane WF_SIM_SEQ; an SC load has seen
 *			what SC fences have seen and all SC stores so far
 *
 * A membarrier is two SC fences in the caller, and between them one in every
 * other thread, placed at that thread's last light fence.  A compiler could
 * move anything that the thread did since then across the membarrier, so its
 * later stores are not shown and its later loads not forced until the next
 * light fence.  A call of the operating system counts as a light fence.
 *
 * Not modelled: loads that read from stores not yet made (load buffering),
 * modification orders other than that of execution, accesses of different sizes
 * to one atomic object, memory_order_consume (treated as acquire).
 *
 * Reads next: sim/shadow.h, plain accesses.
 */
#ifndef WF_SIM_MEMORY_H
#define WF_SIM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/engine.h"

#define WF_SIM_STORES 8
#define WF_SIM_STALES 3		/* old values in a row, then the newest */

struct wf_sim_store {
	uint64_t value;
	wf_clock seen;		/* by thread: its clock; INT32_MAX: never */
	wf_clock hb, view;	/* attached */
};

struct wf_sim_loc {
	uintptr_t addr;
	uint32_t count;			/* stores ever made */
	uint32_t next;			/* another in the same 8 bytes, or 0 */
	uint8_t size;
	uint8_t mask;			/* its bytes among the 8 */
	bool plain;			/* written plainly since the last
					 * store */
	uint8_t stales[WF_SIM_THREADS];	/* old values read in a row */
	uint32_t read[WF_SIM_THREADS];	/* last store each has read, + 1 */
	wf_clock loads, stores;		/* hb clocks of atomic accesses */
	struct wf_sim_store store[WF_SIM_STORES];
};

/* Open it once; reset it for a new run. */
int wf_sim_memory_open(void);
void wf_sim_memory_reset(void);

/*
 * A new thread has seen what its creator has seen; a joiner has seen what the
 * ended thread has seen.
 */
void wf_sim_memory_fork(struct wf_sim_thread *to, struct wf_sim_thread *from);
void wf_sim_memory_join(struct wf_sim_thread *to, struct wf_sim_thread *from);

enum wf_sim_rmw {
	WF_SIM_XCHG,
	WF_SIM_ADD,
	WF_SIM_SUB,
	WF_SIM_AND,
	WF_SIM_OR,
	WF_SIM_XOR,
	WF_SIM_NAND,
};

/* The operations; mo is the compiler's __ATOMIC_*.  Each is a point. */
uint64_t wf_sim_load(const volatile void *p, unsigned size, int mo,
	uintptr_t pc);
void wf_sim_store(volatile void *p, unsigned size, uint64_t v, int mo,
	uintptr_t pc);
uint64_t wf_sim_rmw(volatile void *p, unsigned size, enum wf_sim_rmw op,
	uint64_t v, int mo, uintptr_t pc);
bool wf_sim_cas(volatile void *p, unsigned size, uint64_t *expected, uint64_t v,
	int mo, int fail_mo, bool weak, uintptr_t pc);
void wf_sim_fence(int mo, uintptr_t pc);
void wf_sim_light_fence(void);
void wf_sim_membarrier(void);

/* The location by its number, which is not 0. */
struct wf_sim_loc *wf_sim_loc(uint32_t n);

#endif
