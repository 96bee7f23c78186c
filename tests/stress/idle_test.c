/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/idle_test.c - weft_rt_wait_idle never returns while something is
 * ready or running, and always when nothing is (R2.12).
 *
 * The test counts what is ready or running: up before each submit or wake, down
 * at the end of each run and before each wait.  Between two rounds the count is
 * zero; within one no thread outside makes it rise from there.  So if it is not
 * zero after a call that said idle, the call was wrong.  Most of the rounds are
 * a single task that wanders from worker to worker, by all ways there are,
 * while the waiter asks again and again: a runtime that looks at one queue
 * after the other misses it.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "api/api.h"
#include "base/random.h"
#include "support/threads.h"

#include <weft/weft.h>

enum { NODES = 256, OUTSIDERS = 2, POLLS_MAX = 3000 };

/* What a round consists of. */
enum shape { CHAIN, TREE, BURST, WANDER, FIBERS, PONG, SHAPES };

static struct {
	weft_rt *rt;
	weft_executor *e;
	enum shape shape;
	uint32_t length; /* of a chain, or nodes of a tree */
	uint32_t skew;	 /* which hints */
	uint32_t nap_us; /* of wandering tasks */
	weft_task nodes[OUTSIDERS][NODES];
	weft_task leaves[OUTSIDERS][NODES]; /* beside wandering tasks */
	_Atomic(int64_t) alive;		    /* ready or running */
	_Atomic(int64_t) to_come; /* runs that are left in this round */
	struct baton batons[OUTSIDERS][2];
} play_ground;

/* Counted over the whole test, and printed. */
static _Atomic(size_t) polls, busy_polls, rounds_done;

static void up(int64_t n)
{
	atomic_fetch_add(&play_ground.alive, n);
}

static void down(void)
{
	atomic_fetch_sub(&play_ground.to_come, 1);
	atomic_fetch_sub(&play_ground.alive, 1);
}

static weft_hint hint_of(size_t i)
{
	return hints[(i * 7 + play_ground.skew) % HINTS];
}

static void submit_node(weft_task *task, size_t i)
{
	up(1);
	expect_eq(weft_submit(play_ground.e, task, hint_of(i)), 0);
}

/* ------------------------------------------------------------------------ */
/* Tasks. */

static void run_link(weft_task *task);

/* A chain goes on as a fiber now and then, and as a task again. */
static void link_in_fiber(void *arg)
{
	weft_yield();
	run_link(arg);
}

static void run_link(weft_task *task)
{
	size_t row = (size_t)(task - play_ground.nodes[0]) / NODES;
	size_t i = (size_t)(task - play_ground.nodes[row]);

	if (i + 1 < play_ground.length) {
		weft_task *next = task + 1;

		if (i % 16 == play_ground.skew) {
			up(1);
			expect_eq(weft_go(link_in_fiber, next), 0);
		} else {
			submit_node(next, i);
		}
	}
	down();
}

static void run_branch(weft_task *task)
{
	size_t row = (size_t)(task - play_ground.nodes[0]) / NODES;
	size_t i = (size_t)(task - play_ground.nodes[row]);

	for (size_t j = 2 * i + 1; j <= 2 * i + 2; j++)
		if (j < play_ground.length)
			submit_node(&play_ground.nodes[row][j], j);
	down();
}

static void run_leaf(weft_task *task)
{
	(void)task;
	down();
}

/*
 * A task that submits two more and naps, so that another worker takes the next.
 * A worker of another scheduling group takes it only if two tasks wait.
 */
static void run_and_nap(weft_task *task)
{
	size_t row = (size_t)(task - play_ground.nodes[0]) / NODES;
	size_t i = (size_t)(task - play_ground.nodes[row]);
	weft_task *leaf = &play_ground.leaves[row][i];

	leaf->run = run_leaf;
	if (i + 1 < play_ground.length)
		submit_node(task + 1, i);
	submit_node(leaf, i);
	nap_ns((int64_t)((i * 7 + play_ground.skew) % 5) * play_ground.nap_us *
		NS_PER_US);
	down();
}

/* ------------------------------------------------------------------------ */
/* Fibers. */

static void yield_and_end(void *arg)
{
	(void)arg;
	weft_yield();
	down();
}

static void spawn_some(void *arg)
{
	(void)arg;
	for (size_t i = 1; i < play_ground.length; i++) {
		up(1);
		expect_eq(weft_go(yield_and_end, NULL), 0);
		if (i % 8 == 0)
			weft_yield();
	}
	down();
}

/* Two fibers pass a baton: a waiter is not alive, a woken one is. */
static void pass_it(struct baton *mine, struct baton *theirs, bool first)
{
	for (size_t i = 0; i < play_ground.length; i++) {
		if (first || i > 0) {
			baton_wait(mine);
			atomic_fetch_sub(&play_ground.to_come, 1);
		}
		up(1);
		baton_put(theirs, hint_of(i));
		atomic_fetch_sub(&play_ground.alive, 1);
	}
}

static void pong_0(void *arg)
{
	struct baton *b = arg;

	pass_it(&b[0], &b[1], false);
	/* The last pass of the other fiber. */
	baton_wait(&b[0]);
	down();
}

static void pong_1(void *arg)
{
	struct baton *b = arg;

	atomic_fetch_sub(&play_ground.alive, 1);
	pass_it(&b[1], &b[0], true);
}

/* ------------------------------------------------------------------------ */
/* Rounds. */

/* How many runs one outsider's part is. */
static int64_t runs_of_part(void)
{
	switch (play_ground.shape) {
	case PONG:
	case WANDER:
		return 2 * (int64_t)play_ground.length;
	default:
		return play_ground.length;
	}
}

static void start_part(unsigned self)
{
	static void (*const runs[])(weft_task *) = {
		[CHAIN] = run_link,
		[TREE] = run_branch,
		[BURST] = run_leaf,
		[WANDER] = run_and_nap,
	};
	weft_task *row = play_ground.nodes[self];

	switch (play_ground.shape) {
	case CHAIN:
	case TREE:
	case BURST:
	case WANDER:
		for (size_t i = 0; i < play_ground.length; i++)
			row[i].run = runs[play_ground.shape];
		submit_node(&row[0], 0);
		for (size_t i = 1;
			i < play_ground.length && play_ground.shape == BURST;
			i++)
			submit_node(&row[i], i);
		break;
	case FIBERS:
		up(1);
		expect_eq(weft_rt_go(play_ground.rt, spawn_some, NULL), 0);
		break;
	default:
		up(2);
		expect_eq(weft_rt_go(play_ground.rt, pong_1,
				  play_ground.batons[self]),
			0);
		expect_eq(weft_rt_go(play_ground.rt, pong_0,
				  play_ground.batons[self]),
			0);
	}
}

static void choose_round(struct wf_random *r)
{
	play_ground.shape = (enum shape)wf_random_below(r, SHAPES);
	if (wf_random_below(r, 2))
		play_ground.shape = CHAIN;
	play_ground.length = 1 + wf_random_below(r, NODES - 1);
	play_ground.skew = wf_random_below(r, 16);
	if (play_ground.shape == FIBERS || wf_random_below(r, 4) == 0)
		play_ground.length = 1 + play_ground.length / 8;
	if (play_ground.shape == WANDER)
		play_ground.length = 1 + play_ground.length / 16;
}

/* Ask without waiting for long; idle must mean that nothing is alive. */
static void poll_idle(size_t most, struct wf_random *r)
{
	for (size_t i = 0; i < most; i++) {
		weft_time deadline = wf_random_below(r, 4)
			? WEFT_NOW
			: weft_after(wf_random_below(r, 20000));
		int err = weft_rt_wait_idle(play_ground.rt, deadline);
		int64_t left = atomic_load(&play_ground.to_come);

		expect(err == 0 || err == -ETIMEDOUT);
		if (err == 0)
			expect_eq(left, 0);
		atomic_fetch_add(&polls, 1);
		if (err)
			atomic_fetch_add(&busy_polls, 1);
		if (left == 0)
			return;
	}
}

static void wait_until_idle(void)
{
	int err = weft_rt_wait_idle(play_ground.rt, PATIENCE);

	expect_eq(err, 0);
	expect_eq(atomic_load(&play_ground.to_come), 0);
	expect_eq(atomic_load(&play_ground.alive), 0);
}

/* ------------------------------------------------------------------------ */
/* The waiter starts all tasks itself, and asks while they run. */

static void play_alone(size_t n, struct wf_random *r)
{
	for (size_t i = 0; i < n; i++) {
		choose_round(r);
		atomic_store(&play_ground.to_come, runs_of_part());
		start_part(0);
		poll_idle(wf_random_below(r, POLLS_MAX), r);
		wait_until_idle();
		assert_expected();
		atomic_fetch_add(&rounds_done, 1);
	}
}

/* ------------------------------------------------------------------------ */
/* Several threads start a round, and then all of them wait. */

static struct {
	pthread_barrier_t gate;
	struct wf_random random;
	size_t rounds;
} together;

/* While another thread starts its part, both answers can be right. */
static void ask_anytime(void)
{
	int err = weft_rt_wait_idle(play_ground.rt, weft_after(1000));

	expect(err == 0 || err == -ETIMEDOUT);
}

static void play_together(void *arg, unsigned self)
{
	struct wf_random r;

	(void)arg;
	wf_random_seed(&r, threads_seed() + self);
	for (size_t i = 0; i < together.rounds; i++) {
		if (self == 0) {
			choose_round(&together.random);
			atomic_store(&play_ground.to_come,
				OUTSIDERS * runs_of_part());
		}
		pthread_barrier_wait(&together.gate);
		start_part(self);
		if (self == 1 && i % 2)
			ask_anytime();
		pthread_barrier_wait(&together.gate);
		poll_idle(wf_random_below(&r, 20), &r);
		wait_until_idle();
		pthread_barrier_wait(&together.gate);
	}
}

static void play_with_workers(unsigned workers, const weft_policy *policy,
	size_t n, struct wf_random *r)
{
	weft_config cfg = { .workers = workers, .policy = policy };

	/* Also with workers that never park, and that park at once. */
	cfg.spin_ns = (int64_t[]){ 0, -1,
		NS_PER_S }[wf_random_below(r, workers > 2 ? 2 : 3)];
	cfg.local_capacity = (uint32_t[]){ 0, 2, 16 }[wf_random_below(r, 3)];
	play_ground.rt = rt_begin(&cfg);
	play_ground.e = weft_rt_executor(play_ground.rt);
	play_ground.nap_us = 10;
	play_alone(n / 2, r);
	together.rounds = n - n / 2;
	wf_random_seed(&together.random, threads_seed());
	assert_int_equal(
		pthread_barrier_init(&together.gate, NULL, OUTSIDERS), 0);
	threads_run(OUTSIDERS, play_together, NULL);
	pthread_barrier_destroy(&together.gate);
	assert_expected();
	atomic_fetch_add(&rounds_done, together.rounds);
	rt_end(play_ground.rt);
}

/* ------------------------------------------------------------------------ */
/*
 * Tasks that come in little by little, so that workers park and wake all the
 * time.  A bringer brings the next only when the last has run; so the tasks
 * that were there when the waiter began to ask have run when it gets idle.
 */

enum { BRINGERS = 2, ASKERS = 2, LOAD_MAX = 4 };

static struct stream {
	struct {
		weft_task tasks[LOAD_MAX];
		_Atomic(size_t) brought, ran;
	} bringers[BRINGERS];
	size_t loads;
	_Atomic(unsigned) left;
	_Atomic(size_t) idle, busy;
} stream;

static void run_load(weft_task *task)
{
	for (size_t i = 0; i < BRINGERS; i++) {
		size_t nth = (size_t)(task - stream.bringers[i].tasks);

		if (task < stream.bringers[i].tasks || nth >= LOAD_MAX)
			continue;
		if (nth > 0)
			expect_eq(weft_submit(play_ground.e, task - 1,
					  hint_of(nth)),
				0);
		atomic_fetch_add(&stream.bringers[i].ran, 1);
	}
}

static bool await_load(unsigned self, size_t brought)
{
	int64_t give_up = PATIENCE;

	while (atomic_load(&stream.bringers[self].ran) != brought &&
		weft_now() < give_up)
		sched_yield();
	return expect_eq(atomic_load(&stream.bringers[self].ran), brought);
}

static void bring(unsigned self, struct wf_random *r)
{
	size_t brought = 0;

	for (size_t i = 0; i < stream.loads; i++) {
		size_t n = 1 + wf_random_below(r, LOAD_MAX);

		for (size_t j = 0; j < n; j++)
			stream.bringers[self].tasks[j].run = run_load;
		expect_eq(weft_submit(play_ground.e,
				  &stream.bringers[self].tasks[n - 1],
				  hint_of(i)),
			0);
		brought += n;
		atomic_store(&stream.bringers[self].brought, brought);
		if (!await_load(self, brought))
			break;
		nap_ns(wf_random_below(r, 60) * NS_PER_US);
	}
	atomic_fetch_sub(&stream.left, 1);
}

static void ask(struct wf_random *r)
{
	while (atomic_load(&stream.left) > 0) {
		size_t there[BRINGERS];
		int err;

		for (size_t i = 0; i < BRINGERS; i++)
			there[i] = atomic_load(&stream.bringers[i].brought);
		err = weft_rt_wait_idle(play_ground.rt,
			wf_random_below(r, 8) ? WEFT_NOW : weft_after(50000));
		if (err) {
			expect_eq(err, -ETIMEDOUT);
			atomic_fetch_add(&stream.busy, 1);
			continue;
		}
		for (size_t i = 0; i < BRINGERS; i++)
			expect(atomic_load(&stream.bringers[i].ran) >=
				there[i]);
		atomic_fetch_add(&stream.idle, 1);
		nap_ns(wf_random_below(r, 20) * NS_PER_US);
	}
}

static void bring_or_ask(void *arg, unsigned self)
{
	struct wf_random r;

	(void)arg;
	wf_random_seed(&r, threads_seed() + self);
	if (self < BRINGERS)
		bring(self, &r);
	else
		ask(&r);
}

static void idle_is_never_early_in_a_stream(void **state)
{
	static const unsigned workers[] = { 1, 2, 4, 64 };

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		weft_policy policy = { .locks = i % 2 ? WEFT_LOCKS_NONE
						      : WEFT_LOCKS_SHORT };
		weft_config cfg = { .workers = workers[i / 2],
			.policy = &policy,
			.spin_ns = i / 2 % 2 ? -1 : 0 };

		stream = (struct stream){ .loads = rounds(300) };
		atomic_store(&stream.left, BRINGERS);
		play_ground.rt = rt_begin(&cfg);
		play_ground.e = weft_rt_executor(play_ground.rt);
		threads_run(BRINGERS + ASKERS, bring_or_ask, NULL);
		assert_expected();
		rt_end(play_ground.rt);
		printf("%u workers%s: idle %zu times, busy %zu times\n",
			cfg.workers, i % 2 ? ", lock-free" : "",
			atomic_load(&stream.idle), atomic_load(&stream.busy));
	}
}

/* ------------------------------------------------------------------------ */

static void report(const char *what)
{
	printf("%s: %zu rounds, asked %zu times, busy %zu times\n", what,
		atomic_exchange(&rounds_done, 0), atomic_exchange(&polls, 0),
		atomic_exchange(&busy_polls, 0));
}

static void idle_is_never_early(void **state)
{
	static const unsigned workers[] = { 1, 2, 8, 64 };
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, threads_seed());
	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
		char what[32];

		for (size_t j = 0; j < 5; j++)
			play_with_workers(workers[i], NULL, rounds(500), &r);
		snprintf(what, sizeof(what), "%u workers", workers[i]);
		report(what);
	}
}

/*
 * In several groups, each with its own queues.  A worker of another group takes
 * over tasks that wait long behind one, and then the first worker parks: a look
 * at one group after the other could see both parked.
 */
static void wander_between_groups(unsigned workers, size_t n)
{
	weft_config cfg = { .workers = workers, .group_size = 1 };
	struct wf_random r;

	wf_random_seed(&r, threads_seed());
	play_ground.rt = rt_begin(&cfg);
	play_ground.e = weft_rt_executor(play_ground.rt);
	play_ground.shape = WANDER;
	play_ground.nap_us = 60;
	for (size_t i = 0; i < n; i++) {
		play_ground.length = 8;
		play_ground.skew = wf_random_below(&r, 16);
		atomic_store(&play_ground.to_come, runs_of_part());
		start_part(0);
		poll_idle(SIZE_MAX, &r);
		wait_until_idle();
		assert_expected();
		atomic_fetch_add(&rounds_done, 1);
	}
	rt_end(play_ground.rt);
}

static void idle_is_never_early_in_groups(void **state)
{
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, threads_seed());
	for (size_t i = 0; i < 4; i++) {
		weft_config cfg = { .workers = 6, .group_size = 2 };

		play_ground.rt = rt_begin(&cfg);
		play_ground.e = weft_rt_executor(play_ground.rt);
		play_ground.nap_us = 10;
		play_alone(rounds(200), &r);
		rt_end(play_ground.rt);
	}
	report("3 groups of 2");
	wander_between_groups(2, rounds(400));
	report("2 groups of 1");
	wander_between_groups(24, rounds(400));
	report("24 groups of 1");
}

static void idle_is_never_early_by_any_policy(void **state)
{
	static const char *const policies[] = { "global-fifo", "bounded",
		"mutex", "no-lifo", "take-all", "wake-go", "wake-flare",
		"lock-free", "lock-free,wake-go", "lock-free,wake-flare" };
	struct wf_random r;

	(void)state;
	wf_random_seed(&r, threads_seed());
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		weft_policy policy;

		assert_int_equal(
			weft_policy_parse(&policy, policies[i], NULL, 0), 0);
		play_with_workers(1, &policy, rounds(100), &r);
		play_with_workers(2, &policy, rounds(100), &r);
		play_with_workers(8, &policy, rounds(100), &r);
		report(policies[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_is_never_early),
		cmocka_unit_test(idle_is_never_early_in_a_stream),
		cmocka_unit_test(idle_is_never_early_in_groups),
		cmocka_unit_test(idle_is_never_early_by_any_policy),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
