/* SPDX-License-Identifier: MIT */
/*
 * sim/order.c - the orders of one run, and the search for a cycle.
 */
#include "sim/order.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <weft/fiber.h>

#include "base/sanitize.h"
#include "base/units.h"
#include "sched/thread.h"
#include "sim/engine.h"
#include "sim/heap.h"
#include "sim/trace.h"

#define WF_SIM_TAG 64	    /* tags are its multiples: no fiber's OWNER */
#define WF_SIM_HELD 256	    /* locks held at once; others are not followed */
#define WF_SIM_NEST 16	    /* by one holder */
#define WF_SIM_HOLDERS 256  /* that live and had a lock */
#define WF_SIM_ORDERS 256   /* the last ones are kept */
#define WF_SIM_TAKERS 8	    /* holders kept for an order */
#define WF_SIM_CYCLE 16	    /* orders in the longest cycle looked for */
#define WF_SIM_VISITS 20000 /* orders looked at, in one search */

struct lock {
	const void *p;
	uint64_t tag;
	bool shared; /* a reader has it, or wants it */
};

struct held {
	struct lock lock;
	uint32_t holder;
	uint64_t *word; /* of its tag */
	bool tagged;	/* its tag has to stay: an order has it */
};

/* A fiber, or a struct wf_sim_thread; number differs from life to life. */
struct holder {
	const void *key;
	uint32_t number;
};

/* A holder, and how to name it after its end. */
struct taker {
	uint32_t number, thread;
	const void *entry; /* NULL: a plain thread */
	char name[24];
};

struct order {
	struct lock wanted;
	struct lock held[WF_SIM_NEST];
	uint32_t helds, takers;
	struct taker taker[WF_SIM_TAKERS];
};

/* One order of a cycle, as one of its takers did it. */
struct step {
	const struct order *order;
	const struct taker *taker;
};

static struct {
	uint64_t tags;
	uint32_t numbers, helds, holders, orders, visits;
	struct held held[WF_SIM_HELD];
	struct holder holder[WF_SIM_HOLDERS];
	struct order order[WF_SIM_ORDERS];
	struct step path[WF_SIM_CYCLE];
} * st;

int wf_sim_order_open(void)
{
	st = wf_sim_reserve(sizeof(*st));
	return st == NULL ? -ENOMEM : 0;
}

void wf_sim_order_reset(void)
{
	st->tags = 0;
	st->numbers = st->helds = st->holders = st->orders = 0;
}

/* ------------------------------------------------------------------------ */
/* Holders, and the locks they have. */

static weft_fiber *running_fiber(void)
{
	struct wf_thread *t = wf_sim->current->self;

	return t != NULL ? t->current : NULL;
}

/* The number of the caller; 0: there are too many. */
static uint32_t caller(void)
{
	weft_fiber *f = running_fiber();
	const void *key = f != NULL ? (void *)f : (void *)wf_sim->current;
	struct holder *h;

	for (uint32_t i = 0; i < st->holders; i++)
		if (st->holder[i].key == key)
			return st->holder[i].number;
	if (st->holders == WF_SIM_HOLDERS)
		return 0;
	h = &st->holder[st->holders++];
	*h = (struct holder){ .key = key, .number = ++st->numbers };
	return h->number;
}

static void drop_held(uint32_t i)
{
	memmove(&st->held[i], &st->held[i + 1],
		(--st->helds - i) * sizeof(*st->held));
}

void wf_sim_order_freed(const void *fiber)
{
	uint32_t i = 0;

	if (!wf_sim_on())
		return;
	while (i < st->holders && st->holder[i].key != fiber)
		i++;
	if (i == st->holders)
		return;
	for (uint32_t k = st->helds; k-- > 0;)
		if (st->held[k].holder == st->holder[i].number)
			drop_held(k);
	st->holder[i] = st->holder[--st->holders];
}

/*
 * Which of the held locks is p, held that way?  A reader's unlock may come from
 * another fiber: the caller's own comes first.
 */
static int find_held(const void *p, bool shared)
{
	uint32_t me = shared ? caller() : 0;
	int found = -1;

	for (uint32_t i = 0; i < st->helds; i++) {
		const struct held *h = &st->held[i];

		if (h->lock.p != p || h->lock.shared != shared)
			continue;
		found = (int)i;
		if (h->holder == me)
			break;
	}
	return found;
}

/* Is this the tag of a lock?  Else its last holder left none there. */
static bool is_tag(uint64_t word)
{
	return word != 0 && word % WF_SIM_TAG == 0 &&
		word / WF_SIM_TAG <= st->tags;
}

/* The tag of a lock that has just been taken; perhaps a new one. */
static uint64_t tag_of(const void *lock, uint64_t word)
{
	int reader = find_held(lock, true);

	if (is_tag(word))
		return word;
	if (reader >= 0)
		return st->held[reader].lock.tag;
	return ++st->tags * WF_SIM_TAG;
}

/*
 * The tag of that lock, which has a holder, has to stay.  The lock has it while
 * it has readers; an exclusive holder writes it in the end.
 */
static void keep_tag(uint64_t tag)
{
	for (uint32_t i = 0; i < st->helds; i++) {
		struct held *h = &st->held[i];

		if (h->lock.tag != tag)
			continue;
		h->tagged = true;
		if (h->lock.shared)
			memcpy(h->word, &tag, sizeof(tag));
	}
}

/* ------------------------------------------------------------------------ */
/* Cycles. */

static bool is_same(const struct lock *a, const struct lock *b)
{
	return a->tag == b->tag && !(a->shared && b->shared);
}

/* Does o hold this lock, so that a caller that wants it waits? */
static bool holds(const struct order *o, const struct lock *wanted)
{
	for (uint32_t i = 0; i < o->helds; i++)
		if (is_same(&o->held[i], wanted))
			return true;
	return false;
}

/* Is there a lock by which only one of the two can be under way? (O2) */
static bool is_guarded(const struct order *a, const struct order *b)
{
	for (uint32_t i = 0; i < a->helds; i++)
		if (holds(b, &a->held[i]))
			return true;
	return false;
}

/* A taker of o that is not in the path (O1), if o fits into it; or NULL. */
static const struct taker *fits(const struct order *o, uint32_t length)
{
	for (uint32_t i = 0; i < length; i++)
		if (st->path[i].order == o || is_guarded(st->path[i].order, o))
			return NULL;
	for (uint32_t k = 0; k < o->takers; k++) {
		uint32_t i = 0;

		while (i < length &&
			st->path[i].taker->number != o->taker[k].number)
			i++;
		if (i == length)
			return &o->taker[k];
	}
	return NULL;
}

/* The length of a cycle that begins with the path; 0: there is none. */
static uint32_t close_cycle(uint32_t length)
{
	const struct order *last = st->path[length - 1].order;

	if (length > 1 && holds(st->path[0].order, &last->wanted))
		return length;
	if (length == WF_SIM_CYCLE)
		return 0;
	for (uint32_t i = 0; i < st->orders && i < WF_SIM_ORDERS; i++) {
		const struct order *o = &st->order[i];
		const struct taker *t;
		uint32_t closed;

		if (st->visits++ > WF_SIM_VISITS)
			return 0;
		if (!holds(o, &last->wanted) || (t = fits(o, length)) == NULL)
			continue;
		st->path[length] = (struct step){ .order = o, .taker = t };
		closed = close_cycle(length + 1);
		if (closed != 0)
			return closed;
	}
	return 0;
}

/* ------------------------------------------------------------------------ */
/* Orders. */

struct text {
	char p[448];
	size_t at;
};

static void add(struct text *t, const char *before, const char *what)
{
	t->at += (size_t)snprintf(t->p + t->at, sizeof(t->p) - t->at, "%s%s",
		before, what);
	t->at = wf_min_size(t->at, sizeof(t->p) - 1);
}

static void add_taker(struct text *t, const struct taker *k)
{
	add(t, t->at > 0 ? "; " : "",
		k->entry == NULL ? "thread " : "fiber ");
	if (k->entry == NULL)
		add(t, "", wf_sim_thread_name(k->thread));
	else if (k->name[0] != '\0')
		add(t, "", k->name);
	else
		add(t, "", wf_sim_trace_place(k->entry));
}

static wf_noreturn void report(uint32_t length)
{
	struct text t = { .at = 0 };

	for (uint32_t i = 0; i < length; i++) {
		const struct order *o = st->path[i].order;
		const struct order *prev =
			st->path[(i + length - 1) % length].order;

		add_taker(&t, st->path[i].taker);
		add(&t, " locks ", wf_sim_trace_place(o->wanted.p));
		add(&t, " while it holds ", wf_sim_trace_place(prev->wanted.p));
	}
	wf_sim_fail("lock order", st->path[0].order->wanted.p,
		"%s: each can wait for the next for ever", t.p);
}

/* How to name the caller. */
static struct taker taker_of(uint32_t number)
{
	struct taker k = { .number = number, .thread = wf_sim->current->id };
	weft_fiber *f = running_fiber();
	weft_fiber_info info;

	if (f == NULL)
		return k;
	wf_sim->active = false;
	weft_fiber_look(f, &info);
	wf_sim->active = true;
	k.entry = info.entry;
	snprintf(k.name, sizeof(k.name), "%s", info.name ? info.name : "");
	return k;
}

static bool is_equal(const struct order *a, const struct order *b)
{
	if (a->wanted.tag != b->wanted.tag ||
		a->wanted.shared != b->wanted.shared || a->helds != b->helds)
		return false;
	for (uint32_t i = 0; i < a->helds; i++)
		if (a->held[i].tag != b->held[i].tag ||
			a->held[i].shared != b->held[i].shared)
			return false;
	return true;
}

/* The kept order that equals o; if there was none, it is one now. */
static struct order *keep(const struct order *o)
{
	struct order *kept;

	for (uint32_t i = 0; i < st->orders && i < WF_SIM_ORDERS; i++)
		if (is_equal(&st->order[i], o))
			return &st->order[i];
	kept = &st->order[st->orders++ % WF_SIM_ORDERS];
	*kept = *o;
	return kept;
}

/* Holder number did o: fail if that closes a cycle. */
static void note(const struct order *o, uint32_t number)
{
	struct order *kept = keep(o);
	struct taker *k = kept->taker;
	uint32_t length;

	keep_tag(o->wanted.tag);
	for (uint32_t i = 0; i < o->helds; i++)
		keep_tag(o->held[i].tag);
	for (uint32_t i = 0; i < kept->takers; i++)
		if (kept->taker[i].number == number)
			return;
	if (kept->takers == WF_SIM_TAKERS)
		return;
	k += kept->takers++;
	*k = taker_of(number);
	st->path[0] = (struct step){ .order = kept, .taker = k };
	st->visits = 0;
	length = close_cycle(1);
	if (length != 0)
		report(length);
}

void wf_sim_order_taken(const void *lock, void *word, bool shared, bool waits)
{
	struct order o = { .wanted = { .p = lock, .shared = shared } };
	uint64_t seen;
	uint32_t me;
	int stale;

	if (!wf_sim_on())
		return;
	while ((stale = find_held(lock, false)) >= 0)
		drop_held((uint32_t)stale);
	me = caller();
	memcpy(&seen, word, sizeof(seen));
	o.wanted.tag = tag_of(lock, seen);
	if (me == 0 || st->helds == WF_SIM_HELD)
		return;
	for (uint32_t i = 0; i < st->helds; i++)
		if (st->held[i].holder == me) {
			waits &= o.helds < WF_SIM_NEST;
			o.held[o.helds++ % WF_SIM_NEST] = st->held[i].lock;
		}
	st->held[st->helds++] = (struct held){ .lock = o.wanted,
		.holder = me,
		.word = word,
		.tagged = is_tag(seen) };
	if (waits && o.helds > 0)
		note(&o, me);
}

uint64_t wf_sim_order_left(const void *lock, bool shared)
{
	uint64_t tag;
	int i;

	if (!wf_sim_on())
		return 0;
	i = find_held(lock, shared);
	if (i < 0)
		return 0;
	tag = st->held[i].tagged ? st->held[i].lock.tag : 0;
	drop_held((uint32_t)i);
	return tag;
}
