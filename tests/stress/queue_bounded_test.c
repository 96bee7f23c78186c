/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/queue_bounded_test.c - every task leaves the bounded queue
 * exactly once and in order; a full queue refuses and loses nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/compiler.h"
#include "queue/bounded.h"
#include "stress/queue_items.h"
#include "support/threads.h"

enum { SIDE_MAX = 4, CAP_MAX = 256, ITEMS = 4000, TIME_MS = 500 };

static const uint64_t caps[] = { 2, 4, 8, 64, 256 };
enum { CAPS = sizeof(caps) / sizeof(caps[0]) };

static struct game {
	struct wf_bounded queue;
	struct wf_bounded_cell cells[CAP_MAX];
	unsigned producers, consumers;
	size_t each;			/* tasks of one producer */
	struct item *items;
	size_t wrong[SIDE_MAX];		/* seen by each consumer */
	struct threads_ledger ledger;
	struct threads_goal goal;
} game;

static void produce(unsigned self)
{
	struct item *items = game.items + self * game.each;
	struct threads_patience patience = { 0 };

	for (size_t seq = 0; seq < game.each; seq++) {
		items[seq].producer = self;
		items[seq].seq = seq;
		while (!wf_bounded_push(&game.queue, &items[seq].task)) {
			threads_goal_idle(&game.goal, &patience);
			if (threads_goal_over(&game.goal))
				return;
		}
	}
}

/* What a consumer gets of one producer is in order. */
static void consume(unsigned self)
{
	struct threads_patience patience = { 0 };
	size_t next[SIDE_MAX] = { 0 }, done = 0;

	while (!threads_goal_over(&game.goal)) {
		weft_task *task = wf_bounded_pop(&game.queue);
		struct item *item;

		if (task == NULL || done == 64) {
			threads_goal_add(&game.goal, done);
			done = 0;
		}
		if (task == NULL) {
			threads_goal_idle(&game.goal, &patience);
			continue;
		}
		item = wf_container_of(task, struct item, task);
		if (item->seq < next[item->producer] ||
			(game.consumers == 1 &&
				item->seq != next[item->producer]))
			game.wrong[self]++;
		next[item->producer] = item->seq + 1;
		item->taker = self;
		threads_ledger_mark(&game.ledger, self,
			(size_t)(item - game.items));
		done++;
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

/* Start at an index from which the run goes past 2^32 or 2^63. */
static void start_at(uint64_t base)
{
	uint64_t mask = game.queue.mask;

	for (uint64_t i = base; i <= base + mask; i++)
		wf_store_rlx(&game.cells[i & mask].turn, i);
	wf_store_rlx(&game.queue.head, base);
	wf_store_rlx(&game.queue.tail, base);
}

static void run_game(
	uint64_t cap, unsigned producers, unsigned consumers, uint64_t base)
{
	game = (struct game){ .producers = producers };
	game.consumers = consumers;
	game.each = threads_rounds(ITEMS) / producers + 1;
	game.goal.wanted = producers * game.each;
	game.items = calloc(game.goal.wanted, sizeof(*game.items));
	assert_non_null(game.items);
	wf_bounded_init(&game.queue, game.cells, cap);
	start_at(base);
	threads_ledger_open(&game.ledger, consumers, game.goal.wanted);
	threads_run(producers + consumers, play, NULL);
	assert_int_equal(threads_ledger_close(&game.ledger), 0);
	for (unsigned i = 0; i < consumers; i++)
		assert_int_equal(game.wrong[i], 0);
	assert_int_equal(wf_bounded_len(&game.queue), 0);
	assert_null(wf_bounded_pop(&game.queue));
	free(game.items);
}

static void run_games(unsigned producers, unsigned consumers, uint64_t base)
{
	int64_t until = threads_until_ns(TIME_MS);

	do {
		for (size_t c = 0; c < CAPS; c++)
			run_game(caps[c], producers, consumers, base);
	} while (threads_now_ns() < until);
}

static void each_task_once_from_four_to_four(void **state)
{
	(void)state;
	run_games(4, 4, 0);
}

static void indices_grow_past_32_bits(void **state)
{
	(void)state;
	run_games(4, 4, (UINT64_C(1) << 32) - 9);
}

static void indices_grow_past_63_bits(void **state)
{
	(void)state;
	run_games(4, 4, (UINT64_C(1) << 63) - 9);
}

static void all_in_order_from_four_to_one(void **state)
{
	(void)state;
	run_games(4, 1, 0);
}

static void all_in_order_from_one_to_one(void **state)
{
	(void)state;
	run_games(1, 1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_once_from_four_to_four),
		cmocka_unit_test(indices_grow_past_32_bits),
		cmocka_unit_test(indices_grow_past_63_bits),
		cmocka_unit_test(all_in_order_from_four_to_one),
		cmocka_unit_test(all_in_order_from_one_to_one),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
