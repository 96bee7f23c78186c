/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/queue_runq_test.c - every task that goes into run queues is run
 * exactly once, and in order, while thieves steal (Q1, Q2, Q3).
 *
 * One owner pushes into its ring; up to seven thieves, each with a ring of its
 * own, steal.  Two games, on both kinds of queue and all capacities:
 *
 *	chained	 thieves steal from each other as well, into rings that are
 *		 stolen from at the same time; a full ring offloads to a shared
 *		 queue; some entries are tickets, some of these are dead.
 *	ordered	 thieves steal and grab from the owner alone and run all they
 *		 have before they come again, so each sees tasks in the order of
 *		 their pushes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sched.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/random.h"
#include "queue/inject.h"
#include "queue/runq.h"
#include "queue/runq_locked.h"
#include "support/threads.h"

enum { MEMBERS = 8, CAP_MAX = 256, GRAB_MAX = 9, ITEMS = 6000, TIME_MS = 700 };

static const uint64_t caps[] = { 2, 4, 8, 64, 256 };
enum { CAPS = sizeof(caps) / sizeof(caps[0]) };

/* Plain fields: ThreadSanitizer checks that the queue orders them. */
struct item {
	weft_task task;
	size_t id;		   /* written by the owner, before push */
	bool ticket;		   /* written by the owner, before push */
	unsigned runner;	   /* written by the runner */
	_Atomic(uint32_t) claimed; /* a ticket's, by its runner */
};

struct member {
	struct wf_runq runq;
	_Atomic(wf_entry) slots[CAP_MAX];
	struct wf_random random;
	struct threads_patience patience;
	unsigned self;
	size_t done;	   /* not yet told to the goal */
	ptrdiff_t entries; /* pushed less taken */
	size_t next;	   /* no older task may come */
	size_t wrong;	   /* promises that were broken */
};

static struct game {
	const struct wf_runq_ops *ops;
	struct member members[MEMBERS];
	unsigned thieves;
	struct wf_inject shared;
	struct item *items;
	size_t count;
	bool ordered;
	struct threads_ledger ledger;
	struct threads_goal goal;
	_Atomic(size_t) bad_claims;
} game;

/* ------------------------------------------------------------------------ */
/* Running entries. */

static bool claim(wf_entry ticket)
{
	weft_task *task = wf_entry_task(ticket);
	struct item *item = wf_container_of(task, struct item, task);
	uint32_t claimed = 0;

	if (!item->ticket)
		wf_add_rlx(&game.bad_claims, 1);
	return wf_cas_rlx(&item->claimed, &claimed, 1);
}

static void run(struct member *m, weft_task *task)
{
	struct item *item = wf_container_of(task, struct item, task);

	if (game.ordered && item->id < m->next)
		m->wrong++;
	m->next = item->id + 1;
	item->runner = m->self;
	threads_ledger_mark(&game.ledger, m->self, item->id);
	if (++m->done == 64) {
		threads_goal_add(&game.goal, m->done);
		m->done = 0;
	}
}

static void run_entry(struct member *m, wf_entry e)
{
	weft_task *task = wf_entry_task(e);

	m->entries--;
	if (!wf_entry_is_ticket(e) || claim(e))
		run(m, task);
}

/* ------------------------------------------------------------------------ */
/* What members do.  All return how many entries they took. */

static size_t pop_some(struct member *m, size_t max)
{
	size_t n = 0;
	wf_entry e;

	while (n < max && (e = game.ops->pop(&m->runq)) != 0) {
		run_entry(m, e);
		n++;
	}
	return n;
}

/* Push; if the ring is full, offload half of it to the shared queue first. */
static void push(struct member *m, wf_entry e)
{
	struct wf_batch out = { 0 };

	while (!game.ops->push(&m->runq, e)) {
		m->entries -= (ptrdiff_t)game.ops->offload(
			&m->runq, claim, SIZE_MAX, &out);
		if (!wf_batch_is_empty(&out))
			wf_inject_push(&game.shared, &out);
	}
	m->entries++;
}

static size_t take_shared(struct member *m)
{
	struct wf_batch out = { 0 };
	size_t n = wf_inject_take(
		&game.shared, 1 + wf_random_below(&m->random, 8), &out);

	while (!wf_batch_is_empty(&out))
		push(m, wf_entry_of(wf_batch_take(&out)));
	return n;
}

static size_t steal(struct member *m, struct member *victim)
{
	bool lone = wf_random_below(&m->random, 2);
	size_t moved, room = (size_t)m->runq.mask + 1;
	wf_entry e = game.ops->steal(
		&m->runq, &victim->runq, lone, SIZE_MAX, &moved);

	if ((e == 0) != (moved == 0) || moved > room + 1)
		m->wrong++;
	if (e != 0)
		run_entry(m, e);
	return moved;
}

static size_t grab(struct member *m, struct member *victim)
{
	wf_entry out[GRAB_MAX];
	size_t max = wf_random_below(&m->random, GRAB_MAX + 1);
	size_t n = game.ops->grab(&victim->runq, out, max);

	if (n > max)
		m->wrong++;
	for (size_t i = 0; i < n; i++)
		run_entry(m, out[i]);
	return n;
}

static void idle(struct member *m)
{
	threads_goal_add(&game.goal, m->done);
	m->done = 0;
	threads_goal_idle(&game.goal, &m->patience);
}

/* ------------------------------------------------------------------------ */
/* The two games. */

static wf_entry fresh(struct member *m, size_t id)
{
	struct item *item = &game.items[id];

	item->id = id;
	item->ticket = !game.ordered && wf_random_below(&m->random, 4) == 0;
	return item->ticket ? wf_entry_ticket(&item->task, 200)
			    : wf_entry_of(&item->task);
}

/* Let the thieves find rings with little in them, too. */
static void pause_sometimes(struct member *m)
{
	if (wf_random_below(&m->random, 256) == 0)
		sched_yield();
}

/* Pushes all tasks; runs few itself, and claims some tickets. */
static void produce_chained(struct member *m)
{
	for (size_t id = 0; id < game.count; id++) {
		wf_entry e = fresh(m, id);

		push(m, e);
		if (wf_entry_is_ticket(e) &&
			wf_random_below(&m->random, 4) == 0 && claim(e))
			run(m, wf_entry_task(e));
		if (wf_random_below(&m->random, 8) == 0)
			pop_some(m, wf_random_below(&m->random, 4));
		pause_sometimes(m);
	}
}

static struct member *someone_else(struct member *m)
{
	unsigned steps = 1 + wf_random_below(&m->random, game.thieves);

	return &game.members[(m->self + steps) % (game.thieves + 1)];
}

static void work_chained(struct member *m)
{
	uint32_t cap = (uint32_t)m->runq.mask + 1;

	while (!threads_goal_over(&game.goal)) {
		struct member *victim = someone_else(m);
		size_t n;

		switch (wf_random_below(&m->random, 8)) {
		case 0:
			n = grab(m, victim);
			break;
		case 1:
			n = take_shared(m);
			break;
		default:
			n = steal(m, victim);
		}
		n += pop_some(m, wf_random_below(&m->random, cap));
		if (n == 0 && pop_some(m, 1) == 0)
			idle(m);
	}
	idle(m);
}

static void produce_ordered(struct member *m)
{
	for (size_t id = 0; id < game.count; id++) {
		wf_entry e = fresh(m, id);

		while (!game.ops->push(&m->runq, e))
			pop_some(m, 1);
		m->entries++;
		pause_sometimes(m);
	}
	pop_some(m, SIZE_MAX);
	threads_goal_add(&game.goal, m->done);
}

static void work_ordered(struct member *m)
{
	while (!threads_goal_over(&game.goal)) {
		size_t n = wf_random_below(&m->random, 4) == 0
			? grab(m, &game.members[0])
			: steal(m, &game.members[0]);

		pop_some(m, SIZE_MAX);
		if (n == 0)
			idle(m);
	}
	idle(m);
}

static void play(void *arg, unsigned self)
{
	struct member *m = &game.members[self];

	(void)arg;
	if (game.ordered && self == 0)
		produce_ordered(m);
	else if (game.ordered)
		work_ordered(m);
	else if (self == 0)
		produce_chained(m);
	if (!game.ordered)
		work_chained(m);
}

/* ------------------------------------------------------------------------ */

/* Only dead tickets may be left; no member is active any more. */
static void expect_rings_empty(void)
{
	ptrdiff_t entries = 0;

	for (unsigned i = 0; i <= game.thieves; i++) {
		struct member *m = &game.members[i];
		wf_entry e;

		assert_true(wf_runq_check(&m->runq));
		while ((e = game.ops->pop(&m->runq)) != 0) {
			m->entries--;
			assert_true(wf_entry_is_ticket(e));
			assert_false(claim(e));
		}
		assert_int_equal(m->wrong, 0);
		entries += m->entries;
	}
	assert_int_equal(entries, 0);
	assert_int_equal(wf_inject_len(&game.shared), 0);
	assert_int_equal(game.bad_claims, 0);
}

static void run_game(const struct wf_runq_ops *ops, uint64_t cap,
	unsigned thieves, bool ordered)
{
	static uint64_t nth;

	game = (struct game){ .ops = ops, .thieves = thieves };
	game.ordered = ordered;
	game.count = threads_rounds(ITEMS);
	game.goal.wanted = game.count;
	game.items = calloc(game.count, sizeof(*game.items));
	assert_non_null(game.items);
	threads_ledger_open(&game.ledger, thieves + 1, game.count);
	for (unsigned i = 0; i <= thieves; i++) {
		struct member *m = &game.members[i];

		m->self = i;
		wf_runq_init(&m->runq, m->slots, cap);
		wf_random_seed(&m->random, threads_seed() + nth++);
	}
	threads_run(thieves + 1, play, NULL);
	assert_int_equal(threads_ledger_close(&game.ledger), 0);
	expect_rings_empty();
	free(game.items);
}

static void run_games(const struct wf_runq_ops *ops, bool ordered)
{
	int64_t until = threads_until_ns(TIME_MS);

	do {
		for (size_t c = 0; c < CAPS; c++) {
			for (unsigned n = 1; n < MEMBERS; n++)
				run_game(ops, caps[c], n, ordered);
		}
	} while (threads_now_ns() < until);
}

static void lock_free_chained(void **state)
{
	(void)state;
	run_games(&wf_runq_ops, false);
}

static void lock_free_ordered(void **state)
{
	(void)state;
	run_games(&wf_runq_ops, true);
}

static void locked_chained(void **state)
{
	(void)state;
	run_games(&wf_runq_locked_ops, false);
}

static void locked_ordered(void **state)
{
	(void)state;
	run_games(&wf_runq_locked_ops, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lock_free_chained),
		cmocka_unit_test(lock_free_ordered),
		cmocka_unit_test(locked_chained),
		cmocka_unit_test(locked_ordered),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
