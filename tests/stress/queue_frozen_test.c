/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/queue_frozen_test.c - a thread that stops in the middle of an
 * operation holds back the tasks it has in hand, and no others (Q3, N1, I2).
 *
 * The sources under test are part of this file, so that the test can interrupt
 * them at the moments that matter:
 *
 *	runq	after entries were looked at, before head moves
 *	inbox	after a chain was taken, before its rest is stored
 *	inject	between any two accesses to the counts
 *	bounded	after an index was claimed, and after its cell was handed on
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "os/lock.h"
#include "queue/fair_share.h"
#include "support/threads.h"

/* What the test does at the next such moment of this thread. */
static _Thread_local void (*meanwhile)(void);
static _Thread_local size_t seen; /* the length of the chain */

static void moment(void)
{
	void (*now)(void) = meanwhile;

	meanwhile = NULL;
	if (now != NULL)
		now();
}

static bool test_cas_rel(_Atomic(uint64_t) *p, uint64_t *expected, uint64_t v)
{
	moment();
	return wf_cas_rel(p, expected, v);
}

static bool test_cas_rlx(_Atomic(uint64_t) *p, uint64_t *expected, uint64_t v)
{
	moment();
	return wf_cas_rlx(p, expected, v);
}

static size_t test_share(size_t count, size_t sharers, size_t max)
{
	seen = count;
	moment();
	return wf_fair_share(count, sharers, max);
}

static bool test_cas_weak(_Atomic(uint64_t) *p, uint64_t *expected, uint64_t v)
{
	bool ok = wf_cas_weak_rel(p, expected, v);

	if (ok)
		moment();
	return ok;
}

static uint64_t plain_load(_Atomic(uint64_t) *p)
{
	return wf_load_acq(p);
}

static size_t test_load(_Atomic(size_t) *p)
{
	size_t v = wf_load_acq(p);

	moment();
	return v;
}

static void test_store(_Atomic(size_t) *p, size_t v)
{
	wf_store_rel(p, v);
	moment();
}

#undef wf_cas_rel
#undef wf_cas_rlx
#define wf_cas_rel test_cas_rel
#define wf_cas_rlx test_cas_rlx
#define wf_fair_share test_share

#include "queue/inbox.c"
#include "queue/runq.c"

#undef wf_load_acq
#undef wf_load_rlx
#undef wf_store_rel
#undef wf_store_rlx
#define wf_load_acq test_load
#define wf_load_rlx test_load
#define wf_store_rel test_store
#define wf_store_rlx test_store

#include "queue/inject.c"

#undef wf_load_acq
#undef wf_load_rlx
#undef wf_cas_weak_rel
#define wf_load_acq plain_load
#define wf_load_rlx plain_load
#define wf_cas_weak_rel test_cas_weak

#include "queue/bounded.c"

/* ------------------------------------------------------------------------ */
/* Run queues: a claim that comes too late looks at the entries again. */

enum { CAP = 8, TASKS = 4 * CAP };

struct ring {
	struct wf_runq q;
	_Atomic(wf_entry) slots[CAP];
};

static weft_task tasks[TASKS];
static struct ring owner, thief, other;

/* The n entries of r from now on are tasks first, first + 1, ... */
static void expect_pops(struct ring *r, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		assert_ptr_equal(wf_entry_task(wf_runq_pop(&r->q)), &tasks[i]);
}

static void expect_empty(struct ring *r)
{
	assert_int_equal(wf_runq_pop(&r->q), 0);
	assert_true(wf_runq_check(&r->q));
}

static void push_tasks(struct ring *r, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		assert_true(wf_runq_push(&r->q, wf_entry_of(&tasks[i])));
}

/* The owner has tasks 0 to 7; the next operation is interrupted by fn. */
static void start_over(void (*fn)(void))
{
	wf_runq_init(&owner.q, owner.slots, CAP);
	wf_runq_init(&thief.q, thief.slots, CAP);
	wf_runq_init(&other.q, other.slots, CAP);
	push_tasks(&owner, 0, CAP);
	meanwhile = fn;
}

/* Steal from the owner: task first, and those behind it, n in all. */
static void expect_steal(struct ring *to, size_t first, size_t n)
{
	size_t moved;
	wf_entry e = wf_runq_steal(&to->q, &owner.q, false, SIZE_MAX, &moved);

	assert_int_equal(moved, n);
	assert_ptr_equal(wf_entry_task(e), n > 0 ? &tasks[first] : NULL);
	assert_int_equal(wf_runq_len(&to->q), n > 0 ? n - 1 : 0);
}

/* Entries that a thief has copied and not yet published are not seen. */
static void expect_nothing_shown(void)
{
	wf_entry out[CAP];

	assert_int_equal(wf_runq_len(&thief.q), 0);
	assert_int_equal(wf_runq_grab(&thief.q, out, CAP), 0);
}

static void owner_takes_two_and_adds_two(void)
{
	expect_nothing_shown();
	expect_pops(&owner, 0, 2);
	push_tasks(&owner, 8, 2);
}

static void owner_goes_once_around(void)
{
	expect_nothing_shown();
	expect_pops(&owner, 0, CAP);
	push_tasks(&owner, 8, CAP);
}

static void owner_takes_all(void)
{
	expect_nothing_shown();
	expect_pops(&owner, 0, CAP);
}

static void other_takes_half(void)
{
	expect_steal(&other, 0, 4);
	expect_pops(&other, 1, 3);
	expect_empty(&other);
}

static void nothing_happens(void)
{
	expect_nothing_shown();
}

static void a_slow_thief_takes_the_entries_left(void **state)
{
	static const struct {
		void (*meanwhile)(void);
		size_t first, n, left;
	} cases[] = {
		{ nothing_happens, 0, 4, 4 },
		{ owner_takes_two_and_adds_two, 2, 4, 4 },
		{ owner_goes_once_around, 8, 4, 4 },
		{ owner_takes_all, 0, 0, 0 },
		{ other_takes_half, 4, 2, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t first = cases[i].first, n = cases[i].n;

		start_over(cases[i].meanwhile);
		expect_steal(&thief, first, n);
		assert_true(meanwhile == NULL);
		if (n > 0)
			expect_pops(&thief, first + 1, n - 1);
		expect_empty(&thief);
		expect_pops(&owner, first + n, cases[i].left);
		expect_empty(&owner);
	}
}

static void a_slow_grab_takes_the_entries_left(void **state)
{
	wf_entry out[CAP];

	(void)state;
	start_over(owner_takes_two_and_adds_two);
	assert_int_equal(wf_runq_grab(&owner.q, out, 3), 3);
	assert_true(meanwhile == NULL);
	for (size_t i = 0; i < 3; i++)
		assert_ptr_equal(wf_entry_task(out[i]), &tasks[2 + i]);
	expect_pops(&owner, 5, 5);
	expect_empty(&owner);
}

static void a_slow_owner_pops_the_next(void **state)
{
	(void)state;
	start_over(other_takes_half);
	expect_pops(&owner, 4, 1);
	assert_true(meanwhile == NULL);
	expect_pops(&owner, 5, 3);
	expect_empty(&owner);
}

static void a_slow_owner_offloads_the_next(void **state)
{
	struct wf_batch out = { 0 };

	(void)state;
	start_over(other_takes_half);
	assert_int_equal(wf_runq_offload(&owner.q, NULL, SIZE_MAX, &out), 2);
	assert_true(meanwhile == NULL);
	assert_int_equal(out.count, 2);
	assert_ptr_equal(wf_batch_take(&out), &tasks[4]);
	assert_ptr_equal(wf_batch_take(&out), &tasks[5]);
	expect_pops(&owner, 6, 2);
	expect_empty(&owner);
}

/* ------------------------------------------------------------------------ */
/* The global queue: a look at any moment sees that tasks wait. */

static struct wf_inject inject;
static size_t looks;

/* At this moment and at every one that follows. */
static void look_at_length(void)
{
	assert_true(wf_inject_len(&inject) > 0);
	looks++;
	meanwhile = look_at_length;
}

static void take_one(void)
{
	struct wf_batch out = { 0 };

	assert_int_equal(wf_inject_take(&inject, 1, &out), 1);
}

static void inject_tasks(size_t first, size_t n)
{
	struct wf_batch batch = { 0 };

	for (size_t i = first; i < first + n; i++)
		wf_batch_add(&batch, &tasks[i]);
	wf_inject_push(&inject, &batch);
}

static void a_move_never_shows_an_empty_queue(void **state)
{
	(void)state;
	inject = (struct wf_inject){ 0 };
	meanwhile = NULL;
	looks = 0;
	inject_tasks(0, 2);
	look_at_length();
	take_one();
	inject_tasks(2, 2);
	take_one();
	take_one();
	meanwhile = NULL;
	assert_true(looks > 10);
	assert_int_equal(wf_inject_len(&inject), 1);
}

static void a_length_during_a_move_is_not_0(void **state)
{
	(void)state;
	inject = (struct wf_inject){ 0 };
	meanwhile = NULL;
	inject_tasks(0, 2);
	meanwhile = take_one;
	assert_true(wf_inject_len(&inject) > 0);
	assert_true(meanwhile == NULL);
	assert_int_equal(wf_inject_len(&inject), 1);
}

/* ------------------------------------------------------------------------ */
/* The bounded queue: a claimed cell stops the queue at its next lap. */

static struct wf_bounded bounded;
static struct wf_bounded_cell cells[4];

static void expect_push(size_t i, bool fits)
{
	assert_int_equal(wf_bounded_push(&bounded, &tasks[i]), fits);
}

static void expect_pop(weft_task *task)
{
	assert_ptr_equal(wf_bounded_pop(&bounded), task);
}

static void task_0_is_there(void)
{
	expect_pop(&tasks[0]);
}

static void cell_0_is_claimed_for_task_0(void)
{
	expect_pop(NULL);
	for (size_t i = 1; i < 4; i++)
		expect_push(i, true);
	expect_push(4, false);
	expect_pop(NULL);
	meanwhile = task_0_is_there;
}

static void a_push_that_stops_shows_its_task_with_its_turn(void **state)
{
	(void)state;
	wf_bounded_init(&bounded, cells, 4);
	meanwhile = cell_0_is_claimed_for_task_0;
	expect_push(0, true);
	assert_true(meanwhile == NULL);
	for (size_t i = 1; i < 4; i++)
		expect_pop(&tasks[i]);
	expect_pop(NULL);
}

static void cell_0_is_free(void)
{
	expect_push(4, true);
}

static void task_0_is_being_taken(void)
{
	expect_pop(&tasks[1]);
	expect_push(4, false);
	expect_pop(&tasks[2]);
	expect_push(4, false);
	meanwhile = cell_0_is_free;
}

static void a_pop_that_stops_keeps_its_cell_until_its_turn(void **state)
{
	(void)state;
	wf_bounded_init(&bounded, cells, 4);
	meanwhile = NULL;
	for (size_t i = 0; i < 4; i++)
		expect_push(i, true);
	meanwhile = task_0_is_being_taken;
	expect_pop(&tasks[0]);
	assert_true(meanwhile == NULL);
	expect_pop(&tasks[3]);
	expect_pop(&tasks[4]);
	expect_pop(NULL);
}

/* ------------------------------------------------------------------------ */
/*
 * Inboxes: consumer 0 really stops, with a chain in its hands.  Meanwhile
 * producers push into all inboxes, also into that of consumer 0, and the other
 * consumers run all of it.  Then consumer 0 goes on and finds its chain.
 */

enum { CONSUMERS = 4, PRODUCERS = 2, EACH = 30000, EARLY = 40, BATCH = 7 };

struct item {
	weft_task task;
	size_t id;
};

static struct gate {
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	bool stopped, released;
} gate = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false };

static struct game {
	struct wf_inbox inbox[CONSUMERS];
	struct item *items;
	size_t early; /* items before those of producers */
	size_t each;
	unsigned from;		  /* whose inbox consumer 0 looks into */
	size_t held;		  /* items it had when it stopped */
	size_t wrong;		  /* items it ran that it did not hold */
	struct threads_goal goal; /* of the other consumers */
	_Atomic(unsigned) ended;  /* of these */
	struct threads_ledger ledger;
} game;

static void gate_set(bool *what)
{
	pthread_mutex_lock(&gate.mutex);
	*what = true;
	pthread_cond_broadcast(&gate.moved);
	pthread_mutex_unlock(&gate.mutex);
}

static void gate_wait(const bool *what)
{
	pthread_mutex_lock(&gate.mutex);
	while (!*what)
		pthread_cond_wait(&gate.moved, &gate.mutex);
	pthread_mutex_unlock(&gate.mutex);
}

static void stop(void)
{
	game.held = seen;
	gate_set(&gate.stopped);
	gate_wait(&gate.released);
}

/* Take a share and run it; its size. */
static size_t take_and_run(unsigned self, unsigned from)
{
	struct wf_batch out = { 0 };
	size_t n;
	bool rest;

	n = wf_inbox_take(&game.inbox[self], &game.inbox[from], CONSUMERS, 16,
		&out, &rest);
	while (!wf_batch_is_empty(&out)) {
		struct item *item = (struct item *)wf_batch_take(&out);

		threads_ledger_mark(&game.ledger, self, item->id);
	}
	return n;
}

static void consume_frozen(void)
{
	size_t n;

	meanwhile = stop;
	n = take_and_run(0, game.from);
	if (meanwhile != NULL)
		stop(); /* the moment never came; game.held tells it */
	for (unsigned i = 0; i < CONSUMERS;) {
		size_t more = take_and_run(0, i);

		n += more;
		if (more == 0)
			i++;
	}
	game.wrong = n - game.held;
}

static void consume(unsigned self)
{
	struct threads_patience patience = { 0 };

	gate_wait(&gate.stopped);
	while (!threads_goal_over(&game.goal)) {
		size_t n = take_and_run(self, self);

		for (unsigned i = 1; n == 0 && i < CONSUMERS; i++)
			n = take_and_run(self, (self + i) % CONSUMERS);
		threads_goal_add(&game.goal, n);
		if (n == 0)
			threads_goal_idle(&game.goal, &patience);
	}
	/* The last one: an earlier one may still put back a rest. */
	if (wf_add_acqrel(&game.ended, 1) + 1 == CONSUMERS - 1)
		gate_set(&gate.released);
}

static void push_items(unsigned to, size_t first, size_t n)
{
	struct wf_batch batch = { 0 };

	for (size_t i = first; i < first + n; i++) {
		game.items[i].id = i;
		wf_batch_add(&batch, &game.items[i].task);
	}
	wf_inbox_push(&game.inbox[to], &batch);
}

static void produce(unsigned self)
{
	size_t first = game.early + self * game.each;

	gate_wait(&gate.stopped);
	for (size_t i = 0; i < game.each; i += BATCH) {
		size_t left = game.each - i;

		push_items(i / BATCH % CONSUMERS, first + i,
			left < BATCH ? left : BATCH);
	}
}

static void play(void *arg, unsigned self)
{
	(void)arg;
	if (self == 0)
		consume_frozen();
	else if (self < CONSUMERS)
		consume(self);
	else
		produce(self - CONSUMERS);
}

/*
 * Consumer 0 looks into an inbox with EARLY items in its in; if out is true,
 * these are in out, less the share that was run, and as many more are in in.
 */
static void run_game(unsigned from, bool out, size_t held)
{
	size_t ran = 0;

	game = (struct game){ .from = from };
	gate.stopped = gate.released = false;
	game.each = threads_rounds(EACH);
	game.early = out ? 2 * EARLY : EARLY;
	game.goal.wanted = PRODUCERS * game.each + game.early - held;
	game.items =
		calloc(PRODUCERS * game.each + game.early, sizeof(*game.items));
	assert_non_null(game.items);
	threads_ledger_open(
		&game.ledger, CONSUMERS, PRODUCERS * game.each + game.early);
	push_items(from, 0, EARLY);
	if (out) {
		ran = take_and_run(0, from);
		push_items(from, EARLY, EARLY);
	}
	game.goal.wanted -= ran;
	threads_run(CONSUMERS + PRODUCERS, play, NULL);
	assert_false(game.goal.stuck);
	assert_int_equal(threads_ledger_close(&game.ledger), 0);
	assert_int_equal(game.held, held);
	assert_int_equal(game.wrong, 0);
	free(game.items);
}

static void a_stopped_consumer_holds_its_own_chain(void **state)
{
	(void)state;
	run_game(0, false, EARLY);
}

/* Its share of 40 among 4 was 10; items pushed later it does not hold. */
static void a_stopped_consumer_holds_no_later_items(void **state)
{
	(void)state;
	run_game(0, true, EARLY - 10);
}

static void a_stopped_consumer_holds_its_stolen_chain(void **state)
{
	(void)state;
	run_game(1, false, EARLY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_slow_thief_takes_the_entries_left),
		cmocka_unit_test(a_slow_grab_takes_the_entries_left),
		cmocka_unit_test(a_slow_owner_pops_the_next),
		cmocka_unit_test(a_slow_owner_offloads_the_next),
		cmocka_unit_test(a_move_never_shows_an_empty_queue),
		cmocka_unit_test(a_length_during_a_move_is_not_0),
		cmocka_unit_test(
			a_push_that_stops_shows_its_task_with_its_turn),
		cmocka_unit_test(
			a_pop_that_stops_keeps_its_cell_until_its_turn),
		cmocka_unit_test(a_stopped_consumer_holds_its_own_chain),
		cmocka_unit_test(a_stopped_consumer_holds_no_later_items),
		cmocka_unit_test(a_stopped_consumer_holds_its_stolen_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
