/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/park_test.c - no processor sleeps while a task from outside waits
 * for one, and a thread that slept for long ends, except the first.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <weft/weft.h>

#include "base/random.h"
#include "sched/idle.h"
#include "sched/kit.h"
#include "os/child.h"
#include "idle/park.h"
#include "idle/wake.h"
#include "support/skip.h"

enum { ROUNDS = 20000, RT_ROUNDS = 2000 };

#define LOST_NS (20 * WF_NS_PER_S) /* a task that waits this long is lost */

static struct wf_group *g;

static int begin(void **state)
{
	(void)state;
	kit_open(3, 0);
	g = kit.groups;
	return 0;
}

static int end(void **state)
{
	(void)state;
	kit_close();
	return 0;
}

/* Processor i has run, and parks.  True: it goes on. */
static bool park(uint32_t i, bool searched)
{
	kit_run(i);
	return wf_park(&kit.threads[i], searched);
}

/* ------------------------------------------------------------------------ */
/* The last look. */

/* It did not sleep, and is awake. */
static void expect_up(uint32_t i, bool searched)
{
	uint64_t parks = wf_load_rlx(&kit.procs[i].counters.parks);

	assert_true(park(i, searched));
	assert_int_equal(wf_load_rlx(&kit.procs[i].counters.parks), parks);
	assert_false(wf_load_rlx(&g->sleeping) & kit.procs[i].bit);
	assert_false(kit.procs[i].woken);
}

/* It slept until its time was up: the processor has no thread then. */
static void expect_asleep(uint32_t i, bool searched)
{
	uint64_t parks = wf_load_rlx(&kit.procs[i].counters.parks);

	assert_false(park(i, searched));
	assert_int_equal(wf_load_rlx(&kit.procs[i].counters.parks), parks + 1);
	assert_true(wf_load_rlx(&g->sleeping) & kit.procs[i].bit);
	assert_null(wf_load_rlx(&kit.procs[i].thread));
	wf_store_rlx(&kit.procs[i].thread, &kit.threads[i]);
}

/* It slept until its time was up; then it stays, for there is work. */
static void expect_stays(uint32_t i, bool searched)
{
	uint64_t parks = wf_load_rlx(&kit.procs[i].counters.parks);

	assert_true(park(i, searched));
	assert_int_equal(wf_load_rlx(&kit.procs[i].counters.parks), parks + 1);
	assert_false(wf_load_rlx(&g->sleeping) & kit.procs[i].bit);
	assert_ptr_equal(wf_load_rlx(&kit.procs[i].thread), &kit.threads[i]);
}

static void a_task_in_the_global_queue_keeps_it_up(void **state)
{
	(void)state;
	expect_asleep(1, true);
	expect_asleep(1, false);
	kit_inject(0, 1);
	expect_up(1, true);
	expect_up(1, false);
}

/* The bit of a searcher is gone before it sleeps; another's stays. */
static void it_stops_searching_first(void **state)
{
	(void)state;
	wf_store_rlx(&g->searching, kit.procs[1].bit | kit.procs[2].bit);
	expect_asleep(1, true);
	assert_int_equal(wf_load_rlx(&g->searching), kit.procs[2].bit);
	expect_asleep(1, false);
	assert_int_equal(wf_load_rlx(&g->searching), kit.procs[2].bit);
}

/*
 * Tasks that a thief would take keep a searcher up; and any other processor if
 * there is no searcher.
 */
static void tasks_to_steal_keep_a_searcher_up(void **state)
{
	(void)state;
	kit_fill(2, 2);
	expect_asleep(1, true);
	wf_store_rlx(&g->gate_open, true);
	expect_up(1, true);
	expect_up(1, false);
	wf_store_rlx(&g->searching, kit.procs[0].bit);
	expect_stays(1, false);
	wf_store_rlx(&g->gate_open, false);
	wf_store_rlx(&kit.procs[2].push_flags, true);
	expect_up(1, true);
	expect_stays(1, false);
	wf_store_rlx(&g->searching, 0);
	/* A task that is alone stays with its holder. */
	(void)wf_runq_pop(&kit.procs[2].runq);
	expect_asleep(1, true);
}

/* Each searcher and each victim, the first and the last too. */
static void so_with_each_searcher_and_victim(void **state)
{
	enum { PROCS = 3 };

	(void)state;
	for (uint32_t i = 0; i < PROCS * PROCS; i++) {
		uint32_t searcher = i % PROCS, victim = i / PROCS;

		if (searcher == victim)
			continue;
		kit_close();
		kit_open(PROCS, 0);
		g = kit.groups;
		kit_fill(victim, 2);
		wf_store_rlx(&kit.procs[victim].push_flags, true);
		expect_up(searcher, true);
	}
}

static void work_of_another_group_keeps_it_up(void **state)
{
	(void)state;
	kit_close();
	kit_open(4, 2);
	g = kit.groups;
	kit_inject(1, 1);
	expect_up(1, false);
	/* Of three groups, the task of each keeps up each processor. */
	for (uint32_t i = 0; i < 6 * 3; i++) {
		uint32_t proc = i % 6;

		kit_close();
		kit_open(6, 2);
		g = kit.groups;
		kit_inject(i / 6, 1);
		assert_true(park(proc, false));
		assert_false(wf_load_rlx(&kit.procs[proc].group->sleeping) &
			kit.procs[proc].bit);
	}
}

/* ------------------------------------------------------------------------ */
/* Waking up, ending. */

struct waker {
	bool woke, goes_on;
};

static void wake_later(void *arg, unsigned i)
{
	struct waker *w = arg;

	if (i == 1) {
		kit_pause_us(20000);
		/* Not before it sleeps: until then there is no sleeper. */
		while (!(w->woke = wf_wake_one(g)))
			wf_os_thread_yield();
		return;
	}
	w->goes_on = wf_park(&kit.threads[0], false);
}

/* The first thread of a runtime stays, however long it sleeps. */
static void a_processor_that_is_woken_goes_on(void **state)
{
	struct waker w = { 0 };
	struct wf_proc *p = &kit.procs[0];

	(void)state;
	wf_store_rlx(&g->sleeping, 0);
	p->woken = true; /* and had found nothing */
	threads_run(2, wake_later, &w);
	assert_true(w.goes_on);
	assert_true(w.woke);
	assert_true(p->woken);
	assert_int_equal(wf_load_rlx(&kit.threads[0].parker.word), 0);
	assert_int_equal(wf_load_rlx(&g->sleeping), 0);
	assert_int_equal(wf_load_rlx(&g->searching), p->bit);
	assert_int_equal(wf_load_rlx(&p->counters.parks), 1);
	assert_int_equal(wf_load_rlx(&p->counters.wakes), 1);
	assert_int_equal(wf_load_rlx(&p->counters.wakes_futile), 1);
	/* What the wake cost was learned: it was 30 us until then. */
	assert_true(wf_load_rlx(&g->wake_ns) != 30000);
	assert_ptr_equal(wf_load_rlx(&p->thread), &kit.threads[0]);
}

static void it_ends_when_the_runtime_does(void **state)
{
	uint32_t ended = wf_load_rlx(&kit.rt.ended);

	(void)state;
	wf_store_rlx(&kit.rt.stopping, true);
	expect_asleep(1, true);
	assert_true(wf_load_rlx(&kit.rt.ended) != ended);
	wf_store_rlx(&kit.rt.quit, true);
	assert_false(park(0, true));
	assert_int_equal(wf_load_rlx(&kit.procs[0].counters.parks), 0);
}

/* ------------------------------------------------------------------------ */
/* Tasks from outside meet processors going to sleep: none is lost. */

struct traffic {
	size_t rounds;
	_Atomic(size_t) taken;
	_Atomic(bool) over;
	size_t lost;
};

/* A processor takes all that it finds. */
static void commute(struct traffic *t, struct wf_thread *thread)
{
	struct wf_proc *p = thread->proc;

	while (!wf_load_rlx(&t->over)) {
		struct wf_batch out = { 0 };

		(void)wf_inject_take(&g->inject, 8, &out);
		wf_add_rlx(&t->taken, out.count);
		if (out.count > 0) {
			(void)wf_and_rlx(&g->searching, ~p->bit);
			continue;
		}
		if (!wf_park(thread, true))
			break;
	}
}

/* False: it takes too long. */
static bool await(struct traffic *t, size_t n)
{
	int64_t since = threads_now_ns();

	while (wf_load_rlx(&t->taken) < n) {
		if (threads_now_ns() - since > LOST_NS)
			return false;
		wf_os_thread_yield();
	}
	return true;
}

static void send_some(struct traffic *t)
{
	struct wf_random random;

	wf_random_seed(&random, threads_seed());
	for (size_t n = 0; n < t->rounds && t->lost == 0; n++) {
		kit_inject(0, 1);
		wf_wake_for_outside(g);
		t->lost += !await(t, n + 1);
		for (uint32_t k = wf_random_below(&random, 3000); k > 0; k--)
			(void)wf_load_rlx(&t->taken);
	}
	wf_store_rlx(&t->over, true);
	wf_store_rlx(&kit.rt.stopping, true);
	wf_store_rlx(&kit.rt.quit, true);
	wf_fence_seq();
	while (wf_wake_one(g))
		continue;
}

static void traffic_run(void *arg, unsigned i)
{
	if (i == 2)
		send_some(arg);
	else
		commute(arg, &kit.threads[i]);
}

static void no_task_from_outside_is_lost(void **state)
{
	struct traffic t = { .rounds = threads_rounds(ROUNDS) };

	(void)state;
	(void)threads_seed();
	kit.rt.linger_ns = WF_NS_PER_S * 100;
	/* No thread runs processor 2: it seems to run a task for ever. */
	wf_store_rlx(&g->sleeping, 0);
	g->all = 3;
	threads_run(3, traffic_run, &t);
	assert_int_equal(t.lost, 0);
	assert_int_equal(wf_load_rlx(&t.taken), t.rounds);
	assert_true(wf_load_rlx(&kit.procs[0].counters.parks) > 0);
}

/* ------------------------------------------------------------------------ */
/* A runtime, whose threads come and go. */

static _Atomic(size_t) ran;

static void count_run(weft_task *task)
{
	(void)task;
	/* [pair: test.ran] The task is the test's again. */
	wf_add_rel(&ran, 1);
}

static void every_task_runs_however_short_threads_live(void **state)
{
	size_t rounds = threads_rounds(RT_ROUNDS), lost = 0;
	static weft_task tasks[2];
	struct wf_random random;
	weft_rt *rt;

	(void)state;
	wf_random_seed(&random, threads_seed());
	assert_int_equal(weft_rt_start(&rt, &(weft_config){ .workers = 3 }), 0);
	rt->linger_ns = 200 * WF_NS_PER_US;
	wf_store_rlx(&ran, 0);
	for (size_t n = 0; n < rounds && !lost; n++) {
		int64_t since = threads_now_ns();

		for (int i = 0; i < 2; i++) {
			tasks[i].run = count_run;
			assert_int_equal(weft_submit(weft_rt_executor(rt),
						 &tasks[i], WEFT_HINT_DEFAULT),
				0);
		}
		/* [pair: test.ran] */
		while (wf_load_acq(&ran) < 2 * (n + 1) && !lost) {
			lost = threads_now_ns() - since > LOST_NS;
			wf_os_thread_yield();
		}
		kit_pause_us(wf_random_below(&random, 500));
	}
	assert_int_equal(lost, 0);
	assert_int_equal(weft_rt_stop(rt, WEFT_FOREVER), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

/* ------------------------------------------------------------------------ */
/* What it must not do. */

static void park_on_a_task(void *arg)
{
	kit_fill(1, 1);
	(void)park(1, arg != NULL);
}

/* Thieves do not look into the queues of a sleeper. */
static void to_sleep_on_a_task_is_found(void **state)
{
	struct child c;

	(void)state;
	if (!WF_DEBUGGING)
		skip_because("only debug builds of the library look");
	child_run(&c, park_on_a_task, NULL);
	assert_true(child_killed_by(&c, SIGABRT));
	assert_non_null(strstr(c.text, "processor 1 falls asleep with 1 task"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_task_in_the_global_queue_keeps_it_up),
		TEST(it_stops_searching_first),
		TEST(tasks_to_steal_keep_a_searcher_up),
		TEST(so_with_each_searcher_and_victim),
		TEST(work_of_another_group_keeps_it_up),
		TEST(a_processor_that_is_woken_goes_on),
		TEST(it_ends_when_the_runtime_does),
		TEST(no_task_from_outside_is_lost),
		cmocka_unit_test(every_task_runs_however_short_threads_live),
		TEST(to_sleep_on_a_task_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
