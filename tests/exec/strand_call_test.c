/* SPDX-License-Identifier: MIT */
/*
 * tests/exec/strand_call_test.c - a call of a strand returns when its section
 * has run, once, in its turn, and alone; is refused with its executor; and
 * never waits for itself.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>

#include "base/atomic.h"
#include "base/limits.h"
#include "exec/strand.h"
#include "numbered.h"
#include "os/os.h"
#include "stress/sched_kit.h"

static weft_executor *manual, *strand;

static int submit(weft_executor *e, size_t i)
{
	return weft_submit(e, &tasks[i].task, WEFT_HINT_DEFAULT);
}

static weft_executor *open_strand(weft_executor *over)
{
	weft_executor *e = NULL;

	prepare();
	assert_int_equal(weft_strand_create(&e, over), 0);
	assert_ptr_equal(wf_strand_below(e), over);
	return e;
}

/* A strand over a manual executor. */
static void open_both(void)
{
	assert_int_equal(weft_manual_create(&manual), 0);
	strand = open_strand(manual);
}

static void close_both(void)
{
	assert_int_equal(weft_executor_destroy(strand), 0);
	assert_int_equal(weft_executor_destroy(manual), 0);
	kit_settle();
}

/* A section: count it. */
static void count_up(void *arg)
{
	kit_expect(weft_self() == NULL);
	(*(size_t *)arg)++;
}

static int call(weft_executor *e, size_t *count)
{
	return weft_strand_call(e, count_up, count);
}

/* ------------------------------------------------------------------------ */
/* One at a time. */

/* Over the inline executor it runs in the call, on this thread. */
static void it_returns_when_it_has_run(void **state)
{
	size_t count = 0;

	(void)state;
	strand = open_strand(weft_inline());
	for (size_t i = 1; i <= 3; i++) {
		assert_int_equal(call(strand, &count), 0);
		assert_int_equal(count, i);
	}
	assert_int_equal(weft_executor_destroy(strand), 0);
	kit_settle();
}

static void only_a_strand_is_called(void **state)
{
	weft_executor user = { .submit = NULL };
	size_t count = 0;

	(void)state;
	open_both();
	assert_int_equal(call(manual, &count), -EINVAL);
	assert_int_equal(call(weft_inline(), &count), -EINVAL);
	assert_int_equal(call(&user, &count), -EINVAL);
	assert_int_equal(weft_strand_call(strand, NULL, NULL), -EINVAL);
	assert_int_equal(weft_manual_run(manual, SIZE_MAX), 0);
	assert_int_equal(count, 0);
	close_both();
}

static void run_manual(void *arg)
{
	_Atomic(bool) *stop = arg;

	while (!wf_load_rlx(stop))
		if (weft_manual_run(manual, 1) == 0)
			kit_pause_us(10);
}

static void it_comes_behind_earlier_tasks(void **state)
{
	enum { BEFORE = 3 * WF_STRAND_TURN };
	struct wf_os_thread runner;
	_Atomic(bool) stop = false;
	size_t count = 0;

	(void)state;
	open_both();
	for (size_t i = 0; i < BEFORE; i++)
		assert_int_equal(submit(strand, i), 0);
	assert_int_equal(
		wf_os_thread_start(&runner, run_manual, &stop, 0, NULL), 0);
	assert_int_equal(call(strand, &count), 0);
	assert_int_equal(count, 1);
	expect_order(BEFORE);
	wf_store_rlx(&stop, true);
	wf_os_thread_join(&runner);
	close_both();
}

static struct {
	weft_executor base; /* must be first */
	bool refuses;
	weft_hint hint;
} moody;

static int moody_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	moody.hint = hint;
	if (moody.refuses)
		return -ENETDOWN;
	weft_task_run(e, task);
	return 0;
}

static void a_refused_one_does_not_run(void **state)
{
	size_t count = 0;

	(void)state;
	moody.base.submit = moody_submit;
	moody.refuses = true;
	strand = open_strand(&moody.base);
	for (int i = 0; i < 3; i++)
		assert_int_equal(call(strand, &count), -ENETDOWN);
	assert_int_equal(count, 0);
	assert_int_equal(moody.hint, WEFT_HINT_DEFAULT);
	moody.refuses = false;
	assert_int_equal(submit(strand, 0), 0);
	assert_int_equal(count, 0);
	assert_int_equal(call(strand, &count), 0);
	assert_int_equal(count, 1);
	expect_order(1);
	assert_int_equal(weft_executor_destroy(strand), 0);
}

/* ------------------------------------------------------------------------ */
/* It never waits for itself. */

static struct {
	weft_executor *callee;
	size_t count;
	int by_task, by_fiber;
} nest;

static void call_in_task(weft_task *task)
{
	(void)task;
	nest.by_task = call(nest.callee, &nest.count);
}

static void *call_in_fiber(void *arg)
{
	nest.by_fiber = call(nest.callee, &nest.count);
	return arg;
}

/* A task and a fiber of e call. */
static void call_on(weft_executor *e)
{
	weft_fiber_attr attr = { .executor = e };
	weft_fiber *f;

	nest.count = 0;
	tasks[0].task.run = call_in_task;
	assert_int_equal(submit(e, 0), 0);
	assert_int_equal(weft_spawn(&f, &attr, call_in_fiber, NULL), 0);
	(void)weft_manual_run(manual, SIZE_MAX);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
}

static void from_inside_it_is_refused(void **state)
{
	(void)state;
	open_both();
	nest.callee = strand;
	call_on(strand);
	assert_int_equal(nest.by_task, -EDEADLK);
	assert_int_equal(nest.by_fiber, -EDEADLK);
	assert_int_equal(nest.count, 0);
	close_both();
}

/* A task would block the strand below, and a fiber does not. */
static void from_below_only_a_fiber_calls(void **state)
{
	weft_executor *middle;

	(void)state;
	open_both();
	middle = open_strand(strand);
	nest.callee = open_strand(middle);
	call_on(strand);
	assert_int_equal(nest.by_task, -EDEADLK);
	assert_int_equal(nest.by_fiber, 0);
	assert_int_equal(nest.count, 1);
	assert_int_equal(weft_executor_destroy(nest.callee), 0);
	assert_int_equal(weft_executor_destroy(middle), 0);
	close_both();
}

static void call_in_call(void *arg)
{
	nest.by_task = call(arg, &nest.count);
}

/* The inline executor would run the inner section after the outer one. */
static void in_an_inline_section_it_is_refused(void **state)
{
	weft_executor *inner;

	(void)state;
	strand = open_strand(weft_inline());
	inner = open_strand(weft_inline());
	nest.count = 0;
	assert_int_equal(weft_strand_call(strand, call_in_call, inner), 0);
	assert_int_equal(nest.by_task, -EDEADLK);
	assert_int_equal(nest.count, 0);
	assert_int_equal(weft_executor_destroy(inner), 0);
	assert_int_equal(weft_executor_destroy(strand), 0);
}

/* ------------------------------------------------------------------------ */
/* Many at once. */

enum { CALLERS = 4 };

static struct {
	size_t each, count, inside;
} crowd;

static void section(void *arg)
{
	kit_expect(arg == &crowd);
	kit_expect(crowd.inside++ == 0);
	crowd.count++;
	crowd.inside--;
}

static void call_often(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	for (size_t n = 0; n < crowd.each; n++)
		kit_expect(weft_strand_call(strand, section, &crowd) == 0);
}

static void *call_often_in_fiber(void *arg)
{
	call_often(arg, 0);
	return NULL;
}

/* Threads and fibers of rt call. */
static void call_by_all(weft_rt *rt, weft_executor *over)
{
	weft_fiber *f[CALLERS];

	strand = open_strand(over);
	crowd.count = 0;
	crowd.each = kit_rounds(2000);
	for (size_t i = 0; i < CALLERS; i++)
		assert_int_equal(weft_rt_spawn(rt, &f[i], NULL,
					 call_often_in_fiber, NULL),
			0);
	threads_run(CALLERS, call_often, NULL);
	for (size_t i = 0; i < CALLERS; i++)
		assert_int_equal(weft_join(f[i], NULL, WEFT_FOREVER), 0);
	assert_int_equal(weft_executor_destroy(strand), 0);
	assert_int_equal(crowd.count, 2 * CALLERS * crowd.each);
	kit_settle();
}

static void threads_and_fibers_call(void **state)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);
	weft_executor *pool;

	(void)state;
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	call_by_all(rt, weft_rt_executor(rt));
	call_by_all(rt, pool);
	call_by_all(rt, weft_inline());
	assert_int_equal(weft_executor_destroy(pool), 0);
	kit_stop(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_returns_when_it_has_run),
		cmocka_unit_test(only_a_strand_is_called),
		cmocka_unit_test(it_comes_behind_earlier_tasks),
		cmocka_unit_test(a_refused_one_does_not_run),
		cmocka_unit_test(from_inside_it_is_refused),
		cmocka_unit_test(from_below_only_a_fiber_calls),
		cmocka_unit_test(in_an_inline_section_it_is_refused),
		cmocka_unit_test(threads_and_fibers_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
