/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/bounded_scenarios.c - the bounded queue: two cells, of which each
 * is used several times, full and empty by turns.
 */
#include "sim/queue_kit.h"

#include "queue/bounded.h"

enum { CELLS = 2, EACH = 3, ITEMS = 2 * EACH };

struct game {
	struct wf_bounded q;
	struct wf_bounded_cell cells[CELLS];
	struct item item[ITEMS];
};

static struct game game; /* as new in each run */

struct player {
	struct game *game;
	int first, count; /* makers: their items */
	int times;	  /* takers: how often */
	struct taker taker;
};

static struct game *game_open(int items, int each)
{
	struct game *g = &game;

	wf_bounded_init(&g->q, g->cells, CELLS);
	items_open(g->item, items, each);
	return g;
}

/* False: there was none. */
static bool take(struct player *p)
{
	weft_task *task = wf_bounded_pop(&p->game->q);

	if (task == NULL)
		return false;
	item_took_next(&p->taker, item_of(task));
	return true;
}

static void taker(void *arg)
{
	struct player *p = arg;

	for (int i = 0; i < p->times; i++)
		(void)take(p);
}

/* The maker keeps an item that does not fit: it counts as taken. */
static void maker(void *arg)
{
	struct player *p = arg;

	for (int i = 0; i < p->count; i++) {
		struct item *item = &p->game->item[p->first + i];

		(void)item_make(item);
		if (!wf_bounded_push(&p->game->q, &item->task))
			item_took(item);
	}
}

/* Nobody else is active: take what is left, then as many fit as ever. */
static void game_close(struct game *g, int items)
{
	struct player rest = { .game = g };
	weft_task spare;

	while (take(&rest))
		continue;
	weft_sim_assert(wf_bounded_len(&g->q) == 0, "not empty");
	items_close(g->item, items);
	for (int i = 0; i <= CELLS; i++)
		weft_sim_assert(wf_bounded_push(&g->q, &spare) == (i < CELLS),
			"with %d cells, %d are in use", CELLS, i);
}

/* Two who push, two who pop. */
void bounded_mix(void *arg)
{
	struct game *g = game_open(ITEMS, EACH);
	struct player p[4] = {
		{ .game = g, .count = EACH },
		{ .game = g, .first = EACH, .count = EACH },
		{ .game = g, .times = 2 },
		{ .game = g, .times = 2 },
	};
	int id[3];

	(void)arg;
	id[0] = thread_start(maker, &p[1], "maker");
	id[1] = thread_start(taker, &p[2], "taker");
	id[2] = thread_start(taker, &p[3], "taker");
	maker(&p[0]);
	for (int i = 0; i < 3; i++)
		thread_join(id[i]);
	game_close(g, ITEMS);
}

/* One who pushes and one who pops, three times round both cells. */
void bounded_laps(void *arg)
{
	struct game *g = game_open(ITEMS, EACH);
	struct player p[2] = {
		{ .game = g, .count = EACH },
		{ .game = g, .times = 2 * EACH },
	};
	int id;

	(void)arg;
	id = thread_start(taker, &p[1], "taker");
	maker(&p[0]);
	p[0].first = EACH;
	maker(&p[0]);
	thread_join(id);
	game_close(g, ITEMS);
}

/* Two who push one each: both fit, or one of them if one is there already. */
void bounded_full(void *arg)
{
	struct game *g = game_open(3, 1);
	struct player p[2] = {
		{ .game = g, .count = 1 },
		{ .game = g, .first = 1, .count = 1 },
	};
	struct player before = { .game = g, .first = 2 };
	int id;

	(void)arg;
	before.count = (int)weft_sim_either(2);
	maker(&before);
	id = thread_start(maker, &p[1], "maker");
	maker(&p[0]);
	thread_join(id);
	weft_sim_assert(g->item[0].taken + g->item[1].taken == before.count,
		"with %d before, %d and %d were refused", before.count,
		g->item[0].taken, g->item[1].taken);
	game_close(g, 2 + before.count);
}
