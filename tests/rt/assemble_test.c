/* SPDX-License-Identifier: MIT */
/*
 * tests/rt/assemble_test.c - an assembled runtime has every group, processor
 * and queue in its place and no thread; whichever allocation fails, nothing is
 * left open.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "idle/monitor.h"
#include "rt/assemble.h"
#include "rt/config.h"
#include "rt/policy.h"
#include "support/os_faults.h"
#include "wait/timers.h"

enum { CAPACITY = 8, CELLS = 16 };

static struct weft_rt rt;

static void derive(uint32_t workers, uint32_t size, weft_policy policy)
{
	weft_config cfg = { .workers = workers,
		.group_size = size,
		.local_capacity = CAPACITY };
	char why[200];

	memset(&rt, 0, sizeof(rt));
	assert_int_equal(wf_config_fill(&rt.config, &cfg, sizeof(cfg), why,
				 sizeof(why)),
		0);
	rt.policy = policy;
	wf_rt_derive(&rt);
}

/* ------------------------------------------------------------------------ */
/* The fields that are derived. */

static void counts_follow_from_the_configuration(void **state)
{
	(void)state;
	derive(12, 4, (weft_policy){ 0 });
	assert_int_equal(rt.proc_count, 12);
	assert_int_equal(rt.group_count, 3);
	assert_true(rt.linger_ns == 30 * WF_NS_PER_S);
	assert_true(rt.spin_ns >= 0);
	assert_non_null(rt.executor.submit);
	/* Without locks a thread stays: it takes locks to make another. */
	derive(12, 4, (weft_policy){ .locks = WEFT_LOCKS_NONE });
	assert_true(rt.linger_ns == INT64_MAX);
}

static void the_local_queue_always_has_its_turn(void **state)
{
	(void)state;
	for (uint32_t tick = 1; tick < 5; tick++) {
		memset(&rt, 0, sizeof(rt));
		rt.config = (weft_config){ .workers = 1,
			.group_size = 1,
			.global_tick = tick };
		wf_rt_derive(&rt);
		assert_int_equal(rt.global_tick, tick < 2 ? 2 : tick);
	}
}

/* ------------------------------------------------------------------------ */
/* The parts that are assembled. */

static void check_proc(uint32_t i)
{
	struct wf_proc *p = &rt.procs[i];
	uint32_t size = rt.config.group_size;
	struct wf_group *g = &rt.groups[i / size];

	assert_int_equal(p->id, i);
	assert_ptr_equal(p->group, g);
	assert_ptr_equal(p->inject, &g->inject);
	assert_true(p->bit == UINT64_C(1) << i % size);
	assert_ptr_equal(p->timers, &rt.timers[i]);
	assert_ptr_equal(p->runq.slots, &rt.slots[(size_t)i * CAPACITY]);
	assert_int_equal(p->runq.mask, CAPACITY - 1);
	assert_int_equal(wf_proc_backlog(p), 0);
	assert_null(wf_load_rlx(&p->thread));
	assert_int_equal(wf_load_rlx(&p->shared), g->always_open);
	assert_int_equal(wf_load_rlx(&p->open), g->always_open);
}

static void check_group(uint32_t i, const weft_policy *policy)
{
	struct wf_group *g = &rt.groups[i];

	assert_ptr_equal(g->rt, &rt);
	assert_int_equal(g->count, rt.config.group_size);
	assert_ptr_equal(g->procs, &rt.procs[i * g->count]);
	assert_int_equal(__builtin_popcountll(g->all), g->count);
	assert_true((g->all & (g->all + 1)) == 0);
	assert_true(wf_load_rlx(&g->sleeping) == g->all);
	assert_true(wf_load_rlx(&g->searching) == 0);
	assert_true(g->max_searchers == (g->count + 1) / 2);
	assert_ptr_equal(g->runq, wf_policy_runq(policy));
	assert_int_equal(
		g->always_open, !rt.membarrier || wf_policy_is_open(policy));
	if (policy->queue == WEFT_QUEUE_BOUNDED)
		assert_ptr_equal(g->bounded.cells, &rt.cells[i * CELLS]);
}

static void check_all(const weft_policy *policy)
{
	assert_int_equal(wf_load_rlx(&rt.threads), 0);
	assert_int_equal(wf_rt_fibers(&rt), 0);
	assert_int_equal(rt.monitor != NULL, rt.proc_count > 1);
	assert_int_equal(
		rt.cells != NULL, policy->queue == WEFT_QUEUE_BOUNDED);
	for (uint32_t i = 0; i < rt.group_count; i++)
		check_group(i, policy);
	for (uint32_t i = 0; i < rt.proc_count; i++)
		check_proc(i);
}

static const weft_policy policies[] = {
	{ 0 },
	{ .queue = WEFT_QUEUE_BOUNDED, .bounded_capacity = CELLS },
	{ .local = WEFT_LOCAL_MUTEX },
	{ .locks = WEFT_LOCKS_NONE },
};

enum { POLICIES = sizeof(policies) / sizeof(policies[0]) };

static const struct {
	uint32_t workers, size;
} shapes[] = { { 1, 1 }, { 3, 3 }, { 6, 2 }, { 64, 64 } };

enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static void everything_is_in_its_place_and_goes_again(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPES * POLICIES; i++) {
		const weft_policy *policy = &policies[i % POLICIES];

		os_faults_clear();
		derive(shapes[i / POLICIES].workers, shapes[i / POLICIES].size,
			*policy);
		assert_int_equal(wf_rt_assemble(&rt), 0);
		check_all(policy);
		wf_rt_disassemble(&rt);
		assert_true(os_faults_all_returned());
	}
}

static void a_caller_may_change_what_was_derived(void **state)
{
	(void)state;
	derive(2, 2, (weft_policy){ 0 });
	rt.membarrier = false;
	rt.spin_ns = 5000;
	rt.config.max_searchers = 2;
	assert_int_equal(wf_rt_assemble(&rt), 0);
	assert_true(rt.groups->always_open);
	assert_true(wf_load_rlx(&rt.procs[1].shared));
	assert_int_equal(rt.groups->max_searchers, 2);
	wf_rt_disassemble(&rt);
}

/* ------------------------------------------------------------------------ */
/* The calls that can fail. */

/* Fail the nth call, and all later ones if times says so.  Was it met? */
static bool fails(const weft_policy *policy, size_t nth, size_t times)
{
	int err;

	os_faults_clear();
	derive(6, 2, *policy);
	os_faults_plan(OS_FAULTS_ALL, nth, times);
	err = wf_rt_assemble(&rt);
	os_faults_repair();
	if (os_faults_injected() == 0) {
		assert_int_equal(err, 0);
		wf_rt_disassemble(&rt);
	} else {
		assert_int_equal(err, -ENOMEM);
	}
	assert_true(os_faults_all_returned());
	return err != 0;
}

static void whichever_call_fails_nothing_is_left_open(void **state)
{
	(void)state;
	for (size_t i = 0; i < POLICIES; i++) {
		size_t nth = 1;

		while (fails(&policies[i], nth, 1))
			nth++;
		/* Groups, processors, timers, queues and the monitor. */
		assert_true(nth > 5);
		for (size_t k = 1; k < nth; k++)
			assert_true(fails(
				&policies[i], k, OS_FAULTS_FOREVER));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_follow_from_the_configuration),
		cmocka_unit_test(the_local_queue_always_has_its_turn),
		cmocka_unit_test(everything_is_in_its_place_and_goes_again),
		cmocka_unit_test(a_caller_may_change_what_was_derived),
		cmocka_unit_test(whichever_call_fails_nothing_is_left_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
