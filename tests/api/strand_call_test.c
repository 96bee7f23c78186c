/* SPDX-License-Identifier: MIT */
/*
 * tests/api/strand_call_test.c - sections that threads and fibers of any
 * executor send to one strand, over any executor, run alone, and each caller
 * returns after its own.
 */
#include "api/executor_kit.h"

#include <weft/weft.h>

enum { CALLERS = 3, EACH = 300 };

static struct {
	weft_executor *strand;
	struct subject *under;
	/* Plain: only one section runs at a time. */
	size_t sections;
	int inside;
	_Atomic(size_t) called;
} s;

static void section(void *arg)
{
	expect_eq(s.inside++, 0);
	expect(weft_self() == NULL);
	expect(s.under == NULL || runs_this(s.under));
	s.sections++;
	*(size_t *)arg = s.sections;
	s.inside--;
}

/* The number of its section is in the caller's frame when it returns. */
static void call_often(void *arg, unsigned i)
{
	size_t last = 0;

	(void)arg;
	(void)i;
	for (size_t n = 0; n < rounds(EACH); n++) {
		size_t number = 0;

		expect_eq(weft_strand_call(s.strand, section, &number), 0);
		expect(number > last);
		last = number;
		atomic_fetch_add(&s.called, 1);
	}
}

static void *call_in_fiber(void *arg)
{
	call_often(arg, 0);
	return arg;
}

static void spawn_callers(weft_fiber **f, weft_executor *e)
{
	weft_fiber_attr attr = { .executor = e };

	for (size_t i = 0; i < CALLERS; i++)
		assert_int_equal(weft_spawn(&f[i], &attr, call_in_fiber, f), 0);
}

static void join_callers(weft_fiber **f)
{
	for (size_t i = 0; i < CALLERS; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
}

/* A strand over a subject; threads, fibers there and fibers elsewhere call. */
static void callers_over(const struct kind *kind)
{
	weft_rt *rt = rt_workers(2);
	weft_fiber *there[CALLERS], *elsewhere[CALLERS];
	/* A thread that submits to one of these runs it. */
	bool anywhere = kind == &kinds[INLINE] ||
		kind == &kinds[KINDS_BELOW + INLINE];
	struct subject *under = subject_make(kind);

	memset(&s, 0, sizeof(s));
	s.under = anywhere ? NULL : under;
	assert_int_equal(weft_strand_create(&s.strand, under->e), 0);
	spawn_callers(there, under->e);
	spawn_callers(elsewhere, weft_rt_executor(rt));
	threads_run(CALLERS, call_often, NULL);
	join_callers(there);
	join_callers(elsewhere);
	assert_expected();
	assert_int_equal(weft_executor_destroy(s.strand), 0);
	assert_int_equal(s.sections, 3 * CALLERS * rounds(EACH));
	assert_int_equal(s.sections, atomic_load(&s.called));
	subject_unmake(under);
	rt_end(rt);
}

static void sections_run_alone_over(void **state)
{
	callers_over(*state);
}

/* ------------------------------------------------------------------------ */
/* What it refuses, and what it does not look at. */

static void nothing_runs(void *arg)
{
	(void)arg;
	expect(false);
}

static void call_itself(void *arg)
{
	expect_eq(weft_strand_call(s.strand, nothing_runs, NULL), -EDEADLK);
	*(bool *)arg = true;
}

static void *call_itself_in_fiber(void *arg)
{
	call_itself(arg);
	return arg;
}

static void it_does_not_wait_for_itself(void **state)
{
	weft_rt *rt = rt_workers(2);
	weft_fiber_attr attr = { 0 };
	bool asked = false, asked_in_fiber = false;
	weft_fiber *f;

	(void)state;
	memset(&s, 0, sizeof(s));
	assert_int_equal(
		weft_strand_create(&s.strand, weft_rt_executor(rt)), 0);
	assert_int_equal(weft_strand_call(s.strand, call_itself, &asked), 0);
	assert_true(asked);
	attr.executor = s.strand;
	assert_int_equal(weft_spawn(&f, &attr, call_itself_in_fiber,
				 &asked_in_fiber),
		0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_true(asked_in_fiber);
	assert_int_equal(weft_executor_destroy(s.strand), 0);
	rt_end(rt);
	assert_expected();
}

static void *call_cancelled_and_late(void *arg)
{
	weft_scope scope;
	size_t number = 0;

	expect_eq(weft_cancel(weft_self()), 0);
	expect_eq(weft_scope_open(&scope, WEFT_NOW), 0);
	expect_eq(weft_strand_call(s.strand, section, &number), 0);
	expect_eq(number, 1);
	expect_eq(weft_scope_close(&scope), -ECANCELED);
	return arg;
}

static void neither_cancel_nor_deadline_ends_it(void **state)
{
	weft_rt *rt = rt_workers(2);
	weft_fiber *f;

	(void)state;
	memset(&s, 0, sizeof(s));
	assert_int_equal(
		weft_strand_create(&s.strand, weft_rt_executor(rt)), 0);
	assert_int_equal(
		weft_rt_spawn(rt, &f, NULL, call_cancelled_and_late, rt), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_int_equal(weft_executor_destroy(s.strand), 0);
	rt_end(rt);
	assert_expected();
}

/* The runtime below stops: refused, or run. */
static void a_stopping_runtime_refuses(void **state)
{
	weft_rt *rt = rt_workers(2);
	size_t number = 0;
	int err;

	(void)state;
	memset(&s, 0, sizeof(s));
	assert_int_equal(
		weft_strand_create(&s.strand, weft_rt_executor(rt)), 0);
	assert_int_equal(weft_rt_shutdown(rt), 0);
	err = weft_strand_call(s.strand, section, &number);
	assert_int_equal(err, -ESHUTDOWN);
	assert_int_equal(number, 0);
	assert_int_equal(weft_executor_destroy(s.strand), 0);
	rt_end(rt);
	assert_expected();
	assert_int_equal(s.sections, 0);
}

int main(void)
{
	struct CMUnitTest tests[KINDS + 3] = {
		cmocka_unit_test(it_does_not_wait_for_itself),
		cmocka_unit_test(neither_cancel_nor_deadline_ends_it),
		cmocka_unit_test(a_stopping_runtime_refuses),
	};

	for (size_t i = 0; i < KINDS; i++) {
		tests[3 + i].name = kinds[i].name;
		tests[3 + i].test_func = sections_run_alone_over;
		tests[3 + i].initial_state = (void *)&kinds[i];
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
