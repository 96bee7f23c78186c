/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/ring_scenarios.c - a run queue and its thieves (Q1, Q2, Q3).
 *
 * Every body takes the kind of queue as its argument.  The body's own thread is
 * the owner of the first ring; thieves own the others.  Nobody waits for
 * anybody else except in the end, so that each of them may be stopped anywhere.
 */
#include "sim/queue_kit.h"

enum { RINGS = 3, CAP_MAX = 4 };

struct ring {
	struct wf_runq q;
	_Atomic(wf_entry) slots[CAP_MAX];
};

struct game {
	const struct wf_runq_ops *ops;
	struct ring ring[RINGS];
	unsigned rings;
	struct item item[ITEMS_MAX];
	int items;
	struct taker owner;
};

/* Steals from one ring into another, which it empties before the next. */
struct thief {
	struct game *game;
	struct wf_runq *to, *from;
	unsigned times;
	bool lone;
	struct taker taker;
};

static struct game game; /* as new in each run */

static struct game *game_open(const void *ops, int items)
{
	struct game *g = &game;

	g->ops = ops;
	g->items = items;
	items_open(g->item, items, items);
	return g;
}

static struct wf_runq *ring_open(struct game *g, uint64_t capacity)
{
	struct ring *r = &g->ring[g->rings++];

	wf_runq_init(&r->q, r->slots, capacity);
	return &r->q;
}

static void took(struct taker *taker, wf_entry e)
{
	item_took_next(taker, item_of(wf_entry_task(e)));
}

/* The owner takes its oldest; false: there was none. */
static bool pop(struct game *g)
{
	wf_entry e = g->ops->pop(&g->ring[0].q);

	if (e == 0)
		return false;
	took(&g->owner, e);
	return true;
}

/* The owner pushes an item and takes others as long as there is no room. */
static void push(struct game *g, int item)
{
	wf_entry e = item_make(&g->item[item]);

	while (!g->ops->push(&g->ring[0].q, e))
		(void)pop(g);
}

static void steal(struct thief *t)
{
	const struct wf_runq_ops *ops = t->game->ops;
	struct wf_runq *to = t->to;
	size_t moved = 99;
	wf_entry e = ops->steal(to, t->from, t->lone, SIZE_MAX, &moved);

	weft_sim_assert(moved <= CAP_MAX && (e != 0) == (moved > 0),
		"a steal that says it moved %zu", moved);
	for (; e != 0; e = ops->pop(to))
		took(&t->taker, e);
}

static void thief(void *arg)
{
	struct thief *t = arg;

	for (unsigned i = 0; i < t->times; i++)
		steal(t);
}

/* Everybody else has ended: take what is left, and all were there once. */
static void game_close(struct game *g)
{
	for (unsigned i = 0; i < g->rings; i++) {
		struct wf_runq *q = &g->ring[i].q;
		size_t n = wf_runq_len(q);

		weft_sim_assert(n <= q->mask + 1, "ring %u holds %zu", i, n);
		for (; n > 0; n--) {
			wf_entry e = g->ops->pop(q);

			weft_sim_assert(e != 0, "ring %u is %zu short", i, n);
			item_took(item_of(wf_entry_task(e)));
		}
	}
	items_close(g->item, g->items);
}

/* As small as can be: the last entry, and a slot that is used again. */
void ring_one_thief(void *arg)
{
	struct game *g = game_open(arg, 3);
	struct thief t = { .game = g, .times = 1, .lone = true };
	int id;

	t.from = ring_open(g, 2);
	t.to = ring_open(g, 2);
	id = thread_start(thief, &t, "thief");
	for (int i = 0; i < g->items; i++)
		push(g, i);
	thread_join(id);
	game_close(g);
}

void ring_two_thieves(void *arg)
{
	struct game *g = game_open(arg, 6);
	struct thief t[2] = {
		{ .game = g, .times = 1, .lone = true },
		{ .game = g, .times = 1 },
	};
	int id[2];

	t[0].from = t[1].from = ring_open(g, 4);
	for (int i = 0; i < 2; i++) {
		t[i].to = ring_open(g, 2);
		id[i] = thread_start(thief, &t[i], "thief");
	}
	for (int i = 0; i < g->items; i++)
		push(g, i);
	thread_join(id[0]);
	thread_join(id[1]);
	game_close(g);
}

/* ------------------------------------------------------------------------ */
/* Rings that are stolen into and from at once. */

/* Steals from a ring, but leaves the stolen items to other thieves. */
static void middleman(void *arg)
{
	struct thief *t = arg;
	const struct wf_runq_ops *ops = t->game->ops;

	for (unsigned i = 0; i < t->times; i++) {
		size_t moved;
		wf_entry e =
			ops->steal(t->to, t->from, t->lone, SIZE_MAX, &moved);

		if (e != 0)
			item_took(item_of(wf_entry_task(e)));
	}
}

/* The ring in the middle is full at first, so one entry is all it takes. */
void ring_chain(void *arg)
{
	struct game *g = game_open(arg, 8);
	struct thief first = { .game = g, .times = 3, .lone = true };
	struct thief second = { .game = g, .times = 3, .lone = true };
	int a, b;

	first.from = ring_open(g, 4);
	first.to = second.from = ring_open(g, 2);
	second.to = ring_open(g, 2);
	for (int i = 0; i < 2; i++)
		(void)g->ops->push(first.to, item_make(&g->item[i]));
	for (int i = 2; i < 6; i++)
		push(g, i);
	a = thread_start(middleman, &first, "middleman");
	b = thread_start(thief, &second, "thief");
	for (int i = 6; i < g->items; i++)
		push(g, i);
	thread_join(a);
	thread_join(b);
	game_close(g);
}

/* An owner with two items of its own that also steals from the other. */
struct peer {
	struct game *game;
	struct wf_runq *mine, *other;
	struct item *items;
};

static void peer(void *arg)
{
	struct peer *p = arg;
	const struct wf_runq_ops *ops = p->game->ops;
	size_t moved;

	for (int i = 0; i < 4; i++) {
		wf_entry e = 0;

		if (i < 3 && !ops->push(p->mine, item_make(&p->items[i])))
			item_took(&p->items[i]);
		if (i != 0)
			e = ops->pop(p->mine);
		if (e == 0)
			e = ops->steal(
				p->mine, p->other, true, SIZE_MAX, &moved);
		if (e != 0)
			item_took(item_of(wf_entry_task(e)));
	}
}

void ring_cross(void *arg)
{
	struct game *g = game_open(arg, 6);
	struct peer p[2];
	int id;

	for (int i = 0; i < 2; i++)
		(void)ring_open(g, 4);
	for (int i = 0; i < 2; i++)
		p[i] = (struct peer){ g, &g->ring[i].q, &g->ring[!i].q,
			&g->item[3 * i] };
	id = thread_start(peer, &p[1], "peer");
	peer(&p[0]);
	thread_join(id);
	game_close(g);
}

/* ------------------------------------------------------------------------ */
/* Many at once, and many times round. */

static bool no_ticket(wf_entry e)
{
	weft_sim_assert(false, "entry %#zx is no ticket", (size_t)e);
	return false;
}

/* The owner moves half of a full ring to a batch while others steal. */
void ring_offload(void *arg)
{
	struct game *g = game_open(arg, 8);
	struct thief t = { .game = g, .times = 2, .lone = true };
	struct wf_batch batch = { 0 };
	weft_task *task;
	int id;

	t.from = ring_open(g, 4);
	t.to = ring_open(g, 2);
	id = thread_start(thief, &t, "thief");
	for (int i = 0; i < g->items; i++) {
		wf_entry e = item_make(&g->item[i]);

		while (!g->ops->push(t.from, e))
			(void)g->ops->offload(
				t.from, no_ticket, SIZE_MAX, &batch);
		while ((task = wf_batch_take(&batch)) != NULL)
			took(&g->owner, wf_entry_of(task));
	}
	thread_join(id);
	game_close(g);
}

static void grabber(void *arg)
{
	struct thief *t = arg;

	for (unsigned i = 0; i < t->times; i++) {
		wf_entry out[2];
		size_t n = t->game->ops->grab(t->from, out, 2);

		weft_sim_assert(n <= 2, "grabbed %zu of 2", n);
		for (size_t k = 0; k < n; k++)
			took(&t->taker, out[k]);
	}
}

void ring_grab(void *arg)
{
	struct game *g = game_open(arg, 6);
	struct thief t[2] = { { .game = g, .times = 2 },
		{ .game = g, .times = 1 } };
	int id[2];

	t[0].from = t[1].from = ring_open(g, 2);
	for (int i = 0; i < 2; i++)
		id[i] = thread_start(grabber, &t[i], "grabber");
	for (int i = 0; i < g->items; i++)
		push(g, i);
	thread_join(id[0]);
	thread_join(id[1]);
	game_close(g);
}

/*
 * A thief that stops between its look and its compare-and-swap finds, laps
 * later, the same slots with other entries and a head that must not fit.  The
 * low halves of the indices go round meanwhile.
 */
void ring_laps(void *arg)
{
	const uint64_t base = (UINT64_C(1) << 32) - 4;
	struct game *g = game_open(arg, ITEMS_MAX);
	struct thief t = { .game = g, .times = 2, .lone = true };
	int id;

	t.from = ring_open(g, 2);
	t.to = ring_open(g, 2);
	wf_store_rlx(&t.from->head, base);
	wf_store_rlx(&t.from->tail, base);
	t.from->head_seen = base;
	id = thread_start(thief, &t, "thief");
	for (int i = 0; i < g->items; i++) {
		push(g, i);
		if (i % 4 != 0)
			(void)pop(g);
	}
	thread_join(id);
	game_close(g);
}

/* A ring that never holds two has nothing for a thief who leaves the last. */
void ring_lone(void *arg)
{
	struct game *g = game_open(arg, 4);
	struct thief t = { .game = g, .times = 3 };
	int id;

	t.from = ring_open(g, 2);
	t.to = ring_open(g, 2);
	id = thread_start(thief, &t, "thief");
	for (int i = 0; i < g->items; i++) {
		push(g, i);
		weft_sim_assert(pop(g), "item %d was taken by the thief", i);
	}
	thread_join(id);
	game_close(g);
}

/* ------------------------------------------------------------------------ */

/* See take_with_notes. */
static int note[ITEMS_MAX];

static void reader(void *arg)
{
	struct game *g = arg;

	take_with_notes(g->ops, &g->ring[0].q, 4, note);
}

/* The owner of a ring of two has put so many entries into it. */
static void read_notes(int put)
{
	for (int i = 0; i < put - 2; i++)
		weft_sim_assert(note[i] == ITEM_VALUE,
			"the slot of entry %d is used too soon", i);
}

void ring_reuse(void *arg)
{
	struct game *g = game_open(arg, 6);
	struct wf_runq *q = ring_open(g, 2);
	int id = thread_start(reader, g, "reader");
	int put = 0;

	for (int i = 0; i < g->items; i++) {
		if (g->ops->push(q, item_make(&g->item[i])))
			read_notes(++put);
		else
			item_took(&g->item[i]);
	}
	thread_join(id);
	game_close(g);
}

/* Slots are used again by an owner that does not push, but steals. */
void ring_reuse_steal(void *arg)
{
	struct game *g = game_open(arg, 6);
	struct wf_runq *q = ring_open(g, 2), *from = ring_open(g, 4);
	int id, put = 2;
	size_t moved;

	for (int i = 0; i < g->items; i++)
		(void)g->ops->push(i < put ? q : from, item_make(&g->item[i]));
	id = thread_start(reader, g, "reader");
	for (int i = 0; i < 3; i++) {
		wf_entry e = g->ops->steal(q, from, true, SIZE_MAX, &moved);

		if (e == 0)
			break;
		item_took(item_of(wf_entry_task(e)));
		put += (int)moved - 1;
		read_notes(put);
	}
	thread_join(id);
	game_close(g);
}
