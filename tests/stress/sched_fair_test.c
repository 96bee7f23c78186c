/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_fair_test.c - on one worker no ready task or fiber
 * starves: one fiber can delay the others only up to a bound (R2.6, R2.7, R2.8,
 * R2.17, R2.18).
 *
 * With one worker all is decided by the order of picks, so delays are counted
 * in runs, not in time, and the machine's other load does not matter.  A thread
 * outside submits while a fiber spins: so the fiber knows at which run the
 * tasks became ready.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <sched.h>

#include "stress/sched_kit.h"

/* ------------------------------------------------------------------------ */
/* One worker, and a helper outside. */

static struct scene {
	weft_rt *rt;
	weft_executor *executor;
	_Atomic(bool) over;
	weft_group ended;

	/* A fiber asks, the helper submits count tasks and answers. */
	weft_task *tasks;
	_Atomic(size_t) count;
	_Atomic(uint32_t) asked, answered;
} scene;

/* In a fiber: these tasks are in the global queue when it returns. */
static void put_into_global(weft_task *tasks, size_t count)
{
	uint32_t nth = wf_load_rlx(&scene.answered) + 1;

	scene.tasks = tasks;
	wf_store_rlx(&scene.count, count);
	/* The helper must see the tasks, and we that it is done with them. */
	wf_store_rel(&scene.asked, nth);
	while (wf_load_acq(&scene.answered) != nth)
		sched_yield();
}

static void help(void)
{
	while (!wf_load_acq(&scene.over)) {
		uint32_t nth = wf_load_acq(&scene.asked);
		size_t count = wf_load_rlx(&scene.count);

		if (nth == wf_load_rlx(&scene.answered)) {
			sched_yield();
			continue;
		}
		for (size_t i = 0; i < count; i++)
			kit_expect(weft_submit(scene.executor, &scene.tasks[i],
					   WEFT_HINT_DEFAULT) == 0);
		wf_store_rel(&scene.answered, nth);
	}
}

/* The last fiber of a scene calls it. */
static void end_scene(void)
{
	wf_store_rel(&scene.over, true);
}

/* Run fn as the first fiber of a runtime; help until the scene is over. */
static void play(const weft_config *cfg, void (*fn)(void *), void *arg)
{
	weft_config one = *cfg;

	one.workers = 1;
	scene = (struct scene){ .rt = kit_start(&one) };
	scene.executor = weft_rt_executor(scene.rt);
	assert_int_equal(weft_rt_go(scene.rt, fn, arg), 0);
	help();
	kit_stop(scene.rt);
}

/* ------------------------------------------------------------------------ */
/* A ping-pong through the slot. */

enum { SAMPLES = 100, EVERY = 500 };

static struct pong {
	weft_fiber *player[2];
	bool parked[2];
	bool over;
	size_t passes;
	size_t local_at, global_at; /* when they became ready */
	size_t local_worst, global_worst, yielder_worst;
	size_t locals, globals, yields;
	weft_task task;
} pong;

static bool park(struct weft_awaiter *a, weft_fiber *self)
{
	(void)a;
	pong.parked[self == pong.player[1]] = true;
	return true;
}

static void local_runs(void *arg)
{
	size_t waited = pong.passes - pong.local_at;

	(void)arg;
	pong.local_worst = wf_max_size(pong.local_worst, waited);
	pong.locals++;
}

static void global_runs(weft_task *task)
{
	size_t waited = pong.passes - pong.global_at;

	(void)task;
	pong.global_worst = wf_max_size(pong.global_worst, waited);
	pong.globals++;
}

static void yielder(void *arg)
{
	(void)arg;
	while (!pong.over) {
		size_t before = pong.passes;

		weft_yield();
		pong.yielder_worst =
			wf_max_size(pong.yielder_worst, pong.passes - before);
		pong.yields++;
	}
	weft_group_done(&scene.ended);
}

/* Now and then a player makes a fiber or a task ready. */
static void disturb(void)
{
	if (pong.passes % EVERY == 0) {
		pong.local_at = pong.passes;
		kit_expect(weft_go(local_runs, NULL) == 0);
	} else if (pong.passes % EVERY == EVERY / 2) {
		pong.global_at = pong.passes;
		pong.task.run = global_runs;
		put_into_global(&pong.task, 1);
	}
}

static void *player(void *arg)
{
	uintptr_t self = (uintptr_t)arg;
	struct weft_awaiter a = { .commit = park };

	if (self == 1)
		kit_expect(weft_suspend(&a) == 0);
	while (!pong.over) {
		pong.passes++;
		disturb();
		if (pong.passes == SAMPLES * EVERY)
			pong.over = true;
		weft_wake(pong.player[!self], WEFT_HINT_NEXT);
		/* The other player would not wake it any more. */
		if (pong.over)
			break;
		kit_expect(weft_suspend(&a) == 0);
	}
	return NULL;
}

static void ping_pong(void *arg)
{
	weft_fiber_attr next = { .hint = WEFT_HINT_NEXT };

	(void)arg;
	weft_group_add(&scene.ended, 1);
	kit_expect(weft_spawn(&pong.player[1], NULL, player, (void *)1) == 0);
	while (!pong.parked[1])
		weft_yield();
	kit_expect(weft_go(yielder, NULL) == 0);
	kit_expect(weft_spawn(&pong.player[0], &next, player, (void *)0) == 0);
	kit_expect(weft_join(pong.player[0], NULL, WEFT_FOREVER) == 0);
	kit_expect(weft_join(pong.player[1], NULL, WEFT_FOREVER) == 0);
	kit_expect(weft_group_wait(&scene.ended, WEFT_FOREVER) == 0);
	end_scene();
}

static void a_ping_pong_starves_no_other_fiber(void **state)
{
	static const weft_config cfgs[] = { { 0 },
		{ .lifo_budget = 1, .global_tick = 7 },
		{ .lifo_budget = 20, .local_capacity = 2 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cfgs) / sizeof(cfgs[0]); i++) {
		size_t budget = cfgs[i].lifo_budget ? cfgs[i].lifo_budget : 3;
		size_t tick = cfgs[i].global_tick ? cfgs[i].global_tick : 61;

		pong = (struct pong){ .passes = 0 };
		play(&cfgs[i], ping_pong, NULL);
		printf("budget %zu, tick %zu: waited for at most %zu passes in "
		       "the queue, %zu in the global one, %zu after a yield; "
		       "%zu yields\n",
			budget, tick, pong.local_worst, pong.global_worst,
			pong.yielder_worst, pong.yields);
		assert_int_equal(pong.locals, SAMPLES);
		assert_int_equal(pong.globals, SAMPLES);
		assert_true(pong.local_worst <= 2 * budget + 2);
		assert_true(pong.global_worst <= tick + 1);
		/* The yielder may be behind both in the global queue. */
		assert_true(pong.yielder_worst <= 3 * tick + 3);
	}
}

/* ------------------------------------------------------------------------ */
/* Yield gives way to all that is ready. */

enum { TRIALS = 400, GLOBALS_MAX = 40, OTHERS = 3 };

static struct yielding {
	struct wf_random random;
	size_t ran; /* fibers, next fibers and tasks */
	size_t wanted;
	bool task_ran;	      /* the one submitted as a yielder */
	size_t task_after;    /* runs before it */
	size_t turns[OTHERS]; /* of the other yielders */
	bool over;
	weft_task yielder;
	weft_task globals[GLOBALS_MAX];
} yielding;

static void ran_as_fiber(void *arg)
{
	(void)arg;
	yielding.ran++;
}

static void *ran_as_next(void *arg)
{
	yielding.ran++;
	return arg;
}

static void ran_as_task(weft_task *task)
{
	(void)task;
	yielding.ran++;
}

static void ran_as_yielder(weft_task *task)
{
	(void)task;
	yielding.task_ran = true;
	yielding.task_after = yielding.ran;
}

static void yield_too(void *arg)
{
	size_t *turns = arg;

	while (!yielding.over) {
		*turns += 1;
		weft_yield();
	}
	weft_group_done(&scene.ended);
}

/* Fill the queue, perhaps beyond its end, the global one and the slot. */
static void fill_queues(size_t capacity)
{
	struct wf_random *r = &yielding.random;
	size_t locals = wf_random_below(r, (uint32_t)(2 * capacity + 2));
	size_t globals = wf_random_below(r, GLOBALS_MAX + 1);
	size_t nexts = wf_random_below(r, 3);
	weft_fiber_attr next = { .hint = WEFT_HINT_NEXT };
	weft_fiber *f;

	yielding.ran = 0;
	yielding.wanted = locals + globals + nexts;
	for (size_t i = 0; i < locals; i++)
		kit_expect(weft_go(ran_as_fiber, NULL) == 0);
	for (size_t i = 0; i < globals; i++)
		yielding.globals[i].run = ran_as_task;
	if (globals > 0)
		put_into_global(yielding.globals, globals);
	for (size_t i = 0; i < nexts; i++) {
		kit_expect(weft_spawn(&f, &next, ran_as_next, NULL) == 0);
		weft_detach(f);
	}
}

static void one_yield(size_t capacity)
{
	bool with_task = wf_random_below(&yielding.random, 2);
	size_t turns[OTHERS];

	fill_queues(capacity);
	memcpy(turns, yielding.turns, sizeof(turns));
	yielding.task_ran = !with_task;
	yielding.task_after = yielding.wanted;
	yielding.yielder.run = ran_as_yielder;
	if (with_task)
		kit_expect(weft_submit(scene.executor, &yielding.yielder,
				   WEFT_HINT_YIELD) == 0);
	weft_yield();
	kit_expect(yielding.ran == yielding.wanted);
	kit_expect(yielding.task_ran);
	kit_expect(yielding.task_after == yielding.wanted);
	for (size_t i = 0; i < OTHERS; i++) {
		kit_expect(yielding.turns[i] >= turns[i] + 1);
		kit_expect(yielding.turns[i] <= turns[i] + 2);
	}
}

static void yield_to_all(void *arg)
{
	size_t capacity = *(size_t *)arg;

	weft_group_add(&scene.ended, OTHERS);
	for (size_t i = 0; i < OTHERS; i++)
		kit_expect(weft_go(yield_too, &yielding.turns[i]) == 0);
	weft_yield();
	for (size_t i = kit_rounds(TRIALS); i > 0 && !kit_failed(); i--)
		one_yield(capacity);
	yielding.over = true;
	kit_expect(weft_group_wait(&scene.ended, WEFT_FOREVER) == 0);
	end_scene();
}

static void yield_gives_way_to_all(void **state)
{
	static size_t capacities[] = { 2, 8, 64, 256 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		weft_config cfg = { .local_capacity = (uint32_t)capacities[i] };

		yielding = (struct yielding){ .ran = 0 };
		wf_random_seed(&yielding.random, threads_seed() + i);
		play(&cfg, yield_to_all, &capacities[i]);
	}
}

/* ------------------------------------------------------------------------ */
/* An even spread. */

enum { YIELDERS = 100, YIELDS = 1000, LEAD_MAX = 2 };

static struct spread {
	size_t yields;	       /* to be done by each */
	size_t at[YIELDS + 1]; /* fibers by yields done */
	size_t first, last;    /* yields of the first, the last */
	size_t lead;	       /* the greatest difference */
	bool visitors;	       /* tasks come from outside */
	weft_task visitor;
	size_t visits, visitors_seen;
} spread;

static void visit(weft_task *task)
{
	(void)task;
	spread.visitors_seen++;
}

static void note_yield(size_t done)
{
	spread.at[done - 1]--;
	spread.at[done]++;
	spread.first = wf_max_size(spread.first, done);
	while (spread.last < spread.yields && spread.at[spread.last] == 0)
		spread.last++;
	spread.lead = wf_max_size(spread.lead, spread.first - spread.last);
	if (spread.visitors && spread.visits == spread.visitors_seen &&
		done % 10 == 0) {
		spread.visits++;
		spread.visitor.run = visit;
		put_into_global(&spread.visitor, 1);
	}
}

static void yield_often(void *arg)
{
	(void)arg;
	for (size_t i = 1; i <= spread.yields; i++) {
		weft_yield();
		note_yield(i);
	}
	weft_group_done(&scene.ended);
}

static void many_yield(void *arg)
{
	(void)arg;
	weft_group_add(&scene.ended, YIELDERS);
	spread.at[0] = YIELDERS;
	for (size_t i = 0; i < YIELDERS; i++)
		kit_expect(weft_go(yield_often, NULL) == 0);
	kit_expect(weft_group_wait(&scene.ended, WEFT_FOREVER) == 0);
	end_scene();
}

static void yielders_advance_together(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		static const uint32_t capacities[] = { 256, 2, 64 };
		weft_config cfg = { .local_capacity = capacities[i / 2] };

		spread = (struct spread){ .visitors = i % 2 };
		spread.yields = kit_rounds(YIELDS);
		play(&cfg, many_yield, NULL);
		printf("capacity %3u, %zu visitors: a lead of %zu at most\n",
			capacities[i / 2], spread.visitors_seen, spread.lead);
		assert_int_equal(spread.last, spread.yields);
		assert_true(spread.lead <= LEAD_MAX);
	}
}

/* ------------------------------------------------------------------------ */
/* The budget of calls that need not wait. */

enum { BUDGET_SAMPLES = 50 };

static struct budget {
	weft_config cfg;
	void (*call)(void);
	size_t calls; /* since the other is ready */
	size_t worst, least;
	size_t ran;
	weft_task task;
} budget;

static void call_checkpoint(void)
{
	weft_checkpoint();
}

static void call_group(void)
{
	weft_group none = { 0 };

	kit_expect(weft_group_wait(&none, WEFT_FOREVER) == 0);
}

static void call_group_now(void)
{
	weft_group none = { 0 };

	kit_expect(weft_group_wait(&none, WEFT_NOW) == 0);
}

static void other_runs(void *arg)
{
	(void)arg;
	budget.worst = wf_max_size(budget.worst, budget.calls);
	budget.least = wf_min_size(budget.least, budget.calls);
	budget.ran++;
}

static void other_runs_as_task(weft_task *task)
{
	other_runs(task);
}

/* A fiber that is always ready and calls; another waits behind it. */
static void always_ready(void *arg)
{
	(void)arg;
	budget.task.run = other_runs_as_task;
	for (size_t i = 0; i < BUDGET_SAMPLES; i++) {
		int64_t until = threads_now_ns() + 10 * WF_NS_PER_S;

		budget.calls = 0;
		if (i % 2)
			kit_expect(weft_go(other_runs, NULL) == 0);
		else
			put_into_global(&budget.task, 1);
		while (budget.ran == i && threads_now_ns() < until) {
			budget.calls++;
			budget.call();
		}
		kit_expect(budget.ran == i + 1);
	}
	end_scene();
}

static void a_fiber_that_never_waits_gives_way(void **state)
{
	static void (*const calls[])(
		void) = { call_checkpoint, call_group, call_group_now };
	static const uint32_t budgets[] = { 0, 1, 7, 1000 };

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		uint32_t given = budgets[i % 4], units = given ? given : 128;

		budget = (struct budget){ .call = calls[i / 4] };
		budget.least = SIZE_MAX;
		budget.cfg.coop_budget = given;
		play(&budget.cfg, always_ready, NULL);
		printf("budget %u: %zu to %zu calls\n", units, budget.least,
			budget.worst);
		assert_true(budget.worst <= units);
	}
}

/* ------------------------------------------------------------------------ */
/* A flood in the local queue, and tasks in the global queue. */

enum { FLOOD_MAX = 300, FLOOD_GLOBALS = 20, FLOOD_SAMPLES = 40 };

static struct flood {
	weft_task drop[FLOOD_MAX];
	size_t drops;
	size_t runs; /* of drops */
	size_t ready_at;
	size_t samples;
	size_t waiting;
	size_t worst;
	bool over;
	weft_task globals[FLOOD_GLOBALS];
	size_t count; /* of them, at a time */
} flood;

static void global_got_through(weft_task *task)
{
	(void)task;
	flood.waiting--;
	flood.worst = wf_max_size(flood.worst, flood.runs - flood.ready_at);
}

/* A drop, which submits the next one. */
static void drip(weft_task *task)
{
	flood.runs++;
	if (flood.waiting == 0 && flood.runs % 1000 == 0) {
		if (flood.samples++ == FLOOD_SAMPLES)
			flood.over = true;
		flood.ready_at = flood.runs;
		flood.waiting = flood.over ? 0 : flood.count;
		for (size_t i = 0; i < flood.waiting; i++)
			flood.globals[i].run = global_got_through;
		if (flood.waiting > 0)
			put_into_global(flood.globals, flood.waiting);
	}
	if (!flood.over)
		kit_expect(weft_submit(scene.executor, task,
				   WEFT_HINT_DEFAULT) == 0);
	else if (--flood.drops == 0)
		end_scene();
}

static void flood_the_queue(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < flood.drops; i++) {
		flood.drop[i].run = drip;
		kit_expect(weft_submit(scene.executor, &flood.drop[i],
				   WEFT_HINT_DEFAULT) == 0);
	}
}

static void a_flood_does_not_starve_the_global_queue(void **state)
{
	static const uint32_t ticks[] = { 1, 7, 61, 500 };
	static const size_t drops[] = { 1, 10, 200 };

	(void)state;
	for (size_t i = 0; i < 24; i++) {
		weft_config cfg = { .global_tick = ticks[i % 4] };

		flood = (struct flood){ .drops = drops[i / 4 % 3] };
		flood.count = i / 12 ? FLOOD_GLOBALS : 1;
		play(&cfg, flood_the_queue, NULL);
		printf("tick %3u, %3zu in the queue, %2zu in the global one: "
		       "%zu runs\n",
			ticks[i % 4], drops[i / 4 % 3], flood.count,
			flood.worst);
		assert_true(flood.worst <=
			(ticks[i % 4] + 1) * flood.count + drops[i / 4 % 3]);
	}
}

/* ------------------------------------------------------------------------ */
/* The bound of sched/pick.h. */

enum { CROWD_MAX = 60, CROWD_RUNS = 30000 };

static struct crowd {
	struct wf_random random;
	size_t ready;	     /* R: how many are always ready */
	size_t runs, wanted; /* of all: picks */
	size_t worst;
	weft_task task[CROWD_MAX];
	size_t ready_at[CROWD_MAX];
} crowd;

/* A task or fiber runs that was ready since then. */
static void note_run(size_t ready_at)
{
	crowd.worst = wf_max_size(crowd.worst, crowd.runs - ready_at);
	crowd.runs++;
}

/* Half of the crowd: tasks that submit themselves again, in any way. */
static void jostle(weft_task *task)
{
	size_t i = (size_t)(task - crowd.task);
	weft_hint hint = (weft_hint)wf_random_below(&crowd.random, 3);

	note_run(crowd.ready_at[i]);
	crowd.ready_at[i] = crowd.runs;
	if (crowd.runs >= crowd.wanted)
		weft_group_done(&scene.ended);
	else if (wf_random_below(&crowd.random, 8) == 0)
		put_into_global(task, 1);
	else
		kit_expect(weft_submit(scene.executor, task, hint) == 0);
}

/* A task that submits itself with WEFT_HINT_NEXT, always. */
static void push_ahead(weft_task *task)
{
	size_t i = (size_t)(task - crowd.task);

	note_run(crowd.ready_at[i]);
	crowd.ready_at[i] = crowd.runs;
	if (crowd.runs >= crowd.wanted)
		weft_group_done(&scene.ended);
	else
		kit_expect(
			weft_submit(scene.executor, task, WEFT_HINT_NEXT) == 0);
}

/* The other half: fibers that yield. */
static void stand_back(void *arg)
{
	(void)arg;
	while (crowd.runs < crowd.wanted) {
		size_t ready_at = crowd.runs;

		weft_yield();
		note_run(ready_at);
	}
	weft_group_done(&scene.ended);
}

static void gather(void *arg)
{
	size_t tasks = crowd.ready / 2;

	(void)arg;
	weft_group_add(&scene.ended, (int64_t)crowd.ready);
	for (size_t i = 0; i < tasks; i++) {
		crowd.task[i].run = i == 0 ? push_ahead : jostle;
		kit_expect(weft_submit(scene.executor, &crowd.task[i],
				   WEFT_HINT_DEFAULT) == 0);
	}
	for (size_t i = tasks; i < crowd.ready; i++)
		kit_expect(weft_go(stand_back, NULL) == 0);
	kit_expect(weft_group_wait(&scene.ended, WEFT_FOREVER) == 0);
	end_scene();
}

static void a_ready_task_runs_within_the_bound(void **state)
{
	static const weft_config cfgs[] = {
		{ .local_capacity = 2, .lifo_budget = 1, .global_tick = 1 },
		{ .local_capacity = 2, .lifo_budget = 3, .global_tick = 7 },
		{ .local_capacity = 16, .lifo_budget = 1, .global_tick = 61 },
		{ .local_capacity = 256, .lifo_budget = 3, .global_tick = 61 },
	};
	static const size_t sizes[] = { 4, 20, CROWD_MAX };

	(void)state;
	for (size_t i = 0; i < 12; i++) {
		const weft_config *c = &cfgs[i % 4];
		size_t r = sizes[i / 4];
		size_t bound = (c->lifo_budget + 1) *
			(2 * c->local_capacity + 2 * r +
				c->global_tick * (r + 1));

		crowd = (struct crowd){ .ready = r };
		crowd.wanted = kit_rounds(CROWD_RUNS);
		wf_random_seed(&crowd.random, threads_seed() + i);
		play(c, gather, NULL);
		printf("L %3u, S %u, G %2u, R %2zu: at most %zu picks, the "
		       "bound is %zu\n",
			c->local_capacity, c->lifo_budget, c->global_tick, r,
			crowd.worst, bound);
		assert_true(crowd.worst <= bound);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ping_pong_starves_no_other_fiber),
		cmocka_unit_test(yield_gives_way_to_all),
		cmocka_unit_test(yielders_advance_together),
		cmocka_unit_test(a_fiber_that_never_waits_gives_way),
		cmocka_unit_test(a_flood_does_not_starve_the_global_queue),
		cmocka_unit_test(a_ready_task_runs_within_the_bound),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
