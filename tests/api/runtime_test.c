/* SPDX-License-Identifier: MIT */
/*
 * tests/api/runtime_test.c - runtimes start, run what any thread gives them,
 * live beside each other, and survive a fork of the process.
 */
#include "api/api.h"

#include <sys/wait.h>
#include <unistd.h>

#include <weft/weft.h>

#include "os/child.h"

/* ------------------------------------------------------------------------ */
/* weft_run. */

static _Atomic(unsigned) mains;

static int give_back(void *arg)
{
	atomic_fetch_add(&mains, 1);
	expect(weft_self() != NULL);
	expect(weft_rt_self() != NULL);
	return *(int *)arg;
}

static void run_gives_what_main_gave(void **state)
{
	static int results[] = { 0, 1, 42, INT32_MAX, -1, -ENOENT, INT32_MIN };
	const weft_config one = { .workers = 1 };

	(void)state;
	atomic_store(&mains, 0);
	for (unsigned i = 0; i < 7; i++) {
		int want = results[i];

		assert_int_equal(weft_run(NULL, give_back, &results[i]), want);
		assert_int_equal(weft_run(&one, give_back, &results[i]), want);
		assert_int_equal(atomic_load(&mains), 2 * (i + 1));
	}
	assert_null(weft_self());
	assert_null(weft_rt_self());
	assert_expected();
}

static int run_inside(void *arg)
{
	expect_eq(weft_run(NULL, give_back, arg), -EDEADLK);
	return 7;
}

static void run_needs_a_plain_thread(void **state)
{
	static int unused;

	(void)state;
	atomic_store(&mains, 0);
	assert_int_equal(weft_run(NULL, run_inside, &unused), 7);
	assert_int_equal(atomic_load(&mains), 0);
	assert_expected();
}

static void run_badly(void *arg)
{
	static int zero;
	const weft_config bad = { .workers = 100000 };
	int err = weft_run(&bad, give_back, &zero);

	(void)arg;
	_exit(err == -EINVAL && atomic_load(&mains) == 0 ? 0 : 1);
}

static void run_refuses_a_bad_configuration(void **state)
{
	struct child c;

	(void)state;
	atomic_store(&mains, 0);
	child_run(&c, run_badly, NULL);
	assert_true(child_exited_with(&c, 0));
	assert_non_null(strstr(c.text, "workers"));
}

/* Fibers that main leaves behind are cancelled and waited for. */
static struct {
	weft_group never;
	_Atomic(unsigned) started, ended;
} rest;

static void be_left_behind(void *arg)
{
	(void)arg;
	atomic_fetch_add(&rest.started, 1);
	expect_eq(weft_group_wait(&rest.never, WEFT_FOREVER), -ECANCELED);
	expect(weft_cancelled());
	atomic_fetch_add(&rest.ended, 1);
}

static int leave_behind(void *arg)
{
	for (size_t i = 0; i < 100; i++)
		expect_eq(weft_go(be_left_behind, NULL), 0);
	if (*(bool *)arg)
		weft_yield();
	return 3;
}

static void run_waits_for_fibers_left_behind(void **state)
{
	static bool yielding;

	(void)state;
	weft_group_add(&rest.never, 1);
	for (unsigned i = 0; i < 6; i++) {
		const weft_config cfg = { .workers = 1 + i / 2 };

		atomic_store(&rest.started, 0);
		atomic_store(&rest.ended, 0);
		yielding = i % 2;
		assert_int_equal(weft_run(&cfg, leave_behind, &yielding), 3);
		assert_int_equal(atomic_load(&rest.started), 100);
		assert_int_equal(atomic_load(&rest.ended), 100);
		assert_expected();
	}
	weft_group_done(&rest.never);
}

static struct baton never_put;

static void wait_forever(void *arg)
{
	(void)arg;
	baton_wait(&never_put);
}

static int leave_one(void *arg)
{
	(void)arg;
	return weft_go(wait_forever, NULL);
}

/* The fiber leaks: on valgrind the child's exit status is valgrind's. */
static void run_out_of_time(void *arg)
{
	const weft_config cfg = { .workers = 1, .stop_ns = 50 * NS_PER_MS };
	int64_t begin = weft_now(), *took_ns = arg;

	if (weft_run(&cfg, leave_one, NULL) == -ETIMEDOUT)
		*took_ns = weft_now() - begin;
}

static void run_waits_no_longer_than_it_should(void **state)
{
	int64_t *took_ns = child_shared(sizeof(*took_ns));
	struct child c;

	(void)state;
	child_run(&c, run_out_of_time, took_ns);
	assert_true(WIFEXITED(c.status));
	assert_true(*took_ns >= 50 * NS_PER_MS);
}

/* ------------------------------------------------------------------------ */
/* Starting, and submitting from outside. */

static void start_and_stop_often(void **state)
{
	size_t n = rounds(1000);

	(void)state;
	for (size_t i = 0; i < n; i++) {
		weft_rt *rt = rt_workers(1 + i % 4);
		weft_fiber *f;

		if (i % 3 != 0) {
			assert_int_equal(
				weft_rt_spawn(rt, &f, NULL, echo, rt), 0);
			if (i % 3 == 1)
				assert_int_equal(
					weft_join(f, NULL, PATIENCE), 0);
			else
				weft_detach(f);
		}
		rt_end(rt);
	}
}

enum { OUTSIDERS = 8 };

static struct {
	weft_rt *rt;
	weft_group group;
	_Atomic(size_t) ran;
	struct outside_task {
		weft_task task;
		unsigned runs;
	} * tasks;
} outside;

static void ran_fiber(void *arg)
{
	(void)arg;
	expect(weft_rt_self() == outside.rt);
	atomic_fetch_add(&outside.ran, 1);
	weft_group_done(&outside.group);
}

static void ran_task(weft_task *self)
{
	((struct outside_task *)self)->runs++;
	weft_group_done(&outside.group);
}

static void give_from_outside(void *arg, unsigned self)
{
	size_t n = crowd(8000) / OUTSIDERS;

	(void)arg;
	for (uintptr_t i = 0; i < n; i++) {
		struct outside_task *t = &outside.tasks[self * n + i];
		void *result = NULL;
		weft_fiber *f;

		weft_group_add(&outside.group, 2);
		t->task.run = ran_task;
		expect_eq(weft_submit(weft_rt_executor(outside.rt), &t->task,
				  hints[i % HINTS]),
			0);
		expect_eq(weft_rt_go(outside.rt, ran_fiber, NULL), 0);
		if (i % 8 != 0 ||
			!expect_eq(weft_rt_spawn(outside.rt, &f, NULL, echo,
					   (void *)i),
				0))
			continue;
		expect_eq(weft_join(f, &result, PATIENCE), 0);
		expect_eq((uintptr_t)result, i);
	}
}

static void any_thread_gives_work(void **state)
{
	size_t n = crowd(8000) / OUTSIDERS * OUTSIDERS;

	(void)state;
	outside.tasks = calloc(n, sizeof(*outside.tasks));
	assert_non_null(outside.tasks);
	for (unsigned workers = 1; workers <= 3; workers++) {
		memset(outside.tasks, 0, n * sizeof(*outside.tasks));
		atomic_store(&outside.ran, 0);
		outside.rt = rt_workers(workers);
		threads_run(OUTSIDERS, give_from_outside, NULL);
		assert_int_equal(weft_group_wait(&outside.group, PATIENCE), 0);
		assert_int_equal(atomic_load(&outside.ran), n);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(outside.tasks[i].runs, 1);
		rt_end(outside.rt);
		assert_expected();
	}
	free(outside.tasks);
}

static void unknown_hints_are_refused(void **state)
{
	weft_rt *rt = rt_workers(1);
	weft_task t = { .run = ran_task };

	(void)state;
	assert_int_equal(
		weft_submit(weft_rt_executor(rt), &t, (weft_hint)3), -EINVAL);
	assert_int_equal(
		weft_submit(weft_rt_executor(rt), &t, (weft_hint)-1), -EINVAL);
	rt_end(rt);
}

/*
 * All workers have gone to sleep.  On a machine with other work a thread may
 * wait long for its turn, so the bound is for the median.
 */
enum { CALLS = 21 };

static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void *what_time_is_it(void *arg)
{
	*(_Atomic(int64_t) *)arg = weft_now();
	return arg;
}

static void a_submit_wakes_sleepers_soon(void **state)
{
	static _Atomic(int64_t) ran_at;
	int64_t delays[CALLS];
	weft_rt *rt = rt_workers(2);

	(void)state;
	for (size_t i = 0; i < CALLS; i++) {
		int64_t begin;
		weft_fiber *f;

		nap_ns(5 * NS_PER_MS);
		begin = weft_now();
		assert_int_equal(weft_rt_spawn(rt, &f, NULL, what_time_is_it,
					 (void *)&ran_at),
			0);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		delays[i] = atomic_load(&ran_at) - begin;
	}
	rt_end(rt);
	qsort(delays, CALLS, sizeof(delays[0]), compare_ns);
	printf("median %.1f us\n", (double)delays[CALLS / 2] / 1000);
	assert_true(delays[CALLS / 2] < 200 * NS_PER_MS);
}

/* ------------------------------------------------------------------------ */
/* Several runtimes. */

enum { RUNTIMES = 5 };

static struct {
	weft_rt *rts[RUNTIMES];
	unsigned n;
	size_t laps;
	struct baton batons[RUNTIMES];
	size_t hops; /* plain: the batons order it */
	weft_group group;
} ring;

static void *runner(void *arg)
{
	size_t self = (uintptr_t)arg;

	for (size_t i = 0; i < ring.laps; i++) {
		baton_wait(&ring.batons[self]);
		expect(weft_rt_self() == ring.rts[self]);
		expect_eq(ring.hops, i * ring.n + self);
		ring.hops++;
		if (ring.hops < ring.laps * ring.n)
			baton_put(&ring.batons[(self + 1) % ring.n],
				hints[i % HINTS]);
	}
	weft_group_done(&ring.group);
	return NULL;
}

static void run_ring(unsigned n)
{
	weft_fiber *fibers[RUNTIMES];

	memset(&ring, 0, sizeof(ring));
	ring.n = n;
	ring.laps = rounds(20000) / n + 1;
	for (uintptr_t i = 0; i < n; i++)
		ring.rts[i] = rt_workers(1 + i % 2);
	weft_group_add(&ring.group, n);
	for (uintptr_t i = 0; i < n; i++)
		assert_int_equal(weft_rt_spawn(ring.rts[i], &fibers[i], NULL,
					 runner, (void *)i),
			0);
	baton_put(&ring.batons[0], WEFT_HINT_DEFAULT);
	assert_int_equal(weft_group_wait(&ring.group, PATIENCE), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(weft_join(fibers[i], NULL, PATIENCE), 0);
	for (size_t i = 0; i < n; i++)
		rt_end(ring.rts[i]);
	assert_int_equal(ring.hops, ring.laps * n);
	assert_expected();
}

static void runtimes_wake_each_others_fibers(void **state)
{
	(void)state;
	run_ring(2);
	run_ring(RUNTIMES);
}

/* A fiber waits for a group on its stack that fibers of all runtimes end. */
static void *gather(void *arg)
{
	weft_rt *here = weft_rt_self();

	for (size_t i = 0; i < rounds(2000); i++) {
		weft_group g = { 0 };

		weft_group_add(&g, ring.n);
		for (size_t r = 0; r < ring.n; r++)
			expect_eq(weft_rt_go(ring.rts[r], one_done, &g), 0);
		expect_eq(weft_group_wait(&g, WEFT_FOREVER), 0);
		memset(&g, 0xA5, sizeof(g));
		__asm__ volatile("" : : "r"(&g) : "memory");
		expect(weft_rt_self() == here);
	}
	return arg;
}

/* A fiber joins fibers of the other runtimes. */
static void *join_in_other_runtimes(void *arg)
{
	for (uintptr_t i = 0; i < rounds(2000); i++) {
		void *result = NULL;
		weft_fiber *f;

		if (!expect_eq(weft_rt_spawn(ring.rts[i % ring.n], &f, NULL,
				       echo, (void *)i),
			    0))
			break;
		expect_eq(weft_join(f, &result, WEFT_FOREVER), 0);
		expect_eq((uintptr_t)result, i);
	}
	return arg;
}

static void runtimes_share_groups_and_handles(void **state)
{
	weft_fiber *fibers[2 * RUNTIMES];

	(void)state;
	memset(&ring, 0, sizeof(ring));
	ring.n = RUNTIMES;
	for (unsigned i = 0; i < RUNTIMES; i++)
		ring.rts[i] = rt_workers(1 + i % 3);
	for (size_t i = 0; i < 2 * RUNTIMES; i++)
		assert_int_equal(
			weft_rt_spawn(ring.rts[i / 2], &fibers[i], NULL,
				i % 2 ? gather : join_in_other_runtimes, NULL),
			0);
	for (size_t i = 0; i < 2 * RUNTIMES; i++)
		assert_int_equal(weft_join(fibers[i], NULL, PATIENCE), 0);
	for (size_t i = 0; i < RUNTIMES; i++)
		rt_end(ring.rts[i]);
	assert_expected();
}

/* A fiber starts a runtime, uses it and stops it. */
static void *own_a_runtime(void *arg)
{
	const weft_config cfg = { .workers = 1 };
	weft_rt *rt = NULL;
	void *result = NULL;
	weft_fiber *f;

	if (!expect_eq(weft_rt_start(&rt, &cfg), 0))
		return NULL;
	expect(weft_rt_self() != rt);
	expect_eq(weft_rt_spawn(rt, &f, NULL, echo, arg), 0);
	expect_eq(weft_join(f, &result, WEFT_FOREVER), 0);
	expect(result == arg);
	expect_eq(weft_rt_stop(rt, PATIENCE), 0);
	return NULL;
}

static void a_fiber_may_have_a_runtime(void **state)
{
	(void)state;
	for (size_t i = 0; i < rounds(25); i++)
		play(2, own_a_runtime, &ring);
}

/* ------------------------------------------------------------------------ */
/* fork + exec, under load. */

static _Atomic(bool) load_stop;

static void *keep_busy(void *arg)
{
	while (!atomic_load(&load_stop)) {
		weft_fiber *f;

		expect_eq(weft_spawn(&f, NULL, echo, NULL), 0);
		expect_eq(weft_join(f, NULL, WEFT_FOREVER), 0);
		weft_yield();
	}
	return arg;
}

static void fork_and_exec(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	expect(pid > 0);
	expect(waitpid(pid, &status, 0) == pid);
	expect(WIFEXITED(status));
	expect_eq(WEXITSTATUS(status), 0);
}

static void *fork_in_fiber(void *arg)
{
	fork_and_exec();
	return arg;
}

static void a_process_under_load_forks(void **state)
{
	weft_rt *rt = rt_workers(2);
	weft_fiber *load[4], *f;

	(void)state;
	atomic_store(&load_stop, false);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(
			weft_rt_spawn(rt, &load[i], NULL, keep_busy, NULL), 0);
	for (size_t i = 0; i < threads_rounds(20); i++) {
		fork_and_exec();
		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, fork_in_fiber, NULL), 0);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	}
	atomic_store(&load_stop, true);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(weft_join(load[i], NULL, PATIENCE), 0);
	rt_end(rt);
	assert_expected();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(run_refuses_a_bad_configuration),
		cmocka_unit_test(run_waits_no_longer_than_it_should),
		cmocka_unit_test(run_gives_what_main_gave),
		cmocka_unit_test(run_needs_a_plain_thread),
		cmocka_unit_test(run_waits_for_fibers_left_behind),
		cmocka_unit_test(start_and_stop_often),
		cmocka_unit_test(any_thread_gives_work),
		cmocka_unit_test(unknown_hints_are_refused),
		cmocka_unit_test(a_submit_wakes_sleepers_soon),
		cmocka_unit_test(runtimes_wake_each_others_fibers),
		cmocka_unit_test(runtimes_share_groups_and_handles),
		cmocka_unit_test(a_fiber_may_have_a_runtime),
		cmocka_unit_test(a_process_under_load_forks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
