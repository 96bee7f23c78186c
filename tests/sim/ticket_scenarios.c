/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/ticket_scenarios.c - tickets in a run queue: some are dead, and the
 * owner sifts them out while others steal.
 *
 * Claiming is relaxed here, so that only the queue orders what is in an item.
 */
#include "sim/queue_kit.h"

enum { CAP_MAX = 4, USE_FIRST = 200 };

struct game {
	struct wf_runq q, to;
	_Atomic(wf_entry) slots[CAP_MAX], to_slots[CAP_MAX];
	struct item item[ITEMS_MAX];
	int items;
};

static struct game game; /* as new in each run */

static bool is_fresh(wf_entry ticket)
{
	struct item *item = item_of(wf_entry_task(ticket));

	weft_sim_assert(wf_entry_use(ticket) == USE_FIRST + item->number,
		"ticket %d is for item %d", wf_entry_use(ticket), item->number);
	return wf_load_rlx(&item->claimed) == 0;
}

static bool claim(wf_entry ticket)
{
	struct item *item = item_of(wf_entry_task(ticket));

	return is_fresh(ticket) && wf_xchg_rlx(&item->claimed, 1) == 0;
}

static wf_entry ticket_make(struct item *item)
{
	(void)item_make(item);
	return wf_entry_ticket(
		&item->task, (uint8_t)(USE_FIRST + item->number));
}

/* Run what e stands for, unless it was run already. */
static void redeem(wf_entry e)
{
	if (!wf_entry_is_ticket(e) || claim(e))
		item_took(item_of(wf_entry_task(e)));
}

static struct game *game_open(uint64_t capacity, int items)
{
	struct game *g = &game;

	wf_runq_init(&g->q, g->slots, capacity);
	wf_runq_init(&g->to, g->to_slots, CAP_MAX);
	g->items = items;
	items_open(g->item, items, items);
	return g;
}

static void game_close(struct game *g)
{
	wf_entry e;

	weft_sim_assert(wf_runq_check(&g->q) && wf_runq_check(&g->to),
		"a ring is broken");
	while ((e = wf_runq_pop(&g->q)) != 0)
		redeem(e);
	while ((e = wf_runq_pop(&g->to)) != 0)
		redeem(e);
	items_close(g->item, g->items);
}

/* Make room in the full ring as the scheduler does. */
static void make_room(struct game *g)
{
	struct wf_batch batch = { 0 };
	weft_task *task;

	if (wf_runq_sift(&g->q, is_fresh) <= g->q.mask / 2)
		return;
	(void)wf_runq_offload(&g->q, claim, SIZE_MAX, &batch);
	while ((task = wf_batch_take(&batch)) != NULL)
		item_took(item_of(task));
}

static void push(struct game *g, wf_entry e)
{
	while (!wf_runq_push(&g->q, e))
		make_room(g);
}

static void thief(void *arg)
{
	struct game *g = arg;

	for (int i = 0; i < 2; i++) {
		size_t moved;
		wf_entry e =
			wf_runq_steal(&g->to, &g->q, true, SIZE_MAX, &moved);

		for (; e != 0; e = wf_runq_pop(&g->to))
			redeem(e);
	}
}

/* Runs the first two items itself, if nobody else has. */
static void joiner(void *arg)
{
	struct game *g = arg;

	for (int i = 0; i < 2; i++)
		if (wf_xchg_rlx(&g->item[i].claimed, 1) == 0)
			item_took(&g->item[i]);
}

void ring_tickets(void *arg)
{
	struct game *g = game_open(4, 7);
	wf_entry early[2];
	int a, b;

	(void)arg;
	for (int i = 0; i < 2; i++)
		early[i] = ticket_make(&g->item[i]);
	a = thread_start(joiner, g, "joiner");
	b = thread_start(thief, g, "thief");
	for (int i = 0; i < 2; i++)
		push(g, early[i]);
	for (int i = 2; i < g->items; i++)
		push(g,
			i % 2 != 0 ? ticket_make(&g->item[i])
				   : item_make(&g->item[i]));
	thread_join(a);
	thread_join(b);
	game_close(g);
}

/*
 * The ring is full of tickets, half of them dead, while a thief is at it.  What
 * is left changes its place; the thief must find it there and nowhere else.
 */
void ring_sift(void *arg)
{
	struct game *g = game_open(4, 6);
	size_t left;
	int id;

	(void)arg;
	id = thread_start(thief, g, "thief");
	for (int i = 0; i < 4; i++)
		push(g,
			i != 3 ? ticket_make(&g->item[i])
			       : item_make(&g->item[i]));
	for (int i = 0; i < 3; i += 2)
		if (wf_xchg_rlx(&g->item[i].claimed, 1) == 0)
			item_took(&g->item[i]);
	left = wf_runq_sift(&g->q, is_fresh);
	weft_sim_assert(left <= 2, "%zu tickets are left of two", left);
	for (int i = 4; i < g->items; i++)
		push(g, ticket_make(&g->item[i]));
	thread_join(id);
	game_close(g);
}

/* ------------------------------------------------------------------------ */

/* See take_with_notes. */
static int note[ITEMS_MAX];

static void reader(void *arg)
{
	struct game *g = arg;

	take_with_notes(&wf_runq_ops, &g->q, 2, note);
}

static bool all_fresh(wf_entry ticket)
{
	return wf_entry_is_ticket(ticket);
}

/* Sifting uses the slots of what was stolen just before it began. */
void ring_sift_reuse(void *arg)
{
	struct game *g = game_open(2, 2);
	int id;

	(void)arg;
	for (int i = 0; i < g->items; i++)
		push(g, ticket_make(&g->item[i]));
	id = thread_start(reader, g, "reader");
	/* One is left: it is number 2 now, in the slot of the one taken. */
	if (wf_runq_sift(&g->q, all_fresh) == 1)
		weft_sim_assert(note[0] == ITEM_VALUE,
			"the slot of entry 0 is used too soon");
	thread_join(id);
	game_close(g);
}
