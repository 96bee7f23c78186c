/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/group_test.c - the masks of a group: a bit for each processor;
 * without work all processors sleep, their queues are empty and none searches.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <time.h>

#include <weft/weft.h>

#include "base/units.h"
#include "os/os.h"
#include "sched/group.h"
#include "sched/runtime.h"
#include "support/threads.h"

enum { ROUNDS = 100, BURST = 16 };

/* ------------------------------------------------------------------------ */
/* Masks. */

static void the_lowest_bit_names_the_processor(void **state)
{
	static struct wf_proc procs[WF_GROUP_MAX];
	struct wf_group *g = &(struct wf_group){ .procs = procs };

	(void)state;
	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t mask = UINT64_MAX << bit;

		assert_ptr_equal(wf_group_lowest(g, mask), &procs[bit]);
		assert_ptr_equal(
			wf_group_lowest(g, UINT64_C(1) << bit), &procs[bit]);
	}
}

/* So many processors in groups of so many: as many groups, of this size. */
static void expect_groups(
	uint32_t workers, uint32_t group_size, uint32_t groups, uint32_t size)
{
	weft_config cfg = { .workers = workers, .group_size = group_size };
	weft_rt *rt;

	assert_int_equal(weft_rt_start(&rt, &cfg), 0);
	assert_int_equal(rt->group_count, groups);
	assert_int_equal(rt->proc_count, groups * size);
	for (uint32_t i = 0; i < groups; i++) {
		struct wf_group *g = &rt->groups[i];
		uint64_t bits = 0;

		assert_int_equal(g->count, size);
		assert_true(g->max_searchers >= 1);
		assert_ptr_equal(g->rt, rt);
		for (uint32_t k = 0; k < size; k++) {
			struct wf_proc *p = wf_group_lowest(g, 1ull << k);

			assert_ptr_equal(p->group, g);
			assert_ptr_equal(p->inject, &g->inject);
			assert_int_equal(p->id, i * size + k);
			assert_int_equal(bits & p->bit, 0);
			bits |= p->bit;
		}
		assert_true(bits == g->all);
	}
	assert_int_equal(weft_rt_stop(rt, WEFT_FOREVER), 0);
}

static void every_processor_has_a_bit(void **state)
{
	(void)state;
	expect_groups(1, 0, 1, 1);
	expect_groups(3, 0, 1, 3);
	expect_groups(64, 0, 1, 64);
	expect_groups(6, 2, 3, 2);
	expect_groups(7, 3, 3, 3);
	expect_groups(65, 0, 2, 33);
	expect_groups(2, 8, 1, 2);
}

/* ------------------------------------------------------------------------ */
/* A runtime that works and rests, again and again. */

static bool is_empty(weft_rt *rt)
{
	for (uint32_t i = 0; i < rt->proc_count; i++)
		if (wf_proc_backlog(&rt->procs[i]) != 0)
			return false;
	return true;
}

static bool rests(weft_rt *rt)
{
	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];

		if (wf_load_rlx(&g->sleeping) != g->all ||
			wf_load_rlx(&g->searching) != 0 ||
			wf_inject_len(&g->inject) != 0)
			return false;
	}
	return true;
}

/*
 * False: it does not come to rest, for half a minute.  A processor that looks
 * for a last time sets its bit for a moment, so one look is not enough.
 */
static bool comes_to_rest(weft_rt *rt, _Atomic(size_t) *ran, size_t wanted)
{
	int64_t until = threads_now_ns() + 30 * WF_NS_PER_S;

	while (!rests(rt) || wf_load_rlx(ran) != wanted) {
		struct timespec t = { .tv_nsec = 50000 };

		if (threads_now_ns() > until)
			return false;
		(void)nanosleep(&t, NULL);
	}
	return true;
}

static void work(void *arg)
{
	_Atomic(size_t) *ran = arg;

	for (int i = 0; i < 3; i++)
		weft_yield();
	(void)wf_add_rlx(ran, 1);
}

static void rest_after_bursts(uint32_t workers, uint32_t group_size)
{
	weft_config cfg = { .workers = workers, .group_size = group_size };
	size_t rounds = threads_rounds(ROUNDS);
	_Atomic(size_t) ran = 0;
	weft_rt *rt;

	assert_int_equal(weft_rt_start(&rt, &cfg), 0);
	for (size_t n = 1; n <= rounds; n++) {
		for (int i = 0; i < BURST; i++) {
			assert_int_equal(weft_rt_go(rt, work, &ran), 0);
			for (uint32_t k = 0; k < rt->group_count; k++) {
				struct wf_group *g = &rt->groups[k];

				assert_int_equal(
					(wf_load_rlx(&g->sleeping) |
						wf_load_rlx(&g->searching)) &
						~g->all,
					0);
			}
		}
		assert_true(comes_to_rest(rt, &ran, n * BURST));
		assert_true(is_empty(rt));
	}
	assert_int_equal(weft_rt_stop(rt, WEFT_FOREVER), 0);
}

static void sleeping_processors_have_empty_queues(void **state)
{
	(void)state;
	rest_after_bursts(4, 0);
	rest_after_bursts(4, 2);
	rest_after_bursts(1, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lowest_bit_names_the_processor),
		cmocka_unit_test(every_processor_has_a_bit),
		cmocka_unit_test(sleeping_processors_have_empty_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
