/* SPDX-License-Identifier: MIT */
/*
 * fiber/slab.c - carve descriptors, and move magazines of them.
 */
#include "fiber/slab.h"

#include <errno.h>

#include "base/units.h"
#include "os/os.h"

/* The longest pause between trims; it doubles while trims find nothing. */
#define WF_TRIM_MAX_NS (60 * WF_NS_PER_S)

void wf_fiber_pool_open(struct wf_fiber_pool *pool, void *rt,
	struct wf_stack_pool *stacks, unsigned cls)
{
	*pool = (struct wf_fiber_pool){
		.rt = rt,
		.stacks = stacks,
		.cls = cls,
		.run = wf_fiber_task_run,
	};
}

void wf_fiber_pool_close(struct wf_fiber_pool *pool)
{
	struct wf_slab *slab = wf_load_rlx(&pool->slabs), *next;

	for (; slab != NULL; slab = next) {
		next = slab->next;
		wf_os_vm_unmap(slab->mapping, slab->mapping_bytes);
	}
	*pool = (struct wf_fiber_pool){ 0 };
}

/*
 * Store how many descriptors each unit of a new slab has.  The first unit also
 * has the slab's own fields, so it can never be idle.
 */
static void divide(struct wf_slab *slab)
{
	bool apart = WF_UNIT_BYTES % wf_os_page_bytes() == 0 &&
		WF_UNIT_BYTES % sizeof(weft_fiber) == 0;
	size_t end = offsetof(struct wf_slab, fiber) +
		WF_SLAB_FIBERS * sizeof(weft_fiber);

	for (size_t i = 0; i < WF_SLAB_UNITS; i++) {
		size_t from = i * WF_UNIT_BYTES;
		size_t to = wf_min_size(from + WF_UNIT_BYTES, end);

		slab->unit[i].whole = apart && i > 0 && from < to
			? (uint32_t)((to - from) / sizeof(weft_fiber))
			: UINT32_MAX;
	}
}

/*
 * Map one more slab.  To align it, map twice its size; the other half is never
 * touched.
 */
static struct wf_slab *slab_map(struct wf_fiber_pool *pool)
{
	struct wf_slab *slab;
	void *mapping = NULL;
	uintptr_t at;

	if (wf_os_vm_map(&mapping, 2 * WF_SLAB_BYTES) != 0)
		return NULL;
	at = ((uintptr_t)mapping + WF_SLAB_BYTES - 1) &
		~(uintptr_t)(WF_SLAB_BYTES - 1);
	slab = (struct wf_slab *)at;
	slab->rt = pool->rt;
	slab->mapping = mapping;
	slab->mapping_bytes = 2 * WF_SLAB_BYTES;
	divide(slab);
	return slab;
}

/* ------------------------------------------------------------------------ */
/* Units.  All under the lock. */

static struct wf_unit *unit_of(weft_fiber *f)
{
	uintptr_t at = (uintptr_t)f & (WF_SLAB_BYTES - 1);
	struct wf_slab *slab = (struct wf_slab *)((uintptr_t)f - at);

	return &slab->unit[at / WF_UNIT_BYTES];
}

/* The memory of u. */
static char *unit_memory(struct wf_unit *u)
{
	uintptr_t slab = (uintptr_t)u & ~(uintptr_t)(WF_SLAB_BYTES - 1);
	size_t i = (size_t)(u - ((struct wf_slab *)slab)->unit);

	return (char *)slab + i * WF_UNIT_BYTES;
}

static void append(struct wf_units *to, struct wf_unit *u)
{
	u->next = NULL;
	u->prev = to->last;
	if (to->last != NULL)
		to->last->next = u;
	else
		to->first = u;
	to->last = u;
	to->count++;
}

static void unlink_unit(struct wf_units *from, struct wf_unit *u)
{
	if (u->prev != NULL)
		u->prev->next = u->next;
	else
		from->first = u->next;
	if (u->next != NULL)
		u->next->prev = u->prev;
	else
		from->last = u->prev;
	from->count--;
}

/* Sort the descriptors of m, any number, into their units. */
static void sort(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	for (; m->count > 0; m->count--) {
		weft_fiber *f = m->list;
		struct wf_unit *u = unit_of(f);

		m->list = wf_fiber_of(f->task.next_);
		f->task.next_ = (weft_task *)u->list;
		u->list = f;
		if (u->count++ == 0)
			append(&pool->partial, u);
		if (u->count == u->whole) {
			unlink_unit(&pool->partial, u);
			append(&pool->idle, u);
		}
	}
	m->list = NULL;
}

/* Rebuild the descriptors of a bare unit, all free. */
static void make_anew(struct wf_fiber_pool *pool, struct wf_unit *u)
{
	weft_fiber *f = (weft_fiber *)unit_memory(u);

	for (uint32_t i = 0; i < u->whole; i++) {
		f[i].task.run = pool->run;
		wf_store_rlx(&f[i].wait, u->epoch);
		f[i].task.next_ = (weft_task *)u->list;
		u->list = &f[i];
	}
	pool->free += u->whole;
}

/* A unit with free descriptors, which becomes partial; NULL: none. */
static struct wf_unit *unit_with_some(struct wf_fiber_pool *pool)
{
	struct wf_unit *u = pool->partial.first;

	if (u != NULL)
		return u;
	u = pool->idle.last;
	if (u != NULL) {
		unlink_unit(&pool->idle, u);
		if (pool->low > pool->idle.count)
			pool->low = pool->idle.count;
	} else {
		u = pool->bare.first;
		if (u == NULL)
			return NULL;
		unlink_unit(&pool->bare, u);
		make_anew(pool, u);
	}
	append(&pool->partial, u);
	return u;
}

/* Move up to a magazine of descriptors from their units to m. */
static void gather(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	struct wf_unit *u;

	while (m->count < WF_FIBER_BATCH && (u = unit_with_some(pool))) {
		weft_fiber *f = u->list;

		u->list = wf_fiber_of(f->task.next_);
		if (--u->count == 0)
			unlink_unit(&pool->partial, u);
		f->task.next_ = (weft_task *)m->list;
		m->list = f;
		m->count++;
	}
}

/* ------------------------------------------------------------------------ */
/* Giving memory back. */

/*
 * Holding the lock: set the time of the next trim, if there are units to give
 * back.
 */
static void put_off(struct wf_fiber_pool *pool, int64_t now_ns, bool futile)
{
	bool none = pool->idle.count <= WF_UNITS_SPARE;

	pool->low = pool->idle.count;
	pool->pause_ns = futile && pool->pause_ns < WF_TRIM_MAX_NS
		? 2 * pool->pause_ns
		: WF_TRIM_NS;
	wf_store_rlx(&pool->trim_ns,
		none ? 0 : now_ns + pool->pause_ns);
}

/*
 * Holding the lock: take units that have been idle for long out of their list.
 */
static size_t choose(struct wf_fiber_pool *pool, struct wf_unit **unit)
{
	size_t n = 0;

	while (n < WF_UNITS_AT_ONCE && pool->low > WF_UNITS_SPARE) {
		unit[n] = pool->idle.first;
		unlink_unit(&pool->idle, unit[n]);
		pool->free -= unit[n++]->whole;
		pool->low--;
	}
	return n;
}

/* Whether the unit may become bare: no timer is set.  Notes its epoch (D2). */
static bool may_be_bare(struct wf_unit *u)
{
	weft_fiber *f = (weft_fiber *)unit_memory(u);

	u->epoch = 0;
	for (uint32_t i = 0; i < u->whole; i++) {
		uint64_t wait = wf_load_rlx(&f[i].wait);

		/* [pair: timer.in] A timer that is out is not touched again. */
		if (wf_load_acq(&f[i].timer.in) != NULL)
			return false;
		if (wait > u->epoch)
			u->epoch = wait;
	}
	return true;
}

/*
 * Give the memory of units that are in no list back to the system, except of
 * those that must stay.  Returns whether there was any.
 */
static bool discard(struct wf_unit **unit, size_t n, bool *bare)
{
	struct wf_os_span span[WF_UNITS_AT_ONCE];
	size_t spans = 0;

	for (size_t i = 0; i < n; i++) {
		bare[i] = may_be_bare(unit[i]);
		if (bare[i])
			span[spans++] = (struct wf_os_span){
				unit_memory(unit[i]), WF_UNIT_BYTES
			};
	}
	/*
	 * If it fails, the units still contain free descriptors, which is as
	 * good.
	 */
	(void)wf_os_vm_discard(span, spans);
	return spans > 0;
}

/* Holding the lock: put chosen units into the list of idle or of bare ones. */
static void file(struct wf_fiber_pool *pool, struct wf_unit **unit, size_t n,
	const bool *bare)
{
	for (size_t i = 0; i < n; i++) {
		append(bare[i] ? &pool->bare : &pool->idle, unit[i]);
		if (bare[i])
			unit[i]->list = NULL;
		else
			pool->free += unit[i]->whole;
	}
}

/* A trim is due.  Calls the system without the lock. */
static wf_noinline void trim(struct wf_fiber_pool *pool, int64_t now_ns)
{
	struct wf_unit *unit[WF_UNITS_AT_ONCE];
	bool bare[WF_UNITS_AT_ONCE], any = true;
	size_t n = 0;

	wf_lock(&pool->lock);
	/* Another thread may have trimmed meanwhile. */
	if (wf_fiber_pool_next_trim(pool) <= now_ns)
		n = choose(pool, unit);
	wf_unlock(&pool->lock);
	if (n > 0)
		any = discard(unit, n, bare);
	wf_lock(&pool->lock);
	file(pool, unit, n, bare);
	/* While trims find memory, continue without a pause. */
	if (wf_fiber_pool_next_trim(pool) <= now_ns &&
		(!any || pool->low <= WF_UNITS_SPARE))
		put_off(pool, now_ns, !any);
	wf_unlock(&pool->lock);
}

int64_t wf_fiber_pool_trim(struct wf_fiber_pool *pool, int64_t now_ns)
{
	if (wf_fiber_pool_next_trim(pool) <= now_ns)
		trim(pool, now_ns);
	return wf_fiber_pool_next_trim(pool);
}

/* ------------------------------------------------------------------------ */
/* Magazines. */

/*
 * Holding the lock: take a batch of descriptors that were never used, if any.
 */
static void carve(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	struct wf_slab *slab = wf_load_rlx(&pool->slabs);
	uint32_t used = slab ? wf_load_rlx(&slab->used) : WF_SLAB_FIBERS;

	if (used == WF_SLAB_FIBERS)
		return;
	for (m->count = 0; m->count < WF_FIBER_BATCH; m->count++) {
		weft_fiber *f = &slab->fiber[used + m->count];

		f->task.run = pool->run;
		f->task.next_ = (weft_task *)m->list;
		m->list = f;
	}
	wf_store_rlx(&slab->used, used + WF_FIBER_BATCH);
	pool->free += WF_FIBER_BATCH;
}

/* Holding the lock: take a full magazine out of the depot. */
static void unstack(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	m->list = pool->depot;
	m->count = WF_FIBER_BATCH;
	pool->depot = wf_load_rlx(&m->list->result);
}

/*
 * Holding the lock: fill m from the depot, the units or by carving.  Returns
 * how many.
 */
static uint32_t refill(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	if (pool->depot != NULL)
		unstack(pool, m);
	else
		gather(pool, m);
	if (m->count == 0)
		carve(pool, m);
	pool->free -= m->count;
	return m->count;
}

static void swap(struct wf_fiber_cache *c)
{
	struct wf_magazine now = c->now;

	c->now = c->other;
	c->other = now;
}

/*
 * Get a magazine of descriptors, without credits.  Returns how many; 0: no
 * memory.
 */
static uint32_t fetch(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	struct wf_slab *slab;
	uint32_t n;

	wf_lock(&pool->lock);
	n = refill(pool, m);
	wf_unlock(&pool->lock);
	if (n > 0)
		return n;
	slab = slab_map(pool);
	wf_lock(&pool->lock);
	n = refill(pool, m);
	if (n == 0 && slab != NULL) {
		slab->next = wf_load_rlx(&pool->slabs);
		/* [pair: slab.list] Show a walker the slab as it was made. */
		wf_store_rel(&pool->slabs, slab);
		slab = NULL;
		n = refill(pool, m);
	}
	wf_unlock(&pool->lock);
	if (slab != NULL)
		wf_os_vm_unmap(slab->mapping, slab->mapping_bytes);
	return n;
}

/* Holding the lock: put a magazine into the depot, as it is or sorted. */
static void stack(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	struct wf_magazine old = { 0 };

	pool->free += m->count;
	if (m->count == WF_FIBER_BATCH &&
		pool->free <= WF_DEPOT_MAX * WF_FIBER_BATCH) {
		wf_store_rlx(&m->list->result, pool->depot);
		pool->depot = m->list;
		return;
	}
	sort(pool, m);
	if (pool->depot != NULL) {
		unstack(pool, &old);
		sort(pool, &old);
	}
}

/* More units are idle than are kept: some may be given back. */
static wf_noinline void note_idle(struct wf_fiber_pool *pool)
{
	int64_t now_ns = wf_os_now_ns();

	wf_lock(&pool->lock);
	if (wf_load_rlx(&pool->trim_ns) == 0)
		put_off(pool, now_ns, false);
	wf_unlock(&pool->lock);
	(void)wf_fiber_pool_trim(pool, now_ns);
}

/* Put a magazine into the depot; it is empty afterwards. */
static void put_back(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	size_t idle;

	wf_lock(&pool->lock);
	stack(pool, m);
	idle = pool->idle.count;
	wf_unlock(&pool->lock);
	*m = (struct wf_magazine){ 0 };
	if (wf_unlikely(idle > WF_UNITS_SPARE))
		note_idle(pool);
}

int wf_fiber_cache_fill(struct wf_fiber_cache *c, struct wf_fiber_pool *pool)
{
	int err;

	swap(c);
	if (c->now.count > 0)
		return 0;
	if (fetch(pool, &c->now) == 0)
		return -ENOMEM;
	err = wf_stack_pool_promise(pool->stacks, pool->cls, c->now.count);
	if (err)
		put_back(pool, &c->now);
	return err;
}

void wf_fiber_cache_close(struct wf_fiber_cache *c, struct wf_fiber_pool *pool)
{
	wf_stack_pool_release(
		pool->stacks, pool->cls, c->now.count + c->other.count);
	*c = (struct wf_fiber_cache){ 0 };
}

void wf_fiber_cache_drain(struct wf_fiber_cache *c, struct wf_fiber_pool *pool)
{
	swap(c);
	if (c->now.count < WF_FIBER_BATCH)
		return;
	put_back(pool, &c->now);
	wf_stack_pool_release(pool->stacks, pool->cls, WF_FIBER_BATCH);
}

void wf_fiber_pool_walk(struct wf_fiber_pool *pool,
	void (*visit)(weft_fiber *f, void *arg), void *arg)
{
	/* [pair: slab.list] See each slab as it was made. */
	struct wf_slab *slab = wf_load_acq(&pool->slabs);

	for (; slab != NULL; slab = slab->next)
		for (uint32_t i = 0; i < wf_load_rlx(&slab->used); i++)
			visit(&slab->fiber[i], arg);
}
