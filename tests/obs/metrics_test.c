/* SPDX-License-Identifier: MIT */
/*
 * tests/obs/metrics_test.c - a caller gets as much of weft_metrics as both
 * sides know; the figures of the processors add up to the totals, and the runs
 * by source to the ticks, also while they are counted.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "os/os.h"
#include "sched/runtime.h"
#include "stress/sched_kit.h"

enum { PROCS = 3 };

/* Counters set by hand, in a runtime that has nothing to do. */
static void set_counters(weft_rt *rt)
{
	for (uint64_t i = 0; i < PROCS; i++) {
		struct wf_counters *c = &rt->procs[i].counters;

		wf_store_rlx(&c->ticks, 1000 << i);
		wf_store_rlx(&c->runs_lifo, 100 << i);
		wf_store_rlx(&c->runs_global, 10 << i);
		wf_store_rlx(&c->runs_stolen, 1 << i);
		wf_store_rlx(&c->spawned, 7 << i);
		wf_store_rlx(&c->finished, 7 << i);
		wf_store_rlx(&c->search_ns, 50 << i);
		for (uint64_t j = 0; j < WEFT_DELAY_BUCKETS; j++)
			wf_store_rlx(&c->delay[j], (j + 1) << i);
	}
}

#define COUNTER(name)                                                      \
	{                                                                  \
		offsetof(struct wf_counters, name),                        \
		offsetof(weft_metrics, name)                               \
	}

/* Each counter of a processor, but for ticks, and the metric that tells it. */
static const struct {
	size_t from, to;
} counters[] = {
	COUNTER(runs_lifo), COUNTER(runs_global), COUNTER(runs_stolen),
	COUNTER(runs_inline), COUNTER(spawned), COUNTER(finished),
	COUNTER(switches), COUNTER(steals), COUNTER(stolen),
	COUNTER(steal_fails), COUNTER(offloads), COUNTER(grabs), COUNTER(parks),
	COUNTER(wakes), COUNTER(wakes_futile), COUNTER(search_ns),
	COUNTER(overflows),
};

static _Atomic(uint64_t) *counter(weft_rt *rt, size_t i)
{
	char *c = (char *)&rt->procs[0].counters;

	return (_Atomic(uint64_t) *)(c + counters[i].from);
}

static void each_counter_is_told(void **state)
{
	const size_t n = sizeof(counters) / sizeof(*counters);
	weft_config cfg = { .workers = 1, .spin_ns = -1 };
	weft_rt *rt = kit_start(&cfg);
	weft_metrics m;
	uint64_t told;

	(void)state;
	while (wf_load_rlx(&rt->groups->sleeping) != rt->groups->all)
		wf_os_thread_yield();
	for (size_t i = 0; i < n; i++) {
		wf_store_rlx(counter(rt, i), UINT64_C(1000) << i);
		assert_int_equal(weft_metrics_proc(rt, 0, &m, sizeof(m)), 0);
		memcpy(&told, (char *)&m + counters[i].to, sizeof(told));
		assert_int_equal(told, UINT64_C(1000) << i);
		/* No tick is counted: each run is from elsewhere. */
		assert_int_equal(m.runs_local, 0);
	}
	/* As many fibers have ended as were started: rt can stop. */
	for (size_t i = 0; i < n; i++)
		wf_store_rlx(counter(rt, i), 1);
	wf_store_rlx(&rt->outside.overflows, 2);
	wf_store_rlx(&rt->thread_fails, 4);
	assert_int_equal(weft_metrics_read(rt, &m, sizeof(m)), 0);
	assert_int_equal(m.overflows, 3);
	assert_int_equal(m.thread_fails, 4);
	kit_stop(rt);
}

static void figures_add_up(void **state)
{
	weft_config cfg = { .workers = PROCS, .spin_ns = -1 };
	weft_rt *rt = kit_start(&cfg);
	weft_metrics all, one, sum = { 0 };

	(void)state;
	/* The first processor's thread goes to sleep first. */
	while (wf_load_rlx(&rt->groups->sleeping) != rt->groups->all)
		wf_os_thread_yield();
	set_counters(rt);
	kit_metrics(rt, &all);
	for (unsigned i = 0; i < PROCS; i++) {
		assert_int_equal(
			weft_metrics_proc(rt, i, &one, sizeof(one)), 0);
		assert_int_equal(one.ticks, 1000 << i);
		assert_int_equal(one.runs_local, 889 << i);
		assert_int_equal(one.fibers, one.spawned);
		sum.ticks += one.ticks;
		sum.spawned += one.spawned;
		sum.threads += one.threads;
		sum.delay[WEFT_DELAY_BUCKETS - 1] +=
			one.delay[WEFT_DELAY_BUCKETS - 1];
	}
	assert_int_equal(all.ticks, sum.ticks);
	assert_int_equal(all.ticks,
		all.runs_lifo + all.runs_local + all.runs_global +
			all.runs_stolen);
	assert_int_equal(all.spawned, sum.spawned);
	assert_int_equal(all.threads, sum.threads);
	assert_int_equal(all.delay[0], 7);
	assert_int_equal(all.delay[WEFT_DELAY_BUCKETS - 1],
		sum.delay[WEFT_DELAY_BUCKETS - 1]);
	assert_int_equal(all.fibers, 0);
	assert_int_equal(all.search_ns, 350);
	assert_int_equal(
		weft_metrics_proc(rt, PROCS, &one, sizeof(one)), -EINVAL);
	kit_stop(rt);
}

static void any_size_is_served(void **state)
{
	enum { MORE = 40, BYTES = sizeof(weft_metrics) + MORE };
	static uint64_t words[BYTES / sizeof(uint64_t) + 1];
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	uint8_t *out = (uint8_t *)words;
	weft_metrics full;

	(void)state;
	assert_int_equal(
		weft_metrics_read(rt, (weft_metrics *)words, 0), -EINVAL);
	assert_int_equal(
		weft_metrics_proc(rt, 0, (weft_metrics *)words, 0), -EINVAL);
	/* It counts that it sleeps after it has said so. */
	while (wf_load_rlx(&rt->procs->counters.parks) == 0)
		wf_os_thread_yield();
	wf_store_rlx(&rt->procs->counters.ticks, UINT64_MAX);
	for (size_t size = 1; size < BYTES; size += 3) {
		size_t known = wf_min_size(size, sizeof(full));

		memset(words, 0xa5, sizeof(words));
		kit_metrics(rt, &full);
		assert_int_equal(
			weft_metrics_read(rt, (weft_metrics *)words, size), 0);
		assert_memory_equal(out, &full, known);
		for (size_t i = known; i < sizeof(words); i++)
			assert_int_equal(out[i], i < size ? 0 : 0xa5);
	}
	kit_stop(rt);
}

/* ------------------------------------------------------------------------ */
/* While they are counted. */

static _Atomic(bool) over;

static void *same(void *arg)
{
	return arg;
}

/* Only through the slot, so that nothing else hides a slip. */
static void *busy(void *arg)
{
	weft_fiber_attr next = { .hint = WEFT_HINT_NEXT };

	while (!wf_load_rlx(&over)) {
		weft_fiber *f;

		kit_expect(weft_spawn(&f, &next, same, arg) == 0);
		weft_yield();
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	}
	return arg;
}

static void no_figure_goes_below_zero(void **state)
{
	weft_config cfg = { .workers = 1 };
	weft_rt *rt = kit_start(&cfg);
	int64_t until = threads_until_ns(300);
	uint64_t wrong = 0, looks = 0;
	weft_fiber *f;

	(void)state;
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, busy, NULL), 0);
	for (; threads_now_ns() < until; looks++) {
		weft_metrics m;

		kit_metrics(rt, &m);
		wrong += m.runs_local > m.ticks || (int64_t)m.fibers < 0;
	}
	wf_store_rlx(&over, true);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	kit_stop(rt);
	if (wrong != 0)
		fail_msg("%" PRIu64 " of %" PRIu64 " looks", wrong, looks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_counter_is_told),
		cmocka_unit_test(figures_add_up),
		cmocka_unit_test(any_size_is_served),
		cmocka_unit_test(no_figure_goes_below_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
