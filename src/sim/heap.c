/* SPDX-License-Identifier: MIT */
/*
 * sim/heap.c - blocks and maps, at increasing addresses.
 */
#include "sim/heap.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/sanitize.h"
#include "base/units.h"
#include "sim/engine.h"
#include "sim/shadow.h"
#include "sim/trace.h"

/* An address in the user's half of the address space of every processor. */
#define WF_SIM_ARENA ((uintptr_t)0x1000000000)
#define WF_SIM_HEAP_BYTES ((size_t)128 << 20)
#define WF_SIM_MAPS_BYTES ((size_t)4 << 30)
#define WF_SIM_PAGE 4096
#define WF_SIM_BLOCKS 65536
#define WF_SIM_GUARDS 4096

struct span {
	size_t low, high; /* pages, counted from the first map */
};

/* Blocks in the order of their addresses. */
struct table {
	struct wf_sim_block *block;
	size_t count;
	char *low, *top, *high;
};

static struct {
	char *stacks;
	struct table heap, maps;
	struct span *guard;
	size_t guards;
	uint8_t guard_page[WF_SIM_MAPS_BYTES / WF_SIM_PAGE / 8]; /* bits */
} * h;

void *wf_sim_reserve(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void table_open(
	struct table *t, struct wf_sim_block *block, char *low, size_t bytes)
{
	*t = (struct table){
		.block = block, .low = low, .top = low, .high = low + bytes
	};
}

int wf_sim_heap_open(void)
{
	size_t stacks = WF_SIM_STACK_BYTES * WF_SIM_THREADS;
	size_t all = stacks + WF_SIM_HEAP_BYTES + WF_SIM_MAPS_BYTES;
	size_t blocks = WF_SIM_BLOCKS * sizeof(struct wf_sim_block);
	size_t own =
		sizeof(*h) + 2 * blocks + WF_SIM_GUARDS * sizeof(*h->guard);
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
		MAP_FIXED_NOREPLACE;
	char *p = wf_sim_reserve(own);
	char *arena = mmap((void *)WF_SIM_ARENA, all, PROT_READ | PROT_WRITE,
		flags, -1, 0);

	if (p == NULL || arena == MAP_FAILED)
		return -ENOMEM;
	h = (void *)p;
	p += sizeof(*h);
	h->stacks = arena;
	for (size_t i = 0; i < WF_SIM_THREADS; i++)
		if (mprotect(arena + i * WF_SIM_STACK_BYTES, WF_SIM_PAGE,
			    PROT_NONE) != 0)
			return -ENOMEM;
	table_open(&h->heap, (void *)p, arena + stacks, WF_SIM_HEAP_BYTES);
	table_open(&h->maps, (void *)(p + blocks), h->heap.high,
		WF_SIM_MAPS_BYTES);
	h->guard = (void *)(p + 2 * blocks);
	return 0;
}

void wf_sim_heap_reset(void)
{
	if (h->maps.top != h->maps.low)
		(void)madvise(h->maps.low, (size_t)(h->maps.top - h->maps.low),
			MADV_DONTNEED);
	h->heap.top = h->heap.low;
	h->heap.count = 0;
	h->maps.top = h->maps.low;
	h->maps.count = 0;
	for (size_t i = 0; i < h->guards; i++)
		for (size_t at = h->guard[i].low; at < h->guard[i].high; at++)
			h->guard_page[at / 8] = 0;
	h->guards = 0;
}

char *wf_sim_heap_stack(uint32_t t)
{
	return h->stacks + t * WF_SIM_STACK_BYTES;
}

bool wf_sim_heap_below_stack(const void *p)
{
	size_t at = (size_t)((char *)p - h->stacks);

	return at < WF_SIM_STACK_BYTES * WF_SIM_THREADS &&
		at % WF_SIM_STACK_BYTES < WF_SIM_PAGE;
}

bool wf_sim_heap_owns(const void *p)
{
	return h != NULL && (char *)p >= h->heap.low &&
		(char *)p < h->maps.high;
}

/* The last block that begins at p or before, or NULL. */
static struct wf_sim_block *before(struct table *t, const void *p)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (t->block[mid].p <= (char *)p)
			low = mid + 1;
		else
			high = mid;
	}
	return low > 0 ? &t->block[low - 1] : NULL;
}

static struct table *table_of(const void *p)
{
	return (char *)p < h->heap.high ? &h->heap : &h->maps;
}

const struct wf_sim_block *wf_sim_heap_find(const void *p)
{
	struct wf_sim_block *b = before(table_of(p), p);

	return b != NULL && (char *)p < b->p + b->bytes ? b : NULL;
}

size_t wf_sim_heap_number(const struct wf_sim_block *b)
{
	return (size_t)(b - table_of(b->p)->block) + 1;
}

bool wf_sim_heap_is_map(const struct wf_sim_block *b)
{
	return table_of(b->p) == &h->maps;
}

size_t wf_sim_heap_size(const void *p)
{
	const struct wf_sim_block *b = wf_sim_heap_find(p);

	return b != NULL && b->p == p ? b->bytes : 0;
}

const struct wf_sim_block *wf_sim_heap_left(void)
{
	struct table *tables[] = { &h->heap, &h->maps };

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i < tables[k]->count; i++)
			if (!tables[k]->block[i].freed)
				return &tables[k]->block[i];
	return NULL;
}

/* Take size bytes from the top of t; the caller asked for `bytes' of them. */
static void *take(
	struct table *t, size_t size, size_t bytes, size_t align, uintptr_t pc)
{
	char *p = (char *)wf_round_up((uintptr_t)t->top, align);

	if (p > t->high || size > (size_t)(t->high - p) ||
		t->count == WF_SIM_BLOCKS)
		return NULL;
	t->block[t->count++] =
		(struct wf_sim_block){ .p = p, .bytes = bytes, .pc = pc };
	t->top = p + size;
	return p;
}

void *wf_sim_heap_alloc(size_t bytes, size_t align, uintptr_t pc)
{
	/*
	 * Sixteen unused bytes behind each block catch accesses past its end.
	 */
	size_t size = wf_round_up(bytes, 16) + 16;
	void *p = NULL;

	if (size > bytes)
		p = take(&h->heap, size, wf_max_size(bytes, 1), align, pc);
	return p == NULL ? NULL : memset(p, 0, size);
}

void *wf_sim_heap_map(size_t bytes, uintptr_t pc)
{
	return take(&h->maps, bytes, bytes, WF_SIM_PAGE, pc);
}

void wf_sim_heap_free(void *p)
{
	struct wf_sim_block *b = before(table_of(p), p);

	if (b == NULL || b->p != p)
		wf_sim_fail(
			"bad free", p, "%p is not the beginning of a block", p);
	if (b->freed)
		wf_sim_fail("double free", p, "%s of %zu bytes is freed twice",
			wf_sim_trace_place(p), b->bytes);
	wf_sim_shadow_free(p, b->bytes);
	b->freed = true;
}

/* Split b so that one block ends at p; returns the block behind it. */
static struct wf_sim_block *split(struct wf_sim_block *b, char *p)
{
	struct table *t = &h->maps;
	size_t i = (size_t)(b - t->block) + 1;

	if (p <= b->p || p >= b->p + b->bytes || t->count == WF_SIM_BLOCKS)
		return b;
	memmove(b + 2, b + 1, (t->count - i) * sizeof(*b));
	t->count++;
	b[1] = *b;
	b[1].p = p;
	b[1].bytes = (size_t)(b->p + b->bytes - p);
	b->bytes -= b[1].bytes;
	return b + 1;
}

/* The range may be a part of a map, or cover several. */
void wf_sim_heap_unmap(void *p, size_t bytes)
{
	char *low = p, *high = low + bytes;

	while (low < high) {
		struct wf_sim_block *b = before(&h->maps, low);

		if (b == NULL || low >= b->p + b->bytes || b->freed)
			wf_sim_fail("bad free", low, "%p is not mapped",
				(void *)low);
		b = split(b, low);
		(void)split(b, high);
		wf_sim_shadow_free(b->p, b->bytes);
		b->freed = true;
		low = b->p + b->bytes;
	}
}

void wf_sim_heap_guard(void *p, size_t bytes)
{
	size_t low = (size_t)((char *)p - h->maps.low) / WF_SIM_PAGE;
	size_t high = low + bytes / WF_SIM_PAGE;

	if (h->guards == WF_SIM_GUARDS)
		wf_sim_fail("too large", p, "more than %d guards in one run",
			WF_SIM_GUARDS);
	h->guard[h->guards++] = (struct span){ low, high };
	for (size_t i = low; i < high; i++)
		h->guard_page[i / 8] |= (uint8_t)(1u << i % 8);
}

bool wf_sim_heap_guarded(uintptr_t addr)
{
	size_t page = (addr - (uintptr_t)h->maps.low) / WF_SIM_PAGE;

	return page < WF_SIM_MAPS_BYTES / WF_SIM_PAGE &&
		(h->guard_page[page / 8] >> page % 8 & 1) != 0;
}

void wf_sim_heap_discard(void *p, size_t bytes)
{
	wf_sim_shadow_fresh(p, bytes);
	(void)madvise(p, bytes, MADV_DONTNEED);
}

uint32_t wf_sim_heap_state(uintptr_t addr)
{
	const struct wf_sim_block *b;

	if (!wf_sim_heap_owns((void *)addr))
		return WF_SIM_THERE;
	b = wf_sim_heap_find((void *)addr);
	if (b == NULL)
		return WF_SIM_NOWHERE;
	if (b->freed)
		return WF_SIM_FREED;
	return wf_sim_heap_guarded(addr) ? WF_SIM_GUARD : WF_SIM_THERE;
}

bool wf_sim_is_freed(const void *p)
{
	return wf_sim_on() && wf_sim_heap_state((uintptr_t)p) == WF_SIM_FREED;
}

uint32_t wf_sim_heap_cell(uintptr_t addr)
{
	uint32_t first;

	if (!wf_sim_heap_owns((void *)addr))
		return WF_SIM_THERE;
	addr &= ~(uintptr_t)7;
	first = wf_sim_heap_state(addr);
	return wf_sim_heap_state(addr + 7) == first ? first : WF_SIM_PARTLY;
}
