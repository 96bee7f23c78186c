/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/inject_scenarios.c - the global queue, under locks (I1, I2) and
 * without (N1, N2): those who push batches against those who take.
 */
#include "sim/queue_kit.h"

#include "queue/inbox.h"
#include "queue/inject.h"

enum { EACH = 3, ITEMS = 2 * EACH }; /* items of each maker, of two */

/* ------------------------------------------------------------------------ */
/* queue/inject.h */

struct inject_game {
	struct wf_inject q;
	struct item item[ITEMS];
};

static struct inject_game queue; /* as new in each run */

struct inject_player {
	struct inject_game *game;
	int first; /* makers: of its items */
	int times; /* takers: how often */
	size_t max;
	struct taker taker;
};

static void batch_make(struct wf_batch *b, struct item *item)
{
	(void)item_make(item);
	wf_batch_add(b, &item->task);
}

static void inject_push(struct wf_inject *q, struct item *item, int n)
{
	struct wf_batch b = { 0 };

	for (int i = 0; i < n; i++)
		batch_make(&b, &item[i]);
	wf_inject_push(q, &b);
	weft_sim_assert(wf_batch_is_empty(&b), "the batch is still full");
}

/* Take up to max; each maker's items come in order (I1). */
static size_t inject_take(struct wf_inject *q, size_t max, struct taker *taker)
{
	struct wf_batch b = { 0 };
	size_t n = wf_inject_take(q, max, &b);
	weft_task *task;

	weft_sim_assert(n <= max && b.count == n, "took %zu of %zu, got %zu", n,
		max, b.count);
	while ((task = wf_batch_take(&b)) != NULL)
		item_took_next(taker, item_of(task));
	return n;
}

static void inject_maker(void *arg)
{
	struct inject_player *p = arg;
	struct wf_inject *q = &p->game->q;

	inject_push(q, &p->game->item[p->first], 1);
	inject_push(q, &p->game->item[p->first + 1], EACH - 1);
	weft_sim_assert(wf_inject_pushed(q) >= EACH, "pushes are not counted");
}

static void inject_taker(void *arg)
{
	struct inject_player *p = arg;

	for (int i = 0; i < p->times; i++)
		(void)inject_take(&p->game->q, p->max, &p->taker);
}

/* Nobody else is active: all that were pushed are taken and counted. */
static void inject_close(struct inject_game *g, int items)
{
	struct wf_inject *q = &g->q;
	struct taker rest = { 0 };

	while (inject_take(q, 2, &rest) > 0)
		continue;
	items_close(g->item, items);
	weft_sim_assert(wf_inject_len(q) == 0, "not empty");
	weft_sim_assert(wf_inject_pushed(q) == (uint64_t)items,
		"%zu were pushed", (size_t)wf_inject_pushed(q));
	weft_sim_assert(wf_inject_passed(q, (uint64_t)items) &&
			!wf_inject_passed(q, (uint64_t)items + 1),
		"%zu were taken", (size_t)wf_load_rlx(&q->taken));
}

/* Two who push, two who take. */
void inject_mix(void *arg)
{
	struct inject_game *g = &queue;
	struct inject_player p[4] = {
		{ .game = g },
		{ .game = g, .first = EACH },
		{ .game = g, .times = 2, .max = 2 },
		{ .game = g, .times = 2, .max = 1 },
	};
	int id[3];

	(void)arg;
	items_open(g->item, ITEMS, EACH);
	id[0] = thread_start(inject_maker, &p[1], "maker");
	id[1] = thread_start(inject_taker, &p[2], "taker");
	id[2] = thread_start(inject_taker, &p[3], "taker");
	inject_maker(&p[0]);
	for (int i = 0; i < 3; i++)
		thread_join(id[i]);
	inject_close(g, ITEMS);
}

/* Two who take one by one from a front that one of them has filled. */
void inject_front(void *arg)
{
	struct inject_game *g = &queue;
	struct inject_player p[3] = {
		{ .game = g },
		{ .game = g, .times = 2, .max = 1 },
		{ .game = g, .times = 2, .max = 1 },
	};
	int id[2];

	(void)arg;
	items_open(g->item, EACH, EACH);
	for (int i = 0; i < 2; i++)
		id[i] = thread_start(inject_taker, &p[i + 1], "taker");
	inject_maker(&p[0]);
	for (int i = 0; i < 2; i++)
		thread_join(id[i]);
	inject_close(g, EACH);
}

/* Never fewer than none wait, nor more than there are; what passed, passed. */
static void inject_watcher(void *arg)
{
	struct inject_player *p = arg;
	struct wf_inject *q = &p->game->q;
	bool passed = false;

	for (int i = 0; i < p->times; i++) {
		size_t n = wf_inject_len(q);
		uint64_t mark = wf_inject_pushed(q);

		weft_sim_assert(n <= EACH, "%zu wait of %d", n, EACH);
		weft_sim_assert(mark <= EACH, "%zu were pushed", (size_t)mark);
		weft_sim_assert(!passed || wf_inject_passed(q, 2),
			"what was taken is no longer");
		passed = wf_inject_passed(q, 2);
	}
}

void inject_len(void *arg)
{
	struct inject_game *g = &queue;
	struct inject_player p[3] = {
		{ .game = g },
		{ .game = g, .times = 2, .max = 2 },
		{ .game = g, .times = 2 },
	};
	int id[2];

	(void)arg;
	items_open(g->item, EACH, EACH);
	id[0] = thread_start(inject_taker, &p[1], "taker");
	id[1] = thread_start(inject_watcher, &p[2], "watcher");
	inject_maker(&p[0]);
	for (int i = 0; i < 2; i++)
		thread_join(id[i]);
	inject_close(g, EACH);
}

/* A pusher that finds nothing to take knows that its item was taken. */
static void inject_both(void *arg)
{
	struct inject_player *p = arg;
	struct wf_inject *q = &p->game->q;

	for (int i = 0; i < 2; i++) {
		uint64_t mark;

		inject_push(q, &p->game->item[p->first + i], 1);
		mark = wf_inject_pushed(q);
		if (i == 0 && wf_inject_len(q) != 0)
			continue;
		while (inject_take(q, 1, &p->taker) > 0)
			continue;
		weft_sim_assert(wf_inject_passed(q, mark),
			"nothing waits, but not all before %zu were taken",
			(size_t)mark);
	}
}

void inject_none_left(void *arg)
{
	struct inject_game *g = &queue;
	struct inject_player p[2] = { { .game = g }, { .game = g } };
	int id;

	(void)arg;
	p[1].first = 2;
	items_open(g->item, 4, 2);
	id = thread_start(inject_both, &p[1], "both");
	inject_both(&p[0]);
	thread_join(id);
	inject_close(g, 4);
}

/* ------------------------------------------------------------------------ */
/* queue/inbox.h */

struct inbox_game {
	struct wf_inbox box[2];
	struct item item[ITEMS];
};

static struct inbox_game boxes; /* as new in each run */

struct inbox_player {
	struct inbox_game *game;
	int box;   /* its own, or where it pushes first */
	int first; /* makers: of its items */
	int times; /* processors: how often */
	size_t sharers, max;
};

static void inbox_push(struct wf_inbox *inbox, struct item *item, int n)
{
	struct wf_batch b = { 0 };

	for (int i = 0; i < n; i++)
		batch_make(&b, &item[i]);
	wf_inbox_push(inbox, &b);
	weft_sim_assert(wf_batch_is_empty(&b), "the batch is still full");
}

static void inbox_maker(void *arg)
{
	struct inbox_player *p = arg;
	struct wf_inbox *box = &p->game->box[p->box];

	inbox_push(box, &p->game->item[p->first], 1);
	inbox_push(box, &p->game->item[p->first + 1], EACH - 1);
}

/* Takes one share; its items are in order (N2). */
static size_t inbox_take(
	struct inbox_player *p, struct wf_inbox *mine, struct wf_inbox *from)
{
	struct wf_batch b = { 0 };
	struct taker taker = { 0 };
	bool rest;
	size_t n = wf_inbox_take(mine, from, p->sharers, p->max, &b, &rest);
	weft_task *task;

	weft_sim_assert(n <= p->max && b.count == n && (n > 0 || !rest),
		"took %zu of %zu, got %zu, rest %d", n, p->max, b.count, rest);
	while ((task = wf_batch_take(&b)) != NULL)
		item_took_next(&taker, item_of(task));
	return n;
}

/* From its own inbox or, when that is empty, from the other. */
static void inbox_proc(void *arg)
{
	struct inbox_player *p = arg;
	struct wf_inbox *mine = &p->game->box[p->box];
	struct wf_inbox *other = &p->game->box[!p->box];

	for (int i = 0; i < p->times; i++)
		if (inbox_take(p, mine, mine) == 0)
			(void)inbox_take(p, mine, other);
}

static void inbox_close(struct inbox_game *g, int items)
{
	struct inbox_player all = { .game = g, .sharers = 1, .max = 2 };

	for (int i = 0; i < 2; i++) {
		struct wf_inbox *box = &g->box[i];

		while (inbox_take(&all, box, box) > 0)
			continue;
		weft_sim_assert(wf_inbox_is_empty(box), "not empty");
	}
	items_close(g->item, items);
}

/* Two who push into one inbox, two processors who share what is in it. */
void inbox_mix(void *arg)
{
	struct inbox_game *g = &boxes;
	struct inbox_player p[4] = {
		{ .game = g },
		{ .game = g, .first = EACH },
		{ .game = g, .times = 2, .sharers = 2, .max = 2 },
		{ .game = g, .box = 1, .times = 2, .sharers = 2, .max = 2 },
	};
	int id[3];

	(void)arg;
	items_open(g->item, ITEMS, EACH);
	id[0] = thread_start(inbox_maker, &p[1], "maker");
	id[1] = thread_start(inbox_proc, &p[2], "proc");
	id[2] = thread_start(inbox_proc, &p[3], "proc");
	inbox_maker(&p[0]);
	for (int i = 0; i < 3; i++)
		thread_join(id[i]);
	inbox_close(g, ITEMS);
}

/* What one processor has left over is what the other one takes. */
void inbox_rest(void *arg)
{
	struct inbox_game *g = &boxes;
	struct inbox_player p[3] = {
		{ .game = g },
		{ .game = g, .times = 3, .sharers = 2, .max = 1 },
		{ .game = g, .box = 1, .times = 3, .sharers = 2, .max = 1 },
	};
	int id;

	(void)arg;
	items_open(g->item, EACH, EACH);
	inbox_maker(&p[0]);
	id = thread_start(inbox_proc, &p[2], "proc");
	inbox_proc(&p[1]);
	thread_join(id);
	inbox_close(g, EACH);
}

/* Takes one and pushes it again, so that the top may be the same again. */
static void inbox_returner(void *arg)
{
	struct inbox_player *p = arg;
	struct wf_inbox *box = &p->game->box[0];
	struct wf_batch b = { 0 };
	weft_task *task;
	bool rest;

	for (int i = 0; i < p->times; i++) {
		(void)wf_inbox_take(box, box, 1, p->max, &b, &rest);
		task = wf_batch_take(&b);
		if (task == NULL)
			continue;
		weft_sim_assert(item_of(task)->value == ITEM_VALUE,
			"item %d is not made", item_of(task)->number);
		inbox_push(box, item_of(task), 1);
	}
}

void inbox_again(void *arg)
{
	struct inbox_game *g = &boxes;
	struct inbox_player p = { .game = g, .times = 2, .max = 1 };
	int id;

	(void)arg;
	items_open(g->item, EACH, EACH);
	inbox_push(&g->box[0], &g->item[0], 1);
	id = thread_start(inbox_returner, &p, "returner");
	for (int i = 1; i < EACH; i++)
		inbox_push(&g->box[0], &g->item[i], 1);
	thread_join(id);
	/* They come in another order now. */
	for (int i = 0; i < EACH; i++) {
		struct wf_batch b = { 0 };
		bool rest;

		(void)wf_inbox_take(&g->box[0], &g->box[0], 1, 1, &b, &rest);
		weft_sim_assert(b.count == 1, "%d of %d are there", i, EACH);
		item_took(item_of(b.first));
	}
	inbox_close(g, EACH);
}
