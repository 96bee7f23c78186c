/* SPDX-License-Identifier: MIT */
/*
 * tests/api/stop_test.c - a runtime that stops takes no new tasks, runs those
 * it took, cancels every wait and is gone only when all fibers have ended.
 */
#include "api/api.h"

#include <weft/weft.h>

/* ------------------------------------------------------------------------ */
/* Stop with fibers blocked in every wait that can be cancelled. */

static struct {
	weft_group never;
	_Atomic(size_t) waiting, cancelled;
	struct pair {
		struct baton baton;
		weft_fiber *target;
	} * pairs;
} blocked;

static void block_in_group(void *arg)
{
	(void)arg;
	expect(!weft_cancelled());
	atomic_fetch_add(&blocked.waiting, 1);
	expect_eq(weft_group_wait(&blocked.never, WEFT_FOREVER), -ECANCELED);
	expect(weft_cancelled());
	/* It stays cancelled, but calls that need not wait still work. */
	expect_eq(weft_group_wait(&blocked.never, WEFT_FOREVER), -ECANCELED);
	expect_eq(weft_group_wait(&blocked.never, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_group_wait(&(weft_group){ 0 }, WEFT_FOREVER), 0);
	atomic_fetch_add(&blocked.cancelled, 1);
}

static void *wait_for_baton(void *arg)
{
	struct pair *p = arg;

	baton_wait(&p->baton);
	expect(weft_cancelled());
	return arg;
}

/* The target ends only after this one gave up, and no join runs it inline. */
static void block_in_join(void *arg)
{
	struct pair *p = arg;
	void *result = &blocked;

	expect_eq(weft_spawn(&p->target, NULL, wait_for_baton, p), 0);
	expect(await_yielding(state_of(p->target) == WEFT_FIBER_WAITING));
	atomic_fetch_add(&blocked.waiting, 1);
	expect_eq(weft_join(p->target, &result, WEFT_FOREVER), -ECANCELED);
	expect(result == &blocked);
	expect(weft_cancelled());
	expect_eq(weft_join(p->target, &result, WEFT_FOREVER), -ECANCELED);
	expect_eq(weft_join(p->target, &result, WEFT_NOW), -ETIMEDOUT);
	baton_put(&p->baton, WEFT_HINT_DEFAULT);
	expect(await_yielding(state_of(p->target) == WEFT_FIBER_DONE));
	expect_eq(weft_join(p->target, &result, WEFT_FOREVER), 0);
	expect(result == p);
	atomic_fetch_add(&blocked.cancelled, 1);
}

static void stop_with_all_blocked(unsigned workers, bool shut_down_first)
{
	size_t n = crowd(10000) / 4 + 1;
	weft_rt *rt = rt_workers(workers);

	blocked.pairs = calloc(n, sizeof(*blocked.pairs));
	assert_non_null(blocked.pairs);
	atomic_store(&blocked.waiting, 0);
	atomic_store(&blocked.cancelled, 0);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(weft_rt_go(rt, block_in_group, NULL), 0);
		assert_int_equal(weft_rt_go(rt, block_in_group, NULL), 0);
		assert_int_equal(
			weft_rt_go(rt, block_in_join, &blocked.pairs[i]), 0);
	}
	assert_true(await(atomic_load(&blocked.waiting) == 3 * n));
	if (shut_down_first) {
		weft_rt_shutdown(rt);
		assert_true(await(atomic_load(&blocked.cancelled) == 3 * n));
	}
	rt_end(rt);
	assert_int_equal(atomic_load(&blocked.cancelled), 3 * n);
	assert_expected();
	free(blocked.pairs);
}

static void stop_cancels_every_wait(void **state)
{
	(void)state;
	weft_group_add(&blocked.never, 1);
	stop_with_all_blocked(1, false);
	stop_with_all_blocked(2, true);
	stop_with_all_blocked(4, false);
	weft_group_done(&blocked.never);
}

/* Begins wait after wait, while the stop goes on. */
static void wait_on_and_on(void *arg)
{
	(void)arg;
	atomic_fetch_add(&blocked.waiting, 1);
	while (!weft_cancelled()) {
		weft_group g = { 0 };

		weft_group_add(&g, 1);
		if (weft_go(one_done, &g) != 0) {
			expect_eq(
				weft_group_wait(&g, WEFT_FOREVER), -ECANCELED);
			break;
		}
		/* The other fiber uses g: wait for its end. */
		while (weft_group_wait(&g, WEFT_NOW) != 0)
			weft_yield();
	}
	expect(weft_cancelled());
	atomic_fetch_add(&blocked.cancelled, 1);
}

static void stop_meets_fibers_at_work(void **state)
{
	(void)state;
	for (size_t round = 0; round < rounds(100); round++) {
		weft_rt *rt = rt_workers(1 + round % 3);

		atomic_store(&blocked.waiting, 0);
		atomic_store(&blocked.cancelled, 0);
		for (size_t i = 0; i < 20; i++)
			assert_int_equal(
				weft_rt_go(rt, wait_on_and_on, NULL), 0);
		if (round % 2)
			assert_true(await(atomic_load(&blocked.waiting) == 20));
		rt_end(rt);
		assert_int_equal(atomic_load(&blocked.cancelled), 20);
		assert_expected();
	}
}

/* A fiber that is cancelled before it has started still runs. */
static void *look_cancelled(void *arg)
{
	*(_Atomic(int) *)arg = weft_cancelled() ? 2 : 1;
	return arg;
}

static void *shut_down_before_it_runs(void *arg)
{
	static _Atomic(int) seen;
	weft_fiber *f;

	atomic_store(&seen, 0);
	expect_eq(weft_spawn(&f, NULL, look_cancelled, (void *)&seen), 0);
	expect(!weft_cancelled());
	expect_eq(weft_rt_shutdown(weft_rt_self()), 0);
	expect(weft_cancelled());
	expect(await_yielding(state_of(f) == WEFT_FIBER_DONE));
	expect_eq(atomic_load(&seen), 2);
	expect_eq(weft_join(f, NULL, WEFT_FOREVER), 0);
	return arg;
}

static void a_fiber_not_started_runs_and_is_cancelled(void **state)
{
	(void)state;
	play(1, shut_down_before_it_runs, NULL);
}

/* ------------------------------------------------------------------------ */
/* Nothing new, and nothing that was taken is lost. */

static struct {
	_Atomic(size_t) ran;
	_Atomic(unsigned) refused;
	weft_rt *rt;
	struct baton baton;
} late;

static void count(void *arg)
{
	(void)arg;
	atomic_fetch_add(&late.ran, 1);
}

static void count_task(weft_task *self)
{
	(void)self;
	atomic_fetch_add(&late.ran, 1);
}

static void all_that_was_taken_runs(void **state)
{
	size_t n = crowd(5000);
	weft_task *tasks = calloc(n, sizeof(*tasks));

	(void)state;
	assert_non_null(tasks);
	for (unsigned workers = 1; workers <= 4; workers++) {
		weft_rt *rt = rt_workers(workers);

		atomic_store(&late.ran, 0);
		for (size_t i = 0; i < n; i++) {
			tasks[i].run = count_task;
			assert_int_equal(weft_rt_go(rt, count, NULL), 0);
			assert_int_equal(weft_submit(weft_rt_executor(rt),
						 &tasks[i], (weft_hint)(i % 3)),
				0);
		}
		rt_end(rt);
		assert_int_equal(atomic_load(&late.ran), 2 * n);
	}
	free(tasks);
}

static void expect_refusals(weft_rt *rt)
{
	weft_fiber_attr attr = { .executor = weft_rt_executor(rt) };
	weft_task t = { .run = count_task };
	weft_fiber *f = NULL;

	for (weft_hint h = WEFT_HINT_DEFAULT; h <= WEFT_HINT_YIELD; h++)
		expect_eq(weft_submit(weft_rt_executor(rt), &t, h), -ESHUTDOWN);
	expect_eq(weft_rt_go(rt, count, NULL), -ESHUTDOWN);
	expect_eq(weft_rt_spawn(rt, &f, NULL, echo, NULL), -ESHUTDOWN);
	expect_eq(weft_spawn(&f, &attr, echo, NULL), -ESHUTDOWN);
	expect(f == NULL);
	if (weft_self() == NULL)
		return;
	expect_eq(weft_go(count, NULL), -ESHUTDOWN);
	expect_eq(weft_spawn(&f, NULL, echo, NULL), -ESHUTDOWN);
	expect(f == NULL);
}

static void *shut_down_inside(void *arg)
{
	weft_rt *rt = weft_rt_self();

	expect(!weft_cancelled());
	expect_eq(weft_rt_shutdown(rt), 0);
	expect(weft_cancelled());
	expect_refusals(rt);
	expect_eq(weft_rt_shutdown(rt), 0);
	/* These are not cancellation points. */
	weft_yield();
	weft_checkpoint();
	return arg;
}

static void nothing_new_after_shutdown(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		weft_rt *rt = rt_workers(workers), *other = rt_workers(1);
		weft_fiber *f;

		atomic_store(&late.ran, 0);
		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, shut_down_inside, NULL), 0);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		expect_refusals(rt);
		assert_int_equal(weft_rt_shutdown(rt), 0);
		assert_int_equal(weft_rt_go(other, count, NULL), 0);
		rt_end(rt);
		rt_end(other);
		assert_int_equal(atomic_load(&late.ran), 1);
		assert_expected();
	}
}

/* Fibers accepted during a shutdown run; refused ones do not. */
static struct {
	weft_rt *rt;
	_Atomic(size_t) accepted;
} rush;

static void rush_in(void *arg, unsigned self)
{
	(void)arg;
	if (self == 0) {
		nap_ns(500 * NS_PER_US);
		weft_rt_shutdown(rush.rt);
		return;
	}
	for (size_t i = 0; i < 1000; i++) {
		int err = weft_rt_go(rush.rt, count, NULL);

		if (err == 0)
			atomic_fetch_add(&rush.accepted, 1);
		else if (expect_eq(err, -ESHUTDOWN))
			break;
	}
}

static void what_is_accepted_is_run(void **state)
{
	(void)state;
	for (size_t round = 0; round < rounds(100); round++) {
		rush.rt = rt_workers(1 + round % 3);
		atomic_store(&rush.accepted, 0);
		atomic_store(&late.ran, 0);
		threads_run(4, rush_in, NULL);
		rt_end(rush.rt);
		assert_int_equal(
			atomic_load(&late.ran), atomic_load(&rush.accepted));
		assert_expected();
	}
}

/* ------------------------------------------------------------------------ */
/* Timeouts, and stops from inside. */

static void *hold_out(void *arg)
{
	baton_wait(&late.baton);
	return arg;
}

static void stop_again_after_a_timeout(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		weft_rt *rt = rt_workers(workers);
		weft_time begin;
		weft_fiber *f;

		assert_int_equal(weft_rt_spawn(rt, &f, NULL, hold_out, rt), 0);
		assert_true(await(state_of(f) == WEFT_FIBER_WAITING));
		begin = weft_now();
		assert_int_equal(weft_rt_stop(rt, weft_after(50 * NS_PER_MS)),
			-ETIMEDOUT);
		assert_true(weft_now() - begin >= 50 * NS_PER_MS);
		assert_int_equal(weft_rt_stop(rt, WEFT_NOW), -ETIMEDOUT);
		assert_int_equal(weft_rt_stop(rt, -5), -ETIMEDOUT);
		expect_refusals(rt);
		assert_null(weft_fiber_name(f));
		baton_put(&late.baton, WEFT_HINT_DEFAULT);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		rt_end(rt);
		assert_expected();
	}
}

static void stop_in_task(weft_task *self)
{
	(void)self;
	expect_eq(weft_rt_stop(late.rt, WEFT_FOREVER), -EDEADLK);
	expect_eq(weft_rt_stop(late.rt, WEFT_NOW), -EDEADLK);
	atomic_fetch_add(&late.refused, 1);
}

static void *stop_in_fiber(void *arg)
{
	expect_eq(weft_rt_stop(late.rt, WEFT_FOREVER), -EDEADLK);
	expect_eq(weft_rt_stop(late.rt, WEFT_NOW), -EDEADLK);
	/* An error leaves all as it was. */
	expect(!weft_cancelled());
	expect_eq(weft_go(count, NULL), 0);
	atomic_fetch_add(&late.refused, 1);
	return arg;
}

static void its_own_fibers_and_tasks_cannot_stop_it(void **state)
{
	static weft_task task = { .run = stop_in_task };
	weft_fiber *f;

	(void)state;
	late.rt = rt_workers(1);
	atomic_store(&late.refused, 0);
	assert_int_equal(
		weft_rt_spawn(late.rt, &f, NULL, stop_in_fiber, NULL), 0);
	assert_int_equal(weft_submit(weft_rt_executor(late.rt), &task,
				 WEFT_HINT_DEFAULT),
		0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	rt_end(late.rt);
	assert_int_equal(atomic_load(&late.refused), 2);
	assert_expected();
}

/* A handle is good after its runtime has begun to stop, until the end. */
static void *spawn_and_leave(void *arg)
{
	weft_fiber **left = arg;

	expect_eq(weft_spawn(left, NULL, hold_out, arg), 0);
	return NULL;
}

static void a_handle_is_good_while_stopping(void **state)
{
	static weft_fiber *left;
	void *result = NULL;
	weft_rt *rt = rt_workers(2);
	weft_fiber *f;

	(void)state;
	assert_int_equal(
		weft_rt_spawn(rt, &f, NULL, spawn_and_leave, &left), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	weft_rt_shutdown(rt);
	assert_int_equal(weft_join(left, NULL, WEFT_NOW), -ETIMEDOUT);
	baton_put(&late.baton, WEFT_HINT_NEXT);
	assert_int_equal(weft_join(left, &result, PATIENCE), 0);
	assert_ptr_equal(result, &left);
	rt_end(rt);
	assert_expected();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stop_cancels_every_wait),
		cmocka_unit_test(stop_meets_fibers_at_work),
		cmocka_unit_test(a_fiber_not_started_runs_and_is_cancelled),
		cmocka_unit_test(all_that_was_taken_runs),
		cmocka_unit_test(nothing_new_after_shutdown),
		cmocka_unit_test(what_is_accepted_is_run),
		cmocka_unit_test(stop_again_after_a_timeout),
		cmocka_unit_test(its_own_fibers_and_tasks_cannot_stop_it),
		cmocka_unit_test(a_handle_is_good_while_stopping),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
