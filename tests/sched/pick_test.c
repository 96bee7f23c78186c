/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/pick_test.c - the quick pick looks at its sources in the order
 * that sched/pick.h says, runs every task once, counts each as one tick by
 * where it came from, and drops dead tickets.
 *
 * The processors are made by hand and have no threads.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/units.h"
#include "locked.h"
#include "os/os.h"
#include "sched/global.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "support/threads.h"

enum { ITEMS = 1024, FAR = 1000000, USE = 7 };

static struct weft_rt *rt;
static struct wf_proc *p;
static weft_fiber item[ITEMS];

static int make_rt(uint32_t workers, uint32_t capacity, uint32_t tick)
{
	weft_config cfg = { .workers = workers,
		.local_capacity = capacity,
		.global_tick = tick,
		.lifo_budget = 3 };
	struct wf_stack_config zero = { 0 };
	char why[200];
	int err;

	rt = wf_os_alloc(sizeof(*rt));
	err = wf_config_fill(&rt->config, &cfg, sizeof(cfg), why, sizeof(why));
	rt->proc_count = workers;
	rt->global_tick = rt->config.global_tick;
	rt->groups = wf_os_alloc(sizeof(*rt->groups));
	rt->procs = wf_os_alloc(workers * sizeof(*rt->procs));
	rt->slots = wf_os_alloc(workers * capacity * sizeof(*rt->slots));
	wf_stack_pool_open(&rt->stacks, &zero);
	rt->group_count = 1;
	rt->groups->rt = rt;
	rt->groups->procs = rt->procs;
	rt->groups->count = workers;
	for (uint32_t i = 0; i < workers; i++)
		err |= wf_proc_open(&rt->procs[i], rt->groups,
			&rt->groups->inject, i, i, &rt->stacks,
			&rt->slots[i * capacity], capacity);
	p = rt->procs;
	p->pause = FAR;
	memset(item, 0, sizeof(item));
	for (size_t i = 0; i < ITEMS; i++) {
		item[i].task.run = wf_fiber_task_run;
		item[i].context.sp = item; /* it is prefetched */
	}
	return err;
}

/* The next pick looks around, and it is the global queue's turn. */
static void look_next(void)
{
	p->pause = 1;
	p->owed = 0;
	p->blind = 0;
}

static void free_rt(void)
{
	while (wf_pick_quick(p) != NULL)
		continue;
	for (uint32_t i = 0; i < rt->proc_count; i++)
		wf_proc_close(&rt->procs[i]);
	wf_stack_pool_close(&rt->stacks);
	wf_os_free(rt->slots);
	wf_os_free(rt->procs);
	wf_os_free(rt->groups);
	wf_os_free(rt);
}

static void to_global(size_t i)
{
	struct wf_batch batch = { 0 };

	wf_batch_add(&batch, &item[i].task);
	wf_inject_push(p->inject, &batch);
}

static void to_local(size_t i)
{
	wf_push(p, wf_entry_of(&item[i].task));
}

static void to_slot(size_t i)
{
	wf_push_next(p, wf_entry_of(&item[i].task));
}

/* A ticket for item i, good or dead. */
static wf_entry ticket(size_t i, bool good)
{
	uint32_t use = USE << WF_FIBER_USE_SHIFT;

	wf_store_rlx(&item[i].state, WF_FIBER_LIVE | WF_FIBER_FRESH | use);
	if (!good)
		wf_store_rlx(&item[i].state, WF_FIBER_LIVE | use);
	return wf_fiber_ticket(&item[i], use);
}

/* Which item is this; -1: none. */
static long number(weft_task *task)
{
	return task ? wf_fiber_of(task) - item : -1;
}

#define assert_pick(i) assert_int_equal(number(wf_pick_quick(p)), i)
#define assert_counter(name, n) \
	assert_int_equal(wf_load_rlx(&p->counters.name), n)

/* ------------------------------------------------------------------------ */
/* Sources, one at a time. */

static void sources_come_in_order(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	wf_yielders_add(p, &item[1].task); /* nothing was ready: its turn */
	to_global(3);
	to_local(2);
	to_slot(0);
	for (int i = 0; i < 4; i++)
		assert_pick(i);
	assert_pick(-1);
	assert_counter(ticks, 4);
	assert_counter(runs_lifo, 1);
	assert_counter(runs_global, 1);
	assert_counter(grabs, 1);
	free_rt();
}

static void every_so_often_the_global_queue_is_first(void **state)
{
	enum { TICK = 5, LOCAL = 40, GLOBAL = 9 };
	long next_local = 100, next_global = 0;

	(void)state;
	assert_int_equal(make_rt(1, 64, TICK), 0);
	look_next(); /* as a processor begins */
	for (int i = 0; i < GLOBAL; i++)
		to_global((size_t)i);
	for (int i = 0; i < LOCAL; i++)
		to_local((size_t)(100 + i));
	for (int i = 0; i < LOCAL; i++)
		assert_pick(i % TICK == 0 ? next_global++ : next_local++);
	assert_counter(runs_global, LOCAL / TICK);
	free_rt();
}

static void the_slot_has_its_turns_and_no_more(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	to_local(10);
	to_local(11);
	for (int i = 0; i < 3; i++) {
		to_slot((size_t)i);
		assert_pick(i);
	}
	to_slot(3);
	assert_pick(10); /* and 3 is behind 11 */
	to_slot(4);
	assert_pick(4);
	assert_pick(11);
	assert_pick(3);
	assert_counter(runs_lifo, 4);
	/* A pick from elsewhere begins the count anew. */
	to_slot(0);
	assert_pick(0);
	assert_int_equal(p->streak, 1);
	to_local(1);
	assert_pick(1);
	assert_int_equal(p->streak, 0);
	free_rt();
}

static void a_fair_share_comes_from_the_global_queue(void **state)
{
	(void)state;
	assert_int_equal(make_rt(2, 256, 61), 0);
	/* Fine tasks are shared with nobody while the gate is shut. */
	for (size_t i = 0; i < 11; i++)
		to_global(i);
	assert_pick(0);
	assert_int_equal(wf_runq_len(&p->runq), 10);
	for (int i = 1; i < 11; i++)
		assert_pick(i);
	free_rt();
	assert_int_equal(make_rt(2, 256, 61), 0);
	wf_store_rlx(&p->group->gate_open, true);
	for (size_t i = 0; i < 11; i++)
		to_global(i);
	assert_pick(0);
	assert_int_equal(wf_runq_len(&p->runq), 5); /* 11 by 2, rounded up */
	assert_int_equal(wf_inject_len(p->inject), 5);
	for (int i = 1; i < 6; i++)
		assert_pick(i);
	assert_counter(runs_global, 1);
	assert_counter(grabs, 1);
	free_rt();
}

static void a_share_is_at_most_half_a_queue(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 8, 61), 0);
	for (size_t i = 0; i < 20; i++)
		to_global(i);
	assert_pick(0);
	assert_int_equal(wf_runq_len(&p->runq), 3);
	assert_int_equal(wf_inject_len(p->inject), 16);
	free_rt();
}

/* ------------------------------------------------------------------------ */
/* Tickets. */

static void dead_tickets_are_dropped(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	wf_push(p, ticket(0, false));
	wf_push(p, ticket(1, false));
	wf_push(p, ticket(2, true));
	wf_push_next(p, ticket(3, false));
	/* One for an earlier use of the same memory is dead too. */
	wf_push(p, ticket(4, true));
	wf_store_rlx(&item[4].state, WF_FIBER_LIVE | WF_FIBER_FRESH);
	to_local(5);
	assert_pick(2);
	assert_false(wf_load_rlx(&item[2].state) & WF_FIBER_FRESH);
	assert_pick(5);
	assert_pick(-1);
	assert_true(wf_load_rlx(&item[4].state) & WF_FIBER_FRESH);
	assert_counter(ticks, 2);
	assert_counter(runs_lifo, 0);
	free_rt();
}

static void a_yielder_does_not_wait_for_dead_tickets(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	wf_push(p, ticket(0, false));
	wf_yielders_add(p, &item[1].task);
	assert_false(wf_yielders_ready(p));
	assert_pick(1);
	free_rt();
}

static void what_has_started_is_found_without_tickets(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	wf_push(p, ticket(0, true));
	to_local(1);
	to_slot(2);
	to_global(3);
	/* Before its time: the next look is soon, the turn as planned. */
	p->pause = 10;
	assert_null(wf_pick_started(p, true));
	assert_int_equal(p->pause, 1);
	assert_int_equal(p->owed, 9);
	look_next();
	assert_int_equal(number(wf_pick_started(p, false)), 3);
	wf_yielders_add(p, &item[4].task);
	look_next();
	assert_int_equal(number(wf_pick_started(p, false)), 4);
	assert_true(wf_load_rlx(&item[0].state) & WF_FIBER_FRESH);
	assert_pick(2);
	assert_pick(0);
	/* It is not its turn. */
	p->pause = 1;
	p->owed = 5;
	assert_null(wf_pick_started(p, false));
	look_next();
	assert_int_equal(number(wf_pick_started(p, false)), 1);
	look_next();
	assert_null(wf_pick_started(p, false));
	assert_counter(ticks, 5);
	free_rt();
}

/* ------------------------------------------------------------------------ */
/* By policy. */

static void set_policy(weft_policy policy)
{
	rt->policy = policy;
	rt->groups->policy = policy;
	for (uint32_t i = 0; i < rt->proc_count; i++) {
		struct wf_proc *q = &rt->procs[i];

		if (wf_policy_is_apart(&policy))
			wf_store_rlx(&q->coarse, WF_APART);
		wf_store_rlx(&q->shared, wf_policy_shares(&policy));
		wf_store_rlx(&q->open, wf_policy_shares(&policy));
		if (policy.lifo == WEFT_LIFO_OFF)
			wf_store_rlx(&q->slot, WF_SLOT_SHUT);
	}
}

/* How much one pick takes of 12, where a queue holds 8 and there are 2. */
static void expect_grab(weft_policy policy, bool open, size_t n)
{
	assert_int_equal(make_rt(2, 8, 61), 0);
	set_policy(policy);
	wf_store_rlx(&p->group->gate_open, open);
	for (size_t i = 0; i < 12; i++)
		to_global(i);
	assert_pick(0);
	assert_int_equal(wf_runq_len(&p->runq), n - 1);
	assert_int_equal(wf_inject_len(p->inject), 12 - n);
	assert_counter(grabs, 1);
	assert_counter(runs_global, 1);
	for (int i = 1; i < 12; i++)
		assert_pick(i);
	assert_pick(-1);
	free_rt();
}

static void as_much_is_taken_as_the_policy_says(void **state)
{
	(void)state;
	for (int open = 0; open < 2; open++) {
		expect_grab((weft_policy){ .take = WEFT_TAKE_SHARE }, open, 4);
		expect_grab((weft_policy){ .take = WEFT_TAKE_ONE }, open, 1);
		expect_grab((weft_policy){ .take = WEFT_TAKE_ALL }, open, 8);
	}
	/* From the only queue there is, one at a time. */
	for (uint32_t take = WEFT_TAKE_SHARE; take <= WEFT_TAKE_ALL; take++)
		expect_grab((weft_policy){ .queue = WEFT_QUEUE_GLOBAL,
				    .take = take },
			true, 1);
}

static void without_a_slot_none_is_looked_at(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	set_policy((weft_policy){ .lifo = WEFT_LIFO_OFF });
	wf_yielders_add(p, &item[0].task);
	for (size_t i = 1; i < 8; i++)
		to_slot(i);
	for (int i = 0; i < 8; i++) {
		assert_pick(i);
		assert_int_equal(p->streak, 0);
		assert_true(wf_load_rlx(&p->slot) == WF_SLOT_SHUT);
	}
	assert_pick(-1);
	assert_counter(runs_lifo, 0);
	assert_counter(ticks, 8);
	free_rt();
}

static weft_task *locked_pick;

static void pick_one(void)
{
	locked_pick = wf_pick_quick(p);
}

/* With a mutex each pick is under it. */
static void a_queue_with_a_mutex_is_picked_from_under_it(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	set_policy((weft_policy){ .local = WEFT_LOCAL_MUTEX });
	to_local(0);
	to_local(1);
	assert_true(waits_for(&p->runq.lock, pick_one));
	assert_int_equal(number(locked_pick), 0);
	assert_pick(1);
	assert_pick(-1);
	free_rt();
}

/* ------------------------------------------------------------------------ */
/* Without locks the global queue's turn waits for what is here. */

static void to_inbox(size_t i)
{
	struct wf_batch batch = { 0 };

	wf_batch_add(&batch, &item[i].task);
	wf_global_push(p->group, p, &batch);
}

/* Local: 0, 1, 2; in the inbox: 10, 11, 12; it is time to look around. */
static void begin_turn(uint32_t tick)
{
	assert_int_equal(make_rt(1, 16, tick), 0);
	set_policy((weft_policy){ .locks = WEFT_LOCKS_NONE });
	for (size_t i = 0; i < 3; i++) {
		to_local(i);
		to_inbox(10 + i);
	}
	look_next();
}

static void the_turn_comes_when_what_was_here_has_run(void **state)
{
	(void)state;
	for (uint32_t tick = 2; tick < 20; tick++) {
		begin_turn(tick);
		assert_pick(0);
		assert_true(p->turn.of == WF_TURN_LOCAL);
		/* These are no part of it. */
		to_local(3);
		to_local(4);
		assert_pick(1);
		assert_pick(2);
		/* Not a pick later than it need be. */
		assert_pick(10);
		assert_false(p->turn.of == WF_TURN_LOCAL);
		assert_counter(runs_global, 1);
		free_rt();
	}
}

/* What runs meanwhile is behind what was there: so it need not wait again. */
static void what_comes_later_does_not_put_the_turn_off(void **state)
{
	long next = 0;

	(void)state;
	begin_turn(61);
	for (size_t i = 3; i < 9; i++) {
		long got = number(wf_pick_quick(p));

		if (i < 6)
			assert_int_equal(got, next++);
		else if (i == 6)
			assert_int_equal(got, 10);
		to_local(i);
	}
	assert_counter(runs_global, 1);
	free_rt();
}

static void with_nothing_here_the_turn_comes_at_once(void **state)
{
	(void)state;
	begin_turn(61);
	for (int i = 0; i < 3; i++)
		(void)wf_runq_pop(&p->runq);
	assert_pick(10);
	assert_int_equal(p->pause + p->owed, 61);
	assert_false(p->turn.of == WF_TURN_LOCAL);
	free_rt();
}

/* Somebody else emptied the global queue: the next turn is another one. */
static void a_turn_for_nothing_is_put_back(void **state)
{
	struct wf_batch out = { 0 };

	(void)state;
	begin_turn(61);
	assert_pick(0);
	assert_true(p->turn.of == WF_TURN_LOCAL);
	assert_int_equal(wf_global_take(p, p->group, 1, 9, &out), 3);
	look_next();
	assert_pick(1);
	assert_false(p->turn.of == WF_TURN_LOCAL);
	/* What is here by now goes before what comes there now. */
	to_local(3);
	to_inbox(13);
	look_next();
	assert_pick(2);
	assert_true(p->turn.of == WF_TURN_LOCAL);
	assert_pick(3);
	assert_pick(13);
	free_rt();
}

/* It was taken from meanwhile, because nothing was here. */
static void a_turn_that_was_had_is_put_back(void **state)
{
	(void)state;
	begin_turn(61);
	for (int i = 0; i < 3; i++)
		assert_pick(i);
	assert_true(p->turn.of == WF_TURN_LOCAL);
	p->pause = 50;
	assert_pick(10); /* and 11 and 12 are here now */
	assert_false(p->turn.of == WF_TURN_LOCAL);
	to_inbox(13);
	look_next();
	assert_pick(11);
	assert_true(p->turn.of == WF_TURN_LOCAL);
	assert_pick(12);
	assert_pick(13);
	free_rt();
}

/* With locks the tick does not wait for the local queue: one task, at once. */
static void with_locks_the_tick_does_not_wait(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	to_local(0);
	to_global(10);
	to_global(11);
	look_next();
	assert_pick(10);
	assert_pick(0);
	free_rt();
}

/*
 * What was in the global queue when the turns began goes before what came to
 * the local queue since, however much that is.
 */
static void the_queues_take_turns(void **state)
{
	long next = 0;

	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	for (size_t i = 0; i < 12; i++)
		to_local(i);
	for (size_t i = 20; i < 40; i++)
		to_global(i);
	look_next();
	assert_pick(20);
	assert_int_equal(p->turn.of, WF_TURN_LOCAL);
	/* One comes for each that runs: the local queue is never half empty. */
	for (size_t i = 0; i < 12; i++) {
		assert_pick(next++);
		to_local(40 + i);
	}
	to_global(60);
	for (long i = 21; i < 40; i++)
		assert_pick(i);
	/* It came later: the turn is over, and others begin. */
	assert_pick(60);
	assert_pick(40);
	free_rt();
}

/* With room enough a share comes over at once, and has its turn. */
static void a_turn_takes_a_share_if_there_is_room(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 16, 61), 0);
	to_local(0);
	for (size_t i = 20; i < 40; i++)
		to_global(i);
	look_next();
	assert_pick(20);
	assert_pick(0);
	to_local(1);
	assert_pick(21);
	assert_int_equal(wf_runq_len(&p->runq), 8);
	to_local(2);
	assert_pick(1);
	for (long i = 22; i < 29; i++)
		assert_pick(i);
	assert_pick(29);
	assert_pick(2);
	free_rt();
}

/* ------------------------------------------------------------------------ */
/* All together. */

static void every_task_is_picked_once_and_counted(void **state)
{
	static uint8_t picked[ITEMS];
	struct wf_random random;
	size_t next = 0, ticks = 0;
	weft_task *task;

	(void)state;
	wf_random_seed(&random, threads_seed());
	memset(picked, 0, sizeof(picked));
	assert_int_equal(make_rt(2, 8, 7), 0);
	while (next < ITEMS) {
		switch (wf_random_below(&random, 8)) {
		case 0:
			to_global(next++);
			break;
		case 1:
			to_slot(next++);
			break;
		case 2:
			wf_push(p, ticket(next++, true));
			break;
		case 3:
			wf_push_yield(p, &item[next++].task);
			break;
		case 4:
			to_local(next++);
			break;
		default:
			task = wf_pick_quick(p);
			if (task != NULL)
				picked[number(task)]++;
			ticks += task != NULL;
		}
	}
	for (; (task = wf_pick_quick(p)) != NULL; ticks++)
		picked[number(task)]++;
	for (size_t i = 0; i < ITEMS; i++)
		assert_int_equal(picked[i], 1);
	assert_int_equal(ticks, ITEMS);
	assert_counter(ticks, ITEMS);
	free_rt();
}

static void delays_are_measured_when_it_looks_around(void **state)
{
	uint64_t all = 0;

	(void)state;
	assert_int_equal(make_rt(1, 16, 2), 0);
	look_next();
	for (size_t i = 0; i < 4; i++) {
		/* So long ago that a loaded machine makes no difference. */
		uint32_t us = (uint32_t)(wf_os_now_ns() / WF_NS_PER_US);

		wf_store_rlx(&item[i].ready_us, (us - (5u << 18)) | 1);
		to_local(i);
	}
	for (int i = 0; i < 4; i++)
		assert_pick(i);
	for (size_t i = 0; i < WEFT_DELAY_BUCKETS; i++)
		all += wf_load_rlx(&p->counters.delay[i]);
	/* Every second pick, or more often where a pick takes a millisecond. */
	assert_true(all >= 2 && all <= 4);
	assert_counter(delay[21], all); /* from 2^20 us, below 2^21 */
	free_rt();
}

/* ------------------------------------------------------------------------ */
/* A queue that was divided. */

enum { MANY = 64 };

static size_t number_of(weft_task *task)
{
	return (size_t)(wf_fiber_of(task) - item);
}

/* Pick the n that are there, each once; how many were not in their place. */
static size_t pick_many(size_t n)
{
	bool seen[MANY] = { false };
	size_t strays = 0;

	for (size_t i = 0; i < n; i++) {
		size_t got = number_of(wf_pick_quick(p));

		assert_true(got < MANY && !seen[got]);
		seen[got] = true;
		strays += got != i;
	}
	return strays;
}

/* How many stray of MANY, if the queue is said to be divided. */
static size_t strays_if_divided(void)
{
	for (size_t i = 0; i < MANY; i++)
		to_local(i);
	wf_store_rlx(&p->divided, true);
	look_next();
	return pick_many(MANY);
}

static void what_was_divided_is_mixed_and_nothing_lost(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 256, 61), 0);
	assert_true(strays_if_divided() > MANY / 2);
	assert_false(wf_load_rlx(&p->divided));
	free_rt();
}

static void it_is_not_while_others_take_or_tasks_are_coarse(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 256, 61), 0);
	wf_store_rlx(&p->shared, true);
	assert_int_equal(strays_if_divided(), 0);
	wf_store_rlx(&p->shared, false);
	wf_store_rlx(&p->coarse, WF_COARSE);
	assert_int_equal(strays_if_divided(), 0);
	wf_store_rlx(&p->coarse, 0);
	assert_true(wf_load_rlx(&p->divided));
	assert_true(strays_if_divided() > 0);
	free_rt();
}

/* It would not know any more what was ready before it. */
static void nor_while_somebody_yielded(void **state)
{
	(void)state;
	assert_int_equal(make_rt(1, 256, 61), 0);
	wf_push_yield(p, &item[MANY].task);
	for (size_t i = 0; i < MANY; i++)
		to_local(i);
	wf_store_rlx(&p->divided, true);
	look_next();
	assert_int_equal(number_of(wf_pick_quick(p)), MANY);
	wf_store_rlx(&p->divided, false);
	assert_int_equal(pick_many(MANY), 0);
	free_rt();
}

/* What was mixed runs before the queue is mixed again. */
static void no_task_is_mixed_twice(void **state)
{
	wf_entry second;

	(void)state;
	assert_int_equal(make_rt(1, 256, 61), 0);
	for (size_t i = 0; i < MANY; i++)
		to_local(i);
	wf_store_rlx(&p->divided, true);
	look_next();
	assert_non_null(wf_pick_quick(p));
	for (size_t i = 1; i < MANY; i++) {
		second = wf_runq_peek(&p->runq);
		wf_store_rlx(&p->divided, true);
		look_next();
		assert_ptr_equal(wf_pick_quick(p), wf_entry_task(second));
	}
	assert_true(wf_load_rlx(&p->divided));
	free_rt();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sources_come_in_order),
		cmocka_unit_test(every_so_often_the_global_queue_is_first),
		cmocka_unit_test(the_slot_has_its_turns_and_no_more),
		cmocka_unit_test(a_fair_share_comes_from_the_global_queue),
		cmocka_unit_test(a_share_is_at_most_half_a_queue),
		cmocka_unit_test(dead_tickets_are_dropped),
		cmocka_unit_test(a_yielder_does_not_wait_for_dead_tickets),
		cmocka_unit_test(what_has_started_is_found_without_tickets),
		cmocka_unit_test(as_much_is_taken_as_the_policy_says),
		cmocka_unit_test(without_a_slot_none_is_looked_at),
		cmocka_unit_test(a_queue_with_a_mutex_is_picked_from_under_it),
		cmocka_unit_test(the_turn_comes_when_what_was_here_has_run),
		cmocka_unit_test(what_comes_later_does_not_put_the_turn_off),
		cmocka_unit_test(with_nothing_here_the_turn_comes_at_once),
		cmocka_unit_test(a_turn_for_nothing_is_put_back),
		cmocka_unit_test(a_turn_that_was_had_is_put_back),
		cmocka_unit_test(with_locks_the_tick_does_not_wait),
		cmocka_unit_test(the_queues_take_turns),
		cmocka_unit_test(a_turn_takes_a_share_if_there_is_room),
		cmocka_unit_test(every_task_is_picked_once_and_counted),
		cmocka_unit_test(delays_are_measured_when_it_looks_around),
		cmocka_unit_test(what_was_divided_is_mixed_and_nothing_lost),
		cmocka_unit_test(
			it_is_not_while_others_take_or_tasks_are_coarse),
		cmocka_unit_test(nor_while_somebody_yielded),
		cmocka_unit_test(no_task_is_mixed_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
