/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/queue_inject_test.c - every task leaves the global queue exactly
 * once and in order, and the queue never looks empty while one waits (I1, I2).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/compiler.h"
#include "base/random.h"
#include "queue/inject.h"
#include "stress/queue_items.h"
#include "support/threads.h"

enum { PRODUCERS = 4, CONSUMERS = 4 };
enum { EACH = 20000, TIME_MS = 800 };

struct consumer {
	struct wf_random random;
	struct threads_patience patience;
	size_t next[PRODUCERS];		/* no older task may come */
	struct item *last;
	size_t wrong;			/* promises that were broken */
};

static struct game {
	struct wf_inject queue;
	unsigned consumers;
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
		struct wf_batch batch = { 0 };

		seq = items_batch(
			items, seq, game.each, self, &random, &batch);
		wf_inject_push(&game.queue, &batch);
	}
}

/*
 * What a consumer gets of one producer is in order.  If it is the only one, it
 * gets everything, and batches in one piece.
 */
static void look_at(struct consumer *c, struct item *item)
{
	size_t *next = &c->next[item->producer];
	struct item *last = c->last;

	if (item->seq < *next)
		c->wrong++;
	if (game.consumers == 1 && item->seq != *next)
		c->wrong++;
	if (game.consumers == 1 && last && last->more && item != last + 1)
		c->wrong++;
	*next = item->seq + 1;
	c->last = item;
}

static void consume(unsigned self)
{
	struct consumer *c = &game.consumer[self];

	wf_random_seed(&c->random, game.seed + PRODUCERS + self);
	while (!threads_goal_over(&game.goal)) {
		size_t max =
			1 + wf_random_below(&c->random, 2 * ITEMS_BATCH_MAX);
		struct wf_batch out = { 0 };
		size_t n = wf_inject_take(&game.queue, max, &out);

		if (n != out.count || n > max)
			c->wrong++;
		while (!wf_batch_is_empty(&out)) {
			struct item *item = wf_container_of(
				wf_batch_take(&out), struct item, task);

			look_at(c, item);
			item->taker = self;
			threads_ledger_mark(&game.ledger, self,
				(size_t)(item - game.items));
		}
		threads_goal_add(&game.goal, n);
		if (n == 0)
			threads_goal_idle(&game.goal, &c->patience);
	}
}

static void play(void *arg, unsigned self)
{
	(void)arg;
	if (self < PRODUCERS)
		produce(self);
	else
		consume(self - PRODUCERS);
}

static void run_game(unsigned consumers, size_t nth)
{
	game = (struct game){ .consumers = consumers };
	game.seed = threads_seed() + nth * 100;
	game.each = threads_rounds(EACH);
	game.goal.wanted = PRODUCERS * game.each;
	game.items = calloc(game.goal.wanted, sizeof(*game.items));
	assert_non_null(game.items);
	threads_ledger_open(&game.ledger, consumers, game.goal.wanted);
	threads_run(PRODUCERS + consumers, play, NULL);
	assert_int_equal(threads_ledger_close(&game.ledger), 0);
	for (unsigned i = 0; i < consumers; i++)
		assert_int_equal(game.consumer[i].wrong, 0);
	assert_int_equal(wf_inject_len(&game.queue), 0);
	free(game.items);
}

static void run_games(unsigned consumers)
{
	int64_t until = threads_until_ns(TIME_MS);
	size_t nth = 0;

	do {
		run_game(consumers, nth++);
	} while (threads_now_ns() < until);
}

static void each_task_once_to_many_consumers(void **state)
{
	(void)state;
	run_games(CONSUMERS);
}

static void all_in_order_to_one_consumer(void **state)
{
	(void)state;
	run_games(1);
}

/* ------------------------------------------------------------------------ */
/*
 * The length, watched.  In each round some tasks are pushed; the first of them
 * are taken, which moves all from back to front; the last is taken only after
 * the round was closed.  A watcher that began to look after the push of an open
 * round, and finds it still open afterwards, must not have read 0.
 *
 *	mover				watcher
 *	  push all			  open (acquire)	[watch.open]
 *	  open = r (release)		  n = length
 *	    [watch.open]		  fence (acquire)	[watch.close]
 *	  take all but one		  closed
 *	  closed = r			  n == 0 and closed < open: broken
 *	  fence (release)
 *	    [watch.close]
 *	  take the last
 *
 * If the length was read as 0 because of the last take, the fences show the
 * watcher that the round had been closed before.
 */
enum { WATCH_ROUNDS = 100000, WATCH_TASKS = 3 };

static struct watch {
	struct wf_inject queue;
	_Atomic(size_t) open;
	_Atomic(size_t) closed;
	size_t rounds;
	size_t lost;			/* the mover got another number */
	size_t broken;			/* the watcher saw 0 */
} watch;

static void take_some(size_t n)
{
	struct wf_batch out = { 0 };

	for (size_t i = 0; i < n; i++) {
		if (wf_inject_take(&watch.queue, 1, &out) != 1)
			watch.lost++;
	}
}

static void move(void)
{
	weft_task tasks[WATCH_TASKS];

	for (size_t round = 1; round <= watch.rounds; round++) {
		struct wf_batch batch = { 0 };

		for (int i = 0; i < WATCH_TASKS; i++)
			wf_batch_add(&batch, &tasks[i]);
		wf_inject_push(&watch.queue, &batch);
		/* [pair: watch.open] The push before the word of it. */
		wf_store_rel(&watch.open, round);
		take_some(WATCH_TASKS - 1);
		wf_store_rlx(&watch.closed, round);
		/* [pair: watch.close] Closed before the queue is empty. */
		wf_fence_rel();
		take_some(1);
	}
}

static void look(void)
{
	size_t closed = 0;

	while (closed < watch.rounds) {
		/* [pair: watch.open] See the push that we were told of. */
		size_t open = wf_load_acq(&watch.open);
		size_t n = wf_inject_len(&watch.queue);

		/* [pair: watch.close] If it is empty, see it closed. */
		wf_fence_acq();
		closed = wf_load_rlx(&watch.closed);
		if (n == 0 && closed < open)
			watch.broken++;
	}
}

static void move_or_look(void *arg, unsigned self)
{
	(void)arg;
	if (self == 0)
		move();
	else
		look();
}

static void the_queue_never_looks_empty_while_a_task_waits(void **state)
{
	int64_t until = threads_until_ns(TIME_MS);

	(void)state;
	do {
		watch = (struct watch){ 0 };
		watch.rounds = threads_rounds(WATCH_ROUNDS);
		threads_run(2, move_or_look, NULL);
		assert_int_equal(watch.lost, 0);
		assert_int_equal(watch.broken, 0);
	} while (threads_now_ns() < until);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_task_once_to_many_consumers),
		cmocka_unit_test(all_in_order_to_one_consumer),
		cmocka_unit_test(
			the_queue_never_looks_empty_while_a_task_waits),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
