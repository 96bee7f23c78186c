/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/foreign_test.c - in a foreign run the library finds the
 * stand-in, and its host again afterwards; a foreign fiber runs where its task
 * is run, and its resumer does once what the fiber wants done when it leaves.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "os/child.h"
#include "os/os.h"
#include "sched/foreign.h"
#include "sched/runtime.h"
#include "exec/shelf.h"
#include "sched/thread.h"
#include "stress/sched_kit.h"

static struct wf_thread *here(void)
{
	return wf_os_self();
}

static weft_fiber_state state_of(weft_fiber *f)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	return info.state;
}

/* ------------------------------------------------------------------------ */
/* Foreign runs. */

static void foreign_runs_nest_and_end(void **state)
{
	struct shelf a = shelf_make(), b = shelf_make();
	struct wf_thread v, w;

	(void)state;
	assert_null(here());
	assert_false(wf_foreign_is_inside(&a.executor));
	memset(&v, 0xa5, sizeof(v));
	memset(&w, 0x5a, sizeof(w));
	wf_foreign_begin(&v, &a.executor);
	assert_ptr_equal(here(), &v);
	assert_null(v.host);
	assert_true(v.foreign);
	assert_null(v.current);
	assert_ptr_equal(v.rt, &wf_rt_none);
	assert_null(weft_self());
	assert_null(weft_rt_self());
	assert_true(wf_foreign_is_inside(&a.executor));
	assert_false(wf_foreign_is_inside(&b.executor));
	wf_foreign_begin(&w, &b.executor);
	assert_ptr_equal(here(), &w);
	assert_ptr_equal(w.host, &v);
	assert_true(wf_foreign_is_inside(&a.executor));
	assert_true(wf_foreign_is_inside(&b.executor));
	wf_foreign_end(&w);
	assert_ptr_equal(here(), &v);
	assert_false(wf_foreign_is_inside(&b.executor));
	wf_foreign_end(&v);
	assert_null(here());
}

static void *only_ends(void *arg)
{
	return arg;
}

/* The empty runtime of stand-ins must stay zero. */
static void the_stand_ins_stay_empty(void **state)
{
	static const struct weft_rt zero;
	struct shelf s = shelf_make();
	weft_fiber *f = NULL;

	(void)state;
	assert_int_equal(shelf_spawn(&s, &f, only_ends, NULL), 0);
	assert_true(shelf_run(&s));
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	assert_memory_equal(&wf_rt_none, &zero, sizeof(zero));
}

/* ------------------------------------------------------------------------ */
/* One fiber, resumed by hand. */

static struct {
	struct shelf *shelf;
	weft_fiber *published;
	weft_fiber *other;
	int refusals; /* of the next commits */
	int step;
	int result;
	size_t submits;
} s;

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	kit_expect(weft_self() == NULL);
	kit_expect(here()->foreign && here()->current == NULL);
	if (s.refusals > 0) {
		s.refusals--;
		return false;
	}
	s.published = f;
	return true;
}

static int suspend(weft_fiber *next)
{
	struct weft_awaiter a = { .commit = publish, .next = next };

	return weft_suspend(&a);
}

static void *steps(void *arg)
{
	const char *low;

	s.step = 1;
	kit_expect(weft_self() == arg || arg == NULL);
	kit_expect(here()->current == weft_self());
	low = wf_stack_low(here()->stack);
	kit_expect((char *)__builtin_frame_address(0) > low &&
		(char *)__builtin_frame_address(0) <
			wf_stack_top(here()->stack));
	kit_expect(suspend(NULL) == 0);
	s.step = 2;
	weft_yield();
	s.step = 3;
	return &s.result;
}

static void a_fiber_runs_where_its_task_is_run(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber_attr attr = { .executor = &shelf.executor,
		.name = "foreign",
		.hint = WEFT_HINT_NEXT };
	void *result = NULL;
	weft_fiber *f = NULL;

	(void)state;
	memset(&s, 0, sizeof(s));
	assert_int_equal(weft_spawn(&f, &attr, steps, NULL), 0);
	assert_int_equal(shelf.count, 1);
	assert_int_equal(shelf.hint, WEFT_HINT_NEXT);
	assert_int_equal(state_of(f), WEFT_FIBER_RUNNABLE);
	assert_string_equal(weft_fiber_name(f), "foreign");
	assert_int_equal(s.step, 0);
	assert_true(shelf_run(&shelf));
	assert_null(here());
	assert_int_equal(s.step, 1);
	assert_ptr_equal(s.published, f);
	assert_int_equal(state_of(f), WEFT_FIBER_WAITING);
	assert_int_equal(weft_join(f, &result, WEFT_NOW), -ETIMEDOUT);
	assert_false(shelf_run(&shelf));
	weft_wake(f, WEFT_HINT_NEXT);
	assert_int_equal(shelf.hint, WEFT_HINT_NEXT);
	assert_int_equal(state_of(f), WEFT_FIBER_RUNNABLE);
	assert_true(shelf_run(&shelf));
	assert_int_equal(s.step, 2);
	assert_int_equal(shelf.hint, WEFT_HINT_YIELD);
	assert_int_equal(shelf.count, 1);
	assert_true(shelf_run(&shelf));
	assert_int_equal(s.step, 3);
	assert_int_equal(state_of(f), WEFT_FIBER_DONE);
	assert_int_equal(shelf.submits, 3);
	assert_int_equal(weft_join(f, &result, WEFT_NOW), 0);
	assert_ptr_equal(result, &s.result);
	kit_settle();
}

/* Two commits refuse and the third does not, by one stand-in. */
static void *is_refused(void *arg)
{
	kit_expect(suspend(NULL) == 1);
	kit_expect(suspend(NULL) == 1);
	s.step = 1;
	kit_expect(suspend(NULL) == 0);
	s.step = 2;
	return arg;
}

static void who_is_refused_runs_on_at_once(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL;
	struct wf_thread v;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.refusals = 2;
	assert_int_equal(shelf_spawn(&shelf, &f, is_refused, NULL), 0);
	wf_foreign_begin(&v, &shelf.executor);
	assert_true(shelf_run(&shelf));
	assert_int_equal(s.step, 1);
	assert_int_equal(shelf.submits, 1);
	weft_wake(f, WEFT_HINT_DEFAULT);
	assert_true(shelf_run(&shelf));
	assert_int_equal(s.step, 2);
	wf_foreign_end(&v);
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	kit_settle();
}

static void *goes_on_as_next(void *arg)
{
	weft_fiber *next = s.published;

	kit_expect(suspend(next) == 0);
	return arg;
}

static void next_is_submitted_as_next(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL, *g = NULL;

	(void)state;
	memset(&s, 0, sizeof(s));
	assert_int_equal(shelf_spawn(&shelf, &f, steps, NULL), 0);
	assert_true(shelf_run(&shelf));
	assert_int_equal(shelf_spawn(&shelf, &g, goes_on_as_next, NULL), 0);
	assert_true(shelf_run(&shelf));
	assert_ptr_equal(s.published, g);
	assert_int_equal(shelf.count, 1);
	assert_int_equal(shelf.hint, WEFT_HINT_NEXT);
	assert_ptr_equal(shelf.task[0], &f->task);
	weft_wake(g, WEFT_HINT_DEFAULT);
	while (shelf_run(&shelf))
		continue;
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	assert_int_equal(weft_join(g, NULL, WEFT_NOW), 0);
	kit_settle();
}

/* Calls that a plain thread or a fiber of a runtime can make, and it cannot. */
static void *errors(void *arg)
{
	weft_fiber_attr bad = { .flags = 1 };
	weft_fiber *f = NULL;

	kit_expect(weft_join(weft_self(), NULL, WEFT_FOREVER) == -EDEADLK);
	kit_expect(weft_join(arg, NULL, WEFT_NOW) == -ETIMEDOUT);
	kit_expect(weft_spawn(&f, &bad, only_ends, NULL) == -EINVAL);
	kit_expect(f == NULL);
	kit_expect(weft_executor_destroy(&s.shelf->executor) == -EINVAL);
	return arg;
}

static void go_nowhere(void *arg)
{
	(void)arg;
}

static void errors_are_told(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL, *g = NULL;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.shelf = &shelf;
	assert_int_equal(weft_spawn(&f, NULL, only_ends, NULL), -EPERM);
	assert_int_equal(weft_go(go_nowhere, NULL), -EPERM);
	assert_null(f);
	assert_int_equal(shelf_spawn(&shelf, &f, steps, NULL), 0);
	assert_int_equal(shelf_spawn(&shelf, &g, errors, f), 0);
	assert_true(shelf_run(&shelf));
	assert_true(shelf_run(&shelf));
	weft_wake(f, WEFT_HINT_DEFAULT);
	while (shelf_run(&shelf))
		continue;
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	assert_int_equal(weft_join(g, NULL, WEFT_NOW), 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* Several, on the stacks of each other. */

static void *child(void *arg)
{
	++*(int *)arg;
	kit_expect(here()->current->executor == &s.shelf->executor);
	return arg;
}

static void go_child(void *arg)
{
	(void)child(arg);
}

static void *parent(void *arg)
{
	void *result = NULL;
	weft_fiber *f = NULL;

	kit_expect(weft_go(go_child, arg) == 0);
	kit_expect(weft_spawn(&f, NULL, child, arg) == 0);
	kit_expect(weft_join(f, &result, WEFT_FOREVER) == 0);
	kit_expect(result == arg);
	return arg;
}

static void children_are_where_their_parents_are(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL;
	int ran = 0;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.shelf = &shelf;
	assert_int_equal(shelf_spawn(&shelf, &f, parent, &ran), 0);
	while (shelf_run(&shelf))
		continue;
	assert_int_equal(ran, 2);
	assert_int_equal(shelf.submits, 4);
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	kit_settle();
}

/* Each submit runs the fiber at once: one fiber ends inside another's go. */
static void a_woken_fiber_may_run_inside(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL;
	int ran = 0;

	(void)state;
	memset(&s, 0, sizeof(s));
	s.shelf = &shelf;
	shelf.at_once = true;
	assert_int_equal(shelf_spawn(&shelf, &f, parent, &ran), 0);
	assert_null(here());
	assert_int_equal(ran, 2);
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	kit_settle();
}

/* A commit that is refused after it has had another run to its end. */
static bool wake_and_refuse(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	(void)f;
	weft_wake(s.other, WEFT_HINT_DEFAULT);
	return false;
}

static void *wakes_in_commit(void *arg)
{
	struct weft_awaiter a = { .commit = wake_and_refuse };
	weft_fiber *self = weft_self();

	kit_expect(weft_suspend(&a) == 1);
	kit_expect(weft_self() == self && here()->current == self);
	s.step = 10;
	kit_expect(suspend(NULL) == 0);
	return arg;
}

static void *waits_once(void *arg)
{
	kit_expect(suspend(NULL) == 0);
	++*(int *)arg;
	return arg;
}

static void a_commit_may_run_others(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL;
	int ran = 0;

	(void)state;
	memset(&s, 0, sizeof(s));
	shelf.at_once = true;
	assert_int_equal(shelf_spawn(&shelf, &s.other, waits_once, &ran), 0);
	assert_int_equal(shelf_spawn(&shelf, &f, wakes_in_commit, NULL), 0);
	assert_int_equal(s.step, 10);
	assert_int_equal(ran, 1);
	assert_int_equal(weft_join(s.other, NULL, WEFT_NOW), 0);
	assert_int_equal(state_of(f), WEFT_FIBER_WAITING);
	weft_wake(f, WEFT_HINT_DEFAULT);
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* From thread to thread. */

static void *moves(void *arg)
{
	volatile int *count = arg;

	for (int i = 0; i < 4; i++) {
		++*count;
		kit_expect(here()->current == weft_self());
		if (i % 2 == 0)
			weft_yield();
		else
			kit_expect(suspend(NULL) == 0);
		kit_expect(here()->current == weft_self());
	}
	return arg;
}

static void run_one(void *arg, unsigned i)
{
	(void)i;
	kit_expect(here() == NULL);
	kit_expect(shelf_run(arg));
	kit_expect(here() == NULL);
}

static void each_resume_may_be_on_another_thread(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL;
	volatile int count = 0;

	(void)state;
	memset(&s, 0, sizeof(s));
	assert_int_equal(shelf_spawn(&shelf, &f, moves, (void *)&count), 0);
	for (int i = 1; i <= 4; i++) {
		threads_run(1, run_one, &shelf);
		assert_int_equal(count, i);
		if (i % 2 == 0)
			weft_wake(f, WEFT_HINT_DEFAULT);
	}
	threads_run(1, run_one, &shelf);
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	kit_settle();
}

/* ------------------------------------------------------------------------ */
/* In a runtime. */

static void *inside_rt(void *arg)
{
	weft_rt *rt = arg;

	kit_expect(here()->foreign && here()->rt == &wf_rt_none);
	kit_expect(weft_rt_self() == rt);
	/* Its fibers, made ready here, go to the processor of this thread. */
	kit_expect(wf_thread_in(rt) != NULL && !wf_thread_in(rt)->foreign);
	return arg;
}

static void *runs_from_rt(void *rt)
{
	struct shelf shelf = shelf_make();
	struct wf_thread *t = here();
	weft_fiber *self = weft_self(), *f = NULL;
	void *result = NULL;

	kit_expect(shelf_spawn(&shelf, &f, inside_rt, rt) == 0);
	kit_expect(shelf_run(&shelf));
	kit_expect(here() == t && weft_self() == self);
	kit_expect(weft_join(f, &result, WEFT_NOW) == 0 && result == rt);
	return NULL;
}

static void a_worker_may_be_the_host(void **state)
{
	(void)state;
	kit_play(runs_from_rt, 1);
}

/* ------------------------------------------------------------------------ */
/* Counting, and refusals. */

static void fibers_are_counted_until_they_end(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL, *g = NULL;

	(void)state;
	memset(&s, 0, sizeof(s));
	shelf_count(&shelf);
	assert_int_equal(shelf_spawn(&shelf, &f, steps, NULL), 0);
	assert_int_equal(wf_load_rlx(&shelf.exec.fibers), 1);
	shelf.refuses = true;
	assert_int_equal(shelf_spawn(&shelf, &g, steps, NULL), -EBUSY);
	shelf.refuses = false;
	assert_true(shelf_run(&shelf));
	weft_wake(f, WEFT_HINT_DEFAULT);
	assert_true(shelf_run(&shelf));
	assert_int_equal(wf_load_rlx(&shelf.exec.fibers), 1);
	assert_true(shelf_run(&shelf));
	assert_false(wf_exec_has_fibers(&shelf.exec));
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	/* One may have ended before the submit returns. */
	shelf.at_once = true;
	assert_int_equal(shelf_spawn(&shelf, &f, only_ends, NULL), 0);
	assert_false(wf_exec_has_fibers(&shelf.exec));
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	kit_settle();
}

/* Stacks promised of class cls, without the credits at hand. */
static size_t promised(struct weft_rt *pool, unsigned cls)
{
	return pool->stacks.store[cls].promised -
		pool->outside.stacks.shelf[cls].credits;
}

static void a_refusal_leaves_nothing(void **state)
{
	struct shelf shelf = shelf_make();
	weft_fiber_attr large = { .executor = &shelf.executor,
		.stack_bytes = WF_MIB,
		.name = "large" };
	weft_fiber *none = (weft_fiber *)&large, *f = none;
	struct weft_rt *pool;
	int cls;

	(void)state;
	assert_int_equal(wf_foreign_pool_hold(&pool), 0);
	cls = wf_stack_pool_class(&pool->stacks, WF_MIB);
	assert_true(cls >= 0 && cls != pool->cls);
	shelf.refuses = true;
	for (int i = 0; i < 100; i++) {
		assert_int_equal(
			weft_spawn(&f, &large, only_ends, NULL), -EBUSY);
		assert_ptr_equal(f, none);
		assert_int_equal(promised(pool, (unsigned)cls), 0);
	}
	/* A fiber that is not refused gives its credit back when it ends. */
	shelf.refuses = false;
	assert_int_equal(weft_spawn(&f, &large, only_ends, NULL), 0);
	assert_int_equal(promised(pool, (unsigned)cls), 1);
	assert_true(shelf_run(&shelf));
	assert_int_equal(promised(pool, (unsigned)cls), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_NOW), 0);
	wf_foreign_pool_drop();
}

static void refuse_a_wake(void *arg)
{
	struct shelf shelf = shelf_make();
	weft_fiber *f = NULL;

	(void)arg;
	if (shelf_spawn(&shelf, &f, waits_once, &s.step) != 0)
		_exit(2);
	(void)shelf_run(&shelf);
	shelf.refuses = true;
	weft_wake(f, WEFT_HINT_DEFAULT);
}

static void who_refuses_a_wake_ends_the_program(void **state)
{
	static struct child c;

	(void)state;
	child_run(&c, refuse_a_wake, NULL);
	assert_false(child_exited_with(&c, 0));
	assert_non_null(strstr(c.text, "refused (-16) to run fiber"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_runs_nest_and_end),
		cmocka_unit_test(the_stand_ins_stay_empty),
		cmocka_unit_test(a_fiber_runs_where_its_task_is_run),
		cmocka_unit_test(who_is_refused_runs_on_at_once),
		cmocka_unit_test(next_is_submitted_as_next),
		cmocka_unit_test(errors_are_told),
		cmocka_unit_test(children_are_where_their_parents_are),
		cmocka_unit_test(a_woken_fiber_may_run_inside),
		cmocka_unit_test(a_commit_may_run_others),
		cmocka_unit_test(each_resume_may_be_on_another_thread),
		cmocka_unit_test(a_worker_may_be_the_host),
		cmocka_unit_test(fibers_are_counted_until_they_end),
		cmocka_unit_test(a_refusal_leaves_nothing),
		cmocka_unit_test(who_refuses_a_wake_ends_the_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
