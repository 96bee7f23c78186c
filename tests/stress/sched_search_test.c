/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_search_test.c - at no time do more processors search than
 * the configuration allows: bursts of tasks wake processors, pauses let them
 * park, and a thread looks on.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/runtime.h"
#include "stress/sched_kit.h"

enum { TASKS = 64, TASK_STEPS = 20000, GAP_US = 200, RUN_MS = 1000 };

static struct watch {
	weft_rt *rt;
	uint32_t limit;
	_Atomic(bool) over;
	_Atomic(uint32_t) most; /* that searched at once */
	weft_group tasks;
} watch;

static void compute(void *arg)
{
	(void)arg;
	for (volatile int i = 0; i < TASK_STEPS; i++)
		continue;
	weft_group_done(&watch.tasks);
}

/* A burst of tasks, and a pause in which the processors park. */
static void burst(void *arg)
{
	int64_t until = *(int64_t *)arg;

	while (threads_now_ns() < until) {
		weft_group_add(&watch.tasks, TASKS);
		for (int i = 0; i < TASKS; i++)
			kit_expect(weft_go(compute, NULL) == 0);
		kit_expect(weft_group_wait(&watch.tasks, WEFT_FOREVER) == 0);
		kit_expect(weft_sleep(GAP_US * WF_NS_PER_US) == 0);
	}
	wf_store_rlx(&watch.over, true);
}

static void look_on(void)
{
	struct wf_group *g = &watch.rt->groups[0];

	while (!wf_load_rlx(&watch.over)) {
		uint64_t searching = wf_load_rlx(&g->searching);
		uint32_t n = (uint32_t)__builtin_popcountll(searching);

		if (n > wf_load_rlx(&watch.most))
			wf_store_rlx(&watch.most, n);
		kit_expect(n <= watch.limit);
	}
}

static void run(uint32_t workers, uint32_t limit, weft_policy *policy)
{
	weft_config cfg = { .workers = workers,
		.max_searchers = limit,
		.policy = policy };
	int64_t until = threads_until_ns(RUN_MS);

	kit_watch();
	watch = (struct watch){ .rt = kit_start(&cfg), .limit = limit };
	assert_int_equal(weft_rt_go(watch.rt, burst, &until), 0);
	look_on();
	kit_stop(watch.rt);
	printf("%u workers, of which %u may search: %u did at once\n", workers,
		limit, wf_load_rlx(&watch.most));
	kit_settle();
	/* Valgrind may never have looked at the right moment. */
	assert_true(wf_load_rlx(&watch.most) > 0 || wf_on_valgrind());
}

static void at_most_one_of_eight(void **state)
{
	(void)state;
	run(8, 1, NULL);
}

static void at_most_two_of_eight(void **state)
{
	(void)state;
	run(8, 2, NULL);
}

static void at_most_one_of_eight_with_wake_go(void **state)
{
	weft_policy policy = { .wake = WEFT_WAKE_GO };

	(void)state;
	run(8, 1, &policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_most_one_of_eight),
		cmocka_unit_test(at_most_two_of_eight),
		cmocka_unit_test(at_most_one_of_eight_with_wake_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
