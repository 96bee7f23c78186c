/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_conserve_test.c - no worker sleeps for longer than the
 * stated bound while there is something that it could run (R2.10).
 *
 *	meetings	as many fibers as workers wait for each other by
 *			spinning: all of them must be running at once
 *	delays		a task that is ready behind a fiber that computes is
 *			started by another worker within 3 ms, in any queue,
 *			also if the other workers are of another group
 *	bursts		many submits have all workers running, and do not wake
 *			more workers than there are
 *	sharing		many short tasks of one fiber are not left to its worker
 *	pairs		two fibers that compute and give way run at once
 *
 * The machine may have other things to do, so a single delay may be long; the
 * median may not.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sched.h>

#include "stress/sched_kit.h"
#include "support/skip.h"

enum { WORKERS_MAX = 16 };

#define BOUND_NS (3 * WF_NS_PER_MS)
#define WORST_NS (500 * WF_NS_PER_MS)
#define GIVE_UP_NS ((kit_slow() ? 40 : 5) * WF_NS_PER_S)

/* Workers, and in groups of how many; 0: one group. */
struct shape {
	uint32_t workers, group_size;
};

/* Sometimes long enough for a worker to park, sometimes not. */
static void pause_a_little(struct wf_random *random)
{
	if (wf_random_below(random, 4) != 0)
		kit_pause_us(wf_random_below(random, 2000));
}

/* ------------------------------------------------------------------------ */
/* Meetings. */

enum { MEETINGS = 25 };

static struct meeting {
	weft_rt *rt;
	unsigned wanted;
	int64_t until_ns;
	_Atomic(unsigned) here;
	_Atomic(unsigned) beds, asleep;
	weft_group ended;
	weft_fiber *sleeper[WORKERS_MAX];
	weft_task task[WORKERS_MAX];
	weft_hint hint; /* of the wakes */
} meeting;

/* Go on when all are here.  sched_yield: threads share the CPUs. */
static void meet(void *arg)
{
	(void)arg;
	wf_add_rlx(&meeting.here, 1);
	while (wf_load_rlx(&meeting.here) < meeting.wanted) {
		if (threads_now_ns() > meeting.until_ns) {
			kit_expect(!"all that are ready run at once");
			break;
		}
		sched_yield();
	}
	weft_group_done(&meeting.ended);
}

static void meet_as_task(weft_task *task)
{
	meet(task);
}

static void meet_after_yields(void *arg)
{
	weft_yield();
	weft_yield();
	meet(arg);
}

static bool fall_asleep(struct weft_awaiter *a, weft_fiber *self)
{
	(void)a;
	meeting.sleeper[wf_add_rlx(&meeting.beds, 1)] = self;
	/* The waker, which counts them, must see sleeper. */
	wf_add_rel(&meeting.asleep, 1);
	return true;
}

static void meet_when_woken(void *arg)
{
	struct weft_awaiter a = { .commit = fall_asleep };

	kit_expect(weft_suspend(&a) == 0);
	meet(arg);
}

/* The ways to start a meeting, each in a fiber or outside of one. */

/* It starts all but one, and takes part itself. */
static void start_and_meet(void *arg)
{
	for (unsigned i = 1; i < meeting.wanted; i++)
		kit_expect(weft_go(meet, NULL) == 0);
	meet(arg);
}

static void start_tasks_and_meet(void *arg)
{
	weft_executor *e = weft_rt_executor(meeting.rt);

	for (unsigned i = 1; i < meeting.wanted; i++) {
		meeting.task[i].run = meet_as_task;
		kit_expect(weft_submit(e, &meeting.task[i], meeting.hint) == 0);
	}
	meet(arg);
}

static void start_yielders_and_meet(void *arg)
{
	for (unsigned i = 1; i < meeting.wanted; i++)
		kit_expect(weft_go(meet_after_yields, NULL) == 0);
	meet_after_yields(arg);
}

static void wake_and_meet(void *arg)
{
	for (unsigned i = 1; i < meeting.wanted; i++)
		kit_expect(weft_go(meet_when_woken, NULL) == 0);
	while (wf_load_acq(&meeting.asleep) < meeting.wanted - 1)
		weft_yield();
	/* Some time for the other workers to park. */
	kit_pause_us(300);
	for (unsigned i = 1; i < meeting.wanted; i++)
		weft_wake(meeting.sleeper[i - 1], meeting.hint);
	meet(arg);
}

static void start_from_outside(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < meeting.wanted; i++)
		kit_expect(weft_rt_go(meeting.rt, meet, NULL) == 0);
}

static void hold_meeting(void (*begin)(void *), bool outside)
{
	meeting.until_ns = threads_now_ns() + GIVE_UP_NS;
	wf_store_rlx(&meeting.here, 0);
	wf_store_rlx(&meeting.beds, 0);
	wf_store_rlx(&meeting.asleep, 0);
	weft_group_add(&meeting.ended, meeting.wanted);
	if (outside)
		begin(NULL);
	else
		assert_int_equal(weft_rt_go(meeting.rt, begin, NULL), 0);
	assert_int_equal(weft_group_wait(&meeting.ended, WEFT_FOREVER), 0);
	kit_settle();
	kit_watch();
}

static void hold_meetings(void (*begin)(void *), bool outside, weft_hint hint)
{
	static const struct shape shapes[] = { { 2, 0 }, { 3, 0 }, { 8, 0 },
		{ 16, 0 }, { 2, 1 }, { 8, 2 } };
	struct wf_random random;

	wf_random_seed(&random, threads_seed());
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		weft_config cfg = { .workers = shapes[i].workers,
			.group_size = shapes[i].group_size };
		int64_t began = threads_now_ns();

		meeting = (struct meeting){ .wanted = cfg.workers };
		meeting.hint = hint;
		meeting.rt = kit_start(&cfg);
		for (size_t n = kit_rounds(MEETINGS); n > 0; n--) {
			hold_meeting(begin, outside);
			pause_a_little(&random);
		}
		kit_stop(meeting.rt);
		printf("%2u workers, groups of %u: %.1f ms\n", cfg.workers,
			cfg.group_size ? cfg.group_size : cfg.workers,
			(double)(threads_now_ns() - began) / 1e6);
	}
}

static void fibers_that_one_fiber_starts_run_at_once(void **state)
{
	(void)state;
	hold_meetings(start_and_meet, false, WEFT_HINT_DEFAULT);
}

static void tasks_that_one_fiber_submits_run_at_once(void **state)
{
	(void)state;
	hold_meetings(start_tasks_and_meet, false, WEFT_HINT_DEFAULT);
	hold_meetings(start_tasks_and_meet, false, WEFT_HINT_NEXT);
	hold_meetings(start_tasks_and_meet, false, WEFT_HINT_YIELD);
}

static void yielding_fibers_run_at_once(void **state)
{
	(void)state;
	hold_meetings(start_yielders_and_meet, false, WEFT_HINT_DEFAULT);
}

static void fibers_that_one_fiber_wakes_run_at_once(void **state)
{
	(void)state;
	hold_meetings(wake_and_meet, false, WEFT_HINT_DEFAULT);
	hold_meetings(wake_and_meet, false, WEFT_HINT_NEXT);
	hold_meetings(wake_and_meet, false, WEFT_HINT_YIELD);
}

static void fibers_from_outside_run_at_once(void **state)
{
	(void)state;
	hold_meetings(start_from_outside, true, WEFT_HINT_DEFAULT);
}

/* ------------------------------------------------------------------------ */
/* Delays. */

enum { SAMPLES = 200 };

static struct delays {
	weft_executor *executor;
	weft_fiber_attr attr;
	struct wf_random random;
	weft_task task;
	weft_fiber *sleeper;
	_Atomic(bool) asleep;
	_Atomic(int64_t) ready_ns, started_ns;
	int64_t ns[SAMPLES];
	_Atomic(size_t) n;
	size_t wanted;
	weft_group ended;
} delays;

static void started(void)
{
	/* The task is its owner's again once the owner sees this. */
	wf_store_rel(&delays.started_ns, threads_now_ns());
}

static void *started_as_fiber(void *arg)
{
	started();
	return arg;
}

static void started_as_task(weft_task *task)
{
	(void)task;
	started();
}

/* Compute until another worker has started the ready task. */
static void compute(void)
{
	int64_t until = threads_now_ns() + GIVE_UP_NS, ns;

	while ((ns = wf_load_acq(&delays.started_ns)) == 0)
		if (threads_now_ns() > until)
			break;
	kit_expect(ns != 0);
	if (ns == 0)
		ns = until;
	delays.ns[wf_load_rlx(&delays.n)] = ns - wf_load_rlx(&delays.ready_ns);
	wf_add_rel(&delays.n, 1);
}

static void be_ready(void)
{
	wf_store_rlx(&delays.started_ns, 0);
	wf_store_rlx(&delays.ready_ns, threads_now_ns());
}

/* The fibers that compute: each makes a task ready, then calls nothing. */

static void spawn_and_compute(void *arg)
{
	weft_fiber *f;

	(void)arg;
	while (wf_load_rlx(&delays.n) < delays.wanted && !kit_failed()) {
		pause_a_little(&delays.random);
		be_ready();
		kit_expect(weft_spawn(&f, &delays.attr, started_as_fiber,
				   NULL) == 0);
		compute();
		weft_detach(f);
	}
	weft_group_done(&delays.ended);
}

static void submit_and_compute(void *arg)
{
	(void)arg;
	delays.task.run = started_as_task;
	while (wf_load_rlx(&delays.n) < delays.wanted && !kit_failed()) {
		pause_a_little(&delays.random);
		be_ready();
		kit_expect(weft_submit(delays.executor, &delays.task,
				   delays.attr.hint) == 0);
		compute();
	}
	weft_group_done(&delays.ended);
}

static bool sleep_on(struct weft_awaiter *a, weft_fiber *self)
{
	(void)a;
	delays.sleeper = self;
	/* The waker must see sleeper. */
	wf_store_rel(&delays.asleep, true);
	return true;
}

static void sleep_and_start(void *arg)
{
	struct weft_awaiter a = { .commit = sleep_on };

	(void)arg;
	for (size_t i = 0; i < delays.wanted && !kit_failed(); i++) {
		kit_expect(weft_suspend(&a) == 0);
		started();
	}
	weft_group_done(&delays.ended);
}

static void wake_and_compute(void *arg)
{
	(void)arg;
	weft_group_add(&delays.ended, 1);
	kit_expect(weft_go(sleep_and_start, NULL) == 0);
	while (wf_load_rlx(&delays.n) < delays.wanted && !kit_failed()) {
		while (!wf_load_acq(&delays.asleep))
			weft_yield();
		wf_store_rlx(&delays.asleep, false);
		pause_a_little(&delays.random);
		be_ready();
		weft_wake(delays.sleeper, delays.attr.hint);
		compute();
	}
	weft_group_done(&delays.ended);
}

static void compute_only(void *arg)
{
	(void)arg;
	compute();
	weft_group_done(&delays.ended);
}

/* The yielder waits behind the fiber it has started. */
static void yield_behind_it(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < delays.wanted && !kit_failed(); i++) {
		pause_a_little(&delays.random);
		weft_group_add(&delays.ended, 1);
		be_ready();
		kit_expect(weft_go(compute_only, NULL) == 0);
		weft_yield();
		started();
		while (wf_load_acq(&delays.n) <= i)
			weft_yield();
	}
	weft_group_done(&delays.ended);
}

static void measure(const char *what, void (*fn)(void *), weft_hint hint)
{
	static const struct shape shapes[] = { { 2, 0 }, { 4, 0 }, { 2, 1 } };

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		weft_config cfg = { .workers = shapes[i].workers,
			.group_size = shapes[i].group_size };
		weft_rt *rt = kit_start(&cfg);
		int64_t median;

		delays = (struct delays){ .wanted = kit_rounds(SAMPLES) };
		delays.executor = weft_rt_executor(rt);
		delays.attr.hint = hint;
		wf_random_seed(&delays.random, threads_seed());
		weft_group_add(&delays.ended, 1);
		assert_int_equal(weft_rt_go(rt, fn, NULL), 0);
		assert_int_equal(
			weft_group_wait(&delays.ended, WEFT_FOREVER), 0);
		kit_stop(rt);
		median = kit_median(what, delays.ns, delays.n);
		assert_int_equal(delays.n, delays.wanted);
		if (probe_plain()) {
			assert_true(median < BOUND_NS);
			assert_true(delays.ns[delays.n - 1] < WORST_NS);
		}
	}
}

static void a_fiber_alone_in_the_queue(void **state)
{
	(void)state;
	measure("fiber in the queue", spawn_and_compute, WEFT_HINT_DEFAULT);
	measure("task in the queue", submit_and_compute, WEFT_HINT_DEFAULT);
	measure("woken into the queue", wake_and_compute, WEFT_HINT_DEFAULT);
}

static void a_fiber_in_the_slot(void **state)
{
	(void)state;
	measure("fiber in the slot", spawn_and_compute, WEFT_HINT_NEXT);
	measure("task in the slot", submit_and_compute, WEFT_HINT_NEXT);
	measure("woken into the slot", wake_and_compute, WEFT_HINT_NEXT);
}

static void a_fiber_in_the_list_of_yielders(void **state)
{
	(void)state;
	measure("yielder", yield_behind_it, WEFT_HINT_DEFAULT);
	measure("fiber among the yielders", spawn_and_compute, WEFT_HINT_YIELD);
	measure("task among the yielders", submit_and_compute, WEFT_HINT_YIELD);
	measure("woken among the yielders", wake_and_compute, WEFT_HINT_YIELD);
}

/* All workers are parked, and a thread outside submits a task. */
static void a_submit_from_outside_wakes_a_sleeper(void **state)
{
	weft_config cfg = { .workers = 4 };
	weft_rt *rt = kit_start(&cfg);
	int64_t median;

	(void)state;
	delays = (struct delays){ .wanted = kit_rounds(SAMPLES / 2) };
	delays.task.run = started_as_task;
	for (size_t i = 0; i < delays.wanted; i++) {
		kit_pause_us(5000);
		be_ready();
		assert_int_equal(weft_submit(weft_rt_executor(rt), &delays.task,
					 WEFT_HINT_DEFAULT),
			0);
		compute();
	}
	kit_stop(rt);
	median = kit_median("submit to sleepers", delays.ns, delays.n);
	if (probe_plain()) {
		assert_true(median < BOUND_NS);
		assert_true(delays.ns[delays.n - 1] < WORST_NS);
	}
}

/* ------------------------------------------------------------------------ */
/* Bursts. */

enum { BURSTS = 20, TASKS_MAX = 4 * WORKERS_MAX };

#define TASK_NS (5 * WF_NS_PER_MS)

static struct burst {
	weft_rt *rt;
	unsigned workers, tasks;
	int64_t began_ns;
	_Atomic(unsigned) running;
	_Atomic(int64_t) all_ns; /* when all workers were running */
	weft_task task[TASKS_MAX];
	weft_group ended;
	int64_t ns[BURSTS];
} burst;

/*
 * Five milliseconds of work.  If there are more workers than CPUs, these are
 * shared, and a task lasts until all workers had a chance to be seen.
 */
static void work(weft_task *task)
{
	unsigned running = wf_add_rlx(&burst.running, 1) + 1;
	int64_t end = threads_now_ns() + TASK_NS, late = end + GIVE_UP_NS, none;

	(void)task;
	none = 0;
	if (running == burst.workers)
		wf_cas_rlx(&burst.all_ns, &none, threads_now_ns());
	while (threads_now_ns() < end)
		if (burst.workers > 2)
			sched_yield();
	while (wf_load_rlx(&burst.all_ns) == 0 && threads_now_ns() < late)
		sched_yield();
	kit_expect(wf_load_rlx(&burst.all_ns) != 0);
	wf_sub_rlx(&burst.running, 1);
	weft_group_done(&burst.ended);
}

static void submit_burst(void *arg)
{
	weft_executor *e = weft_rt_executor(burst.rt);

	(void)arg;
	burst.began_ns = threads_now_ns();
	for (unsigned i = 0; i < burst.tasks; i++) {
		burst.task[i].run = work;
		kit_expect(
			weft_submit(e, &burst.task[i], WEFT_HINT_DEFAULT) == 0);
	}
}

/* One burst; how many wakes it took. */
static size_t one_burst(bool outside)
{
	weft_metrics before, after;

	kit_pause_us(20000);
	kit_metrics(burst.rt, &before);
	wf_store_rlx(&burst.all_ns, 0);
	weft_group_add(&burst.ended, burst.tasks);
	if (outside)
		submit_burst(NULL);
	else
		assert_int_equal(weft_rt_go(burst.rt, submit_burst, NULL), 0);
	assert_int_equal(weft_group_wait(&burst.ended, WEFT_FOREVER), 0);
	kit_settle();
	kit_watch();
	kit_pause_us(5000);
	kit_metrics(burst.rt, &after);
	return (size_t)(after.wakes - before.wakes);
}

static void measure_bursts(uint32_t workers, unsigned tasks, bool outside)
{
	weft_config cfg = { .workers = workers };
	/* With fewer than half of them the median would say little. */
	size_t n = wf_max_size(kit_rounds(BURSTS), BURSTS / 2);
	int64_t wakes[BURSTS], median;

	burst = (struct burst){ .workers = workers, .tasks = tasks };
	burst.rt = kit_start(&cfg);
	for (size_t i = 0; i < n; i++) {
		wakes[i] = (int64_t)one_burst(outside);
		burst.ns[i] = wf_load_rlx(&burst.all_ns) - burst.began_ns;
	}
	kit_stop(burst.rt);
	qsort(wakes, n, sizeof(wakes[0]), kit_compare_ns);
	printf("%u workers, %2u tasks from %s, %d to %d wakes\n", workers,
		tasks, outside ? "outside" : "a fiber", (int)wakes[0],
		(int)wakes[n - 1]);
	median = kit_median("all workers run", burst.ns, n);
	/* More only where the machine kept a worker from its task. */
	assert_true(wakes[n / 2] <= (int64_t)workers + 2);
	assert_true(wakes[n - 1] <= 2 * (int64_t)workers + 4);
	if (probe_plain() && workers <= 2)
		assert_true(median < BOUND_NS);
	if (probe_plain())
		assert_true(burst.ns[n - 1] < WORST_NS);
}

static void a_burst_has_all_workers_running(void **state)
{
	(void)state;
	for (int outside = 0; outside < 2; outside++) {
		measure_bursts(2, 2, outside);
		measure_bursts(2, 8, outside);
		measure_bursts(4, 4, outside);
		measure_bursts(4, 16, outside);
		measure_bursts(8, 32, outside);
	}
}

/* ------------------------------------------------------------------------ */
/* Sharing. */

static void need_two_plain_cpus(void)
{
	if (!probe_plain() || wf_os_cpus_allowed() < 2)
		skip_because("needs two CPUs, natively, no sanitizer");
}

enum { SHARINGS = 10, SHARED = 5000, SHARED_NS = 4000, SHARED_BURST = 100 };

static weft_group shared;

static void short_work(void *arg)
{
	int64_t until = threads_now_ns() + SHARED_NS;

	(void)arg;
	while (threads_now_ns() < until)
		continue;
	weft_group_done(&shared);
}

static void start_short_works(void *arg)
{
	(void)arg;
	for (size_t i = 1; i <= SHARED; i++) {
		kit_expect(weft_go(short_work, NULL) == 0);
		if (i % SHARED_BURST == 0)
			weft_yield();
	}
	weft_group_done(&shared);
}

/* Per cent of the tasks that the other worker ran. */
static unsigned share_once(void)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);
	weft_metrics m[2];

	weft_group_add(&shared, SHARED + 1);
	assert_int_equal(weft_rt_go(rt, start_short_works, NULL), 0);
	assert_int_equal(weft_group_wait(&shared, WEFT_FOREVER), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(
			weft_metrics_proc(rt, i, &m[i], sizeof(m[i])), 0);
	kit_stop(rt);
	return (unsigned)(wf_min_size(m[0].ticks, m[1].ticks) * 100 /
		(m[0].ticks + m[1].ticks));
}

/* 20 ms of work in pieces of 4 us, and an idle worker. */
static void tasks_of_one_fiber_are_shared(void **state)
{
	unsigned alone = 0;

	(void)state;
	need_two_plain_cpus();
	for (unsigned i = 0; i < SHARINGS; i++) {
		unsigned share = share_once();

		printf("%u%% ", share);
		alone += share < 5;
	}
	printf("were run by the other worker\n");
	/* The machine may have been busy with something else. */
	assert_true(alone <= SHARINGS / 5);
}

/* ------------------------------------------------------------------------ */
/* Pairs. */

enum { PAIRS = 15, PAIR_TURNS = 10 * 1000 };

static struct pair {
	int64_t turn_ns;
	_Atomic(unsigned) computing;
	_Atomic(size_t) turns; /* of both, before they ran at once */
	_Atomic(bool) met;
	weft_group ended;
} pair;

/* Compute and give way, until the other fiber computes too. */
static void take_turns(void *arg)
{
	(void)arg;
	while (!wf_load_rlx(&pair.met) &&
		wf_add_rlx(&pair.turns, 1) < PAIR_TURNS) {
		int64_t until = threads_now_ns() + pair.turn_ns;

		if (wf_add_rlx(&pair.computing, 1) == 1)
			wf_store_rlx(&pair.met, true);
		while (threads_now_ns() < until)
			continue;
		wf_sub_rlx(&pair.computing, 1);
		weft_yield();
	}
	weft_group_done(&pair.ended);
}

static void start_pair(void *arg)
{
	(void)arg;
	kit_expect(weft_go(take_turns, NULL) == 0);
	kit_expect(weft_go(take_turns, NULL) == 0);
}

static int64_t pair_once(int64_t turn_ns)
{
	weft_config cfg = { .workers = 2 };
	weft_rt *rt = kit_start(&cfg);

	pair = (struct pair){ .turn_ns = turn_ns };
	weft_group_add(&pair.ended, 2);
	assert_int_equal(weft_rt_go(rt, start_pair, NULL), 0);
	assert_int_equal(weft_group_wait(&pair.ended, WEFT_FOREVER), 0);
	kit_stop(rt);
	kit_settle();
	kit_watch();
	return (int64_t)wf_load_rlx(&pair.turns);
}

/*
 * On one worker one of the two always waits, but never for longer than a turn,
 * and the queue never has two waiting fibers.
 */
static void two_computing_yielders_run_at_once(void **state)
{
	static const int64_t turn_us[] = { 25, 50, 100, 400 };
	int64_t most = 0;

	(void)state;
	need_two_plain_cpus();
	for (size_t k = 0; k < 4; k++) {
		int64_t turns[PAIRS], third;

		for (size_t i = 0; i < PAIRS; i++)
			turns[i] = pair_once(turn_us[k] * WF_NS_PER_US);
		qsort(turns, PAIRS, sizeof(turns[0]), kit_compare_ns);
		printf("turns of %d us until both run: median %d, worst %d\n",
			(int)turn_us[k], (int)turns[PAIRS / 2],
			(int)turns[PAIRS - 1]);
		/* The machine may have had other things to do twice. */
		third = turns[PAIRS - 3];
		most = third > most ? third : most;
	}
	assert_true(most < PAIR_TURNS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fibers_that_one_fiber_starts_run_at_once),
		cmocka_unit_test(tasks_that_one_fiber_submits_run_at_once),
		cmocka_unit_test(yielding_fibers_run_at_once),
		cmocka_unit_test(fibers_that_one_fiber_wakes_run_at_once),
		cmocka_unit_test(fibers_from_outside_run_at_once),
		cmocka_unit_test(a_fiber_alone_in_the_queue),
		cmocka_unit_test(a_fiber_in_the_slot),
		cmocka_unit_test(a_fiber_in_the_list_of_yielders),
		cmocka_unit_test(a_submit_from_outside_wakes_a_sleeper),
		cmocka_unit_test(a_burst_has_all_workers_running),
		cmocka_unit_test(tasks_of_one_fiber_are_shared),
		cmocka_unit_test(two_computing_yielders_run_at_once),
	};

	if (wf_on_valgrind()) {
		printf("skipped: valgrind runs one thread at a time, and here "
		       "they wait for each other by spinning\n");
		return 77;
	}
	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
