/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/frozen_test.c - in the lock-free mode a worker that is stopped
 * at any point, for however long, does not stop the others (R2.13).
 *
 * A worker is stopped by a signal whose handler sleeps, at a random moment.
 * Meanwhile tasks are submitted from outside: the stopped worker cannot have
 * them in hand (weft/policy.h), so all of them must run before it goes on.
 * They need a few milliseconds, but the test fails only if they have not run
 * after DEADLINE_NS and LOOKS looks.  Where threads hardly run, looks are rare.
 *
 * An argument sets another policy: with "short-locks" the test fails sooner or
 * later, which shows that it can fail.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>

#include "api/api.h"
#include "base/random.h"
#include "support/skip.h"
#include "support/threads.h"

#include <weft/weft.h>

enum { WORKERS = 4, PROBES = 300, LOAD_TASKS = 40, LOAD_FIBERS = 20 };
enum { LOOKS = 10000 };

#define DEADLINE_NS (2 * NS_PER_S)
#define FREEZE_SIGNAL SIGUSR1

/* How long a thread has waited, by the clock and by its own turns. */
struct watch {
	int64_t begin;
	size_t looks;
};

static struct watch watch_begin(void)
{
	return (struct watch){ .begin = weft_now() };
}

/* Nap once; has n times the limit passed? */
static bool watch_over(struct watch *w, unsigned n)
{
	nap_ns(50 * NS_PER_US);
	return ++w->looks > n * LOOKS &&
		weft_now() - w->begin > n * DEADLINE_NS;
}

/* ------------------------------------------------------------------------ */
/* Freezing a worker. */

static struct {
	_Atomic(bool) thaw, frozen, gave_up;
	pthread_t threads[WORKERS];
	_Atomic(unsigned) known;
	pthread_barrier_t all;
} ice;

/*
 * Calls only what a signal handler may.  If the test's thread itself waits for
 * the frozen worker, the handler gives up at last, and the test has failed.
 */
static void freeze(int sig)
{
	struct watch w = watch_begin();

	(void)sig;
	atomic_store(&ice.frozen, true);
	while (!atomic_load(&ice.thaw))
		if (watch_over(&w, 3)) {
			atomic_store(&ice.gave_up, true);
			break;
		}
	atomic_store(&ice.frozen, false);
}

/* In a task, on each worker at once: from now on the worker can be stopped. */
static void become_known(weft_task *task)
{
	sigset_t set;

	(void)task;
	sigemptyset(&set);
	sigaddset(&set, FREEZE_SIGNAL);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	ice.threads[atomic_fetch_add(&ice.known, 1)] = pthread_self();
	pthread_barrier_wait(&ice.all);
}

/*
 * ThreadSanitizer holds a signal back until the thread makes a call that it
 * knows; a thread that sleeps in the kernel makes none.
 */
static void need_signals(void)
{
	if (API_TSAN)
		skip_because("signals come late with ThreadSanitizer");
}

static void freeze_one(unsigned victim)
{
	atomic_store(&ice.thaw, false);
	assert_int_equal(pthread_kill(ice.threads[victim], FREEZE_SIGNAL), 0);
	assert_true(await(atomic_load(&ice.frozen)));
}

static void thaw(void)
{
	atomic_store(&ice.thaw, true);
	assert_true(await(!atomic_load(&ice.frozen)));
}

/* ------------------------------------------------------------------------ */
/* The runtime under test. */

static struct {
	weft_rt *rt;
	weft_executor *e;
	struct wf_random random;
	weft_task probes[PROBES];
	_Atomic(uint32_t) ran[PROBES]; /* how often, in all */
	uint32_t submitted[PROBES];
	_Atomic(size_t) left;
	int64_t worst_ns;
	const char *words;
	bool open;
} lab;

static void lab_open(const char *words, int64_t spin_ns)
{
	static weft_task tasks[WORKERS];
	weft_policy policy;
	weft_config cfg = {
		.workers = WORKERS, .policy = &policy, .spin_ns = spin_ns
	};

	/* Then its tasks are still about. */
	if (lab.open)
		fail_msg("what the test before this one left does not end");
	assert_int_equal(weft_policy_parse(&policy, words, NULL, 0), 0);
	memset(&ice, 0, sizeof(ice));
	memset(&lab, 0, sizeof(lab));
	wf_random_seed(&lab.random, threads_seed());
	lab.words = words;
	lab.rt = rt_begin(&cfg);
	lab.open = true;
	lab.e = weft_rt_executor(lab.rt);
	assert_int_equal(pthread_barrier_init(&ice.all, NULL, WORKERS), 0);
	for (size_t i = 0; i < WORKERS; i++) {
		tasks[i].run = become_known;
		assert_int_equal(
			weft_submit(lab.e, &tasks[i], WEFT_HINT_DEFAULT), 0);
	}
	assert_int_equal(weft_rt_wait_idle(lab.rt, PATIENCE), 0);
	assert_int_equal(atomic_load(&ice.known), WORKERS);
	pthread_barrier_destroy(&ice.all);
}

static void lab_close(void)
{
	rt_end(lab.rt);
	lab.open = false;
	for (size_t i = 0; i < PROBES; i++)
		assert_int_equal(atomic_load(&lab.ran[i]), lab.submitted[i]);
	printf("%s: the longest wait with a frozen worker was %.1f ms\n",
		lab.words, (double)lab.worst_ns / 1e6);
	assert_expected();
}

static void run_probe(weft_task *task)
{
	atomic_fetch_add(&lab.ran[task - lab.probes], 1);
	atomic_fetch_sub(&lab.left, 1);
}

/* n tasks from outside; all must run, in time. */
static void probe(size_t n)
{
	struct watch w = watch_begin();
	bool over = false;
	int64_t took;

	atomic_store(&lab.left, n);
	for (size_t i = 0; i < n; i++) {
		lab.probes[i].run = run_probe;
		lab.submitted[i]++;
		assert_int_equal(
			weft_submit(lab.e, &lab.probes[i], hints[i % HINTS]),
			0);
	}
	while (atomic_load(&lab.left) > 0 && !over)
		over = watch_over(&w, 1);
	took = weft_now() - w.begin;
	if (over)
		fail_msg("%zu of %zu tasks have not run after %.1f s",
			atomic_load(&lab.left), n, (double)took / 1e9);
	/* True: they ran only after the handler gave up. */
	assert_false(atomic_load(&ice.gave_up));
	lab.worst_ns = took > lab.worst_ns ? took : lab.worst_ns;
}

/* 0 to a few hundred microseconds. */
static void wait_a_while(void)
{
	int64_t until = weft_after(wf_random_below(&lab.random, 200000));

	while (weft_now() < until)
		continue;
}

/* ------------------------------------------------------------------------ */
/* Under load. */

static struct {
	weft_task tasks[LOAD_TASKS];
	_Atomic(size_t) runs[LOAD_TASKS + LOAD_FIBERS];
	_Atomic(bool) stop;
	_Atomic(unsigned) alive;
	size_t frozen, moved; /* of those that were watched */
} load;

static void run_load(weft_task *task)
{
	size_t i = (size_t)(task - load.tasks);
	size_t n = atomic_fetch_add(&load.runs[i], 1);

	if (atomic_load(&load.stop))
		atomic_fetch_sub(&load.alive, 1);
	else
		expect_eq(weft_submit(lab.e, task, hints[(i + n) % HINTS]), 0);
}

static void yield_on(void *arg)
{
	while (!atomic_load(&load.stop)) {
		atomic_fetch_add((_Atomic(size_t) *)arg, 1);
		weft_yield();
	}
	atomic_fetch_sub(&load.alive, 1);
}

static void load_begin(void)
{
	memset(&load, 0, sizeof(load));
	atomic_store(&load.alive, LOAD_TASKS + LOAD_FIBERS);
	for (size_t i = 0; i < LOAD_TASKS; i++) {
		load.tasks[i].run = run_load;
		assert_int_equal(
			weft_submit(lab.e, &load.tasks[i], WEFT_HINT_DEFAULT),
			0);
	}
	for (size_t i = 0; i < LOAD_FIBERS; i++)
		assert_int_equal(weft_rt_go(lab.rt, yield_on,
					 &load.runs[LOAD_TASKS + i]),
			0);
}

static void load_end(void)
{
	atomic_store(&load.stop, true);
	assert_true(await(atomic_load(&load.alive) == 0));
	assert_int_equal(weft_rt_wait_idle(lab.rt, PATIENCE), 0);
}

/* How many of the load have run since then, in the time of 50 probes. */
static size_t moved_since(const size_t *then)
{
	size_t all = LOAD_TASKS + LOAD_FIBERS, moved = 0;

	for (size_t tries = 0; tries < 50 && moved < all; tries++) {
		moved = 0;
		for (size_t i = 0; i < all; i++)
			moved += atomic_load(&load.runs[i]) != then[i];
		probe(1);
	}
	return moved;
}

static void freeze_under_load(void)
{
	size_t then[LOAD_TASKS + LOAD_FIBERS];

	wait_a_while();
	freeze_one(wf_random_below(&lab.random, WORKERS));
	for (size_t i = 0; i < LOAD_TASKS + LOAD_FIBERS; i++)
		then[i] = atomic_load(&load.runs[i]);
	probe(1 + wf_random_below(&lab.random, PROBES));
	load.moved += moved_since(then);
	load.frozen += LOAD_TASKS + LOAD_FIBERS;
	thaw();
	/* The tasks that the frozen worker held go on. */
	assert_true(await(moved_since(then) == LOAD_TASKS + LOAD_FIBERS));
}

static void the_others_go_on_under_load(void **state)
{
	/* So many that one frozen worker with a large batch does not decide. */
	size_t n = rounds(100) < 16 ? 16 : rounds(100);

	need_signals();
	lab_open(*state, 0);
	load_begin();
	for (size_t i = 0; i < n; i++)
		freeze_under_load();
	load_end();
	printf("%zu freezes: %.1f %% of the load went on\n", n,
		100.0 * (double)load.moved / (double)load.frozen);
	/* One held batch may be most of the load, but not as a rule. */
	assert_true(2 * load.moved > load.frozen);
	lab_close();
}

/* ------------------------------------------------------------------------ */
/* An idle runtime: the frozen worker is parked, parks or searches. */

static void freeze_in_silence(size_t probes, bool settle)
{
	assert_int_equal(weft_rt_wait_idle(lab.rt, PATIENCE), 0);
	if (settle)
		nap_ns(NS_PER_MS);
	freeze_one(wf_random_below(&lab.random, WORKERS));
	probe(probes);
	/* And once more, when the others are parked again. */
	nap_ns(wf_random_below(&lab.random, 3) * 100 * NS_PER_US);
	probe(1);
	thaw();
}

static void sleepers_are_woken(void **state)
{
	need_signals();
	lab_open(*state, 0);
	for (size_t i = 0; i < rounds(100); i++)
		freeze_in_silence(i % 3 == 0 ? PROBES : 1, true);
	lab_close();
}

static void a_frozen_searcher_delays_no_task(void **state)
{
	need_signals();
	lab_open(*state, 100 * NS_PER_MS);
	for (size_t i = 0; i < rounds(100); i++)
		freeze_in_silence(i % 3 == 0 ? PROBES : 1, i % 7 == 0);
	lab_close();
}

/* The frozen worker has just been woken, or is about to park. */
static void a_worker_frozen_on_its_way_to_park_delays_no_task(void **state)
{
	need_signals();
	lab_open(*state, -1);
	for (size_t i = 0; i < rounds(100); i++) {
		assert_int_equal(weft_rt_wait_idle(lab.rt, PATIENCE), 0);
		probe(1 + i % 4);
		wait_a_while();
		freeze_one(wf_random_below(&lab.random, WORKERS));
		probe(1 + i % 50);
		thaw();
	}
	lab_close();
}

/* ------------------------------------------------------------------------ */
/* A worker that is stuck in a task delays that task only. */

static struct {
	weft_task task, behind[8];
	_Atomic(bool) inside, leave;
	_Atomic(unsigned) ran;
} stuck;

static void run_behind(weft_task *task)
{
	(void)task;
	atomic_fetch_add(&stuck.ran, 1);
}

static void be_stuck(weft_task *task)
{
	(void)task;
	/* These are in the stuck worker's queue, one of them in the slot. */
	for (size_t i = 0; i < 8; i++) {
		stuck.behind[i].run = run_behind;
		expect_eq(weft_submit(lab.e, &stuck.behind[i],
				  i == 7 ? WEFT_HINT_NEXT : WEFT_HINT_DEFAULT),
			0);
	}
	atomic_store(&stuck.inside, true);
	while (!atomic_load(&stuck.leave))
		nap_ns(100 * NS_PER_US);
}

static void a_stuck_worker_holds_one_task(void **state)
{
	lab_open(*state, 0);
	for (size_t i = 0; i < rounds(50); i++) {
		struct watch w;

		memset(&stuck, 0, sizeof(stuck));
		stuck.task.run = be_stuck;
		if (i % 2)
			nap_ns(NS_PER_MS);
		assert_int_equal(
			weft_submit(lab.e, &stuck.task, WEFT_HINT_DEFAULT), 0);
		assert_true(await(atomic_load(&stuck.inside)));
		probe(1 + i % PROBES);
		w = watch_begin();
		while (atomic_load(&stuck.ran) < 8 && !watch_over(&w, 1))
			continue;
		assert_int_equal(atomic_load(&stuck.ran), 8);
		atomic_store(&stuck.leave, true);
		assert_int_equal(weft_rt_wait_idle(lab.rt, PATIENCE), 0);
	}
	lab_close();
}

/* ------------------------------------------------------------------------ */

/* After a failed test, thaw the worker and end its load. */
static int clean_up(void **state)
{
	(void)state;
	if (!lab.open)
		return 0;
	atomic_store(&ice.thaw, true);
	atomic_store(&load.stop, true);
	atomic_store(&stuck.leave, true);
	lab.open = weft_rt_stop(lab.rt, PATIENCE) != 0;
	atomic_store(&first_wrong.complete, false);
	atomic_flag_clear(&first_wrong.taken);
	return lab.open ? -1 : 0;
}

enum { WORDS = 4, TESTS = 5 };

#define LAB_TEST(f) cmocka_unit_test_setup_teardown(f, NULL, clean_up)

int main(int argc, char **argv)
{
	static const char *const words[WORDS] = { "lock-free",
		"lock-free,wake-go", "lock-free,wake-flare,take-one",
		"lock-free,no-lifo,steal-one" };
	static const struct CMUnitTest each[TESTS] = {
		LAB_TEST(the_others_go_on_under_load),
		LAB_TEST(sleepers_are_woken),
		LAB_TEST(a_frozen_searcher_delays_no_task),
		LAB_TEST(a_worker_frozen_on_its_way_to_park_delays_no_task),
		LAB_TEST(a_stuck_worker_holds_one_task),
	};
	struct CMUnitTest tests[WORDS * TESTS];
	struct sigaction action = { .sa_handler = freeze,
		.sa_flags = SA_RESTART };

	for (size_t i = 0; i < WORDS * TESTS; i++) {
		tests[i] = each[i % TESTS];
		tests[i].initial_state = argc > 1 ? argv[1]
						  : (char *)words[i / TESTS];
	}
	threads_seed();
	sigaction(FREEZE_SIGNAL, &action, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
