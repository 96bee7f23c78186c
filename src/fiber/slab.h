/* SPDX-License-Identifier: MIT */
/*
 * fiber/slab.h - where descriptors come from: slabs, a depot, caches.
 *
 * Descriptors are carved from slabs, aligned mappings that live as long as the
 * runtime; the slab a descriptor is in, and by it its runtime, is found from
 * its address.  Free ones are kept as magazines, lists of at most one batch:
 *
 *	a cache	two magazines of a processor, without atomics.  When the one in
 *		use runs empty or full they change places, and only when that
 *		does not help a whole one is traded with
 *	depot	the full magazines of the pool, under a lock
 *
 * So spawning here and ending there neither leaks nor bounces.
 *
 * A slab is divided into UNITS, runs of pages.  While few descriptors are free
 * the depot keeps magazines as they come.  When there are more than
 * WF_DEPOT_MAX magazines of them, each one that comes, and one that is there,
 * is sorted by units: each unit has a list of its own free descriptors.  A unit
 * is
 *
 *	in no list	none of its descriptors is sorted in
 *	partial		some are
 *	idle		all are
 *	bare		all are, and their memory was given back: it reads as
 *			zero until they are made anew
 *
 * Units that were idle for WF_TRIM_NS, but for the last WF_UNITS_SPARE, are
 * made bare: by a drain that comes then, or by a thread that sleeps
 * (idle/park.c).  So after a burst there stay the spare units, the first unit
 * of each slab (a 64th of it), those that a live descriptor or one in a cache
 * keeps, and those with a descriptor whose timer is still set.  Memory that is
 * used again and again within that time stays: a page that was given back costs
 * a fault.  Where pages are larger than a unit, or descriptors do not fill one,
 * none is ever bare.
 *
 *	(D1) A descriptor of a bare unit reads as a free one: stale tickets and
 *	     late wakers may look at it as at any other.  USE begins anew, so a
 *	     stale ticket may claim a later life; that starts it, as any ticket
 *	     for it would.
 *	(D2) The epoch of WAIT goes on: the greatest in a unit is kept for those
 *	     that are made anew.  A late waker of an earlier life, which knows a
 *	     smaller one, finds another word.
 *
 * A descriptor in a cache has its stack credit (stack/pool.h) with it, of the
 * class that most fibers have: it is taken and given back for a whole magazine,
 * and spawning need not think of it.
 *
 * Roles.  A cache has one OWNER at a time.  The pool is anyone's.
 *
 * Reads next: sched/proc.h, who owns a cache.
 */
#ifndef WF_FIBER_SLAB_H
#define WF_FIBER_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/units.h"
#include "fiber/fiber.h"
#include "os/lock.h"
#include "stack/pool.h"

/* By the lock of the pool. */
struct wf_unit {
	struct wf_unit *next;		/* in the list that it is in */
	struct wf_unit *prev;
	weft_fiber *list;		/* sorted in; linked by task.next_ */
	uint32_t count;			/* of these; if it is bare: all */
	uint32_t whole;			/* fixed: how many there can be, or more
					   if it cannot be idle */
	uint64_t epoch;			/* bare: (D2) */
};

#define WF_SLAB_UNITS (WF_SLAB_BYTES / WF_UNIT_BYTES)

/* A descriptor is as large, mostly; then none lies in two units. */
#define WF_SLAB_ALIGN 256

struct wf_slab {
	void *rt;			/* whose fibers these are; fixed */
	struct wf_slab *next;		/* the one made before; fixed */
	void *mapping;			/* that it is part of; fixed */
	size_t mapping_bytes;
	_Atomic(uint32_t) used;		/* descriptors ever handed out */
	struct wf_unit unit[WF_SLAB_UNITS];
	weft_fiber fiber[] wf_aligned(WF_SLAB_ALIGN);
};

/* As many as fit, in whole magazines. */
#define WF_SLAB_FIBERS                                                     \
	((WF_SLAB_BYTES - offsetof(struct wf_slab, fiber)) /                \
		sizeof(weft_fiber) / WF_FIBER_BATCH * WF_FIBER_BATCH)

/* Linked by task.next_; all-zero is empty. */
struct wf_magazine {
	weft_fiber *list;
	uint32_t count;
};

struct wf_units {
	struct wf_unit *first;
	struct wf_unit *last;
	size_t count;
};

struct wf_fiber_pool {
	struct wf_lock lock;
	void *rt;			/* fixed */
	struct wf_stack_pool *stacks;	/* fixed: for credits */
	unsigned cls;			/* fixed: of most fibers */
	void (*run)(weft_task *);	/* fixed: what their tasks do */
	_Atomic(struct wf_slab *) slabs;	/* written by lock */
	weft_fiber *depot;		/* by lock: full magazines, the first
					   of each linked by result */

	/* By lock: the units of all slabs. */
	struct wf_units partial;
	struct wf_units idle;
	struct wf_units bare;
	size_t free;			/* descriptors in depot and units */
	size_t low;			/* the fewest idle units, lately */
	int64_t pause_ns;		/* between two trims */
	_Atomic(int64_t) trim_ns;	/* when the next one is due, written by
					   lock; 0: none is */
};

/* Owner only; all-zero is empty. */
struct wf_fiber_cache {
	struct wf_magazine now;
	struct wf_magazine other;
};

void wf_fiber_pool_open(struct wf_fiber_pool *pool, void *rt,
	struct wf_stack_pool *stacks, unsigned cls);

/* No descriptor may be in use. */
void wf_fiber_pool_close(struct wf_fiber_pool *pool);

/* Refill an empty cache; -ENOMEM.  Make room in a full one. */
wf_must_check int wf_fiber_cache_fill(
	struct wf_fiber_cache *c, struct wf_fiber_pool *pool);
void wf_fiber_cache_drain(
	struct wf_fiber_cache *c, struct wf_fiber_pool *pool);

/* Give back the credits of what is in the cache; nobody uses it any more. */
void wf_fiber_cache_close(
	struct wf_fiber_cache *c, struct wf_fiber_pool *pool);

/* Idle for so long, the memory of free descriptors is given back. */
#define WF_TRIM_NS (250 * WF_NS_PER_MS)

/* When a trim is due; INT64_MAX: never.  Anyone. */
static inline int64_t wf_fiber_pool_next_trim(struct wf_fiber_pool *pool)
{
	int64_t at = wf_load_rlx(&pool->trim_ns);

	return at == 0 ? INT64_MAX : at;
}

/*
 * It is now_ns: if a trim is due make some units bare.  When the next one is
 * due, maybe at once; INT64_MAX: never.  Anyone.
 */
int64_t wf_fiber_pool_trim(struct wf_fiber_pool *pool, int64_t now_ns);

/* The runtime that f belongs to. */
static inline void *wf_fiber_rt(const weft_fiber *f)
{
	uintptr_t slab = (uintptr_t)f & ~(uintptr_t)(WF_SLAB_BYTES - 1);

	return ((struct wf_slab *)slab)->rt;
}

/* A free descriptor with a credit: there is one in the magazine in use. */
static inline weft_fiber *wf_fiber_take_at_hand(struct wf_fiber_cache *c)
{
	weft_fiber *f = c->now.list;

	c->now.list = wf_fiber_of(f->task.next_);
	c->now.count--;
	wf_prefetch(c->now.list);
	return f;
}

/* The same, or NULL if there is no memory. */
static inline weft_fiber *wf_fiber_take(
	struct wf_fiber_cache *c, struct wf_fiber_pool *pool)
{
	if (wf_unlikely(c->now.count == 0) && wf_fiber_cache_fill(c, pool) != 0)
		return NULL;
	return wf_fiber_take_at_hand(c);
}

/* Back, with its credit; its state is that of a free one. */
static inline void wf_fiber_give(struct wf_fiber_cache *c,
	struct wf_fiber_pool *pool, weft_fiber *f)
{
	if (wf_unlikely(c->now.count == WF_FIBER_BATCH))
		wf_fiber_cache_drain(c, pool);
	f->task.next_ = (weft_task *)c->now.list;
	c->now.list = f;
	c->now.count++;
}

/*
 * Call visit for every descriptor there is, free ones too.  Others may take and
 * give meanwhile.
 */
void wf_fiber_pool_walk(struct wf_fiber_pool *pool,
	void (*visit)(weft_fiber *f, void *arg), void *arg);

#endif
