/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/queue_inbox_test.c - every task leaves the inboxes exactly once,
 * for any consumer, and the tasks of one take are in the order of their pushes,
 * all from one inbox (N1, N2).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/compiler.h"
#include "base/random.h"
#include "queue/inbox.h"
#include "stress/queue_items.h"
#include "support/threads.h"

enum { PRODUCERS = 4, CONSUMERS = 4 };
enum { EACH = 20000, TIME_MS = 800 };

struct consumer {
	struct wf_inbox inbox;
	struct wf_random random;
	struct threads_patience patience;
	size_t next[PRODUCERS];		/* no older task may come */
	size_t wrong;			/* promises that were broken */
};

static struct game {
	unsigned producers, consumers;
	size_t each;			/* tasks of one producer */
	struct item *items;
	struct consumer consumer[CONSUMERS];
	struct threads_ledger ledger;
	struct threads_goal goal;
	uint64_t seed;
} game;

static void produce(unsigned self)
{
	struct item *items = game.items + self * game.each;
	struct wf_random random;
	size_t seq = 0;

	wf_random_seed(&random, game.seed + self);
	while (seq < game.each) {
		unsigned to = wf_random_below(&random, game.consumers);
		struct wf_batch batch = { 0 };
		size_t first = seq;

		seq = items_batch(
			items, seq, game.each, self, &random, &batch);
		for (size_t at = first; at < seq; at++)
			items[at].inbox = to;
		wf_inbox_push(&game.consumer[to].inbox, &batch);
	}
}

/* Check the tasks of one take: they are a piece of one chain. */
static void look_at(struct consumer *c, unsigned self, struct wf_batch *out)
{
	size_t next[PRODUCERS] = { 0 };
	struct item *first = wf_container_of(out->first, struct item, task);
	unsigned inbox = first->inbox;

	while (!wf_batch_is_empty(out)) {
		struct item *item = wf_container_of(
			wf_batch_take(out), struct item, task);

		if (item->inbox != inbox || item->seq < next[item->producer])
			c->wrong++;
		next[item->producer] = item->seq + 1;
		/* A sole consumer gets all chains, one after the other. */
		if (game.consumers == 1 && item->seq != c->next[item->producer])
			c->wrong++;
		c->next[item->producer] = item->seq + 1;
		item->taker = self;
		threads_ledger_mark(
			&game.ledger, self, (size_t)(item - game.items));
	}
}

static size_t take(unsigned self, unsigned from)
{
	struct consumer *c = &game.consumer[self];
	size_t max = 1 + wf_random_below(&c->random, 2 * ITEMS_BATCH_MAX);
	struct wf_batch out = { 0 };
	bool rest;
	size_t n = wf_inbox_take(&c->inbox, &game.consumer[from].inbox,
		game.consumers, max, &out, &rest);

	if (n != out.count || n > max || (n == 0 && rest))
		c->wrong++;
	if (n > 0) {
		look_at(c, self, &out);
		threads_goal_add(&game.goal, n);
	}
	return n;
}

/* From its own inbox; if that is empty, from the others. */
static void consume(unsigned self)
{
	struct consumer *c = &game.consumer[self];

	wf_random_seed(&c->random, game.seed + PRODUCERS + self);
	while (!threads_goal_over(&game.goal)) {
		unsigned first = wf_random_below(&c->random, game.consumers);
		size_t n = take(self, self);

		for (unsigned i = 0; n == 0 && i < game.consumers; i++)
			n = take(self, (first + i) % game.consumers);
		if (n == 0)
			threads_goal_idle(&game.goal, &c->patience);
	}
}

static void play(void *arg, unsigned self)
{
	(void)arg;
	if (self < game.producers)
		produce(self);
	else
		consume(self - game.producers);
}

static void run_game(unsigned producers, unsigned consumers, size_t nth)
{
	game = (struct game){ .producers = producers };
	game.consumers = consumers;
	game.seed = threads_seed() + nth * 100;
	game.each = threads_rounds(EACH);
	game.goal.wanted = producers * game.each;
	game.items = calloc(game.goal.wanted, sizeof(*game.items));
	assert_non_null(game.items);
	threads_ledger_open(&game.ledger, consumers, game.goal.wanted);
	threads_run(producers + consumers, play, NULL);
	assert_int_equal(threads_ledger_close(&game.ledger), 0);
	for (unsigned i = 0; i < consumers; i++) {
		assert_int_equal(game.consumer[i].wrong, 0);
		assert_true(wf_inbox_is_empty(&game.consumer[i].inbox));
	}
	free(game.items);
}

static void run_games(unsigned producers, unsigned consumers)
{
	int64_t until = threads_until_ns(TIME_MS);
	size_t nth = 0;

	do {
		run_game(producers, consumers, nth++);
	} while (threads_now_ns() < until);
}

static void each_task_once_from_four_to_four(void **state)
{
	(void)state;
	run_games(PRODUCERS, CONSUMERS);
}

/* More takers than pushers: most chains are taken from others. */
static void each_task_once_from_one_to_four(void **state)
{
	(void)state;
	run_games(1, CONSUMERS);
}

static void all_in_order_from_one_to_one(void **state)
{
	(void)state;
	run_games(1, 1);
}

static void all_in_order_from_four_to_one(void **state)
{
	(void)state;
	run_games(PRODUCERS, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_once_from_four_to_four),
		cmocka_unit_test(each_task_once_from_one_to_four),
		cmocka_unit_test(all_in_order_from_one_to_one),
		cmocka_unit_test(all_in_order_from_four_to_one),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
