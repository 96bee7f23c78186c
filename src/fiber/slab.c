/* SPDX-License-Identifier: MIT */
/*
 * fiber/slab.c - carving descriptors, and trading magazines of them.
 */
#include "fiber/slab.h"

#include <errno.h>

#include "os/os.h"

void wf_fiber_pool_open(struct wf_fiber_pool *pool, void *rt)
{
	*pool = (struct wf_fiber_pool){ .rt = rt };
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
 * Map one slab more.  Alignment costs as much address space again, none of it
 * touched.
 */
static struct wf_slab *slab_map(struct wf_fiber_pool *pool)
{
	struct wf_slab *slab;
	void *mapping;
	uintptr_t at;

	if (wf_os_vm_map(&mapping, 2 * WF_SLAB_BYTES) != 0)
		return NULL;
	at = ((uintptr_t)mapping + WF_SLAB_BYTES - 1) &
		~(uintptr_t)(WF_SLAB_BYTES - 1);
	slab = (struct wf_slab *)at;
	slab->rt = pool->rt;
	slab->mapping = mapping;
	slab->mapping_bytes = 2 * WF_SLAB_BYTES;
	return slab;
}

/* Holding the lock: a batch of descriptors never used before, or none. */
static uint32_t carve(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	struct wf_slab *slab = wf_load_rlx(&pool->slabs);
	uint32_t used = slab ? wf_load_rlx(&slab->used) : WF_SLAB_FIBERS;

	while (used < WF_SLAB_FIBERS && m->count < WF_FIBER_BATCH) {
		weft_fiber *f = &slab->fiber[used++];

		f->task.run = wf_fiber_task_run;
		f->task.next_ = &m->list->task;
		m->list = f;
		m->count++;
	}
	if (m->count > 0)
		wf_store_rlx(&slab->used, used);
	return m->count;
}

/* Holding the lock: a full magazine from the depot, or a carved one. */
static uint32_t refill(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	if (pool->depot == NULL)
		return carve(pool, m);
	m->list = pool->depot;
	m->count = WF_FIBER_BATCH;
	pool->depot = m->list->result;
	return m->count;
}

static void swap(struct wf_fiber_cache *c)
{
	struct wf_magazine now = c->now;

	c->now = c->other;
	c->other = now;
}

int wf_fiber_cache_fill(struct wf_fiber_cache *c, struct wf_fiber_pool *pool)
{
	struct wf_slab *slab;
	uint32_t n;

	swap(c);
	if (c->now.count > 0)
		return 0;
	wf_lock(&pool->lock);
	n = refill(pool, &c->now);
	wf_unlock(&pool->lock);
	if (n > 0)
		return 0;
	slab = slab_map(pool);
	wf_lock(&pool->lock);
	n = refill(pool, &c->now);
	if (n == 0 && slab != NULL) {
		slab->next = wf_load_rlx(&pool->slabs);
		/* [pair: slab.list] A walker sees the slab as it was made. */
		wf_store_rel(&pool->slabs, slab);
		slab = NULL;
		n = refill(pool, &c->now);
	}
	wf_unlock(&pool->lock);
	if (slab != NULL)
		wf_os_vm_unmap(slab->mapping, slab->mapping_bytes);
	return n > 0 ? 0 : -ENOMEM;
}

void wf_fiber_cache_drain(struct wf_fiber_cache *c, struct wf_fiber_pool *pool)
{
	swap(c);
	if (c->now.count < WF_FIBER_BATCH)
		return;
	wf_lock(&pool->lock);
	c->now.list->result = pool->depot;
	pool->depot = c->now.list;
	wf_unlock(&pool->lock);
	c->now = (struct wf_magazine){ 0 };
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
