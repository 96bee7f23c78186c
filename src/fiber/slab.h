/* SPDX-License-Identifier: MIT */
/*
 * fiber/slab.h - where descriptors come from: slabs, a depot, caches.
 *
 * Descriptors are carved from slabs, aligned mappings that live as long as the
 * runtime.  The address of a descriptor gives its slab, and the slab gives its
 * runtime.  Free descriptors are kept in magazines, lists of at most one batch:
 *
 *	a cache	two magazines of a processor, used without atomics.  When the
 *		one in use runs empty or full they change places; only if that
 *		does not help, the cache exchanges a magazine with the depot
 *	depot	the full magazines of the pool, under a lock
 *
 * So fibers may begin on one processor and end on another: descriptors are
 * neither lost nor moved one by one.
 *
 * A slab is divided into UNITS, runs of pages.  While few descriptors are free,
 * the depot keeps magazines unsorted.  When it has more than WF_DEPOT_MAX
 * magazines, each magazine that arrives, and one that is there, is sorted by
 * units: each unit has a list of its own free descriptors.  A unit is
 *
 *	in no list	none of its descriptors is sorted in
 *	partial		some are
 *	idle		all are
 *	bare		all are, and their memory was given back: it reads as
 *			zero until the descriptors are made anew
 *
 * Units that were idle for WF_TRIM_NS, except the last WF_UNITS_SPARE, become
 * bare: by a drain that comes then, or by a thread that goes to sleep
 * (idle/park.c).  So after a burst these stay: the spare units; the first unit
 * of each slab (a 64th of it); units with a descriptor that is alive or in a
 * cache; units with a descriptor whose timer is still set.  Memory that is used
 * again within that time stays too, because a page that was given back costs a
 * fault.  Where pages are larger than a unit, or descriptors do not fill one,
 * no unit ever becomes bare.
 *
 *	(D1) A descriptor of a bare unit reads as a free one: stale tickets and
 *	     late wakers may read it like any other.  USE begins anew, so a
 *	     stale ticket may claim a later life; that starts the fiber, as any
 *	     ticket for it would.
 *	(D2) The epoch of WAIT continues: each unit keeps the greatest of its
 *	     epochs for descriptors that are made anew.  A late waker of an
 *	     earlier life, which knows a smaller epoch, finds another word.
 *
 * Each descriptor in a cache has a stack credit (stack/pool.h), of the class
 * that most fibers have.  Credits are taken and given back for whole magazines,
 * so a spawn does not handle them.
 *
 * Roles.  A cache has one OWNER at a time.  Any thread may use the pool.
 *
 * Reads next: sched/proc.h, which owns a cache.
 */
#ifndef WF_FIBER_SLAB_H
#define WF_FIBER_SLAB_H

#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/sanitize.h"
#include "base/units.h"
#include "fiber/fiber.h"
#include "os/lock.h"
#include "stack/pool.h"

/* Under the lock of the pool. */
struct wf_unit {
	struct wf_unit *next;		/* in the list of units it is in */
	struct wf_unit *prev;
	weft_fiber *list;		/* its free descriptors */
	uint32_t count;			/* length of list; bare: all */
	uint32_t whole;			/* fixed: its descriptors; more than
					 * that if it can never be idle */
	uint64_t epoch;			/* bare: (D2) */
};

#define WF_SLAB_UNITS (WF_SLAB_BYTES / WF_UNIT_BYTES)

/* Usually the size of a descriptor; then none lies in two units. */
#define WF_SLAB_ALIGN 256

struct wf_slab {
	void *rt;			/* the runtime of these fibers; fixed */
	struct wf_slab *next;		/* the slab made before; fixed */
	void *mapping;			/* contains the slab; fixed */
	size_t mapping_bytes;
	_Atomic(uint32_t) used;		/* descriptors ever handed out */
	struct wf_unit unit[WF_SLAB_UNITS];
	weft_fiber fiber[] wf_aligned(WF_SLAB_ALIGN);
};

/* As many descriptors as fit, in whole magazines. */
#define WF_SLAB_FIBERS                                                     \
	((WF_SLAB_BYTES - offsetof(struct wf_slab, fiber)) /                \
		sizeof(weft_fiber) / WF_FIBER_BATCH * WF_FIBER_BATCH)

/* A list, linked by task.next_; a zeroed magazine is empty. */
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
	void (*run)(weft_task *);	/* fixed: run of their tasks */
	_Atomic(struct wf_slab *) slabs;	/* written under lock */
	weft_fiber *depot;		/* under lock: full magazines; result
					 * of the first fiber links them */

	/* Under lock: the units of all slabs. */
	struct wf_units partial;
	struct wf_units idle;
	struct wf_units bare;
	size_t free;			/* descriptors in depot and units */
	size_t low;			/* least number of idle units since
					 * the last trim */
	int64_t pause_ns;		/* between two trims */
	_Atomic(int64_t) trim_ns;	/* when the next one is due, written
					 * under lock; 0: never */
};

/* Owner only; a zeroed cache is empty. */
struct wf_fiber_cache {
	struct wf_magazine now;
	struct wf_magazine other;
};

void wf_fiber_pool_open(struct wf_fiber_pool *pool, void *rt,
	struct wf_stack_pool *stacks, unsigned cls);

/* No descriptor may be in use. */
void wf_fiber_pool_close(struct wf_fiber_pool *pool);

/* Refill an empty cache (-ENOMEM), or make room in a full one. */
wf_must_check int wf_fiber_cache_fill(
	struct wf_fiber_cache *c, struct wf_fiber_pool *pool);
void wf_fiber_cache_drain(
	struct wf_fiber_cache *c, struct wf_fiber_pool *pool);

/* Give back the credits of the cache, which is not used any more. */
void wf_fiber_cache_close(
	struct wf_fiber_cache *c, struct wf_fiber_pool *pool);

/* Units idle for this long become bare. */
#define WF_TRIM_NS (250 * WF_NS_PER_MS)

/* When a trim is due; INT64_MAX: never.  Any thread. */
static inline int64_t wf_fiber_pool_next_trim(struct wf_fiber_pool *pool)
{
	int64_t at = wf_load_rlx(&pool->trim_ns);

	return at == 0 ? INT64_MAX : at;
}

/*
 * At now_ns: if a trim is due, make some units bare.  Returns when the next one
 * is due, maybe at once; INT64_MAX: never.  Any thread.
 */
int64_t wf_fiber_pool_trim(struct wf_fiber_pool *pool, int64_t now_ns);

/* The runtime of f. */
static inline void *wf_fiber_rt(const weft_fiber *f)
{
	uintptr_t slab = (uintptr_t)f & ~(uintptr_t)(WF_SLAB_BYTES - 1);

	return ((struct wf_slab *)slab)->rt;
}

/* Take a free descriptor with a credit; the magazine in use is not empty. */
static inline weft_fiber *wf_fiber_take_at_hand(struct wf_fiber_cache *c)
{
	weft_fiber *f = c->now.list;

	c->now.list = wf_fiber_of(f->task.next_);
	c->now.count--;
	wf_prefetch(c->now.list);
	return f;
}

/* Take a free descriptor with a credit; NULL if there is no memory. */
static inline weft_fiber *wf_fiber_take(
	struct wf_fiber_cache *c, struct wf_fiber_pool *pool)
{
	if (wf_unlikely(c->now.count == 0) && wf_fiber_cache_fill(c, pool) != 0)
		return NULL;
	return wf_fiber_take_at_hand(c);
}

/* Give back f with its credit; its state is that of a free descriptor. */
static inline void wf_fiber_give(struct wf_fiber_cache *c,
	struct wf_fiber_pool *pool, weft_fiber *f)
{
	wf_san_fiber_freed(f);
	if (wf_unlikely(c->now.count == WF_FIBER_BATCH))
		wf_fiber_cache_drain(c, pool);
	f->task.next_ = (weft_task *)c->now.list;
	c->now.list = f;
	c->now.count++;
}

/*
 * Call visit for every descriptor, free ones too.  Other threads may take and
 * give meanwhile.
 */
void wf_fiber_pool_walk(struct wf_fiber_pool *pool,
	void (*visit)(weft_fiber *f, void *arg), void *arg);

#endif
