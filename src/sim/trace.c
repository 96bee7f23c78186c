/* SPDX-License-Identifier: MIT */
/*
 * sim/trace.c - keep events, and print them with names.
 */
#include "sim/trace.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/engine.h"
#include "sim/heap.h"
#include "sim/program.h"
#include "sim/symbols.h"

#define WF_SIM_EVENTS 65536 /* the last ones are kept */
#define WF_SIM_NAMES 64
#define WF_SIM_SHOWN 400  /* printed at most */
#define WF_SIM_AROUND 4	  /* of a thread, before and after a switch */
#define WF_SIM_LAST 40	  /* always printed */
#define WF_SIM_LINES 4096 /* places in the source */

static struct {
	size_t events;
	struct wf_sim_event event[WF_SIM_EVENTS];
	size_t names;
	struct {
		const char *p;
		size_t bytes;
		char name[48];
	} name[WF_SIM_NAMES];
	size_t shown[WF_SIM_SHOWN];
	size_t lines;
	struct wf_sim_line line[WF_SIM_LINES]; /* sorted by address */
} * tr;

int wf_sim_trace_open(void)
{
	tr = wf_sim_reserve(sizeof(*tr));
	return tr == NULL ? -ENOMEM : 0;
}

void wf_sim_trace_reset(void)
{
	tr->events = 0;
	tr->names = 0;
}

void wf_sim_trace_event(const struct wf_sim_event *e)
{
	struct wf_sim_event *to = &tr->event[tr->events++ % WF_SIM_EVENTS];

	*to = *e;
	to->step = wf_sim->steps;
	to->thread = (uint8_t)wf_sim->current->id;
}

void wf_sim_trace_plain(const void *p, unsigned mask, bool write, uintptr_t pc)
{
	if (((uintptr_t)p ^ (uintptr_t)wf_sim->watch) >> 3 != 0)
		return;
	wf_sim_trace_event(&(struct wf_sim_event){
		.what = write ? "plain write" : "plain read",
		.addr = p,
		.size = (uint8_t)__builtin_popcount(mask),
		.order = -1,
		.pc = pc });
}

void wf_sim_trace_note(const char *what, uintptr_t pc, const char *fmt, ...)
{
	struct wf_sim_event e = { .what = what, .order = -1, .pc = pc };
	va_list args;

	va_start(args, fmt);
	vsnprintf(e.note, sizeof(e.note), fmt, args);
	va_end(args);
	wf_sim_trace_event(&e);
}

void wf_sim_trace_name(const void *p, size_t bytes, const char *name)
{
	if (tr->names == WF_SIM_NAMES)
		return;
	tr->name[tr->names].p = p;
	tr->name[tr->names].bytes = bytes;
	snprintf(tr->name[tr->names++].name, sizeof(tr->name[0].name), "%s",
		name);
}

/* "base", or "base + offset". */
static const char *joined(const char *base, size_t offset)
{
	static char text[2][96];
	static unsigned turn;
	char *p = text[++turn & 1];

	if (offset == 0)
		snprintf(p, sizeof(text[0]), "%s", base);
	else
		snprintf(p, sizeof(text[0]), "%s + %zu", base, offset);
	return p;
}

const char *wf_sim_trace_place(const void *p)
{
	const struct wf_sim_block *b;
	char name[64];
	size_t offset;

	for (size_t i = tr->names; i-- > 0;)
		if ((char *)p >= tr->name[i].p &&
			(char *)p < tr->name[i].p + tr->name[i].bytes)
			return joined(tr->name[i].name,
				(size_t)((char *)p - tr->name[i].p));
	if (wf_sim_heap_owns(p)) {
		b = wf_sim_heap_find(p);
		if (b == NULL)
			return joined("the arena", 0);
		snprintf(name, sizeof(name), "%s #%zu",
			wf_sim_heap_is_map(b) ? "map" : "block",
			wf_sim_heap_number(b));
		return joined(name, (size_t)((char *)p - b->p));
	}
	for (uint32_t i = 0; i < wf_sim->threads; i++) {
		char *low = wf_sim_heap_stack(i);

		if ((char *)p < low || (char *)p >= low + WF_SIM_STACK_BYTES)
			continue;
		snprintf(name, sizeof(name), "stack of thread %u, top - %zu", i,
			(size_t)(low + WF_SIM_STACK_BYTES - (char *)p));
		return joined(name, 0);
	}
	if (wf_sim_symbol((uintptr_t)p, name, sizeof(name), &offset))
		return joined(name, offset);
	snprintf(name, sizeof(name), "%p", p);
	return joined(name, 0);
}

static const char *order_name(int mo)
{
	switch (mo) {
	case __ATOMIC_RELAXED:
		return "relaxed";
	case __ATOMIC_CONSUME:
	case __ATOMIC_ACQUIRE:
		return "acquire";
	case __ATOMIC_RELEASE:
		return "release";
	case __ATOMIC_ACQ_REL:
		return "acq_rel";
	case __ATOMIC_SEQ_CST:
		return "seq_cst";
	default:
		return "";
	}
}

/* Addresses of the program differ from process to process; names do not. */
static size_t add_value(
	char *text, size_t bytes, const char *before, uint64_t v)
{
	int n;

	if (wf_sim_program_owns(v))
		n = snprintf(text, bytes, "%s%.40s", before,
			wf_sim_trace_place((void *)(uintptr_t)v));
	else
		n = snprintf(
			text, bytes, "%s%#llx", before, (unsigned long long)v);
	return wf_min_size((size_t)n, bytes - 1);
}

static void print_event(FILE *out, const struct wf_sim_event *e, const char *at)
{
	char value[96] = "";
	size_t n = 0;

	if (e->has_before)
		n += add_value(value, sizeof(value), " ", e->before);
	if (e->has_after)
		n += add_value(value + n, sizeof(value) - n, " -> ", e->after);
	if (e->stale > 0)
		snprintf(value + n, sizeof(value) - n, ", stale by %u",
			e->stale);
	fprintf(out, "%6u  %-10.10s %-11s %-8s%s%s%s%s  %s\n", e->step,
		wf_sim_thread_name(e->thread), e->what, order_name(e->order),
		e->addr ? " " : "", e->addr ? wf_sim_trace_place(e->addr) : "",
		value, e->note, at);
}

static struct wf_sim_event *event(size_t i)
{
	return &tr->event[i % WF_SIM_EVENTS];
}

static size_t first_kept(void)
{
	return tr->events > WF_SIM_EVENTS ? tr->events - WF_SIM_EVENTS : 0;
}

static int compare(const void *a, const void *b)
{
	const struct wf_sim_line *x = a, *y = b;

	return x->pc < y->pc ? -1 : x->pc > y->pc;
}

static const struct wf_sim_line *line_of(const struct wf_sim_event *e)
{
	struct wf_sim_line key = { .pc = e->pc };

	return bsearch(&key, tr->line, tr->lines, sizeof(key), compare);
}

/* Look up the source lines of all events, each place once. */
static void find_lines(void)
{
	size_t n = 0;

	tr->lines = 0;
	for (size_t i = first_kept(); i < tr->events; i++) {
		if (n == WF_SIM_LINES || event(i)->pc == 0 ||
			line_of(event(i)) != NULL)
			continue;
		tr->line[n++].pc = event(i)->pc;
		qsort(tr->line, n, sizeof(tr->line[0]), compare);
		tr->lines = n;
	}
	wf_sim_lines(tr->line, n);
}

/* Whether the event is one of the last, stale, or near a switch of threads. */
static bool is_turn(size_t i)
{
	if (i + WF_SIM_LAST >= tr->events || event(i)->stale > 0)
		return true;
	for (size_t k = 1; k <= WF_SIM_AROUND; k++)
		if ((i >= first_kept() + k &&
			    event(i - k)->thread != event(i)->thread) ||
			event(i + k)->thread != event(i)->thread)
			return true;
	return false;
}

/*
 * By default show the program's own events; with WEFT_SIM_INSIDE, those near
 * switches.
 */
static bool is_of_interest(size_t i)
{
	const struct wf_sim_line *l = line_of(event(i));

	if (wf_sim->flags & WEFT_SIM_INSIDE)
		return is_turn(i);
	return l == NULL || !l->inside;
}

/* Choose the events to print, the last first; returns how many. */
static size_t choose(size_t *shown)
{
	size_t all = 0, n = 0;

	for (size_t i = first_kept(); i < tr->events; i++)
		all += is_of_interest(i);
	for (size_t i = tr->events; n < WF_SIM_SHOWN && i-- > first_kept();)
		if (is_of_interest(i) && (all <= WF_SIM_SHOWN || is_turn(i)))
			shown[n++] = i;
	return n;
}

static void print_gap(FILE *out, size_t n)
{
	if (n > 0)
		fprintf(out, "        ... %zu more\n", n);
}

void wf_sim_trace_print(FILE *out)
{
	size_t n, before = 0;

	find_lines();
	n = choose(tr->shown);
	fprintf(out, "  step  thread     what        order    where\n");
	while (n-- > 0) {
		const struct wf_sim_event *e = event(tr->shown[n]);
		const struct wf_sim_line *l = line_of(e);

		print_gap(out, tr->shown[n] - before);
		before = tr->shown[n] + 1;
		print_event(out, e, l == NULL ? "" : l->text);
	}
	print_gap(out, tr->events - before);
}
