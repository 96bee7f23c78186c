/* SPDX-License-Identifier: MIT */
/*
 * sim/heap.h - the memory of a run: at fixed addresses, and new each time.
 *
 *	| thread stacks | heap: small blocks | maps: whole pages |
 *
 * Blocks and maps are handed out at increasing addresses and never again in one
 * run, so freed memory stays freed and every access to it is noticed.  Between
 * runs both areas start again at their beginning; blocks are cleared when they
 * are handed out, and the used part of the maps is given back to the system.
 */
#ifndef WF_SIM_HEAP_H
#define WF_SIM_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define WF_SIM_STACK_BYTES ((size_t)256 << 10)

/* Zeroed memory for the simulator itself; a page costs memory when touched. */
void *wf_sim_reserve(size_t bytes);

struct wf_sim_block {
	char *p;
	size_t bytes;
	uintptr_t pc;		/* the caller that allocated it */
	bool freed;
};

wf_must_check int wf_sim_heap_open(void);
void wf_sim_heap_reset(void);

/*
 * The low end of the stack of thread t; whether p is in the page that guards a
 * stack.
 */
char *wf_sim_heap_stack(uint32_t t);
bool wf_sim_heap_below_stack(const void *p);

/* Zeroed, aligned to align; NULL: no room.  A bad free fails the run. */
void *wf_sim_heap_alloc(size_t bytes, size_t align, uintptr_t pc);
void wf_sim_heap_free(void *p);
size_t wf_sim_heap_size(const void *p);		/* 0: no such block */
bool wf_sim_heap_owns(const void *p);

void *wf_sim_heap_map(size_t bytes, uintptr_t pc);
void wf_sim_heap_unmap(void *p, size_t bytes);
void wf_sim_heap_guard(void *p, size_t bytes);
void wf_sim_heap_discard(void *p, size_t bytes);

/* The state of a byte, and of the 8 bytes around it: enum wf_sim_memory. */
uint32_t wf_sim_heap_state(uintptr_t addr);
uint32_t wf_sim_heap_cell(uintptr_t addr);

/* Whether addr is in a guard. */
bool wf_sim_heap_guarded(uintptr_t addr);

/* The block that contains an address, freed or not; NULL: none.  Its number. */
const struct wf_sim_block *wf_sim_heap_find(const void *p);
size_t wf_sim_heap_number(const struct wf_sim_block *b);
bool wf_sim_heap_is_map(const struct wf_sim_block *b);

/* A block that was not freed, or NULL. */
const struct wf_sim_block *wf_sim_heap_left(void);

#endif
