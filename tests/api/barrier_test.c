/* SPDX-License-Identifier: MIT */
/*
 * tests/api/barrier_test.c - no party goes on before all are there, one of each
 * phase gets 1, and a party that leaves early is as if it had never come.
 */
#include "api/api.h"

enum { FIBERS = 9, THREADS = 3, PARTIES = FIBERS + THREADS };

static struct {
	weft_barrier barrier;
	size_t at[PARTIES]; /* plain: the barrier orders it */
	_Atomic(size_t) ones;
	_Atomic(int) result;
	size_t phases;
} s;

static int begin(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	return 0;
}

static void *alone(void *arg)
{
	weft_barrier zero = { 0 }, two = WEFT_BARRIER_INIT(2);

	expect_eq(weft_barrier_wait(&zero, WEFT_FOREVER), 1);
	expect_eq(weft_barrier_wait(&zero, WEFT_NOW), 1);
	for (int i = 0; i < 3; i++) {
		weft_time until = weft_after(NS_PER_MS);

		expect_eq(weft_barrier_wait(&two, WEFT_NOW), -ETIMEDOUT);
		expect_eq(weft_barrier_wait(&two, until), -ETIMEDOUT);
		expect(weft_now() >= until);
	}
	return arg;
}

static void a_party_alone_times_out(void **state)
{
	(void)state;
	(void)alone(NULL);
	assert_expected();
	play(1, alone, NULL);
}

/* ------------------------------------------------------------------------ */
/* Parties of all kinds. */

static int meet(void)
{
	int got = weft_barrier_wait(&s.barrier, WEFT_FOREVER);

	expect(got == 0 || got == 1);
	atomic_fetch_add(&s.ones, got == 1);
	return got;
}

static void *go_through_phases(void *arg)
{
	size_t me = (uintptr_t)arg;

	for (size_t n = 1; n <= s.phases; n++) {
		s.at[me] = n;
		(void)meet();
		for (size_t j = 0; j < PARTIES; j++)
			expect_eq(s.at[j], n);
		(void)meet();
	}
	return NULL;
}

static void thread_goes_through(void *arg, unsigned i)
{
	(void)arg;
	(void)go_through_phases((void *)(uintptr_t)(FIBERS + i));
}

static void all_go_through_together(void **state)
{
	weft_rt *rt[2] = { rt_workers(1), rt_workers(2) };
	weft_fiber *f[FIBERS];
	weft_executor *pool = NULL;

	(void)state;
	s.barrier = (weft_barrier)WEFT_BARRIER_INIT(PARTIES);
	s.phases = rounds(400);
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	for (uintptr_t i = 0; i < FIBERS; i++) {
		weft_fiber_attr attr = { .executor = pool };

		if (i % 3 != 2)
			attr.executor = weft_rt_executor(rt[i % 3]);
		assert_int_equal(
			weft_spawn(&f[i], &attr, go_through_phases, (void *)i),
			0);
	}
	threads_run(THREADS, thread_goes_through, NULL);
	for (unsigned i = 0; i < FIBERS; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_expected();
	assert_int_equal(atomic_load(&s.ones), 2 * s.phases);
	assert_int_equal(weft_executor_destroy(pool), 0);
	rt_end(rt[0]);
	rt_end(rt[1]);
}

/* ------------------------------------------------------------------------ */
/* A cancelled or late party. */

static void *come_and_leave(void *arg)
{
	atomic_store(&s.result, weft_barrier_wait(&s.barrier, WEFT_FOREVER));
	expect_eq(weft_barrier_wait(&s.barrier, PATIENCE), -ECANCELED);
	expect_eq(weft_barrier_wait(&s.barrier, WEFT_NOW), -ETIMEDOUT);
	weft_shield(true);
	expect_eq(weft_barrier_wait(&s.barrier, weft_after(NS_PER_MS)),
		-ETIMEDOUT);
	weft_shield(false);
	return arg;
}

static void *come(void *arg)
{
	(void)meet();
	return arg;
}

static weft_fiber *spawn_waiting(void *(*fn)(void *))
{
	weft_fiber *f = spawn(fn, NULL);

	expect(await_yielding(state_of(f) == WEFT_FIBER_WAITING));
	return f;
}

static void *leave_early(void *arg)
{
	weft_fiber *one, *other, *leaver;
	weft_fiber_info info;

	s.barrier = (weft_barrier)WEFT_BARRIER_INIT(3);
	one = spawn_waiting(come);
	leaver = spawn_waiting(come_and_leave);
	weft_fiber_look(leaver, &info);
	expect(info.waits_for && strcmp(info.waits_for, "barrier") == 0);
	expect(info.waits_on == &s.barrier);
	weft_cancel(leaver);
	(void)join(leaver);
	expect_eq(atomic_load(&s.result), -ECANCELED);
	/* One party waits; with this one there are two, for a while. */
	expect_eq(weft_barrier_wait(&s.barrier, weft_after(NS_PER_MS)),
		-ETIMEDOUT);
	other = spawn_waiting(come);
	expect_eq(atomic_load(&s.ones), 0);
	expect_eq(weft_barrier_wait(&s.barrier, WEFT_NOW), 1);
	(void)join(one);
	(void)join(other);
	expect_eq(atomic_load(&s.ones), 0);
	return arg;
}

static void a_party_that_leaves_is_not_counted(void **state)
{
	(void)state;
	play(1, leave_early, NULL);
	begin(NULL);
	play(3, leave_early, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_party_alone_times_out),
		TEST(all_go_through_together),
		TEST(a_party_that_leaves_is_not_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
