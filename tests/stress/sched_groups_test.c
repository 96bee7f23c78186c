/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_groups_test.c - with several scheduling groups every task
 * runs, also one that a thief of another group stole along with dead tickets.
 *
 * A parent starts children and tasks in turn, and joins the children at once:
 * it runs them as calls, and their tickets stay in its queue, dead.  Meanwhile
 * the processors of the other groups take from that queue.  A thief that met a
 * dead ticket first used to fall asleep on the tasks it had taken.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "stress/sched_kit.h"

enum { ROUNDS = 30, CHILDREN = 8, TASKS_EACH = 3 };

#define CHILD_NS (300 * WF_NS_PER_US)
#define TASK_NS (100 * WF_NS_PER_US)
#define GIVE_UP_NS ((kit_slow() ? 120 : 20) * WF_NS_PER_S)

static weft_group left;
static _Atomic(unsigned) ran;

static void compute(int64_t ns)
{
	int64_t until = threads_now_ns() + ns;

	while (threads_now_ns() < until)
		continue;
}

static void task(void *arg)
{
	(void)arg;
	compute(TASK_NS);
	(void)wf_add_rlx(&ran, 1);
	weft_group_done(&left);
}

static void *child(void *arg)
{
	compute(CHILD_NS);
	return arg;
}

static void one_round(void)
{
	weft_fiber *f[CHILDREN];

	wf_store_rlx(&ran, 0);
	weft_group_add(&left, CHILDREN * TASKS_EACH);
	for (int i = 0; i < CHILDREN; i++) {
		kit_expect(weft_spawn(&f[i], NULL, child, &f[i]) == 0);
		for (int k = 0; k < TASKS_EACH; k++)
			kit_expect(weft_go(task, NULL) == 0);
	}
	for (int i = 0; i < CHILDREN; i++) {
		void *result = NULL;

		kit_expect(weft_join(f[i], &result, WEFT_FOREVER) == 0);
		kit_expect(result == &f[i]);
	}
	kit_expect(weft_group_wait(&left, weft_after(GIVE_UP_NS)) == 0);
	kit_expect(wf_load_rlx(&ran) == CHILDREN * TASKS_EACH);
}

static void *parent(void *arg)
{
	for (size_t n = kit_rounds(ROUNDS); n > 0 && !kit_failed(); n--)
		one_round();
	return arg;
}

/* In groups of this size, under this policy. */
static void play(uint32_t workers, uint32_t group_size, const char *words)
{
	weft_config cfg = { .workers = workers, .group_size = group_size };
	weft_policy policy;
	weft_fiber *f;
	weft_rt *rt;

	assert_int_equal(weft_policy_parse(&policy, words, NULL, 0), 0);
	cfg.policy = &policy;
	rt = kit_start(&cfg);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, parent, NULL), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	if (kit_failed()) {
		/* A runtime with a lost fiber never stops: end here. */
		printf("%u workers, groups of %u, %s: %u of %d tasks ran\n",
			workers, group_size, words, wf_load_rlx(&ran),
			CHILDREN * TASKS_EACH);
		kit_settle();
	}
	kit_stop(rt);
}

static void tasks_taken_with_dead_tickets_run(void **state)
{
	static const uint32_t shapes[][2] = { { 2, 1 }, { 4, 2 }, { 6, 3 },
		{ 8, 4 } };
	static const char *const policies[] = { "ws", "wake-go", "wake-flare",
		"mutex", "lock-free", "take-all,steal-one", "bounded" };

	(void)state;
	for (size_t k = 0; k < sizeof(policies) / sizeof(policies[0]); k++)
		for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++)
			play(shapes[i][0], shapes[i][1], policies[k]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_taken_with_dead_tickets_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
