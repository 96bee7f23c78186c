/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/run_test.c - the loop: there is one stack for each suspended
 * fiber and one for the loop (L2); a stack of another size is left at once,
 * and its credit comes back (L3); no fiber is published before it is off its
 * stack (L1); a fiber whose commit refused goes on, and its next runs too.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/runtime.h"
#include "sched/thread.h"
#include "stress/sched_kit.h"

enum { FIBERS = 200 };

static struct wf_thread *here(void)
{
	return wf_os_self();
}

/* ------------------------------------------------------------------------ */
/* Accounts; by a fiber on the only processor. */

/* Stacks that a fiber or a loop is on or will come back to. */
static size_t taken(void)
{
	struct wf_thread *t = here();
	struct wf_stack_cache *caches[] = { &t->proc->stacks,
		&t->rt->outside.stacks };
	struct wf_stack_stats stats;
	size_t n;

	wf_stack_pool_stats(&t->rt->stacks, &stats);
	n = stats.ready - stats.cold - stats.depot;
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < WF_STACK_CLASSES; j++)
			n -= caches[i]->shelf[j].now.count +
				caches[i]->shelf[j].other.count;
	return n;
}

/* Credits of fibers that live, and of the loops. */
static size_t credits(void)
{
	struct wf_thread *t = here();
	struct wf_fiber_cache *outside = &t->rt->outside.fibers;
	struct wf_stack_stats stats;
	size_t n;

	wf_stack_pool_stats(&t->rt->stacks, &stats);
	n = stats.promised;
	n -= t->proc->fibers.now.count + t->proc->fibers.other.count;
	n -= outside->now.count + outside->other.count;
	for (size_t i = 0; i < WF_STACK_CLASSES; i++)
		n -= t->proc->stacks.shelf[i].credits +
			t->rt->outside.stacks.shelf[i].credits;
	return n;
}

/* ------------------------------------------------------------------------ */
/* Stacks and credits. */

static weft_group gate;

/* With some of its stack in use, on the stack it asked for. */
static void *wait_at_gate(void *arg)
{
	volatile char frame[4096];
	int err;

	frame[0] = 1;
	if (arg != NULL)
		kit_expect(here()->stack->cls == wf_fiber_cls(weft_self()));
	err = weft_group_wait(&gate, WEFT_FOREVER);
	kit_expect(err == 0 && frame[0] == 1);
	return arg;
}

static void *all_come_back(void *arg)
{
	static weft_fiber *f[FIBERS + 2];
	size_t before = taken(), promised = credits(), owed = promised;
	size_t n = kit_rounds(FIBERS) + 2;
	weft_rt *rt = arg;

	kit_expect(before == 1); /* ours, which is the loop's */
	weft_group_add(&gate, 1);
	for (size_t i = 0; i < n; i++) {
		weft_fiber_attr attr = { .stack_bytes = 16 * WF_KIB
				<< i % 4 * 2 };

		kit_expect(weft_spawn(&f[i], &attr, wait_at_gate, f) == 0);
		/* Its descriptor has one; another size is one more. */
		owed += wf_fiber_cls(f[i]) == rt->cls ? 1 : 2;
	}
	kit_expect(credits() == owed && owed > promised + n);
	weft_yield();
	kit_expect(taken() == before + n); /* (L2) */
	weft_group_done(&gate);
	weft_yield();
	kit_expect(taken() == before); /* (L3) */
	for (size_t i = 0; i < n; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	kit_expect(credits() == promised);
	return NULL;
}

static int task_class;

static void note_class(weft_task *task)
{
	(void)task;
	task_class = (int)here()->stack->cls;
}

/* A task that runs after a fiber with a large stack leaves that stack. */
static void *large_is_left(void *arg)
{
	weft_fiber_attr large = { .stack_bytes = WF_MIB };
	weft_task task = { .run = note_class };
	weft_rt *rt = arg;
	weft_fiber *f;

	task_class = -1;
	kit_expect(weft_spawn(&f, &large, wait_at_gate, arg) == 0);
	kit_expect(weft_submit(&rt->executor, &task, WEFT_HINT_DEFAULT) == 0);
	weft_yield();
	kit_expect(task_class == rt->cls); /* (L3) */
	kit_expect(weft_join(f, NULL, WEFT_NOW) == 0);
	return NULL;
}

static void stacks_and_credits_all_come_back(void **state)
{
	(void)state;
	kit_play(all_come_back, 1);
	kit_play(large_is_left, 1);
}

/* ------------------------------------------------------------------------ */
/* Calls within calls, of which the last one waits. */

static void *descend(void *arg)
{
	uintptr_t depth = (uintptr_t)arg;
	void *below = NULL;
	weft_fiber *f;

	if (depth == 0)
		return wait_at_gate(NULL);
	kit_expect(weft_spawn(&f, NULL, descend, (void *)(depth - 1)) == 0);
	kit_expect(weft_join(f, &below, WEFT_FOREVER) == 0);
	kit_expect((uintptr_t)below == depth - 1);
	return arg;
}

/*
 * Two chains of calls.  Returns false if a joiner gave way instead, as it does
 * after a millisecond (life/join.c): on a slow machine that may be soon.
 */
static bool chains_share_a_stack(void)
{
	enum { DEPTH = 5 };
	uint64_t calls = wf_load_rlx(&here()->proc->counters.runs_inline);
	size_t before = taken(), promised = credits();
	weft_fiber *f, *g;
	bool all_calls;

	weft_group_add(&gate, 1);
	kit_expect(weft_spawn(&f, NULL, descend, (void *)DEPTH) == 0);
	kit_expect(weft_spawn(&g, NULL, descend, (void *)DEPTH) == 0);
	weft_yield();
	all_calls = wf_load_rlx(&here()->proc->counters.runs_inline) ==
		calls + 2 * DEPTH;
	if (all_calls) {
		kit_expect(taken() == before + 2);
		kit_expect(wf_rt_fibers(here()->rt) == 3 + 2 * DEPTH);
	}
	weft_group_done(&gate);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	kit_expect(weft_join(g, NULL, WEFT_FOREVER) == 0);
	kit_expect(taken() == before);
	kit_expect(credits() == promised);
	return all_calls;
}

static void *nested_calls(void *arg)
{
	int tries = 100;

	(void)arg;
	while (!chains_share_a_stack() && --tries > 0)
		continue;
	kit_expect(tries > 0);
	return NULL;
}

static void calls_that_wait_share_a_stack(void **state)
{
	(void)state;
	kit_play(nested_calls, 1);
}

/* ------------------------------------------------------------------------ */
/* Commit. */

static weft_fiber *published;
static int order[4], order_count;

static void note(int actor)
{
	order[order_count++ % 4] = actor;
}

static bool accept_it(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	published = f;
	return true;
}

static bool refuse_it(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	/* (L1) It could be resumed: its context is there. */
	kit_expect(f->stack != NULL && f->context.sp != NULL);
	kit_expect(here()->current == NULL);
	note(0);
	return false;
}

static void *waits_once(void *arg)
{
	struct weft_awaiter a = { .commit = accept_it };
	int err = weft_suspend(&a);

	kit_expect(err == 0);
	note(2);
	return arg;
}

/* With no other fiber, with one to run next, and with one in the queue. */
static void *refused(void *arg)
{
	struct weft_awaiter a = { .commit = refuse_it };
	weft_fiber *f, *fresh;

	(void)arg;
	kit_expect(weft_suspend(&a) == 1); /* no other fiber */
	order_count = 0;
	kit_expect(weft_spawn(&f, NULL, waits_once, NULL) == 0);
	weft_yield();
	kit_expect(published == f);
	a.next = f;
	kit_expect(weft_suspend(&a) == 1);
	note(1);
	kit_expect(order_count == 2);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	kit_expect(order[0] == 0 && order[1] == 1 && order[2] == 2);

	order_count = 0;
	a.next = NULL;
	kit_expect(weft_spawn(&fresh, NULL, waits_once, NULL) == 0);
	kit_expect(weft_suspend(&a) == 1); /* to a loop with one in hand */
	kit_expect(order_count == 1);
	weft_yield();
	weft_wake(published, WEFT_HINT_DEFAULT);
	kit_expect(weft_join(fresh, NULL, WEFT_FOREVER) == 0);
	kit_expect(order_count == 2 && order[1] == 2);
	kit_expect(taken() == 1);
	return NULL;
}

static void a_refused_fiber_goes_on(void **state)
{
	(void)state;
	kit_play(refused, 1);
}

/* ------------------------------------------------------------------------ */
/* Next, woken at once, and on several threads: commit hands the fiber on. */

static bool wake_it(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	/* Another processor may run it before we return. */
	weft_wake(f, WEFT_HINT_DEFAULT);
	return true;
}

static void *woken_by_its_commit(void *arg)
{
	size_t n = kit_rounds(4000);

	for (size_t i = 0; i < n; i++) {
		struct weft_awaiter a = { .commit = wake_it };
		volatile size_t mine = i;

		kit_expect(weft_suspend(&a) == 0);
		kit_expect(mine == i);
	}
	return arg;
}

static void *many_woken(void *arg)
{
	weft_fiber *f[8];

	for (int i = 0; i < 8; i++)
		kit_expect(
			weft_spawn(&f[i], NULL, woken_by_its_commit, arg) == 0);
	for (int i = 0; i < 8; i++)
		kit_expect(weft_join(f[i], NULL, WEFT_FOREVER) == 0);
	return NULL;
}

static void a_published_fiber_may_run_at_once(void **state)
{
	(void)state;
	kit_play(many_woken, 4);
}

/* ------------------------------------------------------------------------ */
/* The budget. */

static void *count_turns(void *arg)
{
	size_t *turns = arg;

	for (int i = 0; i < 3; i++) {
		++*turns;
		weft_yield();
	}
	return NULL;
}

static void *checkpoints(void *arg)
{
	uint32_t budget = ((weft_rt *)arg)->config.coop_budget;
	size_t turns = 0;
	weft_fiber *f;

	kit_expect(weft_spawn(&f, NULL, count_turns, &turns) == 0);
	kit_expect(here()->budget == budget);
	for (uint32_t i = 1; i < budget; i++)
		weft_checkpoint();
	kit_expect(turns == 0);
	for (uint32_t i = 0; i < budget; i++)
		weft_checkpoint();
	kit_expect(turns == 1);
	weft_checkpoint();
	kit_expect(turns == 2);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	return NULL;
}

static void a_used_up_budget_yields(void **state)
{
	(void)state;
	kit_play(checkpoints, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_and_credits_all_come_back),
		cmocka_unit_test(calls_that_wait_share_a_stack),
		cmocka_unit_test(a_refused_fiber_goes_on),
		cmocka_unit_test(a_published_fiber_may_run_at_once),
		cmocka_unit_test(a_used_up_budget_yields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
