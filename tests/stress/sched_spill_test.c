/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_spill_test.c - a yielder runs within the bound of
 * sched/pick.h beside a queue that overflows all the time: there are always
 * more tasks, or fibers that start themselves anew, than it holds (R2.17).
 *
 * One worker: delays are counted in picks, not in time.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/pick.h"
#include "stress/sched_kit.h"

enum { SPILL_MAX = 100, SPILL_YIELDERS = 3, SPILL_YIELDS = 200 };

static struct spill {
	weft_executor *executor;
	weft_group ended;
	size_t bound;
	size_t others, yielders;
	bool fibers; /* fill with fibers, else tasks */
	size_t runs; /* of all: picks */
	size_t since[SPILL_YIELDERS]; /* when it yielded last */
	size_t worst, yields, wanted;
	bool over;
	weft_task task[SPILL_MAX];
} spill;

/* A starving yielder would never end this: give up after two bounds. */
static void spill_note(void)
{
	spill.runs++;
	for (size_t i = 0; i < spill.yielders; i++) {
		size_t waits = spill.runs - spill.since[i];

		spill.worst = wf_max_size(spill.worst, waits);
		if (waits > 2 * spill.bound)
			spill.over = true;
	}
}

static void spill_task(weft_task *task)
{
	spill_note();
	if (spill.over)
		weft_group_done(&spill.ended);
	else
		kit_expect(weft_submit(spill.executor, task,
				   WEFT_HINT_DEFAULT) == 0);
}

static void spill_fiber(void *arg)
{
	spill_note();
	if (spill.over)
		weft_group_done(&spill.ended);
	else
		kit_expect(weft_go(spill_fiber, arg) == 0);
}

static void spill_yielder(void *arg)
{
	size_t *since = arg;

	while (!spill.over) {
		*since = spill.runs;
		weft_yield();
		spill_note();
		if (++spill.yields >= spill.wanted)
			spill.over = true;
	}
	weft_group_done(&spill.ended);
}

static void *spill_over(void *arg)
{
	weft_group_add(
		&spill.ended, (int64_t)(spill.others + spill.yielders));
	for (size_t i = 0; i < spill.others; i++) {
		spill.task[i].run = spill_task;
		if (spill.fibers)
			spill_fiber(NULL);
		else
			spill_task(&spill.task[i]);
	}
	for (size_t i = 0; i < spill.yielders; i++) {
		spill.since[i] = spill.runs;
		kit_expect(weft_go(spill_yielder, &spill.since[i]) == 0);
	}
	kit_expect(weft_group_wait(&spill.ended, WEFT_FOREVER) == 0);
	return arg;
}

static void spill_with(const weft_config *c, size_t others, unsigned how)
{
	weft_fiber *f;
	weft_rt *rt;

	spill = (struct spill){ .others = others };
	spill.fibers = how & 1;
	spill.yielders = how & 2 ? SPILL_YIELDERS : 1;
	spill.bound = wf_pick_bound(c, 1, others + spill.yielders);
	spill.wanted = kit_rounds(SPILL_YIELDS);
	rt = kit_start(c);
	spill.executor = weft_rt_executor(rt);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, spill_over, NULL), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	kit_stop(rt);
	printf("L %2u, G %2u, %3zu %s, %zu yield: at most %zu picks, the bound "
	       "is %zu\n",
		c->local_capacity, c->global_tick, others,
		spill.fibers ? "fibers" : "tasks", spill.yielders, spill.worst,
		spill.bound);
	assert_true(spill.worst <= spill.bound);
}

static void a_queue_that_overflows_does_not_starve_yielders(void **state)
{
	static const weft_config cfgs[] = {
		{ .workers = 1,
			.local_capacity = 2,
			.lifo_budget = 3,
			.global_tick = 1 },
		{ .workers = 1,
			.local_capacity = 4,
			.lifo_budget = 3,
			.global_tick = 7 },
		{ .workers = 1,
			.local_capacity = 4,
			.lifo_budget = 1,
			.global_tick = 61 },
		{ .workers = 1,
			.local_capacity = 16,
			.lifo_budget = 3,
			.global_tick = 61 },
	};
	static const size_t others[] = { 6, 40, SPILL_MAX };

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t k = 0; k < 3; k++)
			for (unsigned how = 0; how < 4; how++)
				spill_with(&cfgs[i], others[k], how);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_queue_that_overflows_does_not_starve_yielders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
