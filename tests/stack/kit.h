/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/kit.h - a pool and a cache, and taking many stacks at once.
 *
 * A call that cannot fail here ends the program if it does.  So children and
 * threads, which must not make assertions of the framework, can use the kit.
 */
#ifndef WEFT_TESTS_STACK_KIT_H
#define WEFT_TESTS_STACK_KIT_H

#include <stddef.h>

#include "base/assert.h"
#include "stack/cache.h"

struct kit {
	struct wf_stack_pool pool;
	struct wf_stack_cache cache;
};

static inline void kit_open(
	struct kit *k, const struct wf_stack_config *config)
{
	const struct wf_stack_config none = { 0 };

	wf_stack_pool_open(&k->pool, config ? config : &none);
	wf_assert(wf_stack_cache_open(&k->cache, &k->pool) == 0,
		"no cache can be opened");
}

static inline void kit_check(struct kit *k)
{
	wf_assert(wf_stack_pool_check(&k->pool), "the pool is broken");
}

static inline void kit_close(struct kit *k)
{
	kit_check(k);
	wf_stack_cache_close(&k->cache);
	kit_check(k);
	wf_stack_pool_close(&k->pool);
}

static inline unsigned kit_class(struct kit *k, size_t bytes)
{
	int cls = wf_stack_pool_class(&k->pool, bytes);

	wf_assert(cls >= 0, "there is no class for %zu bytes", bytes);
	return (unsigned)cls;
}

/* One stack, with a credit for it; and both back. */
static inline struct wf_stack *kit_take(struct wf_stack_cache *c, unsigned cls)
{
	wf_assert(wf_stack_credit(c, cls) == 0, "no credit was to be had");
	return wf_stack_take(c, cls);
}

static inline void kit_give(struct wf_stack_cache *c, struct wf_stack *s)
{
	unsigned cls = s->cls;

	wf_stack_give(c, s);
	wf_stack_credit_back(c, cls);
}

static inline void kit_take_all(struct wf_stack_cache *c, unsigned cls,
	struct wf_stack **stacks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		stacks[i] = kit_take(c, cls);
}

static inline void kit_give_all(
	struct wf_stack_cache *c, struct wf_stack **stacks, size_t n)
{
	for (size_t i = 0; i < n; i++)
		kit_give(c, stacks[i]);
}

static inline struct wf_stack_stats kit_stats(struct kit *k)
{
	struct wf_stack_stats stats;

	wf_stack_pool_stats(&k->pool, &stats);
	return stats;
}

#endif
