/* SPDX-License-Identifier: MIT */
/*
 * base/trail.h - prefetch along a list whose elements are not in the cache.
 *
 * A list of fibers that have waited for long has left the caches, and a walk
 * along it waits for each element.  So the builder of the list keeps a trail of
 * the latest elements; it gives each element a pointer to the one
 * WF_TRAIL_STEPS away.  The walker prefetches that element while it works on
 * the present one.
 *
 * An element of a trail may have been freed meanwhile: the pointer may only be
 * prefetched.  A zeroed trail is empty; so is a trail whose count is 0.
 */
#ifndef WF_BASE_TRAIL_H
#define WF_BASE_TRAIL_H

#include <stddef.h>
#include <stdint.h>

#define WF_TRAIL_STEPS 8

struct wf_trail {
	uint32_t count;			/* elements that were ever added */
	void *latest[WF_TRAIL_STEPS];
};

/* Add x.  Returns the element that was added WF_TRAIL_STEPS before; or NULL. */
static inline void *wf_trail_add(struct wf_trail *t, void *x)
{
	void **at = &t->latest[t->count % WF_TRAIL_STEPS];
	void *before = t->count >= WF_TRAIL_STEPS ? *at : NULL;

	*at = x;
	t->count++;
	return before;
}

#endif
