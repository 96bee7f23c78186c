/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/handshake_test.c - while a holder takes by plain stores no thief
 * takes (H1), so every task is taken exactly once, while queues open and close.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "arch/context.h"
#include "base/random.h"
#include "kit.h"
#include "sched/handshake.h"
#include "support/skip.h"

enum { THINGS = 400000 };

/* One processor of two; without a membarrier there is nothing to test. */
static struct wf_proc *begin(void)
{
	kit_open(2, 0);
	if (!kit.rt.membarrier) {
		kit_close();
		skip_because("no membarrier: all is shared for good");
	}
	return &kit.procs[0];
}

/* ------------------------------------------------------------------------ */
/* Each column of the protocol, step by step. */

static void a_queue_is_alone_until_it_is_opened(void **state)
{
	struct wf_proc *p = begin();

	(void)state;
	assert_true(wf_take_begin(p));
	assert_int_equal(wf_load_rlx(&p->busy), 1);
	wf_take_end(p);
	assert_int_equal(wf_load_rlx(&p->busy), 0);
	assert_false(wf_rob_begin(p));
	assert_int_equal(wf_load_rlx(&p->thieves), 0);
	assert_true(wf_handshake_open(p));
	assert_true(wf_handshake_open(p));
	assert_false(wf_take_begin(p));
	wf_take_end(p);
	assert_true(wf_rob_begin(p));
	assert_int_equal(wf_load_rlx(&p->thieves), 1);
	wf_rob_end(p);
	assert_int_equal(wf_load_rlx(&p->thieves), 0);
	kit_close();
}

static void it_is_not_opened_while_the_holder_is_in_a_pick(void **state)
{
	struct wf_proc *p = begin();

	(void)state;
	assert_true(wf_take_begin(p));
	assert_false(wf_handshake_open(p));
	assert_false(wf_rob_begin(p));
	wf_take_end(p);
	/* From its next pick on the holder takes by atomic operations. */
	assert_false(wf_take_begin(p));
	assert_false(wf_handshake_open(p));
	wf_take_end(p);
	assert_true(wf_handshake_open(p));
	kit_close();
}

static void it_is_not_closed_while_a_thief_is_at_it(void **state)
{
	struct wf_proc *p = begin();

	(void)state;
	assert_true(wf_handshake_open(p));
	assert_true(wf_rob_begin(p));
	wf_handshake_close(p);
	assert_false(wf_take_begin(p));
	wf_take_end(p);
	assert_false(wf_rob_begin(p));
	wf_rob_end(p);
	wf_handshake_close(p);
	assert_true(wf_take_begin(p));
	wf_take_end(p);
	assert_false(wf_rob_begin(p));
	kit_close();
}

static void without_a_membarrier_it_is_shared_for_good(void **state)
{
	struct wf_proc *p = begin();

	(void)state;
	p->group->always_open = true;
	wf_store_rlx(&p->shared, true);
	wf_store_rlx(&p->open, true);
	wf_handshake_close(p);
	assert_false(wf_take_begin(p));
	assert_true(wf_rob_begin(p));
	wf_rob_end(p);
	wf_take_end(p);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* A holder, two thieves, and a thread that opens and closes. */

struct heap {
	struct wf_proc *p;
	weft_task *things;
	struct threads_goal goal;
	struct threads_ledger ledger;
	_Atomic(size_t) alone, robbed; /* takes of either kind */
};

static void mark(struct heap *h, unsigned thread, wf_entry e)
{
	threads_ledger_mark(
		&h->ledger, thread, (size_t)(wf_entry_task(e) - h->things));
	threads_goal_add(&h->goal, 1);
}

static void dawdle(struct wf_random *random, uint32_t most)
{
	for (uint32_t n = wf_random_below(random, most); n > 0; n--)
		wf_cpu_relax();
}

/* As a pick does; it may take its time between the steps. */
static void hold_take(struct heap *h, struct wf_random *random)
{
	bool alone = wf_take_begin(h->p);
	wf_entry e, slot = 0;

	if (wf_random_below(random, 16) == 0)
		dawdle(random, 200);
	if (alone) {
		e = wf_runq_pop_alone(&h->p->runq);
		slot = wf_load_rlx(&h->p->slot);
		wf_store_rlx(&h->p->slot, 0);
		wf_add_rlx(&h->alone, 1);
	} else {
		e = wf_runq_pop(&h->p->runq);
		slot = wf_xchg_acqrel(&h->p->slot, 0);
	}
	wf_take_end(h->p);
	if (e != 0)
		mark(h, 0, e);
	if (slot != 0)
		mark(h, 0, slot);
}

/* The next thing goes where there is room; false: nowhere. */
static bool hold_put(struct heap *h, weft_task *thing)
{
	if (wf_load_rlx(&h->p->slot) == 0) {
		wf_store_rel(&h->p->slot, wf_entry_of(thing));
		return true;
	}
	return wf_runq_push(&h->p->runq, wf_entry_of(thing));
}

static void hold(struct heap *h, struct wf_random *random)
{
	struct threads_patience patience = { 0 };
	size_t next = 0;

	while (!threads_goal_over(&h->goal)) {
		uint32_t n = wf_random_below(random, 8);

		while (n-- > 0 && next < h->goal.wanted &&
			hold_put(h, &h->things[next]))
			next++;
		for (n = wf_random_below(random, 8); n > 0; n--)
			hold_take(h, random);
		if (next == h->goal.wanted)
			threads_goal_idle(&h->goal, &patience);
	}
}

static void rob(struct heap *h, unsigned i)
{
	wf_entry out[4], slot;
	size_t n = 0;

	if (!wf_rob_begin(h->p))
		return;
	n = wf_runq_grab(&h->p->runq, out, 4);
	slot = wf_load_rlx(&h->p->slot);
	if (slot != 0 && !wf_cas_acq(&h->p->slot, &slot, 0))
		slot = 0;
	wf_rob_end(h->p);
	if (slot != 0)
		mark(h, i, slot);
	while (n-- > 0)
		mark(h, i, out[n]);
	wf_add_rlx(&h->robbed, 1);
}

static void heap_run(void *arg, unsigned i)
{
	struct heap *h = arg;
	struct wf_random random;

	wf_random_seed(&random, threads_seed() + i);
	if (i == 0) {
		hold(h, &random);
		return;
	}
	while (!threads_goal_over(&h->goal)) {
		uint32_t what = wf_random_below(&random, 8);

		if (what == 0)
			(void)wf_handshake_open(h->p);
		else if (what == 1)
			wf_handshake_close(h->p);
		else
			rob(h, i);
		dawdle(&random, 100);
		if (what == 2)
			wf_os_thread_yield();
	}
}

static void everything_is_taken_exactly_once(void **state)
{
	static struct heap h;
	size_t things = threads_rounds(THINGS);

	(void)state;
	h = (struct heap){ .p = begin(), .goal = { .wanted = things } };
	h.things = calloc(things, sizeof(*h.things));
	assert_non_null(h.things);
	threads_ledger_open(&h.ledger, 4, things);
	(void)threads_seed();
	threads_run(4, heap_run, &h);
	assert_int_equal(threads_ledger_close(&h.ledger), 0);
	assert_false(wf_load_rlx(&h.goal.stuck));
	assert_int_equal(wf_load_rlx(&h.p->thieves), 0);
	printf("%zu takes alone, %zu thieves\n", wf_load_rlx(&h.alone),
		wf_load_rlx(&h.robbed));
	free(h.things);
	kit_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_queue_is_alone_until_it_is_opened),
		cmocka_unit_test(
			it_is_not_opened_while_the_holder_is_in_a_pick),
		cmocka_unit_test(it_is_not_closed_while_a_thief_is_at_it),
		cmocka_unit_test(without_a_membarrier_it_is_shared_for_good),
		cmocka_unit_test(everything_is_taken_exactly_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
