/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_delay_test.c - the histogram of delays shows picks of all
 * kinds as often as they are made: picks are chosen at random to be measured.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdio.h>

#include "sched/kit.h"
#include "sched/pick.h"
#include "sched/submit.h"

static struct wf_proc *p;
static weft_fiber item[16];

static long number(weft_task *task)
{
	return wf_fiber_of(task) - item;
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

/* Put item i, ready for so long, into its queue. */
static void queue_again(size_t i, bool global)
{
	uint32_t us = (uint32_t)(wf_os_now_ns() / WF_NS_PER_US);
	uint32_t ago_us = global ? 5u << 20 : 5u << 18;

	wf_store_rlx(&item[i].ready_us, (us - ago_us) | 1);
	if (global)
		to_global(i);
	else
		to_local(i);
}

/*
 * Every pick has the same chance to be measured, one in 61, whether it is the
 * turn of the global queue or not.  On a busy machine the chance is better.
 */
static void turns_are_measured_like_other_picks(void **state)
{
	enum { TICK = 61, LOCALS = 8, PICKS = TICK * TICK * 100 };
	uint64_t local, global;
	size_t locals = 0;

	(void)state;
	kit_open(1, 0);
	p = &kit.procs[0];
	assert_int_equal(kit.rt.global_tick, TICK);
	for (size_t i = 0; i <= LOCALS; i++) {
		item[i].task.run = wf_fiber_task_run;
		item[i].context.sp = item; /* it is prefetched */
		queue_again(i, i == LOCALS);
	}
	for (size_t n = 0; n < PICKS; n++) {
		size_t i = (size_t)number(wf_pick_quick(p));

		queue_again(i, i == LOCALS);
		locals += i != LOCALS;
	}
	local = wf_load_rlx(&p->counters.delay[21]) +
		wf_load_rlx(&p->counters.delay[22]);
	global = wf_load_rlx(&p->counters.delay[23]);
	printf("local: %zu picks, %llu measured; global: %zu, %llu\n", locals,
		(unsigned long long)local, PICKS - locals,
		(unsigned long long)global);
	assert_true(local >= locals / TICK * 3 / 4);
	assert_true(global * locals * 2 >= local * (PICKS - locals));
	assert_true(global * locals <= local * (PICKS - locals) * 2);
	while (wf_pick_quick(p) != NULL)
		continue;
	kit_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns_are_measured_like_other_picks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
