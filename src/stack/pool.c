/* SPDX-License-Identifier: MIT */
/*
 * stack/pool.c - promise stacks, make them, free them.
 */
#include "stack/pool.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/limits.h"
#include "os/os.h"

#define WF_ARENA_BYTES_MAX WF_GIB
#define WF_DEPOT_BYTES (128 * WF_MIB)

/* No magazine is larger: see stack/class.c. */
#define WF_BATCH_MAX 32

void wf_stack_pool_open(
	struct wf_stack_pool *p, const struct wf_stack_config *config)
{
	size_t keep = config->depot_bytes ? config->depot_bytes
					  : WF_DEPOT_BYTES;

	*p = (struct wf_stack_pool){ .config = *config,
		.page_bytes = wf_os_page_bytes() };
	wf_guards_init(&p->guards, config->strict_guards);
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		struct wf_stack_store *st = &p->store[cls];

		st->shape = wf_stack_class_make(cls, p->page_bytes);
		st->depot_max = keep / st->shape.promised / st->shape.batch;
	}
}

void wf_stack_pool_close(struct wf_stack_pool *p)
{
	wf_check(wf_stack_pool_check(p));
	wf_assert(p->caches == 0, "%zu stack caches are still open", p->caches);
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		struct wf_stack_store *st = &p->store[cls];

		wf_assert(st->promised == 0, "%zu stacks are still in use",
			st->promised);
		while (st->arenas != NULL) {
			struct wf_arena *a = st->arenas;

			st->arenas = a->next;
			wf_arena_unmap(a, &p->guards);
		}
	}
}

int wf_stack_pool_class(struct wf_stack_pool *p, size_t bytes)
{
	return wf_stack_class_of(bytes, p->page_bytes);
}

/* The least value of ready for so many credits (P1).  Under lock. */
static size_t needed(
	struct wf_stack_pool *p, struct wf_stack_store *st, size_t promised)
{
	if (promised == 0)
		return 0;
	return promised + (2 * p->caches + 1) * st->shape.batch;
}

/* The list of arenas with cold slots, the oldest first.  Under lock. */
static void cold_insert(struct wf_stack_store *st, struct wf_arena *a)
{
	struct wf_arena **at = &st->cold;

	while (*at != NULL && (*at)->age < a->age)
		at = &(*at)->next_cold;
	a->next_cold = *at;
	*at = a;
}

static void cold_remove(struct wf_stack_store *st, struct wf_arena *a)
{
	struct wf_arena **at = &st->cold;

	while (*at != a)
		at = &(*at)->next_cold;
	*at = a->next_cold;
}

/*
 * Add an arena, as large as all others together; if there is no room for that,
 * one with just the slots that are needed.  Under grow_lock.
 */
static int add_arena(struct wf_stack_pool *p, unsigned cls, size_t slots)
{
	struct wf_stack_store *st = &p->store[cls];
	size_t bytes = st->ready * st->shape.stride;
	struct wf_arena *a;

	bytes = wf_max_size(bytes, WF_ARENA_BYTES_FIRST);
	bytes = wf_min_size(bytes, WF_ARENA_BYTES_MAX);
	if (wf_arena_map(&a, cls, bytes) != 0 &&
		wf_arena_map(&a, cls, slots * st->shape.stride) != 0)
		return -ENOMEM;
	a->age = st->next_age++;
	wf_lock(&p->lock);
	a->next = st->arenas;
	st->arenas = a;
	wf_unlock(&p->lock);
	return 0;
}

/* Carve some more slots; a new arena has room for n.  Under grow_lock. */
static int carve(struct wf_stack_pool *p, unsigned cls, size_t n)
{
	struct wf_stack_store *st = &p->store[cls];
	struct wf_arena *a = st->arenas;
	int some;

	if (a == NULL || a->carved == a->count) {
		int err = add_arena(p, cls, n);

		if (err)
			return err;
		a = st->arenas;
	}
	some = wf_arena_carve(a, &p->guards);
	if (some < 0)
		return some;
	wf_lock(&p->lock);
	if (a->cold == 0)
		cold_insert(st, a);
	a->carved += (uint32_t)some;
	a->cold += (uint32_t)some;
	st->ready += (size_t)some;
	wf_unlock(&p->lock);
	return some;
}

/*
 * Carve enough stacks for n more credits.  On -ENOMEM there are not enough, but
 * those that were carved stay.
 */
static int grow(struct wf_stack_pool *p, unsigned cls, size_t n)
{
	struct wf_stack_store *st = &p->store[cls];
	int err = 0;

	wf_lock(&p->grow_lock);
	for (;;) {
		size_t need;

		wf_lock(&p->lock);
		need = needed(p, st, st->promised + n);
		need = need > st->ready ? need - st->ready : 0;
		wf_unlock(&p->lock);
		if (need == 0)
			break;
		err = carve(p, cls, need);
		if (err < 0)
			break;
		err = 0;
	}
	wf_unlock(&p->grow_lock);
	return err;
}

int wf_stack_pool_promise(struct wf_stack_pool *p, unsigned cls, size_t n)
{
	struct wf_stack_store *st = &p->store[cls];

	for (;;) {
		bool covered, absurd;
		int err;

		wf_lock(&p->lock);
		absurd = n > SIZE_MAX / 2 / st->shape.stride - st->promised;
		covered = !absurd &&
			needed(p, st, st->promised + n) <= st->ready;
		if (covered)
			st->promised += n;
		wf_unlock(&p->lock);
		if (covered)
			return 0;
		if (absurd)
			return -ENOMEM;
		err = grow(p, cls, n);
		if (err)
			return err;
	}
}

void wf_stack_pool_release(struct wf_stack_pool *p, unsigned cls, size_t n)
{
	struct wf_stack_store *st = &p->store[cls];

	wf_lock(&p->lock);
	wf_assert(st->promised >= n, "a stack credit was given back twice");
	st->promised -= n;
	wf_unlock(&p->lock);
}

/*
 * The new cache counts at once (P1); it gets no stack before there are enough.
 */
int wf_stack_pool_join(struct wf_stack_pool *p)
{
	bool too_few[WF_STACK_CLASSES];

	wf_lock(&p->lock);
	p->caches++;
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		struct wf_stack_store *st = &p->store[cls];

		too_few[cls] = needed(p, st, st->promised) > st->ready;
	}
	wf_unlock(&p->lock);
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		int err = too_few[cls] ? grow(p, cls, 0) : 0;

		if (err) {
			wf_stack_pool_leave(p);
			return err;
		}
	}
	return 0;
}

void wf_stack_pool_leave(struct wf_stack_pool *p)
{
	wf_lock(&p->lock);
	wf_assert(p->caches > 0, "a stack cache was closed twice");
	p->caches--;
	wf_unlock(&p->lock);
}

/* Touch the memory of a cold slot and write its struct wf_stack there. */
static struct wf_stack *warm(struct wf_arena *a, uint32_t index)
{
	char *high = wf_arena_slot(a, index) + a->shape.stride;
	size_t colour = index % WF_STACK_COLOURS * WF_CACHE_LINE;
	struct wf_stack *s = (struct wf_stack *)(high - colour) - 1;

	/* Aligned for any object, because the stack begins here. */
	s = (struct wf_stack *)((uintptr_t)s & ~(uintptr_t)63);
	*s = (struct wf_stack){
		.arena = a,
		.low = wf_arena_slot(a, index) + a->shape.guard,
		.index = index,
		.cls = a->cls,
	};
	if (a->slot[index].valgrind == 0)
		a->slot[index].valgrind =
			wf_valgrind_stack_add(wf_stack_low(s), high) + 1;
	return s;
}

void wf_stack_pool_deal(
	struct wf_stack_pool *p, unsigned cls, struct wf_stack_magazine *m)
{
	struct wf_stack_store *st = &p->store[cls];
	struct wf_stack *s;
	struct wf_arena *a;
	uint32_t index = 0;

	wf_lock(&p->lock);
	s = st->depot;
	a = st->cold;
	if (s != NULL) {
		st->depot = s->next_magazine;
		st->depot_count--;
	} else if (a != NULL) {
		index = wf_arena_take(a);
		if (a->cold == 0)
			st->cold = a->next_cold;
	}
	wf_unlock(&p->lock);
	wf_assert(s != NULL || a != NULL,
		"a stack was taken without a credit for it");
	if (s != NULL)
		*m = (struct wf_stack_magazine){ s, st->shape.batch };
	else
		*m = (struct wf_stack_magazine){ warm(a, index), 1 };
}

/*
 * Whether the arena is all cold, not needed (P1), and not the last.  Under
 * lock.
 */
static bool can_go(
	struct wf_stack_pool *p, struct wf_stack_store *st, struct wf_arena *a)
{
	size_t rest = st->ready - a->carved;

	return a->cold == a->carved && rest > 0 &&
		rest >= needed(p, st, st->promised);
}

/*
 * Unmap arenas that hold no hot stack and are not needed (P1).  Under
 * grow_lock, so that no thread carves them meanwhile.
 */
static void shed(struct wf_stack_pool *p, struct wf_stack_store *st)
{
	struct wf_arena *gone = NULL, **at;

	wf_lock(&p->lock);
	for (at = &st->arenas; *at != NULL;) {
		struct wf_arena *a = *at;

		if (!can_go(p, st, a)) {
			at = &a->next;
			continue;
		}
		if (a->cold > 0)
			cold_remove(st, a);
		st->ready -= a->carved;
		*at = a->next;
		a->next = gone;
		gone = a;
	}
	wf_unlock(&p->lock);
	while (gone != NULL) {
		struct wf_arena *a = gone;

		gone = a->next;
		wf_arena_unmap(a, &p->guards);
	}
}

/*
 * Give the memory of a magazine's stacks back to the system; the stacks become
 * cold.  If the system refuses, the pages stay resident until the slot is used
 * again; only with `wipe' they must be cleared here.
 */
static void chill(struct wf_stack_pool *p, struct wf_stack_magazine *m)
{
	struct wf_arena *arena[WF_BATCH_MAX];
	uint32_t index[WF_BATCH_MAX];
	struct wf_os_span span[WF_BATCH_MAX];
	uint32_t n = 0;

	for (struct wf_stack *s = m->list; s != NULL; s = s->next, n++) {
		arena[n] = s->arena;
		index[n] = s->index;
		span[n].addr = wf_stack_low(s);
		span[n].bytes = s->arena->shape.stride - s->arena->shape.guard;
	}
	if (wf_os_vm_discard(span, n) != 0 && p->config.wipe)
		for (uint32_t i = 0; i < n; i++)
			memset(span[i].addr, 0, span[i].bytes);
	wf_lock(&p->lock);
	for (uint32_t i = 0; i < n; i++) {
		if (arena[i]->cold == 0)
			cold_insert(&p->store[arena[i]->cls], arena[i]);
		wf_arena_put(arena[i], index[i]);
	}
	wf_unlock(&p->lock);
	*m = (struct wf_stack_magazine){ 0 };
}

/* Put a full magazine into the depot; false if it has no room. */
static bool keep(struct wf_stack_pool *p, struct wf_stack_store *st,
	struct wf_stack_magazine *m)
{
	bool room;

	if (m->count < st->shape.batch || p->config.wipe)
		return false;
	wf_lock(&p->lock);
	room = st->depot_count < st->depot_max;
	if (room) {
		m->list->next_magazine = st->depot;
		st->depot = m->list;
		st->depot_count++;
	}
	wf_unlock(&p->lock);
	if (room)
		*m = (struct wf_stack_magazine){ 0 };
	return room;
}

void wf_stack_pool_collect(struct wf_stack_pool *p, struct wf_stack_magazine *m)
{
	struct wf_stack_store *st;

	if (m->count == 0)
		return;
	st = &p->store[m->list->cls];
	if (keep(p, st, m))
		return;
	chill(p, m);
	/*
	 * If another thread grows or trims now, a later collect unmaps the
	 * arena.
	 */
	if (wf_trylock(&p->grow_lock)) {
		shed(p, st);
		wf_unlock(&p->grow_lock);
	}
}

void wf_stack_pool_trim(struct wf_stack_pool *p)
{
	wf_lock(&p->grow_lock);
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		struct wf_stack_store *st = &p->store[cls];

		for (;;) {
			struct wf_stack_magazine m = { 0 };

			wf_lock(&p->lock);
			m.list = st->depot;
			if (m.list != NULL) {
				st->depot = m.list->next_magazine;
				st->depot_count--;
			}
			wf_unlock(&p->lock);
			if (m.list == NULL)
				break;
			chill(p, &m);
		}
		shed(p, st);
	}
	wf_unlock(&p->grow_lock);
}

void wf_stack_pool_stats(struct wf_stack_pool *p, struct wf_stack_stats *stats)
{
	*stats = (struct wf_stack_stats){ 0 };
	wf_lock(&p->grow_lock);
	wf_lock(&p->lock);
	for (unsigned cls = 0; cls < WF_STACK_CLASSES; cls++) {
		struct wf_stack_store *st = &p->store[cls];

		stats->ready += st->ready;
		stats->promised += st->promised;
		stats->depot += st->depot_count * st->shape.batch;
		for (struct wf_arena *a = st->arenas; a; a = a->next) {
			stats->arenas++;
			stats->mapped_bytes += a->bytes;
			stats->cold += a->cold;
		}
	}
	wf_unlock(&p->lock);
	stats->guards_installed = p->guards.installed;
	stats->guards_protected = p->guards.protected;
	stats->guards_missing = p->guards.missing;
	wf_unlock(&p->grow_lock);
}

/* Check one class. */
static bool store_check(struct wf_stack_pool *p, struct wf_stack_store *st)
{
	size_t carved = 0, magazines = 0, listed = 0, with_cold = 0;

	for (struct wf_arena *a = st->arenas; a; a = a->next) {
		if (!wf_arena_check(a))
			return false;
		carved += a->carved;
		with_cold += a->cold > 0;
	}
	for (struct wf_arena *a = st->cold; a; a = a->next_cold) {
		if (a->cold == 0)
			return false;
		listed++;
	}
	for (struct wf_stack *m = st->depot; m; m = m->next_magazine) {
		uint32_t n = 0;

		for (struct wf_stack *s = m; s; s = s->next)
			n++;
		if (n != st->shape.batch)
			return false;
		magazines++;
	}
	return carved == st->ready && with_cold == listed &&
		magazines == st->depot_count &&
		st->ready >= needed(p, st, st->promised);
}

bool wf_stack_pool_check(struct wf_stack_pool *p)
{
	bool ok = true;

	wf_lock(&p->grow_lock);
	wf_lock(&p->lock);
	for (unsigned cls = 0; cls < WF_STACK_CLASSES && ok; cls++)
		ok = store_check(p, &p->store[cls]);
	wf_unlock(&p->lock);
	wf_unlock(&p->grow_lock);
	return ok;
}
