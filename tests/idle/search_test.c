/* SPDX-License-Identifier: MIT */
/*
 * tests/idle/search_test.c - a processor without work searches if few others
 * do, spins for about twice its usual gap if that is short, and then sleeps.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "sched/kit.h"
#include "sched/idle.h"
#include "idle/wake.h"
#include "support/skip.h"

enum { PROCS = 6 };

#define SPIN_NS (20 * WF_NS_PER_MS)

static struct wf_group *g;
static struct wf_proc *p; /* the idle one */

static int begin(void **state)
{
	(void)state;
	kit_open(PROCS, 0);
	g = kit.groups;
	p = &kit.procs[1];
	kit_run(1);
	wf_store_rlx(&g->gate_open, true);
	return 0;
}

static int end(void **state)
{
	(void)state;
	kit_close();
	return 0;
}

/* Where there is nothing, the thread sleeps for 1 ms and ends. */
static void expect_nothing(void)
{
	assert_null(wf_idle(&kit.threads[1]));
	assert_true(wf_load_rlx(&g->sleeping) & p->bit);
	assert_int_equal(wf_load_rlx(&g->searching) & p->bit, 0);
	wf_store_rlx(&p->thread, &kit.threads[1]);
	kit_run(1);
}

static uint64_t searches_failed(void)
{
	return wf_load_rlx(&p->counters.steal_fails);
}

/* ------------------------------------------------------------------------ */
/* Searching. */

static void a_searcher_finds_the_tasks_of_others(void **state)
{
	weft_task *oldest = &kit.tasks[kit.next_task];

	(void)state;
	kit_fill(4, 2);
	assert_ptr_equal(wf_idle(&kit.threads[1]), oldest);
	assert_int_equal(wf_load_rlx(&g->searching), 0);
	assert_int_equal(wf_load_rlx(&p->counters.parks), 0);
	assert_int_equal(searches_failed(), 0);
	assert_false(wf_load_rlx(&g->sleeping) & p->bit);
}

/*
 * A searcher waits for a task that is alone, until its holder seems to compute.
 * If it is interrupted at the wrong moment it gives up; so it has some tries.
 */
static void a_searcher_waits_for_a_task_that_is_stuck(void **state)
{
	weft_task *lone = &kit.tasks[kit.next_task], *task = NULL;

	(void)state;
	if (wf_on_valgrind())
		skip_because("on valgrind a round takes too long");
	kit.rt.spin_ns = 0;
	wf_store_rlx(&g->gate_open, false);
	kit_fill(4, 1);
	for (int i = 0; i < 50 && task == NULL; i++) {
		wf_store_rlx(&p->thread, &kit.threads[1]);
		kit_run(1);
		task = wf_idle(&kit.threads[1]);
	}
	assert_ptr_equal(task, lone);
	assert_int_equal(wf_runq_len(&kit.procs[4].runq), 0);
}

/* The last searcher wakes the next, if more tasks are left. */
static void a_searcher_that_found_many_wakes_the_next(void **state)
{
	(void)state;
	kit_fill(4, 20);
	assert_non_null(wf_idle(&kit.threads[1]));
	assert_true(kit_was_woken(0));
	assert_int_equal(kit_woken(), 0);
	kit_empty(p);
	kit_empty(&kit.procs[4]);
	kit_fill(4, 2);
	assert_non_null(wf_idle(&kit.threads[1]));
	assert_int_equal(kit_woken(), 0);
}

/* Half of the group may search; others go to sleep at once. */
static void enough_searchers_stand_for_all(void **state)
{
	uint64_t others = 0x34;

	(void)state;
	assert_int_equal(g->max_searchers, 3);
	wf_store_rlx(&g->searching, others);
	expect_nothing();
	assert_int_equal(wf_load_rlx(&g->searching), others);
	assert_int_equal(wf_load_rlx(&p->counters.search_ns), 0);
	assert_int_equal(searches_failed(), 0);
	/* One less, and it searches. */
	others &= others - 1;
	wf_store_rlx(&g->searching, others);
	expect_nothing();
	assert_int_equal(searches_failed(), 1);
	kit_fill(4, 2);
	assert_non_null(wf_idle(&kit.threads[1]));
	assert_int_equal(wf_load_rlx(&p->counters.parks), 2);
	assert_int_equal(wf_load_rlx(&g->searching), others);
}

/* Its waker has counted it: it searches, whatever the others do. */
static void a_processor_that_was_woken_searches(void **state)
{
	(void)state;
	wf_store_rlx(&g->searching, g->all);
	kit_fill(4, 2);
	assert_non_null(wf_idle(&kit.threads[1]));
	assert_int_equal(wf_load_rlx(&g->searching), g->all & ~p->bit);
}

/* Its waker could not count it: it sleeps again, unless by flare's rule. */
static void one_that_was_woken_in_vain_does_not(void **state)
{
	uint64_t others = 0x34;

	(void)state;
	wf_store_rlx(&g->searching, others);
	kit_fill(4, 2);
	p->woken = true;
	kit_inject(0, 1);
	assert_non_null(wf_idle(&kit.threads[1]));
	assert_int_equal(wf_load_rlx(&g->searching), others);
	assert_int_equal(wf_load_rlx(&p->counters.search_ns), 0);
	assert_int_equal(wf_load_rlx(&p->counters.wakes_futile), 1);
	assert_int_equal(wf_load_rlx(&p->counters.runs_stolen), 0);
	g->policy.wake = WEFT_WAKE_FLARE;
	p->woken = true;
	assert_non_null(wf_idle(&kit.threads[1]));
	assert_int_equal(wf_load_rlx(&p->counters.runs_stolen), 1);
	assert_int_equal(wf_load_rlx(&g->searching), others);
}

static void a_search_in_vain_is_counted(void **state)
{
	(void)state;
	expect_nothing();
	assert_int_equal(searches_failed(), 1);
	assert_int_equal(wf_load_rlx(&p->counters.parks), 1);
}

/* ------------------------------------------------------------------------ */
/* Spinning. */

/*
 * The shortest of some searches: one that nothing has disturbed.  On a machine
 * that is busy there are more, until one is not longer than most_ns.
 */
static int64_t spun_ns(int64_t gap_ns, int64_t most_ns)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < 5 || (i < 200 && best > most_ns); i++) {
		uint64_t before = wf_load_rlx(&p->counters.search_ns);
		int64_t ns;

		p->gap_ns = gap_ns;
		expect_nothing();
		ns = (int64_t)(wf_load_rlx(&p->counters.search_ns) - before);
		if (ns < best)
			best = ns;
	}
	return best;
}

static void expect_spin(int64_t gap_ns, int64_t expected_ns)
{
	int64_t more_ns = wf_on_valgrind() ? WF_NS_PER_S : SPIN_NS / 4;
	int64_t ns = spun_ns(gap_ns, expected_ns + more_ns);

	if (ns < expected_ns || ns > expected_ns + more_ns)
		fail_msg("with gaps of %lld ns it spins for %lld, not %lld ns",
			(long long)gap_ns, (long long)ns,
			(long long)expected_ns);
}

static void it_spins_for_twice_the_gap_it_expects(void **state)
{
	(void)state;
	kit.rt.spin_ns = SPIN_NS;
	expect_spin(0, 0);
	expect_spin(SPIN_NS / 4, SPIN_NS / 2);
	expect_spin(SPIN_NS * 3 / 4, SPIN_NS);
	/* The gap is longer than it may spin: only for a little. */
	expect_spin(SPIN_NS, SPIN_NS / 10);
	expect_spin(50 * SPIN_NS, SPIN_NS / 10);
	/* Another processor spins, or none may. */
	wf_store_rlx(&g->searching, kit.procs[3].bit);
	expect_spin(SPIN_NS / 2, 0);
	wf_store_rlx(&g->searching, 0);
	kit.rt.spin_ns = 0;
	expect_spin(SPIN_NS / 2, 0);
}

/* The mean moves by an eighth towards each gap. */
static void it_learns_how_long_gaps_are(void **state)
{
	(void)state;
	p->gap_ns = 800 * WF_NS_PER_S;
	kit_fill(4, 2);
	assert_non_null(wf_idle(&kit.threads[1]));
	assert_true(p->gap_ns >= 700 * WF_NS_PER_S);
	assert_true(p->gap_ns < 702 * WF_NS_PER_S);
	/* And the clock of the processor is right again. */
	assert_true(
		wf_os_now_ns() - wf_load_rlx(&p->clock_ns) < 10 * WF_NS_PER_S);
}

/* ------------------------------------------------------------------------ */
/* Sleeping, and getting up again. */

struct nap {
	weft_task *task;
	weft_task *got;
};

static void nap(void *arg, unsigned i)
{
	struct nap *n = arg;
	struct wf_batch batch = { 0 };

	if (i == 0) {
		n->got = wf_idle(&kit.threads[1]);
		return;
	}
	while (!(wf_load_rlx(&g->sleeping) & p->bit))
		wf_os_thread_yield();
	wf_batch_add(&batch, n->task);
	wf_inject_push(&g->inject, &batch);
	wf_wake_for_outside(g);
}

static void a_task_from_outside_ends_the_sleep(void **state)
{
	struct nap n = { .task = kit_task() };

	(void)state;
	kit.rt.linger_ns = 100 * WF_NS_PER_S;
	g->all = p->bit;
	wf_store_rlx(&g->sleeping, 0);
	threads_run(2, nap, &n);
	assert_ptr_equal(n.got, n.task);
	assert_int_equal(wf_load_rlx(&g->searching), 0);
	assert_int_equal(wf_load_rlx(&g->sleeping), 0);
	assert_false(p->woken);
}

static void it_ends_when_the_runtime_does(void **state)
{
	(void)state;
	wf_store_rlx(&kit.rt.stopping, true);
	wf_store_rlx(&kit.rt.quit, true);
	assert_null(wf_idle(&kit.threads[1]));
	assert_int_equal(wf_load_rlx(&p->counters.parks), 0);
	/* Tasks that were accepted are run before. */
	kit_run(1);
	kit_inject(0, 1);
	assert_non_null(wf_idle(&kit.threads[1]));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_searcher_finds_the_tasks_of_others),
		TEST(a_searcher_waits_for_a_task_that_is_stuck),
		TEST(a_searcher_that_found_many_wakes_the_next),
		TEST(enough_searchers_stand_for_all),
		TEST(a_processor_that_was_woken_searches),
		TEST(one_that_was_woken_in_vain_does_not),
		TEST(a_search_in_vain_is_counted),
		TEST(it_spins_for_twice_the_gap_it_expects),
		TEST(it_learns_how_long_gaps_are),
		TEST(a_task_from_outside_ends_the_sleep),
		TEST(it_ends_when_the_runtime_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
