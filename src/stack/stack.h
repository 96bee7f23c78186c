/* SPDX-License-Identifier: MIT */
/*
 * stack/stack.h - one hot stack.
 *
 * struct wf_stack lies at the very top of the memory it describes, in the page
 * that a stack touches anyway, and the stack begins right below it:
 *
 *	low	the lowest byte that may be used; below it is the guard
 *	top	where the stack pointer starts: the address of the struct
 *
 * The struct exists while the stack is taken, or cached with its pages
 * resident.  A stack whose memory was given back is only an index in its arena.
 *
 * Reads next: stack/cache.h, how to take and give stacks.
 */
#ifndef WF_STACK_STACK_H
#define WF_STACK_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sanitize.h"
#include "stack/arena.h"

struct wf_stack {
	struct wf_stack *next;		/* in its magazine, while not taken */
	struct wf_stack *next_magazine;	/* in the depot, if first of its
					 * magazine */
	struct wf_arena *arena;		/* fixed */
	char *low;			/* fixed; see above */
	uint32_t index;			/* of its slot; fixed */
	uint32_t cls;			/* fixed */
	struct wf_san san;		/* this stack, for the sanitizers */
};

static inline char *wf_stack_low(const struct wf_stack *s)
{
	return s->low;
}

static inline char *wf_stack_top(struct wf_stack *s)
{
	return (char *)s;
}

/* Tell the sanitizers that the stack is about to be used again. */
static inline void wf_stack_open(struct wf_stack *s)
{
	char *low = wf_stack_low(s);

	wf_san_open(&s->san, low, (size_t)(wf_stack_top(s) - low));
}

/* Whether addr is in the guard below this stack. */
static inline bool wf_stack_guards(const struct wf_stack *s, const void *addr)
{
	const char *slot = wf_arena_slot(s->arena, s->index);

	return (const char *)addr >= slot &&
		(const char *)addr < slot + s->arena->shape.guard;
}

#endif
