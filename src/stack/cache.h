/* SPDX-License-Identifier: MIT */
/*
 * stack/cache.h - a processor's own stacks, taken and given without atomics.
 *
 * Per class there are two magazines of at most one batch each.  One is in use.
 * When it runs empty or full, the two change places; only if that does not
 * help, the cache gets a full magazine from the depot or gives it one.  So a
 * processor that alternates between take and give at the edge of a magazine
 * does not go to the depot each time.
 *
 * Credits (stack/pool.h) are cached too, up to two batches a class.
 *
 * Roles.  A cache has one OWNER at a time: the holder of its processor.
 *
 * The order, for a fiber: wf_stack_credit, any number of wf_stack_take and
 * wf_stack_give, wf_stack_credit_back last.  They may be on different caches of
 * one pool.
 *
 * Reads next: stack/overflow.h, what happens at the end of a stack.
 */
#ifndef WF_STACK_CACHE_H
#define WF_STACK_CACHE_H

#include <stdint.h>

#include "base/compiler.h"
#include "stack/pool.h"
#include "stack/stack.h"

/* Owner only. */
struct wf_stack_shelf {
	struct wf_stack_magazine now;
	struct wf_stack_magazine other;
	uint32_t full;			/* fixed: a batch; 0: cache nothing */
	uint32_t credits;
	uint32_t credits_max;		/* fixed */
};

struct wf_stack_cache {
	struct wf_stack_pool *pool;	/* fixed */
	struct wf_stack_shelf shelf[WF_STACK_CLASSES];
};

/* Open an empty cache, in the caller's memory.  -ENOMEM: nothing happened. */
wf_must_check int wf_stack_cache_open(
	struct wf_stack_cache *c, struct wf_stack_pool *p);
void wf_stack_cache_close(struct wf_stack_cache *c);

/* Give everything in the cache to the pool, when the processor goes idle. */
void wf_stack_cache_flush(struct wf_stack_cache *c);

struct wf_stack *wf_stack_take_slow(struct wf_stack_cache *c, unsigned cls);
void wf_stack_give_slow(struct wf_stack_cache *c, struct wf_stack *s);
wf_must_check int wf_stack_credit_slow(struct wf_stack_cache *c, unsigned cls);
void wf_stack_credit_back_slow(struct wf_stack_cache *c, unsigned cls);

/* Take a credit: the right to one stack of class cls.  -ENOMEM. */
wf_must_check static inline int wf_stack_credit(
	struct wf_stack_cache *c, unsigned cls)
{
	if (wf_unlikely(c->shelf[cls].credits == 0))
		return wf_stack_credit_slow(c, cls);
	c->shelf[cls].credits--;
	return 0;
}

static inline void wf_stack_credit_back(struct wf_stack_cache *c, unsigned cls)
{
	if (wf_unlikely(++c->shelf[cls].credits > c->shelf[cls].credits_max))
		wf_stack_credit_back_slow(c, cls);
}

/* Take a stack; the caller has a credit, so it is never NULL. */
static inline struct wf_stack *wf_stack_take(
	struct wf_stack_cache *c, unsigned cls)
{
	struct wf_stack_magazine *m = &c->shelf[cls].now;
	struct wf_stack *s = m->list;

	if (wf_unlikely(s == NULL))
		return wf_stack_take_slow(c, cls);
	m->list = s->next;
	m->count--;
	wf_stack_open(s);
	return s;
}

/* Give a stack back.  No fiber may be on it. */
static inline void wf_stack_give(struct wf_stack_cache *c, struct wf_stack *s)
{
	struct wf_stack_shelf *shelf = &c->shelf[s->cls];

	wf_san_close(&s->san);
	if (wf_unlikely(shelf->now.count >= shelf->full)) {
		wf_stack_give_slow(c, s);
		return;
	}
	s->next = shelf->now.list;
	shelf->now.list = s;
	shelf->now.count++;
}

#endif
