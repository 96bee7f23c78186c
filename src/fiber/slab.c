/* SPDX-License-Identifier: MIT */
/*
 * fiber/slab.c - carving descriptors, and trading magazines of them.
 */
#include "fiber/slab.h"

#include <errno.h>

#include "os/os.h"

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
 * Map one slab more.  Alignment costs as much address space again, none of it
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
	return slab;
}

/* Holding the lock: a batch of descriptors never used before, or none. */
static uint32_t carve(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	struct wf_slab *slab = wf_load_rlx(&pool->slabs);
	uint32_t used = slab ? wf_load_rlx(&slab->used) : WF_SLAB_FIBERS;

	if (used == WF_SLAB_FIBERS)
		return 0;
	for (m->count = 0; m->count < WF_FIBER_BATCH; m->count++) {
		weft_fiber *f = &slab->fiber[used + m->count];

		f->task.run = pool->run;
		f->task.next_ = (weft_task *)m->list;
		m->list = f;
	}
	wf_store_rlx(&slab->used, used + WF_FIBER_BATCH);
	return m->count;
}

/* Holding the lock: a full magazine from the depot, or a carved one. */
static uint32_t refill(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	if (pool->depot == NULL)
		return carve(pool, m);
	m->list = pool->depot;
	m->count = WF_FIBER_BATCH;
	pool->depot = wf_load_rlx(&m->list->result);
	return m->count;
}

static void swap(struct wf_fiber_cache *c)
{
	struct wf_magazine now = c->now;

	c->now = c->other;
	c->other = now;
}

/* A magazine of descriptors, without credits.  How many; 0: no memory. */
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
		/* [pair: slab.list] A walker sees the slab as it was made. */
		wf_store_rel(&pool->slabs, slab);
		slab = NULL;
		n = refill(pool, m);
	}
	wf_unlock(&pool->lock);
	if (slab != NULL)
		wf_os_vm_unmap(slab->mapping, slab->mapping_bytes);
	return n;
}

/* A full magazine into the depot; it is then empty. */
static void put_back(struct wf_fiber_pool *pool, struct wf_magazine *m)
{
	wf_lock(&pool->lock);
	wf_store_rlx(&m->list->result, pool->depot);
	pool->depot = m->list;
	wf_unlock(&pool->lock);
	*m = (struct wf_magazine){ 0 };
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
