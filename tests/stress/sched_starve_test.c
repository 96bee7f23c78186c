/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_starve_test.c - beside fibers that never stop each other
 * fiber and task runs within the bound of sched/pick.h, by every policy (R2.17,
 * R2.19); and the number of live fibers does not grow if as many end as start.
 *
 * One worker.  A HOG is one or more fibers that never stop by themselves:
 * transfers, joins, bursts, and the like.  It calls step() once for each pick
 * it causes.  VICTIMS are made ready in a step, one of each kind; when all have
 * run the next trial begins.  With one worker all is decided by the order of
 * picks, so delays are counted in steps and other load does not matter.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sched.h>

#include "base/limits.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "stress/policies.h"
#include "stress/sched_kit.h"

enum victim {
	FRESH,	  /* a fiber that may be joined: the queue has a ticket */
	DETACHED, /* weft_go */
	TASK,
	SLOT,	 /* a task submitted with WEFT_HINT_NEXT */
	OUTSIDE, /* a task from another thread, in the global queue */
	YIELDER,
	SLEEPER, /* for 5 us; by time, because a clock decides */
	VICTIMS,
};

#define SLEEP_NS 5000

/*
 * The bound for a sleeper, once all others have run: it may be late by half a
 * millisecond, and the machine may stop us for longer.
 */
#define SLEEPER_NS (100 * WF_NS_PER_MS)

static const char *const victim_names[VICTIMS] = { "fresh fiber",
	"detached fiber", "task", "task in the slot", "task from outside",
	"yielder", "sleeper" };

struct hog {
	const char *name;
	void (*run)(void *arg);
	uint32_t ready; /* its own that are ready at once */
	bool joins;	/* its steps are children that run as calls */
	bool calls;	/* its steps are calls that need not wait */
};

static struct scene {
	weft_rt *rt;
	const struct hog *hog;
	size_t steps, trials, allowed;
	size_t begun;		/* steps when the trial began */
	size_t at[VICTIMS];	/* ready since then */
	size_t worst[VICTIMS];
	uint32_t waiting;	/* victims that have not run: bits */
	int64_t slept_ns;	/* SLEEPER: since then */
	bool over;
	int starved;		/* a victim that did not run; -1: none */
	size_t live, most_live; /* fibers of a burst */
	weft_task task, slot, outside;
	weft_group ended;
	_Atomic(uint32_t) asked, answered;
	_Atomic(bool) closed;
} scene;

/* ------------------------------------------------------------------------ */
/* Victims. */

static void ready(enum victim v)
{
	scene.at[v] = scene.steps;
}

static void ran(enum victim v)
{
	size_t waited = scene.steps - scene.at[v];

	scene.worst[v] = wf_max_size(scene.worst[v], waited);
	scene.waiting &= ~(1u << v);
	weft_group_done(&scene.ended);
}

static void *be_fresh(void *arg)
{
	ran(FRESH);
	return arg;
}

static void be_detached(void *arg)
{
	(void)arg;
	ran(DETACHED);
}

static void be_task(weft_task *task)
{
	(void)task;
	ran(TASK);
}

static void be_in_slot(weft_task *task)
{
	(void)task;
	ran(SLOT);
}

static void be_outside(weft_task *task)
{
	(void)task;
	ran(OUTSIDE);
}

static void be_yielder(void *arg)
{
	(void)arg;
	ready(YIELDER);
	weft_yield();
	ran(YIELDER);
}

static void be_sleeper(void *arg)
{
	(void)arg;
	ready(SLEEPER);
	scene.slept_ns = weft_now();
	kit_expect(weft_sleep(SLEEP_NS) == 0);
	ran(SLEEPER);
}

/* The thread of the test submits, while the fiber that asks spins. */
static void ask_for_outside(void)
{
	uint32_t nth = wf_load_rlx(&scene.answered) + 1;

	wf_store_rel(&scene.asked, nth);
	while (wf_load_acq(&scene.answered) != nth)
		sched_yield();
}

static void serve(void)
{
	while (!wf_load_acq(&scene.closed)) {
		uint32_t nth = wf_load_acq(&scene.asked);

		if (nth == wf_load_rlx(&scene.answered)) {
			sched_yield();
			continue;
		}
		kit_expect(weft_submit(weft_rt_executor(scene.rt),
				   &scene.outside, WEFT_HINT_DEFAULT) == 0);
		wf_store_rel(&scene.answered, nth);
	}
}

static void begin_trial(void)
{
	weft_fiber *f = NULL;

	scene.begun = scene.steps;
	scene.waiting = (1u << VICTIMS) - 1;
	weft_group_add(&scene.ended, VICTIMS);
	for (int v = 0; v < VICTIMS; v++)
		ready((enum victim)v);
	kit_expect(weft_go(be_yielder, NULL) == 0);
	kit_expect(weft_go(be_sleeper, NULL) == 0);
	kit_expect(weft_spawn(&f, NULL, be_fresh, NULL) == 0);
	weft_detach(f);
	kit_expect(weft_go(be_detached, NULL) == 0);
	scene.task.run = be_task;
	kit_expect(weft_submit(weft_rt_executor(scene.rt), &scene.task,
			   WEFT_HINT_DEFAULT) == 0);
	scene.slot.run = be_in_slot;
	kit_expect(weft_submit(weft_rt_executor(scene.rt), &scene.slot,
			   WEFT_HINT_NEXT) == 0);
	scene.outside.run = be_outside;
	ask_for_outside();
}

/* The trial has taken longer than is allowed: did a victim starve? */
static bool is_starved(void)
{
	if (scene.waiting != 1u << SLEEPER)
		return true;
	return weft_now() - scene.slept_ns > SLEEPER_NS;
}

/* A hog has taken a step; false: it is over. */
static bool step(void)
{
	scene.steps++;
	if (scene.over)
		return false;
	if (scene.waiting == 0) {
		if (scene.trials-- == 0)
			scene.over = true;
		else
			begin_trial();
	} else if (scene.steps - scene.begun > scene.allowed && is_starved()) {
		scene.starved = __builtin_ctz(scene.waiting);
		scene.over = true;
	}
	return !scene.over;
}

/* ------------------------------------------------------------------------ */
/* Hogs. */

static struct pair {
	struct weft_awaiter a;
	weft_fiber *self;
	bool ended;
} pair[2];

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	wf_container_of(a, struct pair, a)->self = f;
	return true;
}

static bool pair_wakes; /* else next of each other (weft_awaiter) */

/* Two fibers, of which one runs and the other waits. */
static void play_pair(void *arg)
{
	struct pair *me = arg, *other = &pair[me == pair];

	me->a = (struct weft_awaiter){ .commit = publish };
	if (me == pair)
		kit_expect(weft_suspend(&me->a) == 0);
	while (step()) {
		if (pair_wakes)
			weft_wake(other->self, WEFT_HINT_NEXT);
		else
			me->a.next = other->self;
		kit_expect(weft_suspend(&me->a) == 0);
	}
	me->ended = true;
	if (!other->ended)
		weft_wake(other->self, WEFT_HINT_DEFAULT);
	weft_group_done(&scene.ended);
}

static void begin_pair(bool wakes)
{
	memset(pair, 0, sizeof(pair));
	pair_wakes = wakes;
	weft_group_add(&scene.ended, 2);
	kit_expect(weft_go(play_pair, &pair[0]) == 0);
	while (pair[0].self == NULL)
		weft_yield();
	kit_expect(weft_go(play_pair, &pair[1]) == 0);
}

static void hog_transfer(void *arg)
{
	(void)arg;
	begin_pair(false);
}

static void hog_next(void *arg)
{
	(void)arg;
	begin_pair(true);
}

static void *leaf(void *arg)
{
	return arg;
}

static void *branch(void *arg)
{
	weft_fiber *f = NULL;

	(void)step();
	kit_expect(weft_spawn(&f, NULL, leaf, NULL) == 0);
	kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	return arg;
}

static void spawn_and_join(void *child)
{
	void *(*fn)(void *) = *(void *(**)(void *))child;
	weft_fiber *f = NULL;

	while (step()) {
		kit_expect(weft_spawn(&f, NULL, fn, NULL) == 0);
		kit_expect(weft_join(f, NULL, WEFT_FOREVER) == 0);
	}
	weft_group_done(&scene.ended);
}

static void hog_joins(void *arg)
{
	static void *(*fn)(void *) = leaf;

	(void)arg;
	weft_group_add(&scene.ended, 1);
	spawn_and_join(&fn);
}

static void hog_tree(void *arg)
{
	static void *(*fn)(void *) = branch;

	(void)arg;
	weft_group_add(&scene.ended, 1);
	spawn_and_join(&fn);
}

/* It joins, and another fiber yields: the joiner must not run only that. */
static void yield_on(void *arg)
{
	(void)arg;
	while (!scene.over) {
		scene.steps++;
		weft_yield();
	}
	weft_group_done(&scene.ended);
}

static void hog_joins_and_yields(void *arg)
{
	weft_group_add(&scene.ended, 1);
	kit_expect(weft_go(yield_on, NULL) == 0);
	hog_joins(arg);
}

static void hog_calls(void *arg)
{
	(void)arg;
	while (step())
		weft_checkpoint();
}

static void yield_and_step(void *arg)
{
	(void)arg;
	while (step())
		weft_yield();
	weft_group_done(&scene.ended);
}

static void hog_yields(void *arg)
{
	(void)arg;
	weft_group_add(&scene.ended, 3);
	for (int i = 0; i < 3; i++)
		kit_expect(weft_go(yield_and_step, NULL) == 0);
}

static weft_task again[3];

static void run_again(weft_task *task)
{
	weft_hint hint = task == again ? WEFT_HINT_NEXT : WEFT_HINT_DEFAULT;

	if (step())
		kit_expect(weft_submit(weft_rt_executor(scene.rt), task,
				   hint) == 0);
	else
		weft_group_done(&scene.ended);
}

static void hog_resubmits(void *arg)
{
	(void)arg;
	weft_group_add(&scene.ended, 3);
	for (int i = 0; i < 3; i++) {
		again[i].run = run_again;
		kit_expect(weft_submit(weft_rt_executor(scene.rt), &again[i],
				   WEFT_HINT_DEFAULT) == 0);
	}
}

/* Each burst starts itself anew and so many sparks that the queue overflows; in
 * first in, first out order BURSTS * BURST sparks would live at once. */
enum { BURSTS = 3, BURST = 40 };

static void spark(void *arg)
{
	(void)arg;
	(void)step();
	scene.live--;
	weft_group_done(&scene.ended);
}

static void start(void (*fn)(void *), void *arg)
{
	scene.live++;
	scene.most_live = wf_max_size(scene.most_live, scene.live);
	weft_group_add(&scene.ended, 1);
	kit_expect(weft_go(fn, arg) == 0);
}

static void burst(void *arg)
{
	bool first = (uintptr_t)arg % 2;

	if (step()) {
		/* Before the others or after: either may be worse. */
		if (first)
			start(burst, arg);
		for (int i = 0; i < BURST; i++)
			start(spark, NULL);
		if (!first)
			start(burst, arg);
	}
	scene.live--;
	weft_group_done(&scene.ended);
}

static void hog_bursts(void *arg)
{
	(void)arg;
	for (uintptr_t i = 0; i < BURSTS; i++)
		start(burst, (void *)i);
}

static const struct hog hogs[] = {
	{ .name = "transfers", .run = hog_transfer, .ready = 2 },
	{ .name = "wakes into the slot", .run = hog_next, .ready = 2 },
	{ .name = "joins", .run = hog_joins, .ready = 2, .joins = true },
	{ .name = "trees", .run = hog_tree, .ready = 3, .joins = true },
	{ .name = "joins beside yields",
		.run = hog_joins_and_yields,
		.ready = 3,
		.joins = true },
	{ .name = "calls", .run = hog_calls, .ready = 1, .calls = true },
	{ .name = "yields", .run = hog_yields, .ready = 3 },
	{ .name = "tasks again", .run = hog_resubmits, .ready = 3 },
	{ .name = "bursts",
		.run = hog_bursts,
		.ready = 8 * BURSTS * (BURST + 1) },
};

enum { HOGS = sizeof(hogs) / sizeof(hogs[0]) };

/* ------------------------------------------------------------------------ */

static void play_hog(void *arg)
{
	scene.hog->run(arg);
	kit_expect(weft_group_wait(&scene.ended, WEFT_FOREVER) == 0);
	wf_store_rel(&scene.closed, true);
}

/* How many steps a victim may wait for. */
static size_t allowed_steps(const struct hog *hog, const weft_config *cfg,
	const weft_policy *policy)
{
	weft_config c = *cfg;
	size_t bound;

	if (policy != NULL && policy->locks == WEFT_LOCKS_NONE)
		c.global_tick += c.local_capacity;
	bound = wf_pick_bound(&c, 1, hog->ready + 2 * VICTIMS);
	if (hog->calls)
		bound *= c.coop_budget;
	return bound + (hog->joins ? 2 * WF_JOIN_CALLS : 0);
}

static void let(const struct hog *hog, const weft_config *cfg, size_t trials,
	const weft_policy *policy, const char *words)
{
	weft_config one = *cfg;

	one.workers = 1;
	one.policy = policy;
	scene = (struct scene){ .hog = hog, .trials = trials, .starved = -1 };
	scene.allowed = allowed_steps(hog, cfg, policy);
	scene.rt = kit_start(&one);
	kit_watch();
	assert_int_equal(weft_rt_go(scene.rt, play_hog, NULL), 0);
	serve();
	kit_stop(scene.rt);
	if (scene.starved >= 0)
		fail_msg("%s: the %s has not run after %zu steps of %s", words,
			victim_names[scene.starved], scene.allowed, hog->name);
	/* Picks by turns allow a few times as many as first in, first out. */
	if (scene.most_live > hog->ready)
		fail_msg("%s: %zu fibers live at once, of %d", words,
			scene.most_live, BURSTS * (BURST + 1));
}

static void nothing_starves(void **state)
{
	static const weft_config cfgs[] = {
		{ .local_capacity = 256, .lifo_budget = 3, .global_tick = 61 },
		{ .local_capacity = 2, .lifo_budget = 1, .global_tick = 2 },
		{ .local_capacity = 4, .lifo_budget = 3, .global_tick = 61 },
		{ .local_capacity = 16, .lifo_budget = 20, .global_tick = 7 },
		{ .local_capacity = 64, .lifo_budget = 1, .global_tick = 500 },
	};

	(void)state;
	for (size_t i = 0; i < 5 * HOGS; i++) {
		weft_config cfg = cfgs[i % 5];

		cfg.coop_budget = 128;
		let(&hogs[i / 5], &cfg, kit_rounds(20), NULL, "default");
		printf("L %3u, S %2u, G %3u, %-20s waited for",
			cfg.local_capacity, cfg.lifo_budget, cfg.global_tick,
			hogs[i / 5].name);
		for (int v = 0; v < VICTIMS; v++)
			printf(" %zu", scene.worst[v]);
		printf(" of %zu steps\n", scene.allowed);
	}
}

static void nothing_starves_by_any_policy(void **state)
{
	weft_config cfg = { .local_capacity = 16,
		.lifo_budget = 2,
		.global_tick = 7,
		.coop_budget = 8 };
	size_t tried = 0;

	(void)state;
	for (size_t n = 0; n < POLICIES; n++) {
		weft_policy policy;
		char words[120];

		/* Slow builds take every seventh; all fields still change. */
		if (kit_slow() && n % 7 != 0)
			continue;
		if (!policy_nth(n, &policy, words, sizeof(words)))
			continue;
		for (size_t i = 0; i < HOGS; i++)
			let(&hogs[i], &cfg, 2, &policy, words);
		tried++;
	}
	printf("%zu policies\n", tried);
	assert_true(tried >= 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_starves),
		cmocka_unit_test(nothing_starves_by_any_policy),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
