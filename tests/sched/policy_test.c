/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/policy_test.c - each choice of a policy says by itself which way
 * tasks go, and the monitor does not change what a policy fixed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/group.h"
#include "sched/policy.h"

/* How many values each field has, in order. */
static const uint32_t values[] = { 3, 2, 2, 3, 2, 2, 3, 2 };
enum { FIELDS = sizeof(values) / sizeof(values[0]), ALL = 864 };

/* The nth of all combinations. */
static weft_policy combination(size_t n)
{
	uint32_t field[FIELDS];
	weft_policy p;

	for (size_t i = 0; i < FIELDS; i++) {
		field[i] = (uint32_t)(n % values[i]);
		n /= values[i];
	}
	p = (weft_policy){ field[0], field[1], field[2], field[3], field[4],
		field[5], field[6], field[7], 0 };
	return p;
}

static void the_default_goes_the_default_way(void **state)
{
	weft_policy p = { 0 };

	(void)state;
	assert_false(wf_policy_is_global(&p));
	assert_false(wf_policy_pushes(&p));
	assert_false(wf_policy_yields_global(&p));
	assert_false(wf_policy_is_open(&p));
	assert_true(wf_policy_steal(&p) == SIZE_MAX);
	assert_true(wf_policy_offload(&p) == SIZE_MAX);
}

static void each_choice_says_where_it_leads(void **state)
{
	(void)state;
	for (size_t n = 0; n < ALL; n++) {
		weft_policy p = combination(n);
		bool global = p.queue == WEFT_QUEUE_GLOBAL ||
			p.queue == WEFT_QUEUE_BOUNDED;
		bool mutex = p.local == WEFT_LOCAL_MUTEX;
		bool free = p.locks == WEFT_LOCKS_NONE;

		assert_int_equal(wf_policy_is_global(&p), global);
		assert_int_equal(wf_policy_pushes(&p), global || mutex);
		assert_int_equal(wf_policy_yields_global(&p), global || free);
		assert_int_equal(
			wf_policy_is_open(&p), global || mutex || free);
		assert_int_equal(
			wf_policy_steal(&p) == 1, p.steal == WEFT_STEAL_ONE);
		assert_int_equal(wf_policy_offload(&p) == 1,
			p.offload == WEFT_OFFLOAD_ONE);
	}
}

static void the_monitor_changes_no_flag_of_the_policy(void **state)
{
	struct wf_group g = { 0 };
	struct wf_proc p = { .group = &g };

	(void)state;
	wf_set_coarse(&p, true);
	assert_int_equal(wf_load_rlx(&p.push_flags), WF_PUSH_COARSE);
	assert_true(wf_is_coarse(&p));
	wf_set_coarse(&p, false);
	assert_int_equal(wf_load_rlx(&p.push_flags), 0);
	wf_store_rlx(&p.push_flags, WF_PUSH_POLICY);
	assert_false(wf_is_coarse(&p));
	wf_set_coarse(&p, true);
	assert_int_equal(
		wf_load_rlx(&p.push_flags), WF_PUSH_POLICY | WF_PUSH_COARSE);
	wf_set_coarse(&p, false);
	assert_int_equal(wf_load_rlx(&p.push_flags), WF_PUSH_POLICY);
	/* By other rules than the gate's all tasks are coarse. */
	for (g.policy.wake = WEFT_WAKE_GO; g.policy.wake <= WEFT_WAKE_FLARE;
		g.policy.wake++) {
		wf_store_rlx(&p.push_flags, WF_PUSH_COARSE);
		wf_set_coarse(&p, false);
		assert_int_equal(wf_load_rlx(&p.push_flags), WF_PUSH_COARSE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_goes_the_default_way),
		cmocka_unit_test(each_choice_says_where_it_leads),
		cmocka_unit_test(the_monitor_changes_no_flag_of_the_policy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
