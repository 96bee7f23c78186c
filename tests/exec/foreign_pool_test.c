/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/foreign_pool_test.c - all holders share one foreign pool; it
 * stays as long as a fiber or an executor needs it, and is freed then.
 *
 * A test tells two pools apart by a mark in a field that a runtime without
 * processors does not use: a new pool has no mark.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/foreign.h"
#include "sched/runtime.h"
#include "exec/shelf.h"
#include "stress/sched_kit.h"

enum { MARK = 4711 };

static struct weft_rt *hold(void)
{
	struct weft_rt *pool = NULL;

	assert_int_equal(wf_foreign_pool_hold(&pool), 0);
	assert_non_null(pool);
	return pool;
}

static void mark(struct weft_rt *pool)
{
	wf_store_rlx(&pool->outside.next_group, MARK);
}

static bool is_marked(struct weft_rt *pool)
{
	return wf_load_rlx(&pool->outside.next_group) == MARK;
}

/* Was the marked pool freed, so that hold makes a new one? */
static bool it_was_gone(void)
{
	struct weft_rt *pool = hold();
	bool anew = !is_marked(pool) &&
		wf_load_rlx(&pool->fibers.slabs) == NULL;

	wf_foreign_pool_drop();
	return anew;
}

static void all_hold_the_same(void **state)
{
	struct weft_rt *pool = hold();

	(void)state;
	assert_true(pool->is_foreign);
	assert_int_equal(pool->proc_count, 0);
	assert_ptr_equal(pool->fibers.run, wf_foreign_resume);
	mark(pool);
	assert_ptr_equal(hold(), pool);
	wf_foreign_pool_drop();
	assert_true(is_marked(pool));
	assert_ptr_equal(hold(), pool);
	wf_foreign_pool_drop();
	wf_foreign_pool_drop();
	assert_true(it_was_gone());
}

static void *echo(void *arg)
{
	return arg;
}

/* Its descriptor is there until it was joined, or has ended. */
static void a_fiber_holds_it(void **state)
{
	struct shelf s = shelf_make();
	struct weft_rt *pool = hold();
	weft_fiber *f = NULL;

	(void)state;
	mark(pool);
	assert_int_equal(shelf_spawn(&s, &f, echo, NULL), 0);
	wf_foreign_pool_drop();
	assert_ptr_equal(wf_fiber_rt(f), pool);
	assert_true(is_marked(pool));
	assert_true(shelf_run(&s));
	assert_true(is_marked(pool));
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	assert_true(it_was_gone());

	mark(hold());
	assert_int_equal(shelf_spawn(&s, &f, echo, NULL), 0);
	wf_foreign_pool_drop();
	weft_detach(f);
	assert_true(is_marked(hold()));
	wf_foreign_pool_drop();
	assert_true(shelf_run(&s));
	assert_true(it_was_gone());

	/* Ended first, detached later. */
	mark(hold());
	assert_int_equal(shelf_spawn(&s, &f, echo, NULL), 0);
	wf_foreign_pool_drop();
	assert_true(shelf_run(&s));
	assert_true(is_marked(hold()));
	wf_foreign_pool_drop();
	weft_detach(f);
	assert_true(it_was_gone());
}

static void a_refused_fiber_does_not(void **state)
{
	struct shelf s = shelf_make();
	weft_fiber *f = NULL;

	(void)state;
	s.refuses = true;
	mark(hold());
	assert_int_equal(shelf_spawn(&s, &f, echo, NULL), -EBUSY);
	wf_foreign_pool_drop();
	assert_true(it_was_gone());
}

static void an_executor_holds_it(void **state)
{
	weft_executor *manual, *strand, *pool;

	(void)state;
	mark(hold());
	assert_int_equal(weft_manual_create(&manual), 0);
	wf_foreign_pool_drop();
	assert_int_equal(weft_strand_create(&strand, manual), 0);
	assert_int_equal(weft_pool_create(&pool, 1), 0);
	assert_int_equal(weft_executor_destroy(strand), 0);
	assert_int_equal(weft_executor_destroy(manual), 0);
	assert_true(is_marked(hold()));
	wf_foreign_pool_drop();
	assert_int_equal(weft_executor_destroy(pool), 0);
	assert_true(it_was_gone());
}

/* A descriptor that is free is taken again: memory does not grow. */
static void descriptors_are_used_again(void **state)
{
	struct shelf s = shelf_make();
	struct weft_rt *pool = hold();
	struct wf_slab *slabs;
	weft_fiber *f = NULL;

	(void)state;
	assert_int_equal(shelf_spawn(&s, &f, echo, NULL), 0);
	assert_true(shelf_run(&s));
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	slabs = wf_load_rlx(&pool->fibers.slabs);
	for (size_t i = 0; i < 3 * WF_SLAB_FIBERS; i++) {
		assert_int_equal(shelf_spawn(&s, &f, echo, NULL), 0);
		assert_true(shelf_run(&s));
		assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	}
	assert_ptr_equal(wf_load_rlx(&pool->fibers.slabs), slabs);
	assert_null(slabs->next);
	wf_foreign_pool_drop();
	assert_true(it_was_gone());
}

/* Many come and go at once, with fibers and without. */
static void come_and_go(void *arg, unsigned i)
{
	size_t n = kit_rounds(300);

	(void)arg;
	for (size_t k = 0; k < n; k++) {
		struct shelf s = shelf_make();
		struct weft_rt *pool = NULL;
		weft_fiber *f = NULL;

		kit_expect(
			wf_foreign_pool_hold(&pool) == 0 && pool->is_foreign);
		kit_expect(shelf_spawn(&s, &f, echo, &s) == 0);
		if ((k + i) % 2 == 0)
			wf_foreign_pool_drop();
		kit_expect(wf_fiber_rt(f) == pool);
		kit_expect(shelf_run(&s));
		kit_expect(weft_join(f, NULL, WEFT_NOW) == 0);
		if ((k + i) % 2 != 0)
			wf_foreign_pool_drop();
	}
}

static void many_come_and_go(void **state)
{
	(void)state;
	threads_run(4, come_and_go, NULL);
	kit_settle();
	assert_true(it_was_gone());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_hold_the_same),
		cmocka_unit_test(a_fiber_holds_it),
		cmocka_unit_test(a_refused_fiber_does_not),
		cmocka_unit_test(an_executor_holds_it),
		cmocka_unit_test(descriptors_are_used_again),
		cmocka_unit_test(many_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
