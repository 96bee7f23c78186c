/* SPDX-License-Identifier: MIT */
/*
 * base/spares.h - a few free blocks of one size, so that taking one does not
 * call the allocator.  For one thread at a time.  All-zero is empty.
 */
#ifndef WF_BASE_SPARES_H
#define WF_BASE_SPARES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

#define WF_SPARES_MAX 16

struct wf_spare {
	struct wf_spare *next;
};

struct wf_spares {
	struct wf_spare *first;
	uint32_t count;
};

/* A block, or NULL: there is none. */
static inline void *wf_spares_take(struct wf_spares *s)
{
	struct wf_spare *block = s->first;

	if (block != NULL) {
		s->first = block->next;
		s->count--;
	}
	return block;
}

/* Keep a block; false: there are enough, the caller frees it. */
wf_must_check static inline bool wf_spares_give(
	struct wf_spares *s, void *memory)
{
	struct wf_spare *block = memory;

	if (s->count == WF_SPARES_MAX)
		return false;
	block->next = s->first;
	s->first = block;
	s->count++;
	return true;
}

#endif
