/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_once_test.c - every task and every fiber runs exactly
 * once, for any starter, however small the queues and however many workers.
 *
 * Threads outside, fibers and tasks draw numbers, and each may start more.  A
 * number is one task or fiber, started in one of all the ways there are; a
 * ledger counts its runs.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "stress/sched_kit.h"

enum { THREADS = 3, ROOTS = 4, KEPT = 40, BURST = 64 };
enum { THINGS = 30000, COARSE_NS = 4000 };

struct thing {
	weft_task task;
	weft_fiber *fiber;
	_Atomic(uint32_t) runs;
};

static struct game {
	weft_rt *rt;
	weft_executor *executor;
	struct thing *things;
	size_t n;
	_Atomic(size_t) dealt;
	_Atomic(size_t) ways[8]; /* how often each was used */
	weft_group open;	 /* things and roots that have not ended */
	int64_t grain_ns;	 /* how long a thing takes, at least */
	uint64_t seed;
} game;

/* The next number, or NULL: all are dealt. */
static struct thing *deal(void)
{
	size_t at = wf_add_rlx(&game.dealt, 1);

	return at < game.n ? &game.things[at] : NULL;
}

static void start_inside(struct thing *t, struct wf_random *random);

static void take_time(void)
{
	int64_t until = game.grain_ns ? threads_now_ns() + game.grain_ns : 0;

	while (until != 0 && threads_now_ns() < until)
		continue;
}

/* The thing runs.  Every third starts another one. */
static void happen(struct thing *t)
{
	struct wf_random random;
	struct thing *more;

	wf_add_rlx(&t->runs, 1);
	take_time();
	wf_random_seed(&random, game.seed ^ (uintptr_t)t);
	if (wf_random_below(&random, 3) == 0) {
		more = deal();
		if (more != NULL)
			start_inside(more, &random);
	}
	weft_group_done(&game.open);
}

static void run_task(weft_task *task)
{
	happen((struct thing *)task);
}

static void run_go(void *arg)
{
	happen(arg);
}

static void *run_spawn(void *arg)
{
	struct thing *t = arg;

	/* Some run as calls of their joiner, others on their own stack. */
	if ((t - game.things) % 4 == 0)
		weft_yield();
	happen(t);
	return arg;
}

/* ------------------------------------------------------------------------ */
/* The ways to start a thing. */

static void submit(struct thing *t, weft_hint hint)
{
	t->task.run = run_task;
	kit_expect(weft_submit(game.executor, &t->task, hint) == 0);
}

static void spawn(struct thing *t, weft_hint hint)
{
	weft_fiber_attr attr = {
		.name = "thing", .hint = hint, .executor = game.executor
	};

	kit_expect(weft_spawn(&t->fiber, &attr, run_spawn, t) == 0);
}

static void join(struct thing *t)
{
	void *result = NULL;

	kit_expect(weft_join(t->fiber, &result, WEFT_FOREVER) == 0);
	kit_expect(result == t);
}

/* Start t in a fiber or task, without a join. */
static void start_inside(struct thing *t, struct wf_random *random)
{
	weft_hint hint = (weft_hint)wf_random_below(random, 3);

	switch (wf_random_below(random, 3)) {
	case 0:
		submit(t, hint);
		break;
	case 1:
		kit_expect(weft_go(run_go, t) == 0);
		break;
	default:
		spawn(t, hint);
		weft_detach(t->fiber);
		break;
	}
}

static void start_outside(struct thing *t, struct wf_random *random)
{
	weft_hint hint = (weft_hint)wf_random_below(random, 3);

	switch (wf_random_below(random, 3)) {
	case 0:
		submit(t, hint);
		break;
	case 1:
		kit_expect(weft_rt_go(game.rt, run_go, t) == 0);
		break;
	default:
		kit_expect(weft_rt_spawn(game.rt, &t->fiber, NULL, run_spawn,
				   t) == 0);
		weft_detach(t->fiber);
		break;
	}
}

/* Spawn some and join them, forwards or backwards. */
static void spawn_and_join(struct wf_random *random)
{
	struct thing *kept[KEPT];
	size_t want = 1 + wf_random_below(random, KEPT), n = 0;
	bool forwards = wf_random_below(random, 2);

	while (n < want && (kept[n] = deal()) != NULL)
		spawn(kept[n++], (weft_hint)wf_random_below(random, 3));
	for (size_t i = 0; i < n; i++)
		join(kept[forwards ? i : n - 1 - i]);
}

/* Until nothing is left: bursts, which overflow small queues, and joins. */
static void start_all(struct wf_random *random,
	void (*start)(struct thing *t, struct wf_random *random), bool fiber)
{
	struct thing *t = deal();

	while (t != NULL) {
		size_t burst = 1 + wf_random_below(random, BURST);

		while (burst-- > 0 && t != NULL) {
			start(t, random);
			t = deal();
		}
		if (t != NULL) {
			start(t, random);
			/* A plain thread is woken for each: less often. */
			if (fiber || wf_random_below(random, 8) == 0)
				spawn_and_join(random);
			if (fiber && wf_random_below(random, 2))
				weft_yield();
			t = deal();
		}
	}
}

/* ------------------------------------------------------------------------ */
/* The games. */

static void root(void *arg)
{
	struct wf_random random;

	wf_random_seed(&random, game.seed + (uintptr_t)arg);
	start_all(&random, start_inside, true);
	weft_group_done(&game.open);
}

static void outside(void *arg, unsigned i)
{
	struct wf_random random;

	(void)arg;
	wf_random_seed(&random, game.seed + ROOTS + i);
	start_all(&random, start_outside, false);
}

static size_t count_wrong(void)
{
	size_t wrong = 0;

	for (size_t i = 0; i < game.n; i++) {
		uint32_t runs = wf_load_rlx(&game.things[i].runs);

		if (runs != 1 && wrong++ < 5)
			fprintf(stderr, "thing %zu ran %u times\n", i, runs);
	}
	return wrong;
}

/* By one fiber, or by many and by threads outside. */
static void play(
	const weft_config *cfg, int64_t grain_ns, bool alone, weft_metrics *m)
{
	uintptr_t roots = alone ? 1 : ROOTS;

	game = (struct game){ .n = kit_stacks(kit_rounds(THINGS)) };
	game.grain_ns = grain_ns;
	game.seed = threads_seed() + cfg->workers + cfg->local_capacity;
	game.things = calloc(game.n, sizeof(*game.things));
	assert_non_null(game.things);
	game.rt = kit_start(cfg);
	game.executor = weft_rt_executor(game.rt);
	weft_group_add(&game.open, (int64_t)(game.n + roots));
	for (uintptr_t i = 0; i < roots; i++)
		assert_int_equal(weft_rt_go(game.rt, root, (void *)i), 0);
	if (!alone)
		threads_run(THREADS, outside, NULL);
	assert_int_equal(weft_group_wait(&game.open, WEFT_FOREVER), 0);
	kit_metrics(game.rt, m);
	kit_stop(game.rt);
	assert_int_equal(count_wrong(), 0);
	free(game.things);
}

/* Steals and offloads must have happened, or the test shows less. */
static void check_metrics(const weft_config *cfg, bool alone, weft_metrics *m)
{
	assert_true(m->ticks > 0);
	/* Threads outside may have started all before a fiber runs. */
	if (alone && cfg->local_capacity == 2 && kit_policy() == NULL)
		assert_true(m->offloads > 0);
	if (alone && game.grain_ns && cfg->workers > 1 && !kit_slow())
		assert_true(m->stolen + m->runs_global > 1);
}

/* Things that take no time stay together; others are shared out. */
static void play_all(uint32_t workers)
{
	static const uint32_t capacities[] = { 2, 4, 256 };

	for (size_t i = 0; i < 12; i++) {
		weft_config cfg = { .workers = workers,
			.local_capacity = capacities[i / 4] };
		int64_t began = threads_now_ns(), grain = i % 2 ? COARSE_NS : 0;
		bool alone = i / 2 % 2;
		weft_metrics m = { 0 };

		play(&cfg, grain, alone, &m);
		printf("%3u workers, capacity %3u, %s by %s: %5.1f ms, "
		       "%zu offloads, %zu global, %zu stolen, %zu wakes\n",
			workers, cfg.local_capacity, grain ? "coarse" : "fine",
			alone ? "one" : "many",
			(double)(threads_now_ns() - began) / 1e6,
			(size_t)m.offloads, (size_t)m.runs_global,
			(size_t)m.stolen, (size_t)m.wakes);
		check_metrics(&cfg, alone, &m);
	}
}

static void once_with_1_worker(void **state)
{
	(void)state;
	play_all(1);
}

static void once_with_2_workers(void **state)
{
	(void)state;
	play_all(2);
}

static void once_with_3_workers(void **state)
{
	(void)state;
	play_all(3);
}

static void once_with_8_workers(void **state)
{
	(void)state;
	play_all(8);
}

static void once_with_64_workers(void **state)
{
	(void)state;
	play_all(64);
}

/* More than fit into one group. */
static void once_with_100_workers(void **state)
{
	(void)state;
	play_all(100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(once_with_1_worker),
		cmocka_unit_test(once_with_2_workers),
		cmocka_unit_test(once_with_3_workers),
		cmocka_unit_test(once_with_8_workers),
		cmocka_unit_test(once_with_64_workers),
		cmocka_unit_test(once_with_100_workers),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
