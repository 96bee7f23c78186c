/* SPDX-License-Identifier: MIT */
/*
 * sim/memory.c - keep stores, and choose which one a load reads.
 */
#include "sim/memory.h"

#include <errno.h>
#include <string.h>

#include "sim/heap.h"
#include "sim/shadow.h"
#include "sim/trace.h"

#define WF_SIM_LOCS 8192 /* in one run */

static struct {
	uint32_t locs;
	int32_t seq;	   /* SC operations so far */
	wf_clock seq_view; /* of all SC fences */
	struct wf_sim_loc loc[WF_SIM_LOCS];
	struct wf_sim_loc shut; /* stands for memory that is not watched */
} * m;

int wf_sim_memory_open(void)
{
	m = wf_sim_reserve(sizeof(*m));
	return m == NULL ? -ENOMEM : 0;
}

void wf_sim_memory_reset(void)
{
	m->locs = 0;
	m->seq = 0;
	m->seq_view = (wf_clock){ 0 };
}

struct wf_sim_loc *wf_sim_loc(uint32_t n)
{
	return &m->loc[n];
}

/* Everything t does from here on is later than what it has released. */
static void tick(struct wf_sim_thread *t)
{
	t->hb[t->id]++;
	t->view[t->id]++;
}

void wf_sim_memory_fork(struct wf_sim_thread *to, struct wf_sim_thread *from)
{
	wf_clock none = { 0 };

	to->hb = from == NULL ? none : from->hb;
	to->view = from == NULL ? none : from->view;
	to->acq_hb = to->acq_view = none;
	to->rel_hb = to->rel_view = none;
	to->due_view = none;
	to->lit_view = to->view;
	to->hb[to->id]++;
	to->view[to->id]++;
	if (from != NULL)
		tick(from);
}

void wf_sim_memory_join(struct wf_sim_thread *to, struct wf_sim_thread *from)
{
	wf_clock_join(&to->hb, &from->hb);
	wf_clock_join(&to->view, &from->view);
}

static uint64_t peek(const volatile void *p, unsigned size)
{
	uint64_t v = 0;

	memcpy(&v, (const void *)p, size);
	return v;
}

static struct wf_sim_store *newest(struct wf_sim_loc *l)
{
	return &l->store[(l->count - 1) % WF_SIM_STORES];
}

/* Add a store that no thread has seen, with no clocks attached. */
static struct wf_sim_store *push(struct wf_sim_loc *l, uint64_t value)
{
	struct wf_sim_store *s = &l->store[l->count++ % WF_SIM_STORES];
	wf_clock none = { 0 };

	s->value = value;
	s->seen = none + INT32_MAX;
	s->hb = none;
	s->view = none;
	return s;
}

/*
 * The value in memory comes from plain stores: from known ones or, unnoticed,
 * from libc (compilers copy and clear structs with its functions) or from the
 * switch of contexts.  Attach the last release fences of all threads, because
 * the writer is not known.  A value that was there from the start was always
 * seen, and has nothing attached.
 */
static void push_plain(struct wf_sim_loc *l, struct wf_sim_cell *c)
{
	struct wf_sim_store *s = push(l, peek((void *)l->addr, l->size));
	uint32_t thread;
	int32_t clock;

	if ((l->plain || l->count == 1) &&
		wf_sim_shadow_written(c, l->mask, &thread, &clock)) {
		s->seen[thread] = clock;
	} else {
		s->seen = (wf_clock){ 0 };
		for (uint32_t i = 0; l->count > 1 && i < wf_sim->threads; i++) {
			wf_clock_join(&s->hb, &wf_sim->thread[i].rel_hb);
			wf_clock_join(&s->view, &wf_sim->thread[i].rel_view);
		}
	}
	l->plain = false;
}

static struct wf_sim_loc *make(
	struct wf_sim_cell *c, uintptr_t addr, unsigned size, unsigned mask)
{
	struct wf_sim_loc *l;

	if (m->locs == WF_SIM_LOCS - 1)
		wf_sim_fail("too large", NULL,
			"more than %d atomic objects in "
			"one run",
			WF_SIM_LOCS - 2);
	l = &m->loc[++m->locs];
	/* Stores are written before they are read. */
	memset(l, 0, offsetof(struct wf_sim_loc, store));
	l->addr = addr;
	l->size = (uint8_t)size;
	l->mask = (uint8_t)mask;
	l->next = c->locs;
	c->locs = m->locs;
	push_plain(l, c);
	return l;
}

/* The location of an atomic access, which is checked against plain ones. */
static struct wf_sim_loc *find(
	const volatile void *p, unsigned size, bool write)
{
	uintptr_t addr = (uintptr_t)p;
	struct wf_sim_cell *c = wf_sim_cell(addr);
	unsigned mask = (0xffu >> (8 - size)) << (addr & 7);
	struct wf_sim_loc *l = NULL;

	if (wf_unlikely(c == NULL)) {
		m->shut.count = 0;
		m->shut.size = (uint8_t)size;
		push(&m->shut, peek(p, size))->seen = (wf_clock){ 0 };
		return &m->shut;
	}
	if (c->records != 0 || c->memory != WF_SIM_THERE)
		wf_sim_shadow_atomic(c, addr, mask, write);
	for (uint32_t n = c->locs; n != 0; n = l->next) {
		l = wf_sim_loc(n);
		if (l->mask == mask) {
			if (wf_unlikely(l->plain ||
				    peek(p, size) != newest(l)->value))
				push_plain(l, c);
			return l;
		}
		if (l->mask & mask)
			wf_sim_fail("mixed sizes", (void *)addr,
				"atomic "
				"accesses of %u and %u bytes to %s, which are "
				"not modelled",
				l->size, size,
				wf_sim_trace_place((void *)addr));
	}
	return make(c, addr, size, mask);
}

/* How many of the newest stores t may read: 1 means only the newest. */
static unsigned candidates(
	struct wf_sim_loc *l, struct wf_sim_thread *t, bool seq)
{
	wf_clock view = t->view;
	unsigned kept = l->count < WF_SIM_STORES ? l->count : WF_SIM_STORES;
	unsigned n;

	if (seq) {
		wf_clock_join(&view, &m->seq_view);
		view[WF_SIM_SEQ] = m->seq;
	}
	for (n = 1; n < kept; n++) {
		struct wf_sim_store *s =
			&l->store[(l->count - n) % WF_SIM_STORES];

		if (wf_clock_reached(&view, &s->seen))
			break;
	}
	return n;
}

static bool is_acquire(int mo)
{
	return mo == __ATOMIC_ACQUIRE || mo == __ATOMIC_CONSUME ||
		mo == __ATOMIC_ACQ_REL || mo == __ATOMIC_SEQ_CST;
}

static bool is_release(int mo)
{
	return mo == __ATOMIC_RELEASE || mo == __ATOMIC_ACQ_REL ||
		mo == __ATOMIC_SEQ_CST;
}

/* t reads s: it has seen s and the clocks attached to it. */
static void see(struct wf_sim_store *s, struct wf_sim_thread *t, int mo)
{
	if (s->seen[t->id] > t->view[t->id])
		s->seen[t->id] = t->view[t->id];
	if (mo == __ATOMIC_SEQ_CST && s->seen[WF_SIM_SEQ] > m->seq)
		s->seen[WF_SIM_SEQ] = ++m->seq;
	if (is_acquire(mo)) {
		wf_clock_join(&t->hb, &s->hb);
		wf_clock_join(&t->view, &s->view);
	} else {
		wf_clock_join(&t->acq_hb, &s->hb);
		wf_clock_join(&t->acq_view, &s->view);
	}
}

/* t makes s; its clocks join those that are attached already. */
static void attach(struct wf_sim_store *s, struct wf_sim_thread *t, int mo)
{
	s->seen[t->id] = t->view[t->id];
	if (mo == __ATOMIC_SEQ_CST)
		s->seen[WF_SIM_SEQ] = ++m->seq;
	if (is_release(mo)) {
		wf_clock_join(&s->hb, &t->hb);
		wf_clock_join(&s->view, &t->view);
		tick(t);
	} else {
		wf_clock_join(&s->hb, &t->rel_hb);
		wf_clock_join(&s->view, &t->rel_view);
	}
}

static void trace(const char *what, struct wf_sim_loc *l, int mo,
	const uint64_t *before, const uint64_t *after, unsigned stale,
	uintptr_t pc)
{
	wf_sim_trace_event(&(struct wf_sim_event){ .what = what,
		.addr = (void *)l->addr,
		.size = l->size,
		.order = (int8_t)mo,
		.stale = (uint8_t)stale,
		.has_before = before != NULL,
		.before = before ? *before : 0,
		.has_after = after != NULL,
		.after = after ? *after : 0,
		.pc = pc });
}

/* Choose how far back a load reads, less than `back'. */
static unsigned read_back(
	struct wf_sim_loc *l, struct wf_sim_thread *t, unsigned back)
{
	if (back < 2 || l->stales[t->id] >= WF_SIM_STALES ||
		(wf_sim->flags & WEFT_SIM_STRONG))
		return 0;
	return wf_sim_choose(WF_SIM_STORE, back);
}

/* The thread reads the store i back. */
static struct wf_sim_store *seen_back(
	struct wf_sim_loc *l, struct wf_sim_thread *t, unsigned i)
{
	l->stales[t->id] = i == 0 ? 0 : (uint8_t)(l->stales[t->id] + 1);
	l->read[t->id] = l->count - i;
	l->loads[t->id] = t->hb[t->id];
	return &l->store[(l->count - 1 - i) % WF_SIM_STORES];
}

uint64_t wf_sim_load(
	const volatile void *p, unsigned size, int mo, uintptr_t pc)
{
	struct wf_sim_thread *t;
	struct wf_sim_loc *l;
	struct wf_sim_store *s;
	unsigned i;

	wf_sim_point(pc, false);
	t = wf_sim->current;
	l = find(p, size, false);
	i = read_back(l, t, candidates(l, t, mo == __ATOMIC_SEQ_CST));
	s = seen_back(l, t, i);
	see(s, t, mo);
	if (wf_unlikely(wf_sim->tracing))
		trace("load", l, mo, &s->value, NULL, i, pc);
	return s->value;
}

static void poke(volatile void *p, unsigned size, uint64_t v)
{
	memcpy((void *)p, &v, size);
}

void wf_sim_store(
	volatile void *p, unsigned size, uint64_t v, int mo, uintptr_t pc)
{
	struct wf_sim_thread *t;
	struct wf_sim_loc *l;

	wf_sim_point(pc, false);
	t = wf_sim->current;
	l = find(p, size, true);
	l->stores[t->id] = t->hb[t->id];
	attach(push(l, v), t, mo);
	poke(p, size, v);
	if (wf_unlikely(wf_sim->tracing))
		trace("store", l, mo, NULL, &v, 0, pc);
}

/*
 * A read-modify-write: the new value keeps the clocks attached to the newest
 * one.
 */
static void replace(struct wf_sim_loc *l, struct wf_sim_thread *t,
	volatile void *p, uint64_t v, int mo)
{
	struct wf_sim_store *old = newest(l), *s;
	wf_clock hb = old->hb, view = old->view;

	see(old, t, mo);
	l->read[t->id] = l->count + 1;
	l->loads[t->id] = t->hb[t->id];
	l->stores[t->id] = t->hb[t->id];
	l->stales[t->id] = 0;
	s = push(l, v);
	s->hb = hb;
	s->view = view;
	attach(s, t, mo);
	poke(p, l->size, v);
}

static uint64_t compute(
	enum wf_sim_rmw op, uint64_t old, uint64_t v, unsigned size)
{
	uint64_t r = 0;

	switch (op) {
	case WF_SIM_XCHG:
		r = v;
		break;
	case WF_SIM_ADD:
		r = old + v;
		break;
	case WF_SIM_SUB:
		r = old - v;
		break;
	case WF_SIM_AND:
		r = old & v;
		break;
	case WF_SIM_OR:
		r = old | v;
		break;
	case WF_SIM_XOR:
		r = old ^ v;
		break;
	case WF_SIM_NAND:
		r = ~(old & v);
		break;
	}
	return size == 8 ? r : r & ((UINT64_C(1) << 8 * size) - 1);
}

uint64_t wf_sim_rmw(volatile void *p, unsigned size, enum wf_sim_rmw op,
	uint64_t v, int mo, uintptr_t pc)
{
	static const char *const names[] = { "exchange", "add", "sub", "and",
		"or", "xor", "nand" };
	struct wf_sim_loc *l;
	uint64_t old, new;

	wf_sim_point(pc, false);
	l = find(p, size, true);
	old = newest(l)->value;
	new = compute(op, old, v, size);
	replace(l, wf_sim->current, p, new, mo);
	if (wf_unlikely(wf_sim->tracing))
		trace(names[op], l, mo, &old, &new, 0, pc);
	return old;
}

/* Fail if the value has changed and come back since t read it. */
static void look_for_aba(struct wf_sim_loc *l, struct wf_sim_thread *t)
{
	uint32_t read = l->read[t->id], since = l->count - read, away = 0;

	if (!(wf_sim->flags & WEFT_SIM_ABA) || read == 0)
		return;
	for (uint32_t i = 1; i < since && i < WF_SIM_STORES; i++)
		away |= l->store[(l->count - 1 - i) % WF_SIM_STORES].value !=
			newest(l)->value;
	if (away || since >= WF_SIM_STORES)
		wf_sim_fail("aba", (void *)l->addr,
			"a compare-and-swap of %s "
			"succeeds on a value that has changed and come "
			"back: %u stores since the thread read it",
			wf_sim_trace_place((void *)l->addr), since);
}

/*
 * How far back the store is that a compare-and-swap reads.  It can succeed only
 * on the newest one; an older one makes it fail, if the value differs.
 */
static unsigned cas_reads(struct wf_sim_loc *l, struct wf_sim_thread *t,
	uint64_t expected, int fail_mo)
{
	unsigned back = candidates(l, t, fail_mo == __ATOMIC_SEQ_CST), n = 1;

	while (n < back &&
		l->store[(l->count - 1 - n) % WF_SIM_STORES].value != expected)
		n++;
	return read_back(l, t, n);
}

bool wf_sim_cas(volatile void *p, unsigned size, uint64_t *expected, uint64_t v,
	int mo, int fail_mo, bool weak, uintptr_t pc)
{
	struct wf_sim_thread *t;
	struct wf_sim_loc *l;
	struct wf_sim_store *s;
	unsigned i;

	wf_sim_point(pc, false);
	t = wf_sim->current;
	l = find(p, size, true);
	i = cas_reads(l, t, *expected, fail_mo);
	if (i == 0 && newest(l)->value == *expected &&
		!(weak && wf_sim_choose(WF_SIM_WEAK, 2) != 0)) {
		look_for_aba(l, t);
		replace(l, t, p, v, mo);
		if (wf_unlikely(wf_sim->tracing))
			trace("cas", l, mo, expected, &v, 0, pc);
		return true;
	}
	s = seen_back(l, t, i);
	see(s, t, fail_mo);
	if (wf_unlikely(wf_sim->tracing))
		trace("cas fails", l, fail_mo, &s->value, NULL, i, pc);
	*expected = s->value;
	return false;
}

static void seq_fence(struct wf_sim_thread *t)
{
	wf_clock_join(&m->seq_view, &t->view);
	m->seq_view[WF_SIM_SEQ] = ++m->seq;
	t->view = m->seq_view;
}

void wf_sim_fence(int mo, uintptr_t pc)
{
	struct wf_sim_thread *t;

	if (mo == __ATOMIC_SEQ_CST)
		wf_sim_point(pc, false);
	t = wf_sim->current;
	if (is_acquire(mo)) {
		wf_clock_join(&t->hb, &t->acq_hb);
		wf_clock_join(&t->view, &t->acq_view);
	}
	if (mo == __ATOMIC_SEQ_CST)
		seq_fence(t);
	if (is_release(mo)) {
		t->rel_hb = t->hb;
		t->rel_view = t->view;
		tick(t);
	}
	if (mo == __ATOMIC_SEQ_CST)
		wf_sim_light_fence();
	if (wf_unlikely(wf_sim->tracing))
		wf_sim_trace_event(&(struct wf_sim_event){
			.what = "fence", .order = (int8_t)mo, .pc = pc });
}

void wf_sim_light_fence(void)
{
	struct wf_sim_thread *t = wf_sim->current;

	wf_clock_join(&t->view, &t->due_view);
	t->lit_view = t->view;
	tick(t);
}

void wf_sim_membarrier(void)
{
	struct wf_sim *s = wf_sim;
	struct wf_sim_thread *me = s->current;

	wf_sim_fence(__ATOMIC_SEQ_CST, 0);
	for (uint32_t i = 0; i < s->threads; i++)
		if (i != me->id)
			wf_clock_join(&m->seq_view, &s->thread[i].lit_view);
	for (uint32_t i = 0; i < s->threads; i++)
		if (i != me->id)
			s->thread[i].due_view = m->seq_view;
	seq_fence(me);
}
