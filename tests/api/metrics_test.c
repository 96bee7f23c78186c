/* SPDX-License-Identifier: MIT */
/*
 * tests/api/metrics_test.c - the metrics of a runtime at rest add up: to what
 * was run, by source, by processor, and from the first fiber to the last.
 */
#include "api/api.h"

#include <weft/weft.h>

/* Every field is a uint64_t, so a struct is a row of them. */
enum { FIGURES = sizeof(weft_metrics) / sizeof(uint64_t) };

static weft_metrics total(weft_rt *rt)
{
	weft_metrics m;

	memset(&m, 0xA5, sizeof(m));
	assert_int_equal(weft_metrics_read(rt, &m, sizeof(m)), 0);
	return m;
}

static uint64_t runs(const weft_metrics *m)
{
	return m->runs_lifo + m->runs_local + m->runs_global + m->runs_stolen;
}

static bool all_counted(weft_rt *rt, uint64_t ticks)
{
	weft_metrics m = total(rt);

	return m.ticks >= ticks && runs(&m) >= ticks && m.spawned == m.finished;
}

/*
 * A figure is exact once its processor rests: wait until the count is there,
 * and see that it stays.
 */
static weft_metrics at_rest(weft_rt *rt, uint64_t ticks)
{
	weft_metrics m;

	await(all_counted(rt, ticks));
	nap_ns(20 * NS_PER_MS);
	m = total(rt);
	assert_int_equal(m.ticks, ticks);
	assert_int_equal(runs(&m), ticks);
	assert_int_equal(m.spawned, m.finished);
	assert_int_equal(m.fibers, 0);
	assert_true(m.stolen >= m.steals);
	assert_true(m.runs_stolen >= m.steals);
	assert_true(m.wakes_futile <= m.wakes);
	assert_true(m.runs_inline <= m.runs_local);
	return m;
}

/* ------------------------------------------------------------------------ */
/* Known counts. */

enum { TASKS = 3000 };

static weft_task tasks[TASKS];
static weft_group group;

static void finish_task(weft_task *self)
{
	(void)self;
	weft_group_done(&group);
}

static void submit_tasks(weft_executor *e, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		tasks[i].run = finish_task;
		expect_eq(weft_submit(e, &tasks[i], (weft_hint)(i % 3)), 0);
	}
}

static void tasks_and_fibers_are_counted(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++) {
		weft_rt *rt = rt_workers(workers);
		weft_metrics m = total(rt);

		assert_int_equal(m.ticks, 0);
		assert_int_equal(m.spawned, 0);
		weft_group_add(&group, TASKS + 1000);
		submit_tasks(weft_rt_executor(rt), TASKS);
		for (size_t i = 0; i < 1000; i++)
			assert_int_equal(weft_rt_go(rt, one_done, &group), 0);
		assert_int_equal(weft_group_wait(&group, PATIENCE), 0);
		m = at_rest(rt, TASKS + 1000);
		assert_int_equal(m.spawned, 1000);
		assert_int_equal(m.runs_inline, 0);
		assert_true(m.runs_global > 0 && m.grabs > 0);
		assert_true(m.threads >= 1);
		rt_end(rt);
		assert_expected();
	}
}

/* Each resumption is one more run; a child run inside its join is none. */
enum { SLEEPERS = 10, NAPS = 100 };

static struct {
	struct baton batons[SLEEPERS];
	_Atomic(unsigned) left;
} nap;

static void *take_naps(void *arg)
{
	struct baton *b = arg;
	struct weft_awaiter *a = &b->awaiter;

	a->commit = baton_commit;
	for (size_t i = 0; i < NAPS; i++)
		expect_eq(weft_suspend(a), 0);
	atomic_fetch_sub(&nap.left, 1);
	return arg;
}

static void wake_sleepers(void)
{
	int64_t give_up = PATIENCE;

	while (atomic_load(&nap.left) > 0 && weft_now() < give_up) {
		for (size_t i = 0; i < SLEEPERS; i++)
			if (atomic_load(&nap.batons[i].word) > BATON_DOWN)
				baton_put(&nap.batons[i], (weft_hint)(i % 3));
		nap_ns(10 * NS_PER_US);
	}
}

static void every_resumption_is_counted(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		weft_rt *rt = rt_workers(workers);
		weft_fiber *fibers[SLEEPERS];
		weft_metrics m;

		atomic_store(&nap.left, SLEEPERS);
		for (size_t i = 0; i < SLEEPERS; i++)
			assert_int_equal(weft_rt_spawn(rt, &fibers[i], NULL,
						 take_naps, &nap.batons[i]),
				0);
		wake_sleepers();
		for (size_t i = 0; i < SLEEPERS; i++)
			assert_int_equal(
				weft_join(fibers[i], NULL, PATIENCE), 0);
		m = at_rest(rt, SLEEPERS * (1 + NAPS));
		assert_int_equal(m.spawned, SLEEPERS);
		assert_true(m.switches >= 1);
		rt_end(rt);
		assert_expected();
	}
}

static void *join_children(void *arg)
{
	for (size_t i = 0; i < 1000; i++) {
		weft_fiber *f;

		expect_eq(weft_spawn(&f, NULL, echo, NULL), 0);
		expect_eq(weft_join(f, NULL, WEFT_FOREVER), 0);
	}
	return arg;
}

/* One worker: no child that the joiner runs itself resumes the joiner. */
static void inline_runs_are_counted(void **state)
{
	const weft_config cfg = { .workers = 1, .coop_budget = 1000000 };
	weft_rt *rt = rt_begin(&cfg);
	weft_metrics m;
	weft_fiber *f;

	(void)state;
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, join_children, NULL), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	await(all_counted(rt, 0));
	m = total(rt);
	assert_true(m.runs_inline > 0);
	m = at_rest(rt, 1001 + (1000 - m.runs_inline));
	assert_int_equal(m.spawned, 1001);
	printf("%" PRIu64 " of 1000 inline\n", m.runs_inline);
	rt_end(rt);
	assert_expected();
}

static void live_fibers_are_counted(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	for (size_t i = 0; i < SLEEPERS; i++) {
		weft_fiber *f;

		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, take_naps, &nap.batons[i]),
			0);
		weft_detach(f);
	}
	assert_int_equal(total(rt).fibers, SLEEPERS);
	assert_int_equal(total(rt).spawned, SLEEPERS);
	assert_int_equal(total(rt).finished, 0);
	atomic_store(&nap.left, SLEEPERS);
	wake_sleepers();
	at_rest(rt, SLEEPERS * (1 + NAPS));
	rt_end(rt);
	assert_expected();
}

/* ------------------------------------------------------------------------ */
/* Where tasks came from. */

/* Start n fibers, n being *arg. */
static void *start_some(void *arg)
{
	size_t n = *(size_t *)arg;

	weft_group_add(&group, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		expect_eq(weft_go(one_done, &group), 0);
	return arg;
}

/* Run start_some and its fibers; the metrics at rest. */
static weft_metrics run_some(weft_rt *rt, size_t n)
{
	weft_fiber *f;

	assert_int_equal(weft_rt_spawn(rt, &f, NULL, start_some, &n), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_int_equal(weft_group_wait(&group, PATIENCE), 0);
	return at_rest(rt, n + 1);
}

static void a_full_queue_is_offloaded(void **state)
{
	const weft_config cfg = { .workers = 1, .local_capacity = 8 };
	weft_rt *rt = rt_begin(&cfg);
	weft_metrics m = run_some(rt, 1000);

	(void)state;
	/* What the queue cannot hold goes in halves of a queue. */
	assert_true(m.offloads >= 100);
	assert_true(m.runs_global > 0 && m.grabs > 0);
	assert_int_equal(m.runs_stolen, 0);
	assert_int_equal(m.steals, 0);
	rt_end(rt);
	assert_expected();
}

static void what_fits_stays_local(void **state)
{
	weft_rt *rt = rt_workers(1);
	weft_metrics m = run_some(rt, 200);

	(void)state;
	assert_int_equal(m.offloads, 0);
	assert_int_equal(m.runs_global, 1);
	assert_int_equal(m.runs_local + m.runs_lifo, 200);
	rt_end(rt);
	assert_expected();
}

static void *spawn_next(void *arg)
{
	weft_fiber_attr attr = { .hint = WEFT_HINT_NEXT };

	for (size_t i = 0; i < 100; i++) {
		weft_fiber *f;

		expect_eq(weft_spawn(&f, &attr, echo, NULL), 0);
		weft_detach(f);
		weft_yield();
	}
	return arg;
}

static void the_slot_is_counted(void **state)
{
	weft_rt *rt = rt_workers(1);
	weft_metrics m;
	weft_fiber *f;

	(void)state;
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, spawn_next, NULL), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	m = at_rest(rt, 1 + 2 * 100);
	assert_true(m.runs_lifo >= 50 && m.runs_lifo <= 100);
	rt_end(rt);
	assert_expected();
}

/* Coarse tasks: a second worker is worth its while, sooner or later. */
static void work_a_while(void *arg)
{
	int64_t until = weft_after(200 * NS_PER_US);

	while (weft_now() < until)
		;
	weft_group_done(arg);
}

static void *spawn_coarse(void *arg)
{
	weft_group_add(&group, 64);
	for (size_t i = 0; i < 64; i++)
		expect_eq(weft_go(work_a_while, &group), 0);
	return arg;
}

static void help_is_counted(void **state)
{
	weft_rt *rt = rt_workers(2);
	int64_t give_up = PATIENCE;
	uint64_t n = 0;
	weft_metrics m;
	weft_fiber *f;

	(void)state;
	do {
		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, spawn_coarse, NULL), 0);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_int_equal(weft_group_wait(&group, PATIENCE), 0);
		m = at_rest(rt, ++n * 65);
	} while (m.steals == 0 && weft_now() < give_up);
	assert_true(m.steals > 0);
	assert_true(m.runs_stolen > 0 && m.stolen > 0);
	assert_true(m.wakes > 0);
	assert_true(m.parks > 0);
	rt_end(rt);
	assert_expected();
}

/* ------------------------------------------------------------------------ */
/* Processors, delays, sizes. */

enum { WORKERS = 3 };

/* Which figure is not the sum of those of the processors?  FIGURES: none. */
static size_t not_the_sum(weft_rt *rt)
{
	uint64_t sum[FIGURES] = { 0 }, all[FIGURES], one[FIGURES];
	weft_metrics m = total(rt);
	size_t i;

	/* Figures of an outside thread, and those that no processor has. */
	m.spawned -= 1;
	m.fibers = 1000;
	memcpy(all, &m, sizeof(all));
	for (unsigned p = 0; p < WORKERS; p++) {
		assert_int_equal(weft_metrics_proc(rt, p, &m, sizeof(m)), 0);
		assert_int_equal(runs(&m), m.ticks);
		memcpy(one, &m, sizeof(one));
		for (i = 0; i < FIGURES; i++)
			sum[i] += one[i];
	}
	i = offsetof(weft_metrics, threads) / sizeof(uint64_t);
	sum[i] = all[i];
	i = offsetof(weft_metrics, search_ns) / sizeof(uint64_t);
	sum[i] = all[i];
	for (i = 0; i < FIGURES && sum[i] == all[i]; i++)
		continue;
	return i;
}

static void totals_are_the_sums_of_processors(void **state)
{
	const weft_config cfg = { .workers = WORKERS, .local_capacity = 16 };
	weft_rt *rt = rt_begin(&cfg);
	size_t wrong = 0;
	weft_metrics m;

	(void)state;
	(void)run_some(rt, 1000);
	/* Its threads may be slow to go to sleep, which is counted too. */
	for (int i = 0; i < 50 && wrong != FIGURES; i++) {
		wrong = not_the_sum(rt);
		nap_ns(NS_PER_MS);
	}
	if (wrong != FIGURES)
		fail_msg("figure %zu is not the sum", wrong);
	assert_int_equal(
		weft_metrics_proc(rt, WORKERS, &m, sizeof(m)), -EINVAL);
	assert_int_equal(
		weft_metrics_proc(rt, UINT32_MAX, &m, sizeof(m)), -EINVAL);
	rt_end(rt);
	assert_expected();
}

static uint64_t delays(const weft_metrics *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < WEFT_DELAY_BUCKETS; i++)
		n += m->delay[i];
	return n;
}

static void *yield_often(void *arg)
{
	for (size_t i = 0; i < 1000; i++)
		weft_yield();
	return arg;
}

/* All begin before any goes on, so each has a fiber to give way to. */
static void *yielders(void *arg)
{
	weft_fiber *fibers[4] = { NULL };

	for (size_t i = 0; i < 4; i++)
		expect_eq(weft_spawn(&fibers[i], NULL, yield_often, NULL), 0);
	weft_yield();
	for (size_t i = 0; i < 4; i++)
		expect_eq(weft_join(fibers[i], NULL, WEFT_FOREVER), 0);
	return arg;
}

static void delays_are_sampled(void **state)
{
	weft_rt *rt = rt_workers(1);
	weft_metrics m;
	weft_fiber *f;

	(void)state;
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, yielders, NULL), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	m = total(rt);
	assert_true(m.ticks >= 4000);
	/* Samples are random, so not exactly one in 61. */
	assert_true(delays(&m) >= m.ticks / 61 / 2);
	assert_true(delays(&m) <= m.ticks);
	rt_end(rt);
	assert_expected();
}

struct newer {
	weft_metrics known;
	uint64_t more[4];
};

static void any_size_of_struct_will_do(void **state)
{
	weft_rt *rt = rt_workers(1);
	struct newer m, before;
	weft_metrics *p = &m.known;

	(void)state;
	weft_group_add(&group, 100);
	submit_tasks(weft_rt_executor(rt), 100);
	assert_int_equal(weft_group_wait(&group, PATIENCE), 0);
	at_rest(rt, 100);
	memset(&before, 0xA5, sizeof(before));

	m = before;
	assert_int_equal(weft_metrics_read(rt, p, 0), -EINVAL);
	assert_int_equal(weft_metrics_proc(rt, 0, p, 0), -EINVAL);
	assert_memory_equal(&m, &before, sizeof(m));

	for (size_t size = 8; size <= sizeof(weft_metrics); size += 8) {
		m = before;
		assert_int_equal(weft_metrics_read(rt, p, size), 0);
		assert_int_equal(m.known.fibers, 0);
		assert_memory_equal((char *)&m + size, (char *)&before + size,
			sizeof(m) - size);
	}
	assert_int_equal(m.known.ticks, 100);

	m = before;
	assert_int_equal(weft_metrics_read(rt, p, sizeof(m)), 0);
	assert_int_equal(m.known.ticks, 100);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(m.more[i], 0);
	m = before;
	assert_int_equal(weft_metrics_proc(rt, 0, p, sizeof(m)), 0);
	assert_int_equal(m.known.ticks, 100);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(m.more[i], 0);
	rt_end(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_and_fibers_are_counted),
		cmocka_unit_test(every_resumption_is_counted),
		cmocka_unit_test(inline_runs_are_counted),
		cmocka_unit_test(live_fibers_are_counted),
		cmocka_unit_test(a_full_queue_is_offloaded),
		cmocka_unit_test(what_fits_stays_local),
		cmocka_unit_test(the_slot_is_counted),
		cmocka_unit_test(help_is_counted),
		cmocka_unit_test(totals_are_the_sums_of_processors),
		cmocka_unit_test(delays_are_sampled),
		cmocka_unit_test(any_size_of_struct_will_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
