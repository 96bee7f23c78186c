/* SPDX-License-Identifier: MIT */
/*
 * tests/api/sem_test.c - fibers and threads hold at most as many permits as
 * there are; a waiter that gives up neither loses nor makes one; too many
 * permits end the program.
 */
#include "api/api.h"

#include "os/child.h"

enum { CROWD = 60, SLOTS = 3 };

static struct {
	weft_sem sem;
	_Atomic(int) inside, most;
	_Atomic(size_t) sections, late;
	size_t rounds;
} s;

static int begin(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	return 0;
}

static void *take_and_give(void *arg)
{
	unsigned two = 2;
	weft_sem none = { 0 }, some = WEFT_SEM_INIT(two);

	expect_eq(weft_sem_acquire(&none, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_sem_acquire(&none, 1), -ETIMEDOUT);
	expect_eq(weft_sem_acquire(&none, weft_after(1000)), -ETIMEDOUT);
	weft_sem_release(&none, 3);
	weft_sem_release(&none, 0);
	for (int i = 0; i < 3; i++)
		expect_eq(weft_sem_acquire(&none, WEFT_FOREVER), 0);
	expect_eq(weft_sem_acquire(&none, INT64_MIN), -ETIMEDOUT);
	expect_eq(weft_sem_acquire(&some, WEFT_NOW), 0);
	expect_eq(weft_sem_acquire(&some, WEFT_NOW), 0);
	expect_eq(weft_sem_acquire(&some, WEFT_NOW), -ETIMEDOUT);
	weft_sem_release(&some, UINT32_MAX);
	expect_eq(weft_sem_acquire(&some, WEFT_NOW), 0);
	return arg;
}

static void permits_are_counted(void **state)
{
	(void)state;
	(void)take_and_give(NULL);
	assert_expected();
	play(1, take_and_give, NULL);
}

static void release_too_many(void *arg)
{
	weft_sem full = WEFT_SEM_INIT(UINT32_MAX);

	(void)arg;
	weft_sem_release(&full, 0);
	fprintf(stderr, "still there\n");
	weft_sem_release(&full, 1);
}

static void too_many_end_the_program(void **state)
{
	struct child c;

	(void)state;
	child_run(&c, release_too_many, NULL);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "still there"));
	assert_non_null(strstr(c.text, "weft_sem"));
}

/* ------------------------------------------------------------------------ */
/* Holders of all kinds. */

static void section(void)
{
	int inside = atomic_fetch_add(&s.inside, 1) + 1;
	int most = atomic_load(&s.most);

	expect(inside <= SLOTS);
	while (most < inside &&
		!atomic_compare_exchange_weak(&s.most, &most, inside))
		continue;
	weft_yield();
	atomic_fetch_add(&s.sections, 1);
	atomic_fetch_sub(&s.inside, 1);
	weft_sem_release(&s.sem, 1);
}

static void *go_through(void *arg)
{
	for (size_t i = 0; i < s.rounds; i++) {
		expect_eq(weft_sem_acquire(&s.sem, WEFT_FOREVER), 0);
		section();
	}
	return arg;
}

/* Acquire with deadlines so short that some pass. */
static void *try_often(void *arg)
{
	for (size_t i = 0; i < s.rounds;) {
		int err = weft_sem_acquire(
			&s.sem, weft_after((int64_t)(1 + i % 50) * NS_PER_US));

		if (err == 0) {
			section();
			i++;
		} else {
			expect_eq(err, -ETIMEDOUT);
			atomic_fetch_add(&s.late, 1);
		}
	}
	return arg;
}

static void thread_goes_through(void *arg, unsigned i)
{
	(void)(i % 2 ? try_often(arg) : go_through(arg));
}

/* Two runtimes, an executor with threads of its own, and plain threads. */
static void holders_of_all_kinds_get_permits(void **state)
{
	weft_rt *rt[2] = { rt_workers(1), rt_workers(2) };
	weft_fiber *f[CROWD];
	weft_executor *pool = NULL;

	(void)state;
	s.sem = (weft_sem)WEFT_SEM_INIT(SLOTS);
	s.rounds = rounds(200);
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	for (unsigned i = 0; i < CROWD; i++) {
		weft_fiber_attr attr = { .executor = pool };

		if (i % 3 != 2)
			attr.executor = weft_rt_executor(rt[i % 3]);
		assert_int_equal(
			weft_spawn(&f[i], &attr,
				i % 6 < 3 ? go_through : try_often, NULL),
			0);
	}
	threads_run(4, thread_goes_through, NULL);
	for (unsigned i = 0; i < CROWD; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_expected();
	assert_int_equal(atomic_load(&s.sections), (CROWD + 4) * s.rounds);
	printf("at most %d inside, %zu gave up\n", atomic_load(&s.most),
		atomic_load(&s.late));
	for (int i = 0; i < SLOTS; i++)
		assert_int_equal(weft_sem_acquire(&s.sem, WEFT_NOW), 0);
	assert_int_equal(weft_sem_acquire(&s.sem, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(weft_executor_destroy(pool), 0);
	rt_end(rt[0]);
	rt_end(rt[1]);
}

/* ------------------------------------------------------------------------ */
/* Order; cancellation. */

static _Atomic(int) served;

static void *stand_in_line(void *arg)
{
	int err = weft_sem_acquire(&s.sem, WEFT_FOREVER);

	if (err == 0)
		expect_eq(atomic_fetch_add(&served, 1), (intptr_t)arg);
	else
		expect_eq(err, -ECANCELED);
	return NULL;
}

/* Every third waiter is cancelled: its place goes to the next. */
static void *serve_in_order(void *arg)
{
	weft_fiber *f[CROWD];
	weft_fiber_info info;
	intptr_t place = 0;

	atomic_store(&served, 0);
	for (int i = 0; i < CROWD; i++) {
		f[i] = spawn(stand_in_line, (void *)place);
		place += i % 3 != 0;
		expect(await_yielding(state_of(f[i]) == WEFT_FIBER_WAITING));
	}
	weft_fiber_look(f[0], &info);
	expect(info.waits_for != NULL && strcmp(info.waits_for, "sem") == 0);
	expect(info.waits_on == &s.sem);
	for (int i = 0; i < CROWD; i += 3)
		weft_cancel(f[i]);
	for (int i = 0; i < place; i++) {
		weft_sem_release(&s.sem, 1);
		expect(await_yielding(atomic_load(&served) == i + 1));
	}
	for (int i = 0; i < CROWD; i++)
		(void)join(f[i]);
	expect_eq(weft_sem_acquire(&s.sem, WEFT_NOW), -ETIMEDOUT);
	return arg;
}

static void waiters_are_served_in_order(void **state)
{
	(void)state;
	play(1, serve_in_order, NULL);
	play(3, serve_in_order, NULL);
}

static void *acquire_cancelled(void *arg)
{
	expect_eq(weft_sem_acquire(&s.sem, WEFT_FOREVER), -ECANCELED);
	expect_eq(weft_sem_acquire(&s.sem, WEFT_NOW), -ETIMEDOUT);
	weft_shield(true);
	expect_eq(weft_sem_acquire(&s.sem, weft_after(NS_PER_MS)), -ETIMEDOUT);
	weft_shield(false);
	/* A call that need not wait succeeds. */
	weft_sem_release(&s.sem, 1);
	expect_eq(weft_sem_acquire(&s.sem, WEFT_FOREVER), 0);
	return arg;
}

static void *cancel_it(void *arg)
{
	weft_fiber *f = spawn(acquire_cancelled, NULL);

	weft_cancel(f);
	(void)join(f);
	return arg;
}

static void a_cancelled_fiber_does_not_wait(void **state)
{
	(void)state;
	play(2, cancel_it, NULL);
}

/* ------------------------------------------------------------------------ */
/* The semaphore lies in the frame of the waiter. */

static void release_it(void *arg)
{
	weft_sem_release(arg, 1);
}

static __attribute__((noinline)) void wait_in_a_frame(void)
{
	weft_sem sem = { 0 };

	for (int i = 0; i < 2; i++)
		expect_eq(weft_go(release_it, &sem), 0);
	for (int i = 0; i < 2; i++)
		expect_eq(weft_sem_acquire(&sem, WEFT_FOREVER), 0);
	memset(&sem, 0xa5, sizeof(sem));
	__asm__ volatile("" : : "r"(&sem) : "memory");
}

static void *wait_in_frames(void *arg)
{
	for (size_t i = 0; i < rounds(20000); i++)
		wait_in_a_frame();
	return arg;
}

static void a_semaphore_may_go_with_the_frame(void **state)
{
	(void)state;
	play(2, wait_in_frames, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(permits_are_counted),
		TEST(too_many_end_the_program),
		TEST(holders_of_all_kinds_get_permits),
		TEST(waiters_are_served_in_order),
		TEST(a_cancelled_fiber_does_not_wait),
		TEST(a_semaphore_may_go_with_the_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
