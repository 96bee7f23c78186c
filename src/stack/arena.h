/* SPDX-License-Identifier: MIT */
/*
 * stack/arena.h - many slots of one class in one mapping.
 *
 *	| header | slot 0 | slot 1 | ...  carved ... | not carved yet ... |
 *
 * Carving a slot installs its guard.  A carved slot is hot (somebody has it as
 * a struct wf_stack, in use or cached) or cold: never used, or its memory given
 * back.  Cold slots cost no memory beyond their page tables.
 *
 * Guards.  MADV_GUARD_INSTALL leaves the arena one mapping.  Where the kernel
 * lacks it page protection does the same, but every guard then splits the
 * mapping in two more, of which a process may have 65,530 by default.  So a
 * quarter of that number is the limit (half of the mappings: others need some
 * too), and beyond it stacks have no guard, unless the configuration refuses
 * that.  Each kind is counted.
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
	bool no_install;		/* grow lock: the kernel cannot do it */
	size_t protect_limit;		/* fixed */
	size_t installed;		/* these by the grow lock: as of now */
	size_t protected;
	size_t missing;
};

struct wf_slot {
	uint32_t next;			/* cold: the next one, + 1; 0: none */
	uint32_t valgrind;		/* its name there, + 1; 0: none yet */
};

struct wf_arena {
	/* Fixed. */
	struct wf_stack_class shape;
	uint32_t cls;
	uint32_t count;			/* slots there is room for */
	uint32_t age;			/* the oldest of its class has 0 */
	size_t bytes;			/* of the mapping that starts here */
	char *slots;

	/* By the pool's lock. */
	struct wf_arena *next;		/* in the list of all of its class */
	struct wf_arena *next_cold;	/* in the list of those with cold */
	uint32_t carved;		/* guarded; raised with the grow lock */
	uint32_t used;			/* slots below were hot once */
	uint32_t free;			/* of these, cold: the first, + 1 */
	uint32_t cold;			/* carved slots nobody has */

	/* By the grow lock: guards of other kinds than installed. */
	uint32_t protected;
	uint32_t missing;

	struct wf_slot slot[];
};

/* Where slot index begins: its guard. */
static inline char *wf_arena_slot(const struct wf_arena *a, uint32_t index)
{
	return a->slots + (size_t)index * a->shape.stride;
}

void wf_guards_init(struct wf_guards *g, bool strict);

/* Map an arena with room for about bytes, at least one slot.  -ENOMEM. */
int wf_arena_map(struct wf_arena **a, unsigned cls, size_t bytes);

/* Nobody may have a stack of it any more. */
void wf_arena_unmap(struct wf_arena *a, struct wf_guards *g);

/*
 * Guard some more slots, from carved on (which is below count), as many as one
 * call to the kernel can.  Returns how many, by which the caller then raises
 * carved; -ENOMEM if there is none.
 */
int wf_arena_carve(struct wf_arena *a, struct wf_guards *g);

/* Take a cold slot (there is one) out of the arena, or put one back. */
uint32_t wf_arena_take(struct wf_arena *a);
void wf_arena_put(struct wf_arena *a, uint32_t index);

/* Do the invariants hold?  Under the pool's lock. */
bool wf_arena_check(const struct wf_arena *a);

#endif
