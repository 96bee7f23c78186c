/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/groups_test.c - where tasks from outside go, what a processor
 * takes from other groups, and that a processor parks only if it would take
 * nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "idle/groups.h"
#include "idle/park.h"
#include "sched/idle.h"
#include "sched/kit.h"
#include "sched/tuning.h"
#include "support/skip.h"

enum { GROUPS = 3, EACH = 2 };

static int begin(void **state)
{
	(void)state;
	kit_open(GROUPS * EACH, EACH);
	assert_int_equal(kit.rt.group_count, GROUPS);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kit_close();
	return 0;
}

static void reopen(void)
{
	kit_close();
	(void)begin(NULL);
}

/* ------------------------------------------------------------------------ */
/* Tasks from outside. */

static void groups_with_a_sleeper_take_turns(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 2 * GROUPS; i++)
		assert_ptr_equal(wf_group_for_outside(&kit.rt),
			&kit.groups[i % GROUPS]);
	/* A group where all run is passed over. */
	wf_store_rlx(&kit.groups[1].sleeping, 0);
	for (uint32_t i = 0; i < 2 * GROUPS; i++)
		assert_ptr_equal(wf_group_for_outside(&kit.rt),
			&kit.groups[i % GROUPS == 1 ? 2 : i % GROUPS]);
}

static void where_all_run_all_groups_take_turns(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < GROUPS; i++)
		wf_store_rlx(&kit.groups[i].sleeping, 0);
	for (uint32_t i = 0; i < 2 * GROUPS; i++)
		assert_ptr_equal(wf_group_for_outside(&kit.rt),
			&kit.groups[i % GROUPS]);
}

/* ------------------------------------------------------------------------ */
/* The one predicate. */

/* Each processor, a task in each group, fine and coarse, gate open and shut. */
static void a_global_queue_feeds_its_group_by_the_gate_and_others(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < GROUPS * EACH * GROUPS * 4; i++) {
		uint32_t proc = i % (GROUPS * EACH);
		uint32_t group = i / (GROUPS * EACH) % GROUPS;
		bool coarse = i / (GROUPS * EACH * GROUPS) & 1;
		bool open = i / (GROUPS * EACH * GROUPS) & 2;
		struct wf_proc *p;
		bool expected;

		reopen();
		p = &kit.procs[proc];
		assert_false(wf_may_take_any_global(p));
		for (uint32_t k = 0; k < GROUPS; k++) {
			wf_store_rlx(&kit.groups[k].sleeping, 0);
			wf_store_rlx(&kit.groups[k].coarse, coarse);
			wf_store_rlx(&kit.groups[k].gate_open, open);
		}
		kit_inject(group, 1);
		expected = p->group != &kit.groups[group] || p->bit == 1 ||
			coarse || open;
		assert_int_equal(
			wf_may_take_global(p, &kit.groups[group]), expected);
		assert_int_equal(wf_may_take_any_global(p), expected);
		assert_false(wf_may_take_global(
			p, &kit.groups[(group + 1) % GROUPS]));
	}
}

/* A processor that would take stays up; and what keeps it up it takes. */
static void searching_and_parking_agree(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < GROUPS * EACH * GROUPS; i++) {
		uint32_t proc = i % (GROUPS * EACH);
		struct wf_group *g;
		struct wf_proc *p;
		bool would_take;

		reopen();
		p = &kit.procs[proc];
		g = &kit.groups[i / (GROUPS * EACH)];
		for (uint32_t k = 0; k < GROUPS * EACH; k++)
			kit_run(k);
		kit_inject(i / (GROUPS * EACH), 1);
		would_take = wf_may_take_any_global(p);
		assert_int_equal(wf_park(&kit.threads[proc], false),
			would_take);
		if (g != p->group) {
			assert_true(would_take);
			assert_non_null(wf_search_other_groups(p));
			assert_false(wf_may_take_any_global(p));
		}
	}
}

/* ------------------------------------------------------------------------ */
/* Stealing. */

static void the_queues_of_other_groups_are_looked_at(void **state)
{
	struct wf_proc *p;

	(void)state;
	for (uint32_t other = 1; other < GROUPS; other++) {
		reopen();
		p = &kit.procs[0];
		assert_null(wf_search_other_groups(p));
		/* Its own global queue is not another group's. */
		kit_inject(0, 4);
		assert_null(wf_search_other_groups(p));
		kit_inject(other, 4);
		assert_non_null(wf_search_other_groups(p));
		assert_true(wf_inject_len(&kit.groups[other].inject) < 4);
		do
			kit_empty(p);
		while (wf_search_other_groups(p) != NULL);
		assert_int_equal(wf_inject_len(&kit.groups[0].inject), 4);
		/* Fine tasks stay in their group, coarse ones do not. */
		kit_fill(EACH * other + 1, 4);
		assert_null(wf_search_other_groups(p));
		wf_store_rlx(&kit.procs[EACH * other + 1].push_flags,
			WF_PUSH_COARSE);
		assert_non_null(wf_search_other_groups(p));
	}
}

static void a_task_alone_is_taken_behind_tasks_of_20_us(void **state)
{
	struct wf_proc *p = &kit.procs[0], *v = &kit.procs[EACH];
	wf_entry e;

	(void)state;
	wf_store_rlx(&v->push_flags, WF_PUSH_COARSE);
	wf_store_rlx(&v->mean_ns, wf_tuning.stuck_ns - 1);
	kit_fill(EACH, 1);
	assert_null(wf_search_other_groups(p));
	wf_store_rlx(&v->mean_ns, wf_tuning.stuck_ns);
	assert_non_null(wf_search_other_groups(p));
	assert_int_equal(wf_runq_len(&v->runq), 0);
	e = wf_entry_of(kit_task());
	wf_store_rel(&v->slot, e);
	assert_ptr_equal(wf_search_other_groups(p), wf_entry_task(e));
	/* The tasks are fine: the mean is of the time before. */
	wf_store_rlx(&v->push_flags, 0);
	kit_fill(EACH, 1);
	assert_null(wf_search_other_groups(p));
}

/* A victim from which nothing can be taken keeps its queue to itself. */
static void a_thief_opens_no_queue_in_vain(void **state)
{
	struct wf_proc *p = &kit.procs[0], *v = &kit.procs[EACH];

	(void)state;
	if (!kit.rt.membarrier)
		skip_because("no membarrier: all is shared for good");
	wf_store_rlx(&v->push_flags, WF_PUSH_COARSE);
	for (size_t n = 0; n < 2; n++) {
		assert_null(wf_search_other_groups(p));
		assert_false(wf_load_rlx(&v->shared));
		kit_fill(EACH, 1);
	}
	assert_non_null(wf_search_other_groups(p));
	assert_true(wf_load_rlx(&v->shared));
}

/* ------------------------------------------------------------------------ */
/* Waking. */

static uint32_t asked, wakes_at;

static bool wake_the_nth(struct wf_group *other, struct wf_group *g)
{
	assert_ptr_not_equal(other, g);
	assert_ptr_equal(g, &kit.groups[1]);
	asked |= 1u << (other - kit.groups);
	return other == &kit.groups[wakes_at];
}

static void other_groups_are_asked_until_one_wakes_a_sleeper(void **state)
{
	(void)state;
	for (wakes_at = 0; wakes_at <= GROUPS; wakes_at++) {
		static const uint32_t expected[] = { 1, 5, 5, 5 };
		bool comes = wakes_at == 0 || wakes_at == 2;

		asked = 0;
		assert_int_equal(wf_wake_other_group(&kit.groups[1],
					 wake_the_nth),
			comes);
		assert_int_equal(asked, expected[wakes_at]);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(groups_with_a_sleeper_take_turns),
		TEST(where_all_run_all_groups_take_turns),
		TEST(a_global_queue_feeds_its_group_by_the_gate_and_others),
		TEST(searching_and_parking_agree),
		TEST(the_queues_of_other_groups_are_looked_at),
		TEST(a_task_alone_is_taken_behind_tasks_of_20_us),
		TEST(a_thief_opens_no_queue_in_vain),
		TEST(other_groups_are_asked_until_one_wakes_a_sleeper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
