/* SPDX-License-Identifier: MIT */
/*
 * sim/search.c - the search modes: choose decisions.
 */
#include "sim/search.h"

#include <errno.h>
#include <string.h>

#include "base/random.h"
#include "base/units.h"
#include "sim/heap.h"
#include "sim/trace.h"

#define WF_SIM_LOG 1048576 /* decisions of a run that are kept */
#define WF_SIM_NODES 1048576
#define WF_SIM_CHANGES 8
#define WF_SIM_FAIR 1000 /* steps beyond four times the estimate */

/* A decision of the bounded search. */
struct node {
	uint16_t chosen, n;
	uint8_t kind, thread;
};

static struct {
	struct wf_random random;

	/* pct */
	int32_t priority[WF_SIM_THREADS];
	int32_t lowest;
	uint32_t change[WF_SIM_CHANGES];
	uint32_t changes;
	uint32_t fair_from;

	/* bounded */
	uint32_t limit[WF_SIM_FREE], used[WF_SIM_FREE];
	size_t depth, nodes;
	bool cut; /* the limit of preemptions left out a run */

	/* list: the next decision of each thread */
	const struct wf_sim_decision *cursor[WF_SIM_THREADS];
	const struct wf_sim_decision *end[WF_SIM_THREADS];

	struct wf_sim_decision log[WF_SIM_LOG];
	struct node node[WF_SIM_NODES];
} * se;

int wf_sim_search_open(void)
{
	se = wf_sim_reserve(sizeof(*se));
	return se == NULL ? -ENOMEM : 0;
}

/* Draw random priorities, and the steps at which they change. */
static void begin_pct(const struct wf_sim_run *how)
{
	for (uint32_t i = 0; i < WF_SIM_THREADS; i++)
		se->priority[i] = (int32_t)(wf_random_next(&se->random) >> 33);
	se->lowest = 0;
	se->changes = how->depth - 1;
	for (uint32_t i = 0; i < se->changes; i++)
		se->change[i] = wf_random_below(&se->random, how->length) + 1;
}

/* The list is sorted by thread and, for each, by point. */
static void begin_list(const struct wf_sim_run *how)
{
	const struct wf_sim_decision *d = how->list;
	const struct wf_sim_decision *end = d + how->list_count;

	for (uint32_t t = 0; t < WF_SIM_THREADS; t++) {
		se->cursor[t] = d;
		while (d < end && d->thread == t)
			d++;
		se->end[t] = d;
	}
}

void wf_sim_search_begin(const struct wf_sim_run *how)
{
	wf_sim->log = se->log;
	wf_random_seed(&se->random, how->seed);
	/*
	 * A multiple of the estimate, because unfair runs are long, and one
	 * long run raises the next estimate.
	 */
	se->fair_from = (uint32_t)wf_min_size(
		4 * how->length + WF_SIM_FAIR, wf_sim->limit / 2);
	se->depth = 0;
	memset(se->used, 0, sizeof(se->used));
	if (how->mode == WEFT_SIM_PCT)
		begin_pct(how);
	if (how->mode == WF_SIM_LIST)
		begin_list(how);
}

/* The index of this decision among those of its kind at this point. */
static uint8_t sub_of(struct wf_sim_thread *t, enum wf_sim_kind kind)
{
	if (t->sub_at != t->points) {
		t->sub_at = t->points;
		memset(t->subs, 0, sizeof(t->subs));
	}
	/* Too many for one point: count as if the thread had passed a point. */
	if (t->subs[kind] == UINT8_MAX) {
		t->sub_at = ++t->points;
		memset(t->subs, 0, sizeof(t->subs));
	}
	return t->subs[kind]++;
}

static void note(struct wf_sim_thread *t, enum wf_sim_kind kind, unsigned value,
	uint8_t sub)
{
	struct wf_sim *s = wf_sim;

	if (s->log_count == WF_SIM_LOG) {
		s->log_full = true;
		return;
	}
	s->log[s->log_count++] = (struct wf_sim_decision){ .at = t->points,
		.value = (uint16_t)value,
		.thread = (uint8_t)t->id,
		.kind = (uint8_t)kind,
		.sub = sub };
}

/* The value that the list has for this decision, or -1. */
static int by_list(struct wf_sim_thread *t, enum wf_sim_kind kind, uint8_t sub)
{
	const struct wf_sim_decision *d = se->cursor[t->id];
	const struct wf_sim_decision *end = se->end[t->id];

	while (d < end && d->at < t->points)
		d++;
	se->cursor[t->id] = d;
	for (; d < end && d->at == t->points; d++)
		if (d->kind == kind && d->sub == sub)
			return d->value;
	return -1;
}

/* Bounded: the decision stored for this depth, or a new dull one. */
static unsigned by_bound(
	enum wf_sim_limit limit, enum wf_sim_kind kind, unsigned n)
{
	struct node *at = &se->node[se->depth];

	if (limit != WF_SIM_FREE && se->used[limit] >= se->limit[limit]) {
		se->cut |= limit == WF_SIM_PREEMPTIONS;
		return 0;
	}
	if (se->depth == WF_SIM_NODES)
		wf_sim_fail("too large", NULL,
			"more than %d decisions in one "
			"run",
			WF_SIM_NODES);
	if (se->depth == se->nodes) {
		*at = (struct node){ .n = (uint16_t)n,
			.kind = (uint8_t)kind,
			.thread = (uint8_t)wf_sim->current->id };
		se->nodes++;
	} else if (at->n != n || at->kind != kind ||
		at->thread != wf_sim->current->id) {
		wf_sim_fail("non-determinism", NULL,
			"the same decisions led "
			"to another place than before");
	}
	se->depth++;
	if (limit != WF_SIM_FREE && at->chosen != 0)
		se->used[limit]++;
	return at->chosen;
}

void wf_sim_bounded_start(const uint32_t limits[WF_SIM_FREE])
{
	memcpy(se->limit, limits, sizeof(se->limit));
	se->nodes = 0;
	se->cut = false;
}

bool wf_sim_bounded_cut(void)
{
	return se->cut;
}

bool wf_sim_bounded_next(void)
{
	/* Decisions beyond the depth of the last run belong to no run. */
	se->nodes = se->depth;
	while (se->nodes > 0) {
		struct node *at = &se->node[se->nodes - 1];

		if (++at->chosen < at->n)
			return true;
		se->nodes--;
	}
	return false;
}

static enum wf_sim_limit limit_of(enum wf_sim_kind kind)
{
	switch (kind) {
	case WF_SIM_THREAD:
	case WF_SIM_BUDGET:
		return WF_SIM_PREEMPTIONS;
	case WF_SIM_STORE:
		return WF_SIM_STALE_LOADS;
	case WF_SIM_WAKE:
	case WF_SIM_EITHER:
		return WF_SIM_FREE;
	default:
		return WF_SIM_SURPRISES;
	}
}

static unsigned by_chance(enum wf_sim_kind kind, unsigned n)
{
	uint64_t r = wf_random_next(&se->random);
	unsigned any = (unsigned)((r >> 32) * n >> 32);
	unsigned rare = (unsigned)(r & 0xffff);

	switch (kind) {
	case WF_SIM_STORE:
		return rare & 1 ? any : 0;
	case WF_SIM_WEAK:
	case WF_SIM_SPURIOUS:
		return (rare & 15) == 0;
	case WF_SIM_TIME:
		return (rare & 63) == 0;
	case WF_SIM_FAULT:
		return rare % wf_sim->faults == 0;
	case WF_SIM_FREEZE:
		return rare % wf_sim->how->length == 0;
	default:
		return any;
	}
}

unsigned wf_sim_choose(enum wf_sim_kind kind, unsigned n)
{
	struct wf_sim_thread *t = wf_sim->current;
	uint8_t sub;
	unsigned value;
	int said;

	if (n < 2)
		return 0;
	sub = sub_of(t, kind);
	switch (wf_sim->how->mode) {
	case WF_SIM_LIST:
		said = by_list(t, kind, sub);
		value = said > 0 && (unsigned)said < n ? (unsigned)said : 0;
		break;
	case WEFT_SIM_BOUNDED:
		/*
		 * All seeds of the program's random numbers are equally good.
		 */
		value = kind == WF_SIM_RANDOM
			? 0
			: by_bound(limit_of(kind), kind, n);
		break;
	default:
		value = by_chance(kind, n);
	}
	if (value != 0)
		note(t, kind, value, sub);
	return value;
}

/* The n-th thread of a mask. */
static uint32_t nth(uint32_t mask, unsigned n)
{
	while (n-- > 0)
		mask &= mask - 1;
	return (uint32_t)__builtin_ctz(mask);
}

static uint32_t any_of(uint32_t mask)
{
	unsigned n = (unsigned)__builtin_popcount(mask);

	return nth(mask, wf_random_below(&se->random, n));
}

static uint32_t pick_walk(uint32_t ready, uint32_t dull, bool stay)
{
	if (stay && (wf_random_next(&se->random) & 3) != 0)
		return dull;
	return any_of(ready);
}

static uint32_t pick_pct(uint32_t ready, bool relax)
{
	struct wf_sim_thread *t = wf_sim->current;
	uint32_t best = (uint32_t)__builtin_ctz(ready);

	for (uint32_t i = 0; i < se->changes; i++)
		relax |= se->change[i] == wf_sim->steps;
	if (relax)
		se->priority[t->id] = --se->lowest;
	for (uint32_t m = ready; m != 0; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(m);

		if (se->priority[i] > se->priority[best])
			best = i;
	}
	return best;
}

/* The estimated number of steps that thread i has still to do. */
static uint32_t rest(uint32_t i)
{
	uint32_t share = wf_sim->how->share[i], done = wf_sim->thread[i].points;

	return share > done ? share - done : 1;
}

static uint32_t pick_urw(uint32_t ready)
{
	uint32_t sum = 0, at;

	for (uint32_t m = ready; m != 0; m &= m - 1)
		sum += rest((uint32_t)__builtin_ctz(m));
	at = wf_random_below(&se->random, sum);
	for (uint32_t m = ready;; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(m), r = rest(i);

		if (at < r)
			return i;
		at -= r;
	}
}

/* Decision 0 is the dull thread, then come the others in order. */
static uint32_t pick_bounded(
	uint32_t ready, uint32_t dull, bool stay, bool relax)
{
	unsigned n = (unsigned)__builtin_popcount(ready), chosen;

	/*
	 * A spinning thread may let others run for free, but only in one way.
	 */
	if (relax || n == 1)
		return dull;
	chosen = by_bound(
		stay ? WF_SIM_PREEMPTIONS : WF_SIM_FREE, WF_SIM_THREAD, n);
	return chosen == 0 ? dull : nth(ready & ~(1u << dull), chosen - 1);
}

static uint32_t pick_list(uint32_t ready, uint32_t dull, uint8_t sub)
{
	int said = by_list(wf_sim->current, WF_SIM_THREAD, sub);

	return said >= 0 && (ready >> said & 1) ? (uint32_t)said : dull;
}

uint32_t wf_sim_pick(bool relax)
{
	struct wf_sim *s = wf_sim;
	struct wf_sim_thread *t = s->current;
	uint32_t ready = s->ready, me = 1u << t->id, dull, next;
	bool stay = (ready & me) != 0 && !relax;
	uint32_t later = ready & ~((me << 1) - 1), mode = s->how->mode;
	uint8_t sub = sub_of(t, WF_SIM_THREAD);

	/* The dull choice: stay; else the next ready thread in a circle. */
	if (stay || ready == me)
		dull = t->id;
	else if (later != 0)
		dull = (uint32_t)__builtin_ctz(later);
	else
		dull = (uint32_t)__builtin_ctz(ready);
	if (relax && ready != me)
		ready &= ~me;
	if (s->steps > se->fair_from &&
		(mode == WEFT_SIM_PCT || mode == WEFT_SIM_URW))
		mode = WEFT_SIM_WALK;
	switch (mode) {
	case WEFT_SIM_PCT:
		next = pick_pct(ready, relax);
		break;
	case WEFT_SIM_URW:
		next = pick_urw(ready);
		break;
	case WEFT_SIM_BOUNDED:
		next = pick_bounded(ready, dull, stay, relax);
		break;
	case WF_SIM_LIST:
		next = pick_list(ready, dull, sub);
		break;
	default:
		next = pick_walk(ready, dull, stay);
	}
	if (next != dull)
		note(t, WF_SIM_THREAD, next, sub);
	return next;
}
