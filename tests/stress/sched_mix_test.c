/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_mix_test.c - whatever fibers, tasks and threads do, in any
 * mixture, all that was started ends, and no freed memory is touched.
 *
 * A life is one runtime, or two that wake each other's fibers, in which
 * everything is done at random: spawn, join, detach, go, submit, yield,
 * suspend, wake, hand over, groups on the stack, and all of it nested.  Some
 * lives end when all is done, others are shut down in the middle.
 *
 * The owner overwrites memory as soon as it has it back, so that a late access
 * by the library is seen.
 *
 * If nothing ends for a minute, the seed of the life is printed and the program
 * aborted.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>

#include "stress/sched_kit.h"

enum { PONDS = 16, THREADS = 2, RUNTIMES = 2, DEPTH_MAX = 5 };
enum { TIME_MS = 8000, LIFE_MS = 120, LIVE_MAX = 1500 };

static struct life {
	uint64_t seed;
	unsigned runtimes;
	weft_rt *rt[RUNTIMES];
	uint32_t ms;		   /* how long it lasts, about */
	bool cut_short;		   /* shut down before all is done */
	_Atomic(bool) over;	   /* nothing new is started */
	_Atomic(unsigned) threads; /* outside, that still act */
	_Atomic(weft_fiber *) pond[PONDS];
} life;

/* Fibers and tasks of all lives; the watchdog looks at them all the time. */
static _Atomic(size_t) begun, ended;
static _Atomic(uint64_t) life_seed;

/* The argument of a fiber. */
struct order {
	uint64_t seed;
	unsigned depth;
	weft_group *group; /* counted down when done; or NULL */
};

/* ------------------------------------------------------------------------ */
/* The watchdog. */

static _Atomic(bool) watch_over;

static void *watch(void *arg)
{
	size_t limit_s = kit_slow() ? 300 : 60, still = 0, seen = 0;

	(void)arg;
	while (!wf_load_rlx(&watch_over)) {
		size_t now = wf_load_rlx(&ended);

		kit_pause_us(100000);
		still = now == seen ? still + 1 : 0;
		seen = now;
		if (still > limit_s * 10) {
			fprintf(stderr,
				"hung: WEFT_TEST_SEED=%" PRIu64
				", life %#" PRIx64 ", %zu of %zu have ended\n",
				threads_seed(), wf_load_rlx(&life_seed), now,
				wf_load_rlx(&begun));
			signal(SIGABRT, SIG_DFL);
			abort();
		}
	}
	return NULL;
}

/* ------------------------------------------------------------------------ */
/* Ponds: a fiber waits in one until another caller fishes it out. */

struct wait {
	struct weft_awaiter awaiter;
	_Atomic(weft_fiber *) *pond;
	weft_fiber *other; /* to be woken by commit */
	unsigned guard;
};

static bool jump_in(struct weft_awaiter *a, weft_fiber *self)
{
	struct wait *w = (struct wait *)a;
	_Atomic(weft_fiber *) *pond = w->pond;
	weft_fiber *empty = NULL;

	if (w->other != NULL)
		weft_wake(w->other, WEFT_HINT_DEFAULT);
	return wf_cas_rel(pond, &empty, self);
}

static weft_fiber *fish(struct wf_random *r)
{
	return wf_xchg_acq(&life.pond[wf_random_below(r, PONDS)], NULL);
}

static weft_hint any_hint(struct wf_random *r)
{
	return (weft_hint)wf_random_below(r, 3);
}

static void wake_someone(struct wf_random *r)
{
	weft_fiber *f = fish(r);

	if (f != NULL)
		weft_wake(f, any_hint(r));
}

/* With two runtimes the fished fiber may be foreign: no handover then. */
static void wait_in_pond(struct wf_random *r)
{
	struct wait w = { .awaiter.commit = jump_in,
		.guard = 0xabcd,
		.pond = &life.pond[wf_random_below(r, PONDS)] };
	int result;

	switch (wf_random_below(r, 4)) {
	case 0:
		w.awaiter.next = life.runtimes == 1 ? fish(r) : NULL;
		break;
	case 1:
		w.other = fish(r);
		break;
	default:
		break;
	}
	result = weft_suspend(&w.awaiter);
	kit_expect(result == 0 || result == 1);
	kit_expect(w.guard == 0xabcd);
	memset(&w, 0x77, sizeof(w));
}

/* ------------------------------------------------------------------------ */
/* Starting things. */

static void *act(void *arg);
static void act_and_go(void *arg)
{
	(void)act(arg);
}

/* NULL: enough fibers live already. */
static struct order *new_order(
	struct wf_random *r, unsigned depth, weft_group *group)
{
	size_t live = wf_load_rlx(&begun) - wf_load_rlx(&ended);
	struct order *o;

	if (wf_load_rlx(&life.over) || depth > DEPTH_MAX ||
		live > kit_stacks(LIVE_MAX))
		return NULL;
	o = malloc(sizeof(*o));
	if (o == NULL)
		return NULL;
	*o = (struct order){ .seed = wf_random_next(r), .depth = depth };
	o->group = group;
	if (group != NULL)
		weft_group_add(group, 1);
	wf_add_rlx(&begun, 1);
	return o;
}

/* The order was refused: undo new_order. */
static void withdraw(struct order *o, int err)
{
	kit_expect(err == -ESHUTDOWN && life.cut_short);
	if (o->group != NULL)
		weft_group_done(o->group);
	wf_add_rlx(&ended, 1);
	free(o);
}

static void any_attr(struct wf_random *r, weft_fiber_attr *a, weft_rt *rt)
{
	static const size_t sizes[] = { 0, 0, 0, 0, 16384, 100000, 500000 };

	*a = (weft_fiber_attr){ .name = "mixed", .hint = any_hint(r) };
	a->stack_bytes = sizes[wf_random_below(r, 7)];
	if (rt != NULL)
		a->executor = weft_rt_executor(rt);
}

static weft_rt *any_rt(struct wf_random *r)
{
	return life.rt[wf_random_below(r, life.runtimes)];
}

static weft_fiber *spawn(struct wf_random *r, unsigned depth, weft_group *group)
{
	struct order *o = new_order(r, depth, group);
	/* A plain thread must say where; a fiber need not. */
	bool where = weft_rt_self() == NULL || wf_random_below(r, 4) == 0;
	weft_fiber_attr a;
	weft_fiber *f;
	int err;

	if (o == NULL)
		return NULL;
	any_attr(r, &a, where ? any_rt(r) : NULL);
	err = weft_spawn(&f, &a, act, o);
	if (err == 0)
		return f;
	withdraw(o, err);
	return NULL;
}

static void go(struct wf_random *r, unsigned depth, weft_group *group)
{
	bool outside = weft_rt_self() == NULL || wf_random_below(r, 4) == 0;
	struct order *o = new_order(r, depth, group);
	int err;

	if (o == NULL)
		return;
	err = outside ? weft_rt_go(any_rt(r), act_and_go, o)
		      : weft_go(act_and_go, o);
	if (err != 0)
		withdraw(o, err);
}

/* A plain task; its memory is freed as soon as it runs. */
struct job {
	weft_task task;
	struct order *order;
};

static void run_job(weft_task *task)
{
	struct job *job = (struct job *)task;
	struct order *o = job->order;
	struct wf_random r;

	memset(job, 0x77, sizeof(*job));
	free(job);
	wf_random_seed(&r, o->seed);
	kit_expect(weft_self() == NULL);
	if (wf_random_below(&r, 2))
		wake_someone(&r);
	else
		go(&r, o->depth + 1, NULL);
	if (o->group != NULL)
		weft_group_done(o->group);
	free(o);
	wf_add_rlx(&ended, 1);
}

static void submit(struct wf_random *r, unsigned depth, weft_group *group)
{
	struct order *o = new_order(r, depth, group);
	struct job *job = o ? malloc(sizeof(*job)) : NULL;
	int err = -ESHUTDOWN;

	if (o == NULL)
		return;
	if (job != NULL) {
		*job = (struct job){ .task.run = run_job, .order = o };
		err = weft_submit(
			weft_rt_executor(any_rt(r)), &job->task, any_hint(r));
	}
	if (err != 0) {
		free(job);
		withdraw(o, err);
	}
}

/* ------------------------------------------------------------------------ */
/* Waiting for things. */

/* A join that is cancelled leaves the handle. */
static void join(struct wf_random *r, weft_fiber *f)
{
	void *result = NULL;
	int err = wf_random_below(r, 4) == 0 ? weft_join(f, &result, WEFT_NOW)
					     : -ETIMEDOUT;

	if (err == -ETIMEDOUT && weft_self() == NULL)
		err = weft_join(f, &result, weft_after(1000));
	if (err == -ETIMEDOUT)
		err = weft_join(f, &result, WEFT_FOREVER);
	if (err == -ECANCELED && wf_random_below(r, 2) == 0) {
		kit_expect(life.cut_short);
		weft_detach(f);
		return;
	}
	while (err == -ECANCELED || err == -ETIMEDOUT) {
		weft_yield();
		err = weft_join(f, &result, WEFT_NOW);
	}
	kit_expect(err == 0);
	kit_expect(result == (void *)&life);
}

/* Children that are joined in any order, or detached. */
static void have_children(struct wf_random *r, unsigned depth)
{
	weft_fiber *child[8];
	size_t n = 0, want = 1 + wf_random_below(r, 8);

	while (n < want && (child[n] = spawn(r, depth + 1, NULL)) != NULL)
		n++;
	while (n > 0) {
		size_t i = wf_random_below(r, (uint32_t)n);

		if (wf_random_below(r, 8) == 0)
			weft_detach(child[i]);
		else
			join(r, child[i]);
		child[i] = child[--n];
	}
}

/* Children in a wait group that is overwritten right after the wait. */
static void have_group(struct wf_random *r, unsigned depth)
{
	weft_group *on_heap = calloc(1, sizeof(*on_heap)), on_stack = { 0 };
	weft_group *g = on_heap && wf_random_below(r, 2) ? on_heap : &on_stack;
	size_t want = 1 + wf_random_below(r, 8);
	int err;

	for (size_t i = 0; i < want; i++) {
		weft_fiber *f;

		switch (wf_random_below(r, 3)) {
		case 0:
			go(r, depth + 1, g);
			break;
		case 1:
			submit(r, depth + 1, g);
			break;
		default:
			f = spawn(r, depth + 1, g);
			if (f != NULL)
				weft_detach(f);
			break;
		}
	}
	err = weft_group_wait(g, WEFT_FOREVER);
	while (err == -ECANCELED || err == -ETIMEDOUT) {
		kit_expect(life.cut_short);
		weft_yield();
		err = weft_group_wait(g, WEFT_NOW);
	}
	kit_expect(err == 0);
	memset(g, 0x77, sizeof(*g));
	free(on_heap);
}

/* ------------------------------------------------------------------------ */
/* Fibers and threads. */

static void do_something(struct wf_random *r, unsigned depth)
{
	uint32_t n = wf_random_below(r, 10);

	switch (wf_random_below(r, 9)) {
	case 0:
		have_children(r, depth);
		break;
	case 1:
		have_group(r, depth);
		break;
	case 2:
		go(r, depth + 1, NULL);
		break;
	case 3:
		submit(r, depth + 1, NULL);
		break;
	case 4:
		while (n-- > 0)
			weft_yield();
		break;
	case 5:
		for (n *= 20; n > 0; n--)
			weft_checkpoint();
		break;
	case 6:
		wake_someone(r);
		break;
	default:
		if (weft_self() != NULL)
			wait_in_pond(r);
		break;
	}
}

static void *act(void *arg)
{
	struct order o = *(struct order *)arg;
	weft_fiber *self = weft_self();
	unsigned steps;
	struct wf_random r;

	memset(arg, 0x77, sizeof(o));
	free(arg);
	wf_random_seed(&r, o.seed);
	for (steps = wf_random_below(&r, 8); steps > 0; steps--) {
		do_something(&r, o.depth);
		kit_expect(weft_self() == self && self != NULL);
	}
	if (o.group != NULL)
		weft_group_done(o.group);
	wf_add_rlx(&ended, 1);
	return &life;
}

/* Wake the fibers in all ponds. */
static void rescue(void)
{
	for (size_t i = 0; i < PONDS; i++) {
		weft_fiber *f = wf_xchg_acq(&life.pond[i], NULL);

		if (f != NULL)
			weft_wake(f, WEFT_HINT_DEFAULT);
	}
	kit_pause_us(100);
}

/* All others may wait for a fiber in a pond; the rescuer does not. */
static void act_as_rescuer(struct wf_random *r)
{
	int64_t end =
		threads_now_ns() + wf_random_below(r, life.ms) * WF_NS_PER_MS;
	unsigned at = 0;

	while (wf_load_rlx(&life.threads) > 0) {
		rescue();
		if (life.cut_short && threads_now_ns() > end &&
			at < life.runtimes)
			kit_expect(weft_rt_shutdown(life.rt[at++]) == 0);
	}
}

/* A plain thread does what fibers do, for a while. */
static void act_outside(void *arg, unsigned i)
{
	int64_t until = threads_now_ns() + life.ms * WF_NS_PER_MS;
	struct wf_random r;

	(void)arg;
	wf_random_seed(&r, life.seed + i);
	if (i == THREADS) {
		act_as_rescuer(&r);
		return;
	}
	while (threads_now_ns() < until)
		do_something(&r, 0);
	wf_sub_rlx(&life.threads, 1);
}

/* ------------------------------------------------------------------------ */
/* Lives. */

static void any_config(struct wf_random *r, weft_config *cfg)
{
	static const uint32_t capacities[] = { 0, 2, 4, 16 };

	*cfg = (weft_config){ .workers = 1 + wf_random_below(r, 8) };
	cfg->local_capacity = capacities[wf_random_below(r, 4)];
	if (wf_random_below(r, 4) == 0)
		cfg->group_size = 1 + wf_random_below(r, 4);
	if (wf_random_below(r, 4) == 0)
		cfg->coop_budget = 1 + wf_random_below(r, 20);
	if (wf_random_below(r, 4) == 0)
		cfg->global_tick = 1 + wf_random_below(r, 20);
	if (wf_random_below(r, 4) == 0)
		cfg->lifo_budget = 1 + wf_random_below(r, 10);
	if (wf_random_below(r, 4) == 0)
		cfg->spin_ns = -1;
}

static void live(uint64_t seed)
{
	struct wf_random r;
	weft_config cfg;

	wf_random_seed(&r, seed);
	life = (struct life){ .seed = seed };
	wf_store_rlx(&life_seed, seed);
	life.runtimes = 1 + wf_random_below(&r, RUNTIMES);
	life.cut_short = wf_random_below(&r, 3) == 0;
	life.ms = 1 + wf_random_below(&r, LIFE_MS);
	for (unsigned i = 0; i < life.runtimes; i++) {
		any_config(&r, &cfg);
		life.rt[i] = kit_start(&cfg);
	}
	alarm(0);
	wf_store_rlx(&life.threads, THREADS);
	threads_run(THREADS + 1, act_outside, NULL);
	wf_store_rlx(&life.over, true);
	while (wf_load_rlx(&ended) != wf_load_rlx(&begun))
		rescue();
	for (unsigned i = 0; i < life.runtimes; i++)
		kit_stop(life.rt[i]);
	assert_int_equal(wf_load_rlx(&begun), wf_load_rlx(&ended));
}

static void all_fibers_and_tasks_end(void **state)
{
	int64_t until = threads_until_ns(TIME_MS);
	size_t lives = 0;
	pthread_t dog;

	(void)state;
	assert_int_equal(pthread_create(&dog, NULL, watch, NULL), 0);
	do {
		live(threads_seed() + lives++);
		alarm(0);
	} while (threads_now_ns() < until);
	wf_store_rlx(&watch_over, true);
	pthread_join(dog, NULL);
	printf("%zu lives, %zu fibers and tasks\n", lives, wf_load_rlx(&begun));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_fibers_and_tasks_end),
	};

	threads_seed();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
