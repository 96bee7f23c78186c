/* SPDX-License-Identifier: MIT */
/*
 * sim/shadow.c - the cells, and their records of plain accesses.
 */
#include "sim/shadow.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "sim/heap.h"
#include "sim/memory.h"
#include "sim/trace.h"

#define WF_SIM_PAGE_CELLS 512 /* 8 bytes each: a page of 4 KiB */
#define WF_SIM_PAGES 32768    /* with cells; a power of two */
#define WF_SIM_NEAR 256	      /* cache of pages; a power of two */
#define WF_SIM_RECORDS 524288
#define WF_SIM_CLOCKS 65536
#define WF_SIM_NOBODY 255

struct page {
	uintptr_t number; /* address / 4096; 0: free */
	struct wf_sim_cell *cells;
};

struct record {
	uint8_t mask;	/* bytes of the 8 */
	uint8_t only;	/* the only thread so far, or NOBODY */
	uint8_t writer; /* or NOBODY */
	int32_t write;	/* its clock */
	int32_t read;	/* the clock of the only thread */
	uint32_t reads; /* clocks of all threads, if several */
	uint32_t next;
};

static struct {
	uint32_t run;
	struct page near[WF_SIM_NEAR];
	struct page page[WF_SIM_PAGES];
	struct wf_sim_cell *cells; /* of all pages; the next page's are at
				    * `pages' */
	size_t pages;
	struct record record[WF_SIM_RECORDS];
	uint32_t records;
	wf_clock clock[WF_SIM_CLOCKS];
	uint32_t clocks;
	struct {
		uintptr_t low, high;
	} ignored[WF_SIM_IGNORED];
	unsigned ignore_count;
} * sh;

int wf_sim_shadow_open(void)
{
	struct wf_sim_cell *cells = wf_sim_reserve(
		sizeof(*cells) * WF_SIM_PAGE_CELLS * (WF_SIM_PAGES / 2));

	sh = wf_sim_reserve(sizeof(*sh));
	if (sh == NULL || cells == NULL)
		return -ENOMEM;
	sh->cells = cells;
	sh->run = 1;
	return 0;
}

void wf_sim_shadow_reset(void)
{
	sh->run++;
	sh->records = 0;
	sh->clocks = 0;
}

void wf_sim_shadow_ignore(const void *p, size_t bytes)
{
	unsigned n = sh->ignore_count++;

	sh->ignored[n].low = (uintptr_t)p & ~(uintptr_t)7;
	sh->ignored[n].high = (uintptr_t)p + bytes;
}

static bool is_ignored(uintptr_t addr)
{
	for (unsigned i = 0; i < sh->ignore_count; i++)
		if (addr >= sh->ignored[i].low && addr < sh->ignored[i].high)
			return true;
	return false;
}

/* The cells of a page; NULL: there are none, or the limit is reached. */
static wf_noinline struct wf_sim_cell *page_cells(uintptr_t number, bool make)
{
	size_t i = number * UINT64_C(0x9e3779b97f4a7c15) >> 40;
	struct page *p;

	for (;; i++) {
		p = &sh->page[i & (WF_SIM_PAGES - 1)];
		if (p->number == number)
			break;
		if (p->number != 0)
			continue;
		if (!make || sh->pages == WF_SIM_PAGES / 2)
			return NULL;
		p->number = number;
		p->cells = sh->cells + sh->pages++ * WF_SIM_PAGE_CELLS;
		break;
	}
	sh->near[number & (WF_SIM_NEAR - 1)] = *p;
	return p->cells;
}

struct wf_sim_cell *wf_sim_cell(uintptr_t addr)
{
	uintptr_t number = addr >> 12;
	struct page *near = &sh->near[number & (WF_SIM_NEAR - 1)];
	struct wf_sim_cell *c = near->cells;

	if (wf_unlikely(near->number != number || number == 0)) {
		/* Page 0 is never mapped; the access itself will crash. */
		c = number == 0 ? NULL : page_cells(number, true);
		if (c == NULL)
			return NULL;
	}
	c += addr >> 3 & (WF_SIM_PAGE_CELLS - 1);
	if (wf_unlikely(c->run != sh->run)) {
		if (is_ignored(addr))
			return NULL;
		*c = (struct wf_sim_cell){ .run = sh->run,
			.memory = wf_sim_heap_cell(addr) };
	}
	return c;
}

static wf_noinline wf_noreturn void race(uintptr_t addr, bool write,
	bool atomic, uint32_t other, bool other_write)
{
	const char *name = wf_sim_trace_place((const void *)addr);

	wf_sim_fail("race", (const void *)addr,
		"%s %s of %s by thread %s is not ordered with %s by thread %s",
		atomic ? "an atomic" : "a plain", write ? "write" : "read",
		name, wf_sim_thread_name(wf_sim->current->id),
		other_write ? "the write" : "the read",
		wf_sim_thread_name(other));
}

/* Fail if the accessed bytes of the cell are not all allocated. */
static wf_noinline void judge_memory(
	struct wf_sim_cell *c, uintptr_t addr, unsigned mask, bool write)
{
	static const char *const what[] = { [WF_SIM_FREED] = "freed memory",
		[WF_SIM_NOWHERE] = "memory that was never allocated",
		[WF_SIM_GUARD] = "the guard of a stack" };
	static const char *const oracle[] = { [WF_SIM_FREED] = "use after free",
		[WF_SIM_NOWHERE] = "wild access",
		[WF_SIM_GUARD] = "stack overflow" };
	uint32_t memory = c->memory;

	if (memory == WF_SIM_PARTLY) {
		unsigned last = 31 - (unsigned)__builtin_clz(mask);

		memory = wf_sim_heap_state((addr & ~(uintptr_t)7) + last);
		if (memory == WF_SIM_THERE)
			return;
	}
	wf_sim_fail(oracle[memory], (const void *)addr, "thread %s %s %s: %s",
		wf_sim_thread_name(wf_sim->current->id),
		write ? "writes to" : "reads", what[memory],
		wf_sim_trace_place((const void *)addr));
}

/* The first lane in which a is beyond b. */
static uint32_t first_beyond(wf_clock a, wf_clock b)
{
	for (uint32_t i = 0; i < WF_SIM_THREADS; i++)
		if (a[i] > b[i])
			return i;
	return WF_SIM_THREADS;
}

/* Fail unless all accesses of record r happened before this one. */
static void judge(struct record *r, uintptr_t addr, bool write, bool atomic)
{
	struct wf_sim_thread *t = wf_sim->current;

	if (r->only == t->id)
		return;
	if (r->writer != WF_SIM_NOBODY && r->write > t->hb[r->writer])
		race(addr, write, atomic, r->writer, true);
	if (!write)
		return;
	if (r->only != WF_SIM_NOBODY) {
		if (r->read > t->hb[r->only])
			race(addr, write, atomic, r->only, false);
	} else if (!wf_clock_within(&sh->clock[r->reads], &t->hb)) {
		race(addr, write, atomic,
			first_beyond(sh->clock[r->reads], t->hb), false);
	}
}

/* Fail unless all atomic accesses of these bytes happened before this one. */
static void judge_atomics(
	struct wf_sim_cell *c, uintptr_t addr, unsigned mask, bool write)
{
	struct wf_sim_thread *t = wf_sim->current;

	for (uint32_t n = c->locs; n != 0;) {
		struct wf_sim_loc *l = wf_sim_loc(n);

		n = l->next;
		if ((l->mask & mask) == 0)
			continue;
		if (!wf_clock_within(&l->stores, &t->hb))
			race(addr, write, false, first_beyond(l->stores, t->hb),
				true);
		if (!write)
			continue;
		if (!wf_clock_within(&l->loads, &t->hb))
			race(addr, write, false, first_beyond(l->loads, t->hb),
				false);
		l->plain = true;
	}
}

static wf_noinline wf_noreturn void too_large(void)
{
	wf_sim_fail("too large", NULL,
		"more memory is accessed in one run "
		"than the simulator can watch");
}

/*
 * Check all records of these bytes; return the one of exactly these, made if
 * there is none.
 */
static struct record *find_record(
	struct wf_sim_cell *c, uintptr_t addr, unsigned mask, bool write)
{
	struct record *found = NULL, *r;

	for (uint32_t n = c->records; n != 0; n = r->next) {
		r = &sh->record[n];
		if ((r->mask & mask) == 0)
			continue;
		judge(r, addr, write, false);
		if (r->mask == mask)
			found = r;
	}
	if (found != NULL)
		return found;
	if (sh->records == WF_SIM_RECORDS - 1)
		too_large();
	r = &sh->record[++sh->records];
	*r = (struct record){ .mask = (uint8_t)mask,
		.only = (uint8_t)wf_sim->current->id,
		.writer = WF_SIM_NOBODY,
		.next = c->records };
	c->records = sh->records;
	return r;
}

/* A second thread comes: from now on each thread's reads are kept. */
static void open_record(struct record *r)
{
	if (sh->clocks == WF_SIM_CLOCKS)
		too_large();
	r->reads = sh->clocks++;
	sh->clock[r->reads] = (wf_clock){ 0 };
	sh->clock[r->reads][r->only] = r->read;
	r->only = WF_SIM_NOBODY;
}

static wf_noinline void touch_slowly(struct wf_sim_cell *c, uintptr_t addr,
	unsigned mask, bool write, uintptr_t pc)
{
	struct wf_sim_thread *t = wf_sim->current;
	struct record *r;

	if (c->memory != WF_SIM_THERE)
		judge_memory(c, addr, mask, write);
	if (wf_sim->tracing)
		wf_sim_trace_plain((const void *)addr, mask, write, pc);
	if (c->locs != 0)
		judge_atomics(c, addr, mask, write);
	r = find_record(c, addr, mask, write);
	if (r->only != t->id && r->only != WF_SIM_NOBODY)
		open_record(r);
	if (write) {
		r->writer = (uint8_t)t->id;
		r->write = t->hb[t->id];
	} else if (r->only == WF_SIM_NOBODY) {
		sh->clock[r->reads][t->id] = t->hb[t->id];
	} else {
		r->read = t->hb[t->id];
	}
}

static void touch(uintptr_t addr, unsigned mask, bool write, uintptr_t pc)
{
	struct wf_sim_cell *c = wf_sim_cell(addr);
	struct wf_sim_thread *t = wf_sim->current;
	int32_t now = t->hb[t->id];
	struct record *r;

	if (c == NULL)
		return;
	/*
	 * Fast path: one record of these bytes, used by one thread, or read
	 * again.
	 */
	r = &sh->record[c->records];
	if (c->records == 0 || r->mask != mask || r->next != 0 ||
		c->locs != 0 || c->memory != WF_SIM_THERE || wf_sim->tracing) {
		touch_slowly(c, addr, mask, write, pc);
	} else if (r->only == t->id) {
		if (write) {
			r->writer = (uint8_t)t->id;
			r->write = now;
		} else {
			r->read = now;
		}
	} else if (write || r->only != WF_SIM_NOBODY ||
		sh->clock[r->reads][t->id] != now) {
		touch_slowly(c, addr, mask, write, pc);
	}
}

static void touch_all(uintptr_t addr, size_t bytes, bool write, uintptr_t pc)
{
	while (bytes > 0) {
		unsigned low = addr & 7;
		size_t part = wf_min_size(8 - low, bytes);

		touch(addr, (0xffu >> (8 - part)) << low, write, pc);
		addr += part;
		bytes -= part;
	}
}

void wf_sim_read(const void *p, size_t bytes, uintptr_t pc)
{
	touch_all((uintptr_t)p, bytes, false, pc);
}

void wf_sim_write(const void *p, size_t bytes, uintptr_t pc)
{
	touch_all((uintptr_t)p, bytes, true, pc);
}

void wf_sim_shadow_atomic(
	struct wf_sim_cell *c, uintptr_t addr, unsigned mask, bool write)
{
	if (wf_unlikely(c->memory != WF_SIM_THERE))
		judge_memory(c, addr, mask, write);
	for (uint32_t n = c->records; n != 0; n = sh->record[n].next)
		if (sh->record[n].mask & mask)
			judge(&sh->record[n], addr, write, true);
}

bool wf_sim_shadow_written(
	struct wf_sim_cell *c, unsigned mask, uint32_t *thread, int32_t *clock)
{
	/* The newest records come first; all have been checked. */
	for (uint32_t n = c->records; n != 0; n = sh->record[n].next) {
		struct record *r = &sh->record[n];

		if ((r->mask & mask) == 0 || r->writer == WF_SIM_NOBODY)
			continue;
		*thread = r->writer;
		*clock = r->write;
		return true;
	}
	return false;
}

/* The memory is freed or becomes new.  Cells that were never touched stay. */
static void let_go(const void *p, size_t bytes, bool freed)
{
	uintptr_t addr = (uintptr_t)p, end = addr + bytes;

	while (addr < end) {
		uintptr_t number = addr >> 12, next = (number + 1) << 12;
		struct wf_sim_cell *c = page_cells(number, false);

		for (; c != NULL && addr < end && addr < next; addr += 8) {
			struct wf_sim_cell *at =
				c + (addr >> 3 & (WF_SIM_PAGE_CELLS - 1));

			if (at->run != sh->run ||
				(at->memory != WF_SIM_THERE &&
					at->memory != WF_SIM_PARTLY))
				continue;
			at->memory = WF_SIM_THERE;
			if (!freed && at->locs != 0)
				wf_sim_shadow_atomic(at, addr, 0xff, true);
			else
				touch(addr, 0xff, true, 0);
			if (freed)
				at->memory = WF_SIM_FREED;
			else
				at->run = 0;
		}
		addr = next;
	}
}

void wf_sim_shadow_free(const void *p, size_t bytes)
{
	let_go(p, bytes, true);
}

void wf_sim_shadow_fresh(const void *p, size_t bytes)
{
	let_go(p, bytes, false);
}
