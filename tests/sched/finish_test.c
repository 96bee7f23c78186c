/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/finish_test.c - a detached fiber that never waited gives back its
 * descriptor and its credit when it ends, and is counted.
 *
 * The other ends of a fiber are in tests/life/finish_test.c.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "kit.h"
#include "sched/finish.h"

static void an_end_counts_on_its_processor(void **state)
{
	(void)state;
	kit_open(2, 0);
	wf_count_end(&kit.procs[1]);
	wf_count_end(&kit.procs[1]);
	assert_int_equal(wf_load_rlx(&kit.procs[0].counters.finished), 0);
	assert_int_equal(wf_load_rlx(&kit.procs[1].counters.finished), 2);
	kit_close();
}

static void a_detached_fiber_is_free_at_once(void **state)
{
	struct wf_fiber_cache *cache;
	struct wf_thread *t;
	weft_fiber *f;
	uint32_t had;

	(void)state;
	kit_open(1, 0);
	t = &kit.threads[0];
	cache = &kit.procs[0].fibers;
	f = wf_fiber_take(cache, &kit.rt.fibers);
	assert_non_null(f);
	had = cache->now.count + cache->other.count;
	wf_bump(&kit.procs[0].counters.spawned, 1);
	wf_store_rlx(&f->state, WF_FIBER_LIVE | WF_FIBER_DETACHED);
	assert_int_equal(wf_rt_fibers(&kit.rt), 1);
	assert_ptr_equal(wf_finish(t, f, NULL), t);
	assert_int_equal(wf_load_rlx(&f->state), 0);
	assert_int_equal(cache->now.count + cache->other.count, had + 1);
	assert_int_equal(wf_rt_fibers(&kit.rt), 0);
	kit_close(); /* which finds no credit missing */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_end_counts_on_its_processor),
		cmocka_unit_test(a_detached_fiber_is_free_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
