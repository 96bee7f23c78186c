/* SPDX-License-Identifier: MIT */
/*
 * tests/queue/inbox_test.c - a chain keeps the order of its pushes and only
 * gets shorter, so a task waits for a bounded number of takes (N1, N2).
 *
 * One thread plays all processors.  tests/stress/queue_inbox_test.c is about
 * many threads, tests/stress/queue_frozen_test.c about one that stops.
 *
 * The bound.  Let a task be pushed into an inbox in which n tasks wait.  They
 * are ahead of it, and nothing else ever is: chains are never joined.  In a
 * round each processor takes once, from its own inbox, or from another if that
 * is empty.  The processor that has the task's chain takes at least one task
 * off its front in its turn, unless another processor has taken the chain, and
 * one task off its front, before it.  So the task is taken in at most n + 1
 * rounds, and fewer than (n + 1) * processors * max others go first.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "base/compiler.h"
#include "base/random.h"
#include "queue/inbox.h"
#include "queue/fair_share.h"
#include "support/threads.h"

enum { BOXES = 4, ITEMS = 2000, RUNS = 60 };

struct item {
	weft_task task;
	size_t ahead;	/* how many waited in its inbox before it */
	size_t round;	/* when it was pushed */
	bool taken;
};

/* An inbox and what must be in it, as indices of items. */
struct list {
	size_t items[ITEMS];
	size_t len;
};

struct box {
	struct wf_inbox inbox;
	struct list in, out;
};

static struct item items[ITEMS];
static size_t pushed; /* items[0 .. pushed) were */
static struct box boxes[BOXES];

static void start_over(void)
{
	memset(boxes, 0, sizeof(boxes));
	memset(items, 0, sizeof(items));
	pushed = 0;
}

static void box_check(struct box *b)
{
	assert_int_equal(wf_inbox_is_empty(&b->inbox),
		b->in.len == 0 && b->out.len == 0);
}

/* Push the next n items as one batch. */
static void box_push(struct box *b, size_t n, size_t round)
{
	struct wf_batch batch = { 0 };

	for (size_t i = 0; i < n; i++, pushed++) {
		items[pushed].ahead = b->out.len + b->in.len;
		items[pushed].round = round;
		wf_batch_add(&batch, &items[pushed].task);
		b->in.items[b->in.len++] = pushed;
	}
	wf_inbox_push(&b->inbox, &batch);
	assert_true(wf_batch_is_empty(&batch));
	box_check(b);
}

/* Take from a box as its processor or another's, and compare.  How many. */
static size_t box_take(struct box *mine, struct box *from, size_t sharers,
	size_t max, struct list *got)
{
	struct list *have = from->out.len > 0 ? &from->out : &from->in;
	size_t n = wf_fair_share(have->len, sharers, max);
	struct wf_batch out = { 0 };
	bool rest = have->len == n; /* wrong, to see that it is set */

	assert_int_equal(wf_inbox_take(&mine->inbox, &from->inbox, sharers, max,
				 &out, &rest),
		n);
	assert_int_equal(rest, have->len > n);
	assert_int_equal(out.count, n);
	got->len = have->len;
	memcpy(got->items, have->items, have->len * sizeof(have->items[0]));
	have->len = 0;
	for (size_t i = 0; i < n; i++) {
		struct item *item = &items[got->items[i]];

		assert_ptr_equal(wf_batch_take(&out), &item->task);
		assert_false(item->taken);
		item->taken = true;
	}
	if (rest) {
		assert_int_equal(mine->out.len, 0);
		mine->out.len = got->len - n;
		memcpy(mine->out.items, got->items + n,
			mine->out.len * sizeof(got->items[0]));
	}
	got->len = n;
	box_check(mine);
	box_check(from);
	return n;
}

/* ------------------------------------------------------------------------ */
/* One promise each. */

static void all_zero_is_empty(void **state)
{
	struct list got;

	(void)state;
	start_over();
	box_check(&boxes[0]);
	assert_int_equal(box_take(&boxes[0], &boxes[0], 1, 10, &got), 0);
	assert_int_equal(box_take(&boxes[0], &boxes[1], 1, 10, &got), 0);
}

/* Batches of all small sizes, three deep. */
static void batches_come_out_in_the_order_of_their_pushes(void **state)
{
	struct list got;

	(void)state;
	for (size_t code = 0; code < 64; code++) {
		start_over();
		for (size_t i = 0; i < 3; i++)
			box_push(&boxes[0], 1 + (code >> 2 * i & 3), 0);
		box_take(&boxes[0], &boxes[0], 1, ITEMS, &got);
		assert_int_equal(got.len, pushed);
		box_take(&boxes[0], &boxes[0], 1, ITEMS, &got);
		assert_int_equal(got.len, 0);
	}
}

static void the_rest_is_left_with_the_taker(void **state)
{
	struct list got;

	(void)state;
	start_over();
	box_push(&boxes[1], 10, 0);
	/* Its share of 10 among 4 is 3. */
	assert_int_equal(box_take(&boxes[0], &boxes[1], 4, ITEMS, &got), 3);
	assert_true(wf_inbox_is_empty(&boxes[1].inbox));
	assert_int_equal(boxes[0].out.len, 7);
	/* The next shares get smaller with what is left: 2, 2, 1, 1, 1. */
	assert_int_equal(box_take(&boxes[0], &boxes[0], 4, ITEMS, &got), 2);
	assert_int_equal(box_take(&boxes[2], &boxes[0], 4, ITEMS, &got), 2);
	assert_int_equal(box_take(&boxes[2], &boxes[2], 4, ITEMS, &got), 1);
	assert_int_equal(box_take(&boxes[2], &boxes[2], 4, ITEMS, &got), 1);
	assert_int_equal(box_take(&boxes[2], &boxes[2], 4, ITEMS, &got), 1);
	assert_int_equal(box_take(&boxes[2], &boxes[2], 4, ITEMS, &got), 0);
}

static void a_share_is_limited_by_max(void **state)
{
	struct list got;

	(void)state;
	start_over();
	box_push(&boxes[0], 10, 0);
	assert_int_equal(box_take(&boxes[0], &boxes[0], 1, 4, &got), 4);
	assert_int_equal(box_take(&boxes[0], &boxes[0], 1, 4, &got), 4);
	assert_int_equal(box_take(&boxes[0], &boxes[0], 1, 4, &got), 2);
}

static void a_take_appends_to_what_the_taker_has(void **state)
{
	struct wf_batch batch = { 0 };
	struct wf_inbox inbox = { .in = NULL };
	weft_task tasks[3];
	bool rest;

	(void)state;
	wf_batch_add(&batch, &tasks[1]);
	wf_batch_add(&batch, &tasks[2]);
	wf_inbox_push(&inbox, &batch);
	wf_batch_add(&batch, &tasks[0]);
	/* A taker without room leaves everything where it is. */
	assert_int_equal(
		wf_inbox_take(&inbox, &inbox, 1, 0, &batch, &rest), 0);
	assert_false(rest);
	assert_int_equal(
		wf_inbox_take(&inbox, &inbox, 1, 10, &batch, &rest), 2);
	assert_int_equal(batch.count, 3);
	for (int i = 0; i < 3; i++)
		assert_ptr_equal(wf_batch_take(&batch), &tasks[i]);
}

/* out_count is advice: wrong, it makes shares of other sizes and no harm. */
static void a_wrong_count_loses_and_repeats_nothing(void **state)
{
	static const size_t wrong[] = { 1, 2, 100, SIZE_MAX };
	struct wf_inbox inbox;
	weft_task tasks[6];

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct wf_batch batch = { 0 }, out = { 0 };
		bool rest = true;

		inbox = (struct wf_inbox){ .in = NULL };
		for (int j = 0; j < 6; j++)
			wf_batch_add(&batch, &tasks[j]);
		wf_inbox_push(&inbox, &batch);
		while (rest) {
			size_t n = wf_inbox_take(
				&inbox, &inbox, 3, 4, &out, &rest);

			assert_in_range(n, 1, 4);
			wf_store_rlx(&inbox.out_count, wrong[i]);
		}
		assert_true(wf_inbox_is_empty(&inbox));
		assert_int_equal(out.count, 6);
		for (int j = 0; j < 6; j++)
			assert_ptr_equal(wf_batch_take(&out), &tasks[j]);
	}
}

/* One who has taken everything and stands still holds that, and no more. */
static void who_holds_a_batch_holds_nothing_else(void **state)
{
	struct list held, got;
	size_t n;

	(void)state;
	start_over();
	box_push(&boxes[0], 3, 0);
	box_push(&boxes[0], 4, 0);
	n = box_take(&boxes[0], &boxes[0], 1, ITEMS, &held);
	for (int i = 0; i < 20; i++) {
		box_push(&boxes[i % 2], 1 + (size_t)i % 3, 0);
		while (box_take(&boxes[1], &boxes[1], 2, 2, &got) > 0)
			n += got.len;
		while (box_take(&boxes[1], &boxes[0], 2, 2, &got) > 0)
			n += got.len;
		while (box_take(&boxes[1], &boxes[1], 2, 2, &got) > 0)
			n += got.len;
	}
	assert_int_equal(n, pushed);
	assert_int_equal(held.len, 7);
}

/* ------------------------------------------------------------------------ */
/* Nothing starves. */

/* A producer that never pauses does not keep the first tasks waiting. */
static void what_comes_later_waits(void **state)
{
	struct list got;

	(void)state;
	start_over();
	box_push(&boxes[0], 10, 0);
	for (size_t take = 0; take < 10; take++) {
		/* So many sharers that each take is of one task. */
		assert_int_equal(
			box_take(&boxes[0], &boxes[0], 1000, 8, &got), 1);
		assert_int_equal(got.items[0], take);
		box_push(&boxes[0], 100, 0);
	}
	for (size_t i = 0; i < 10; i++)
		assert_true(items[i].taken);
}

/* How many that were pushed after an item were taken before it. */
static size_t overtakers(size_t item)
{
	size_t n = 0;

	for (size_t i = item + 1; i < pushed; i++)
		n += items[i].taken;
	return n;
}

/* One processor's turn.  How many it took. */
static size_t turn(struct box *mine, size_t round, size_t sharers, size_t max,
	struct wf_random *random)
{
	uint32_t other = wf_random_below(random, BOXES);
	struct list got;

	box_take(mine, mine, sharers, max, &got);
	for (size_t i = 0; got.len == 0 && i < BOXES; i++)
		box_take(mine, &boxes[(other + i) % BOXES], sharers, max, &got);
	for (size_t i = 0; i < got.len; i++) {
		size_t ahead = items[got.items[i]].ahead;

		assert_true(round - items[got.items[i]].round <= ahead);
		assert_true(overtakers(got.items[i]) <
			(ahead + 1) * BOXES * max);
	}
	return got.len;
}

static void bounded_run(uint64_t seed)
{
	size_t taken = 0, sharers, max;
	struct wf_random random;

	start_over();
	wf_random_seed(&random, seed);
	sharers = 1 + wf_random_below(&random, 2 * BOXES);
	max = 1 + wf_random_below(&random, 16);
	for (size_t round = 0; taken < ITEMS; round++) {
		uint32_t first = wf_random_below(&random, BOXES);
		uint32_t pushes = wf_random_below(&random, BOXES + 1);
		uint32_t n;

		for (uint32_t i = 0; i < pushes && pushed < ITEMS; i++) {
			n = 1 + wf_random_below(&random, 12);
			if (n > ITEMS - pushed)
				n = (uint32_t)(ITEMS - pushed);
			box_push(&boxes[wf_random_below(&random, BOXES)], n,
				round);
		}
		for (uint32_t i = 0; i < BOXES; i++)
			taken += turn(&boxes[(first + i) % BOXES], round,
				sharers, max, &random);
	}
}

static void every_task_is_overtaken_by_a_bounded_number(void **state)
{
	size_t runs = threads_rounds(RUNS);

	(void)state;
	for (size_t i = 0; i < runs; i++)
		bounded_run(threads_seed() + i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_zero_is_empty),
		cmocka_unit_test(batches_come_out_in_the_order_of_their_pushes),
		cmocka_unit_test(the_rest_is_left_with_the_taker),
		cmocka_unit_test(a_share_is_limited_by_max),
		cmocka_unit_test(a_take_appends_to_what_the_taker_has),
		cmocka_unit_test(a_wrong_count_loses_and_repeats_nothing),
		cmocka_unit_test(who_holds_a_batch_holds_nothing_else),
		cmocka_unit_test(what_comes_later_waits),
		cmocka_unit_test(every_task_is_overtaken_by_a_bounded_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
