/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_alloc_test.c - nothing allocates while tasks and fibers
 * are scheduled and run, once the caches have what they need (R1.6).
 *
 * Linked so that every call of the allocator and of mmap by the library comes
 * here first, and every call of the library's own memory functions to
 * support/os_faults.c, which counts too.  A first pass of the work has twice as
 * many fibers at once, so that the caches of each worker have more than they
 * will need; the second pass is counted.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sched.h>
#include <sys/mman.h>

#include "support/os_faults.h"
#include "stress/sched_kit.h"

static _Atomic(size_t) calls; /* of all of these */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void __real_free(void *p);
void *__real_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at);
int __real_munmap(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);
void __wrap_free(void *p);
void *__wrap_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at);
int __wrap_munmap(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
	wf_add_rlx(&calls, 1);
	return __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
	wf_add_rlx(&calls, 1);
	return __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n)
{
	wf_add_rlx(&calls, 1);
	return __real_realloc(p, n);
}

void __wrap_free(void *p)
{
	wf_add_rlx(&calls, 1);
	__real_free(p);
}

void *__wrap_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at)
{
	wf_add_rlx(&calls, 1);
	return __real_mmap(p, n, prot, flags, fd, at);
}

int __wrap_munmap(void *p, size_t n)
{
	wf_add_rlx(&calls, 1);
	return __real_munmap(p, n);
}

/* ------------------------------------------------------------------------ */
/* The work. */

enum { CREWS = 8, CREW = 40, ROUNDS = 300, SETTLES = 4 };

/* Where a member stands, and a task of the crew. */
struct seat {
	weft_task task;
	struct crew *crew;
	size_t nth;
};

struct crew {
	struct seat seat[2 * CREW];
	weft_fiber *member[2 * CREW];
	weft_fiber *asleep[2 * CREW];
	_Atomic(size_t) sleepers;
	weft_group ended;
};

static struct crew crews[CREWS];
static size_t crew_size, rounds;
static weft_executor *executor;
static weft_group finished;
static _Atomic(size_t) here;

struct bed {
	struct weft_awaiter awaiter;
	struct seat *seat;
};

static bool fall_asleep(struct weft_awaiter *a, weft_fiber *self)
{
	struct seat *seat = ((struct bed *)a)->seat;
	struct crew *c = seat->crew;

	c->asleep[seat->nth] = self;
	/* The leader, which wakes all, must see asleep. */
	wf_add_rel(&c->sleepers, 1);
	return true;
}

static void *member(void *arg)
{
	struct bed bed = { .awaiter.commit = fall_asleep, .seat = arg };

	weft_yield();
	kit_expect(weft_suspend(&bed.awaiter) == 0);
	weft_yield();
	return arg;
}

static void *child(void *arg)
{
	return arg;
}

static void ended(void *arg)
{
	weft_group_done(arg);
}

static void task_ran(weft_task *task)
{
	weft_group_done(&((struct seat *)task)->crew->ended);
}

/* Spawn, yield, suspend, wake, join: a whole crew of fibers. */
static void lead_once(struct crew *c)
{
	wf_store_rlx(&c->sleepers, 0);
	for (size_t i = 0; i < crew_size; i++) {
		c->seat[i] = (struct seat){ .crew = c, .nth = i };
		kit_expect(weft_spawn(&c->member[i], NULL, member,
				   &c->seat[i]) == 0);
	}
	while (wf_load_acq(&c->sleepers) < crew_size)
		weft_yield();
	for (size_t i = 0; i < crew_size; i++)
		weft_wake(c->asleep[i], (weft_hint)(i % 3));
	for (size_t i = 0; i < crew_size; i++)
		kit_expect(weft_join(c->member[i], NULL, WEFT_FOREVER) == 0);
}

/* Fibers that never wait, and plain tasks. */
static void lead_others(struct crew *c)
{
	weft_group_add(&c->ended, 2 * (int64_t)crew_size);
	for (size_t i = 0; i < crew_size; i++) {
		weft_fiber *f;

		kit_expect(weft_go(ended, &c->ended) == 0);
		kit_expect(weft_spawn(&f, NULL, child, c) == 0);
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
		c->seat[i].task.run = task_ran;
		kit_expect(weft_submit(executor, &c->seat[i].task,
				   (weft_hint)(i % 3)) == 0);
	}
	kit_expect(weft_group_wait(&c->ended, WEFT_FOREVER) == 0);
}

static void leader(void *arg)
{
	for (size_t i = 0; i < rounds; i++) {
		lead_once(arg);
		lead_others(arg);
	}
	weft_group_done(&finished);
}

static void work(weft_rt *rt, size_t size, size_t times)
{
	crew_size = size;
	rounds = times;
	weft_group_add(&finished, CREWS);
	for (size_t i = 0; i < CREWS; i++)
		assert_int_equal(weft_rt_go(rt, leader, &crews[i]), 0);
	assert_int_equal(weft_group_wait(&finished, WEFT_FOREVER), 0);
}

/* All workers at once, so that none of them needs a thread later. */
static void meet(void *arg)
{
	int64_t until = threads_now_ns() + 5 * WF_NS_PER_S;
	size_t *wanted = arg;

	wf_add_rlx(&here, 1);
	while (wf_load_rlx(&here) < *wanted && threads_now_ns() < until)
		sched_yield();
	kit_expect(wf_load_rlx(&here) >= *wanted);
	weft_group_done(&finished);
}

static void have_all_threads(weft_rt *rt, size_t workers)
{
	wf_store_rlx(&here, 0);
	weft_group_add(&finished, (int64_t)workers);
	for (size_t i = 0; i < workers; i++)
		assert_int_equal(weft_rt_go(rt, meet, &workers), 0);
	assert_int_equal(weft_group_wait(&finished, WEFT_FOREVER), 0);
	kit_settle();
}

static void count_allocations(uint32_t workers)
{
	weft_config cfg = { .workers = workers };
	size_t times = kit_rounds(ROUNDS), doors = 0;
	weft_rt *rt;

	os_faults_clear();
	rt = kit_start(&cfg);
	executor = weft_rt_executor(rt);
	have_all_threads(rt, workers);
	work(rt, 2 * CREW, times / 2 + 5);
	wf_store_rlx(&calls, 0);
	/* Some caches fill late, but all have a bound: retry. */
	for (int i = 0; i < SETTLES; i++) {
		os_faults_plan(0, 0, 0);
		work(rt, CREW, times);
		doors = os_faults_calls(OS_FAULTS_MAP | OS_FAULTS_ALLOC |
			OS_FAULTS_GUARD | OS_FAULTS_PROTECT);
		if (doors == 0)
			break;
	}
	printf("%u workers: %zu fibers, %zu allocations, %zu calls for memory, "
	       "%zu to give some back\n",
		workers, CREWS * CREW * times * 3, wf_load_rlx(&calls), doors,
		os_faults_calls(OS_FAULTS_DISCARD));
	assert_int_equal(wf_load_rlx(&calls), 0);
	assert_int_equal(doors, 0);
	kit_stop(rt);
}

static void nothing_is_allocated_by_1_worker(void **state)
{
	(void)state;
	count_allocations(1);
}

static void nothing_is_allocated_by_2_workers(void **state)
{
	(void)state;
	count_allocations(2);
}

static void nothing_is_allocated_by_4_workers(void **state)
{
	(void)state;
	count_allocations(4);
}

/* If this failed, the other tests would prove nothing. */
static void allocations_are_counted(void **state)
{
	weft_rt *rt;

	(void)state;
	wf_store_rlx(&calls, 0);
	os_faults_clear();
	rt = kit_start(NULL);
	assert_true(wf_load_rlx(&calls) > 0);
	assert_true(os_faults_calls(OS_FAULTS_MAP) > 0);
	kit_stop(rt);
	assert_true(os_faults_all_returned());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocations_are_counted),
		cmocka_unit_test(nothing_is_allocated_by_1_worker),
		cmocka_unit_test(nothing_is_allocated_by_2_workers),
		cmocka_unit_test(nothing_is_allocated_by_4_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
