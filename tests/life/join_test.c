/* SPDX-License-Identifier: MIT */
/*
 * tests/life/join_test.c - a joiner runs its child as a call if, and only if,
 * all that life/join.c asks for is given; a tree of such calls gives way; a
 * joiner that gives up at the moment of the end leaves nothing dangling.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "stress/sched_kit.h"

static struct wf_thread *here(void)
{
	return wf_os_self();
}

static uint64_t calls(void)
{
	return wf_load_rlx(&here()->proc->counters.runs_inline);
}

static void play_with(weft_config cfg, void *(*fn)(void *))
{
	weft_rt *rt = kit_start(&cfg);
	weft_fiber *f;

	assert_int_equal(weft_rt_spawn(rt, &f, NULL, fn, rt), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	kit_stop(rt);
}

static void *echo(void *arg)
{
	return arg;
}

/* Spawn, join, and say whether it was run as a call. */
static bool is_call(const weft_fiber_attr *attr, void *(*fn)(void *), void *arg)
{
	uint64_t before = calls();
	void *result = NULL;
	weft_fiber *f;

	kit_expect(weft_spawn(&f, attr, fn, arg) == 0);
	kit_expect(weft_join(f, &result, WEFT_FOREVER) == 0);
	kit_expect(result == arg);
	return calls() != before;
}

/* is_call, for the first child after the joiner gave way: see life/join.c. */
static bool is_first_call(
	const weft_fiber_attr *attr, void *(*fn)(void *), void *arg)
{
	weft_yield();
	return is_call(attr, fn, arg);
}

/* ------------------------------------------------------------------------ */
/* When it is a call. */

static void *on_stack_of(void *stack)
{
	kit_expect(here()->stack == stack);
	return stack;
}

static void *not_on_stack_of(void *stack)
{
	kit_expect(here()->stack != stack);
	return stack;
}

/* So much of the stack is used that the promise is not left. */
static wf_noinline void join_deep_down(size_t promised)
{
	volatile char used[promised];

	used[0] = 1;
	kit_expect(!is_call(NULL, not_on_stack_of, here()->stack));
	kit_expect(used[0] == 1);
}

static void *conditions(void *arg)
{
	weft_fiber_attr large = { .stack_bytes = WF_MIB };
	weft_fiber_attr small = { .stack_bytes = 1 };
	weft_fiber_attr yield = { .hint = WEFT_HINT_YIELD };
	weft_fiber_attr next = { .hint = WEFT_HINT_NEXT };
	uint64_t before = calls();
	weft_rt *rt = arg;
	weft_fiber *f;

	kit_expect(is_first_call(NULL, on_stack_of, here()->stack));
	kit_expect(is_first_call(&next, on_stack_of, here()->stack));
	kit_expect(is_first_call(&small, on_stack_of, here()->stack));
	kit_expect(!is_first_call(&large, not_on_stack_of, here()->stack));
	kit_expect(!is_first_call(&yield, echo, arg)); /* its entry owns it */
	join_deep_down(rt->promised / 2);
	kit_expect(calls() == before + 3);
	/* A joiner with a deadline runs no child. */
	kit_expect(weft_spawn(&f, NULL, echo, arg) == 0);
	kit_expect(weft_join(f, NULL, WEFT_NOW) == -ETIMEDOUT);
	kit_expect(wf_load_rlx(&f->state) & WF_FIBER_FRESH);
	kit_expect(weft_join(weft_self(), NULL, WEFT_FOREVER) == -EDEADLK);
	/* A child that has started is waited for. */
	weft_yield();
	kit_expect(weft_join(f, NULL, WEFT_NOW) == 0);
	kit_expect(calls() == before + 3);
	return NULL;
}

static void it_is_a_call_only_if_all_is_given(void **state)
{
	(void)state;
	play_with((weft_config){ .workers = 1 }, conditions);
}

/* A chain of children, of which some find no room. */
static void *chain(void *arg)
{
	uintptr_t depth = (uintptr_t)arg;
	void *result = NULL;
	weft_fiber *f;

	if (depth == 0)
		return arg;
	kit_expect(weft_spawn(&f, NULL, chain, (void *)(depth - 1)) == 0);
	kit_expect(weft_join(f, &result, WEFT_FOREVER) == 0);
	kit_expect((uintptr_t)result == depth - 1);
	return arg;
}

static void *deep_chain(void *arg)
{
	enum { DEPTH = 300 };
	uint64_t before = calls();

	(void)arg;
	kit_expect(chain((void *)DEPTH) == (void *)DEPTH);
	kit_expect(calls() > before && calls() < before + DEPTH);
	return NULL;
}

static void a_chain_of_calls_ends_where_the_stack_does(void **state)
{
	(void)state;
	play_with((weft_config){ .workers = 1 }, deep_chain);
}

/* ------------------------------------------------------------------------ */
/* Joiners of other kinds, while the child is still fresh. */

static _Atomic(weft_fiber *) fresh_child;

static void *where_i_run(void *arg)
{
	(void)arg;
	return weft_rt_self();
}

/* Keep the processor until another fiber joins the child. */
static void *parent_of_fresh(void *arg)
{
	weft_fiber *f;

	(void)arg;
	kit_expect(weft_spawn(&f, NULL, where_i_run, NULL) == 0);
	wf_store_rel(&fresh_child, f);
	while (!(wf_load_rlx(&f->state) & WF_FIBER_JOINED))
		wf_os_thread_yield();
	kit_expect(wf_load_rlx(&f->state) & WF_FIBER_FRESH);
	return NULL;
}

static void *join_from_elsewhere(void *home)
{
	void *result = NULL;
	weft_fiber *f;

	while ((f = wf_load_acq(&fresh_child)) == NULL)
		weft_yield();
	kit_expect(weft_join(f, &result, WEFT_FOREVER) == 0);
	kit_expect(result == home);
	return NULL;
}

static void others_do_not_run_it(void **state)
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg), *other = kit_start(&cfg);
	weft_fiber *parent, *joiner;

	(void)state;
	for (int i = 0; i < 2; i++) {
		wf_store_rlx(&fresh_child, NULL);
		assert_int_equal(
			weft_rt_spawn(rt, &parent, NULL, parent_of_fresh, NULL),
			0);
		if (i == 0) {
			(void)join_from_elsewhere(rt);
		} else {
			assert_int_equal(weft_rt_spawn(other, &joiner, NULL,
						 join_from_elsewhere, rt),
				0);
			assert_int_equal(
				weft_join(joiner, NULL, WEFT_FOREVER), 0);
		}
		assert_int_equal(weft_join(parent, NULL, WEFT_FOREVER), 0);
	}
	kit_stop(other);
	kit_stop(rt);
}

/* ------------------------------------------------------------------------ */
/* Giving way. */

static size_t turns;

static void *take_turns(void *arg)
{
	while (!*(volatile bool *)arg) {
		turns++;
		weft_yield();
	}
	return arg;
}

static void run_task(weft_task *task)
{
	(void)task;
	turns++;
}

static void *run_once(void *arg)
{
	turns++;
	return arg;
}

/* Run children as calls until another had a turn; how many it took. */
static size_t calls_until_turn(size_t most)
{
	size_t before = turns, n = 0;

	while (turns == before && n < most) {
		(void)is_call(NULL, echo, &turns);
		n++;
	}
	return n;
}

static void *trees_give_way(void *arg)
{
	weft_rt *rt = arg;
	uint32_t tick = rt->config.global_tick;
	weft_task task = { .run = run_task };
	struct wf_batch batch = { 0 };
	volatile bool over = false;
	int64_t before;
	weft_fiber *f;
	size_t calls;

	/* To the global queue, when it has its turn. */
	turns = 0;
	wf_batch_add(&batch, &task);
	wf_submit_outside(rt, &batch);
	kit_expect(calls_until_turn(10 * tick) <= tick + 1);
	/* To the first fiber in the queue that needs no new stack. */
	weft_yield();
	kit_expect(weft_submit(&rt->executor, &task, WEFT_HINT_DEFAULT) == 0);
	kit_expect(calls_until_turn(10 * tick) <= 2 * tick);
	/* To a yielder. */
	kit_expect(weft_spawn(&f, NULL, take_turns, (void *)&over) == 0);
	weft_yield();
	for (int i = 0; i < 5; i++)
		kit_expect(calls_until_turn(10 * tick) <= 2 * tick);
	over = true;
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	/* To children that have not started: not before it must. */
	weft_yield();
	kit_expect(weft_spawn(&f, NULL, run_once, NULL) == 0);
	before = weft_now();
	calls = calls_until_turn(2 * WF_JOIN_CALLS);
	kit_expect(calls <= WF_JOIN_CALLS + 1);
	kit_expect(calls >= WF_JOIN_CALLS - 1 ||
		weft_now() - before >= WF_NS_PER_MS);
	kit_expect(turns == 9);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	return NULL;
}

static void trees_of_calls_let_others_run(void **state)
{
	weft_config cfg = { .workers = 1 };

	(void)state;
	play_with(cfg, trees_give_way);
}

/* ------------------------------------------------------------------------ */
/* Children that take long: the time counts, not only their number (R2.17). */

static void *last_50_us(void *arg)
{
	int64_t until = weft_now() + 50 * WF_NS_PER_US;

	while (weft_now() < until)
		continue;
	return arg;
}

static void *note_when(void *arg)
{
	*(int64_t *)arg = weft_now();
	return NULL;
}

static void *join_long_ones(void *arg)
{
	int64_t begun = weft_now(), ran = 0, asked;
	weft_fiber *sibling, *f;

	(void)arg;
	/* Short ones first: it must not have got used to them. */
	(void)calls_until_turn(1000);
	kit_expect(weft_spawn(&sibling, NULL, note_when, &ran) == 0);
	asked = weft_now();
	for (size_t n = 0; ran == 0 && n < 100000; n++) {
		kit_expect(weft_spawn(&f, NULL, last_50_us, NULL) == 0);
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	}
	/* 1 ms, a look's worth of 61 children at the worst, and some load. */
	printf("a sibling waited for %.2f ms\n", (double)(ran - asked) / 1e6);
	kit_expect(begun < ran && ran - asked < 200 * WF_NS_PER_MS);
	kit_expect(weft_join(sibling, NULL, WEFT_FOREVER) == 0);
	return NULL;
}

static void long_children_keep_nobody_waiting(void **state)
{
	weft_config cfg = { .workers = 1 };

	(void)state;
	play_with(cfg, join_long_ones);
}

/* ------------------------------------------------------------------------ */
/* A joiner that gives way may go on elsewhere, its child start where it was. */

static struct {
	weft_task task;
	_Atomic(bool) waits; /* to be run: a thief may have it */
} robbed;

static void be_robbed(weft_task *task)
{
	int64_t until = weft_now() + 2 * WF_NS_PER_MS;
	struct wf_proc *p = here()->proc;

	(void)task;
	while (wf_load_rlx(&p->slot) != 0 && weft_now() < until)
		continue;
	wf_store_rel(&robbed.waits, false);
}

static void *last_a_while(void *arg)
{
	int64_t until = weft_now() + 20 * WF_NS_PER_US;

	while (weft_now() < until)
		continue;
	return arg;
}

static void *join_and_move(void *arg)
{
	weft_rt *rt = arg;
	size_t n = kit_rounds(3000);

	robbed.task.run = be_robbed;
	for (size_t i = 0; i < n && !kit_failed(); i++) {
		void *result = NULL;
		weft_fiber *f;
		int err = 0;

		if (!wf_load_acq(&robbed.waits)) {
			wf_store_rlx(&robbed.waits, true);
			err = weft_submit(
				&rt->executor, &robbed.task, WEFT_HINT_DEFAULT);
		}
		kit_expect(err == 0);
		kit_expect(weft_spawn(&f, NULL, last_a_while, rt) == 0);
		err = weft_join(f, &result, WEFT_FOREVER);
		kit_expect(err == 0);
		if (err)
			weft_detach(f);
		else
			kit_expect(result == rt);
	}
	return NULL;
}

static void a_joiner_may_move_while_it_gives_way(void **state)
{
	(void)state;
	/* With this tick it gives way before every other call. */
	play_with(
		(weft_config){ .workers = 2, .global_tick = 1 }, join_and_move);
}

/* ------------------------------------------------------------------------ */
/* LETGO. */

static void *end_at(void *arg)
{
	int64_t until = *(int64_t *)arg;

	while (weft_now() < until)
		continue;
	return arg;
}

/* In a frame of its own, which is gone as soon as it returns. */
static wf_noinline int join_by(weft_fiber *f, void **result, int64_t deadline)
{
	return weft_join(f, result, deadline);
}

static void giving_up_at_the_end_is_safe(void **state)
{
	size_t n = kit_rounds(3000), late = 0;
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	int64_t ahead = 0;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		int64_t until = weft_now() + 100 * WF_NS_PER_US;
		void *result = NULL;
		weft_fiber *f;
		int err;

		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, end_at, &until), 0);
		err = join_by(f, &result, until + ahead);
		/* Find the moment at which both happen as often. */
		ahead += err ? 1000 : -1000;
		late += err != 0;
		if (err) {
			assert_int_equal(err, -ETIMEDOUT);
			assert_int_equal(join_by(f, &result, WEFT_FOREVER), 0);
		}
		assert_ptr_equal(result, &until);
	}
	assert_true(n < 100 || (late > 0 && late < n));
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_a_call_only_if_all_is_given),
		cmocka_unit_test(a_chain_of_calls_ends_where_the_stack_does),
		cmocka_unit_test(others_do_not_run_it),
		cmocka_unit_test(trees_of_calls_let_others_run),
		cmocka_unit_test(long_children_keep_nobody_waiting),
		cmocka_unit_test(a_joiner_may_move_while_it_gives_way),
		cmocka_unit_test(giving_up_at_the_end_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
