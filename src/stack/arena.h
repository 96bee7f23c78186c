/* SPDX-License-Identifier: MIT */
/*
 * stack/arena.h - many slots of one class in one mapping.
 *
 *	| header | slot 0 | slot 1 | ...  carved ... | not carved yet ... |
 *
 * Carving a slot installs its guard.  A carved slot is hot (a struct wf_stack
 * in it is taken or cached) or cold: never used, or its memory was given back.
 * Cold slots cost no memory beyond their page tables.
 *
 * Guards.  With MADV_GUARD_INSTALL the arena stays one mapping.  Where the
 * kernel lacks it, page protection makes the guards, but each guard then adds
 * two mappings, and a process may have 65,530 by default.  So the limit is a
 * quarter of that number of guards, which uses half of the mappings and leaves
 * the other half to the program.  Beyond it stacks have no guard, unless the
 * configuration refuses that.  Each kind is counted.
 *
 * Roles.  An arena belongs to its pool, which serialises: cold slots under the
 * pool's lock, carving under its grow lock.
 *
 * Invariants.
 *	(A1) used <= carved <= count; slots in [used, carved) were never used.
 *	(A2) cold = (carved - used) + the length of the free list.
 *
 * Reads next: stack/pool.h, which owns the arenas.
 */
#ifndef WF_STACK_ARENA_H
#define WF_STACK_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/class.h"

/* How guards are made, and how many of each kind; one per pool. */
struct wf_guards {
	bool strict;			/* fixed: no stack without a guard */
	bool no_install;		/* grow lock: the kernel cannot
					 * install */
	size_t protect_limit;		/* fixed */
	size_t installed;		/* grow lock: these three count
					 * guards */
	size_t protected;
	size_t missing;
};

struct wf_slot {
	uint32_t next;			/* cold: the next one, + 1; 0: none */
	uint32_t valgrind;		/* valgrind's id, + 1; 0: none yet */
};

struct wf_arena {
	/* Fixed. */
	struct wf_stack_class shape;
	uint32_t cls;
	uint32_t count;			/* slots there is room for */
	uint32_t age;			/* 0 for the oldest of its class */
	size_t bytes;			/* of the mapping that starts here */
	char *slots;

	/* Under the pool's lock. */
	struct wf_arena *next;		/* list of all arenas of the class */
	struct wf_arena *next_cold;	/* list of arenas with cold slots */
	uint32_t carved;		/* guarded; raised under the grow
					 * lock too */
	uint32_t used;			/* slots below this index were hot
					 * once */
	uint32_t free;			/* first cold slot below used, + 1 */
	uint32_t cold;			/* carved slots that are not hot */

	/*
	 * Under the grow lock: guards by page protection, and missing guards.
	 */
	uint32_t protected;
	uint32_t missing;

	struct wf_slot slot[];
};

/* The address of slot index, where its guard begins. */
static inline char *wf_arena_slot(const struct wf_arena *a, uint32_t index)
{
	return a->slots + (size_t)index * a->shape.stride;
}

void wf_guards_init(struct wf_guards *g, bool strict);

/* Map an arena with room for about bytes, at least one slot.  -ENOMEM. */
int wf_arena_map(struct wf_arena **a, unsigned cls, size_t bytes);

/* No stack of the arena may be taken or cached. */
void wf_arena_unmap(struct wf_arena *a, struct wf_guards *g);

/*
 * Guard some more slots, from carved on (carved < count), as many as one call
 * to the kernel can.  Returns how many; the caller then adds that to carved.
 * -ENOMEM if there is none.
 */
int wf_arena_carve(struct wf_arena *a, struct wf_guards *g);

/* Take a cold slot (there must be one) out of the arena, or put one back. */
uint32_t wf_arena_take(struct wf_arena *a);
void wf_arena_put(struct wf_arena *a, uint32_t index);

/* Whether the invariants hold.  Call it under the pool's lock. */
bool wf_arena_check(const struct wf_arena *a);

#endif
