/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/yield_scenarios.c - fibers that give way, and go on somewhere else;
 * and that nobody waits for ever while others do.
 */
#include "sim/fiber_kit.h"

#include <errno.h>

#include "os/cxx.h"
#include "os/os.h"
#include "sched/idle.h"

enum { FIBERS = 4, YIELDS = 2 };

static struct {
	int inside[FIBERS]; /* somebody runs it */
	int steps[FIBERS];
	_Atomic(weft_fiber *) box[2]; /* ping, pong */
	int rounds;		      /* of both */
	_Atomic(uint32_t) others;     /* have run */
} *s;

static void open_all(unsigned flags)
{
	s = duo_alloc(sizeof(*s));
	duo_open(flags);
}

static void close_all(void)
{
	duo_close();
	wf_os_free(s);
}

/* Yields, looking each time where it is, and that nobody else is it. */
static void *yields(void *arg)
{
	weft_fiber *self = weft_self();
	uintptr_t i = (uintptr_t)arg;
	uintptr_t stack = i, *mine = duo_watched(&stack);

	for (int n = 0; n < YIELDS; n++) {
		weft_sim_assert(s->inside[i]++ == 0, "it has two runners");
		s->steps[i]++;
		weft_sim_yield();
		s->inside[i]--;
		weft_yield();
		duo_check_here(self);
		weft_sim_assert(
			(*mine)++ == i + (unsigned)n, "its stack is another's");
	}
	return NULL;
}

/* Two on one worker, one on the other, which also steals; arg is flags. */
void yield_three(void *arg)
{
	open_all((unsigned)(uintptr_t)arg);
	duo_root(0, yields, (void *)0);
	duo_root(0, yields, (void *)1);
	duo_root(1, yields, (void *)2);
	duo_run();
	for (int i = 0; i < 3; i++)
		weft_sim_assert(s->steps[i] == YIELDS, "fiber %d: %d steps", i,
			s->steps[i]);
	close_all();
}

/* Three on one worker; the other one has nothing but what it steals. */
void yield_stolen(void *arg)
{
	open_all((unsigned)(uintptr_t)arg);
	for (uintptr_t i = 0; i < 3; i++)
		duo_root(0, yields, (void *)i);
	duo_run();
	for (int i = 0; i < 3; i++)
		weft_sim_assert(s->steps[i] == YIELDS, "fiber %d: %d steps", i,
			s->steps[i]);
	close_all();
}

/* As if exceptions were caught here; i of 0 has none. */
static struct wf_cxx exceptions(uintptr_t i)
{
	return (struct wf_cxx){ .caught = i, .uncaught = i / 2 };
}

static wf_noinline void check_exceptions(uintptr_t i)
{
	struct wf_cxx have = *wf_os_cxx(), want = exceptions(i);

	weft_sim_assert(have.caught == want.caught &&
			have.uncaught == want.uncaught,
		"fiber %d has the exceptions of %d", (int)i, (int)have.caught);
}

/* Yields in a catch block, so to say. */
static void *throws(void *arg)
{
	uintptr_t i = (uintptr_t)arg;

	for (int n = 0; n < YIELDS; n++) {
		check_exceptions(0);
		*wf_os_cxx() = exceptions(i);
		weft_yield();
		check_exceptions(i);
		*wf_os_cxx() = exceptions(0);
		s->steps[i]++;
	}
	return NULL;
}

/* Exceptions go with the fiber that has them (X1). */
void yield_exceptions(void *arg)
{
	open_all((unsigned)(uintptr_t)arg);
	for (uintptr_t i = 0; i < FIBERS; i++)
		duo_root(0, throws, (void *)i);
	duo_run();
	for (int i = 0; i < FIBERS; i++)
		weft_sim_assert(s->steps[i] == YIELDS, "fiber %d: %d steps", i,
			s->steps[i]);
	close_all();
}

static void *child(void *arg)
{
	(void)wf_add_rlx(&s->others, 1);
	return arg;
}

/* Gives way once, then computes until somebody else has run a child of it. */
static void *computes(void *arg)
{
	weft_yield();
	for (int i = 0; i < 2; i++) {
		weft_fiber *f = NULL;
		int err = weft_spawn(&f, NULL, child, NULL);

		weft_sim_assert(err == 0, "spawn: %d", err);
		weft_detach(f);
	}
	while (wf_load_rlx(&s->others) == 0)
		weft_sim_yield();
	return arg;
}

/* Gives way at once to the fiber that has given way to it. */
static void *gives_back(void *arg)
{
	weft_yield();
	return arg;
}

/* In place of the monitor: wakes sleepers. */
static void monitor(void *arg)
{
	(void)arg;
	while (wf_load_rlx(&s->others) == 0) {
		(void)wf_wake_one(duo->group);
		weft_sim_yield();
	}
}

/* Thieves take the tasks behind a fiber that computes, also after a yield. */
void yield_computes(void *arg)
{
	int thread;

	open_all((unsigned)(uintptr_t)arg);
	duo_root(0, computes, NULL);
	duo_root(0, gives_back, NULL);
	duo_start();
	thread = duo_thread(monitor, NULL, "monitor");
	duo_join();
	(void)weft_sim_join(thread);
	close_all();
}

/* ------------------------------------------------------------------------ */
/* Two that wake each other through the slot. */

/* (S + 1) * (2 * L + 2 * R + G * (R + 1)) * P, as sched/pick.h has it. */
#define BOUND ((2 + 1) * (2 * 4 + 2 * 4 + 3 * (4 + 1)) * 2)

struct post {
	struct weft_awaiter awaiter;
	_Atomic(weft_fiber *) *box;
};

static bool others_ran(void)
{
	return wf_load_rlx(&s->others) == 2;
}

/* Refuses when the game is over, unless the other has just taken it. */
static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	_Atomic(weft_fiber *) *box =
		wf_container_of(a, struct post, awaiter)->box;

	/* [pair: yield.box] */
	wf_store_rel(box, f);
	/* [pair: yield.over] One of us sees the other. */
	wf_fence_seq();
	/* [pair: yield.box] */
	return !others_ran() || wf_xchg_acqrel(box, NULL) == NULL;
}

/* Wake the other, if it waits, and wait until it wakes us. */
static void *player(void *arg)
{
	uintptr_t i = (uintptr_t)arg;
	struct post post = { .awaiter.commit = publish, .box = &s->box[i] };
	weft_fiber *f;

	while (!others_ran()) {
		weft_sim_assert(s->rounds++ <= BOUND,
			"others that are ready do not run");
		/* [pair: yield.box] */
		f = wf_xchg_acqrel(&s->box[1 - i], NULL);
		if (f == NULL) {
			weft_yield();
			continue;
		}
		weft_wake(f, WEFT_HINT_NEXT);
		if (weft_suspend(&post.awaiter) != 0)
			break;
	}
	/* [pair: yield.over] */
	wf_fence_seq();
	/* [pair: yield.box] Nobody else will wake it. */
	f = wf_xchg_acqrel(&s->box[1 - i], NULL);
	if (f != NULL)
		weft_wake(f, WEFT_HINT_NEXT);
	return NULL;
}

/* Begins by waiting. */
static void *second_player(void *arg)
{
	struct post post = { .awaiter.commit = publish, .box = &s->box[1] };

	if (weft_suspend(&post.awaiter) != 0)
		return NULL;
	return player(arg);
}

static void fourth(void *arg)
{
	(void)child(arg);
}

/*
 * One more is ready in the local queue, and one in the global queue.  All on
 * one worker: the other may not take fine tasks from it.
 */
void yield_fair(void *arg)
{
	int err;

	(void)arg;
	open_all(0);
	duo_root(0, second_player, (void *)1);
	duo_root(0, player, (void *)0);
	duo_root(0, child, NULL);
	err = weft_rt_go(&duo->rt, fourth, NULL);
	weft_sim_assert(err == 0, "go: %d", err);
	duo_run();
	weft_sim_assert(others_ran(), "somebody did not run");
	close_all();
}

/* ------------------------------------------------------------------------ */
/*
 * One worker: a fiber that never gives way keeps all others from running.
 * These are whole runtimes, for the seeded bugs of tests/sim/bugs.txt.
 */

enum { ENDED = 8, SPILLS = 6, SPILL_ROUNDS = 4, SPILL_PICKS = 200 };

static struct {
	bool other_ran;
	bool over;
	unsigned runs; /* of those that fill the queue */
} one;

static void *other(void *arg)
{
	one.other_ran = true;
	return arg;
}

static weft_fiber *spawn_one(void *(*fn)(void *))
{
	weft_fiber *f = NULL;
	int err = weft_spawn(&f, NULL, fn, NULL);

	weft_sim_assert(err == 0, "spawn: %d", err);
	return f;
}

static void join_one(weft_fiber *f)
{
	int err = weft_join(f, NULL, WEFT_FOREVER);

	weft_sim_assert(err == 0, "join: %d", err);
}

static void run_one(int (*fn)(void *))
{
	weft_config cfg = { .workers = 1,
		.coop_budget = 3,
		.local_capacity = 2,
		.global_tick = 3,
		.spin_ns = -1 };
	int err = weft_run(&cfg, fn, NULL);

	weft_sim_assert(err == 0, "it ended with %d", err);
}

/* A select that only looks, until the other one has run. */
static int polls(void *arg)
{
	weft_event event = { 0 };
	weft_case cases[2] = { { .op = WEFT_EVENT, .obj = &event },
		{ .op = WEFT_EVENT, .obj = &event } };
	weft_fiber *f = spawn_one(other);

	(void)arg;
	while (!one.other_ran) {
		int err = weft_select(cases, 2, WEFT_NOW);

		weft_sim_assert(err == -ETIMEDOUT, "select: %d", err);
	}
	join_one(f);
	return 0;
}

void yield_polls(void *arg)
{
	(void)arg;
	run_one(polls);
}

static void *ends(void *arg)
{
	return arg;
}

/* More joins of fibers that have ended than its budget is. */
static int joins_ended(void *arg)
{
	weft_fiber *ended[ENDED], *f;

	(void)arg;
	for (int i = 0; i < ENDED; i++)
		ended[i] = spawn_one(ends);
	weft_yield();
	f = spawn_one(other);
	for (int i = 0; i < ENDED; i++)
		join_one(ended[i]);
	weft_sim_assert(one.other_ran, "it did not give way");
	join_one(f);
	return 0;
}

void yield_joins(void *arg)
{
	(void)arg;
	run_one(joins_ended);
}

/* One of more than the queue holds: it starts itself anew. */
static void spills(void *arg)
{
	int err;

	one.runs++;
	if (one.over)
		return;
	err = weft_go(spills, arg);
	weft_sim_assert(err == 0, "go: %d", err);
	weft_sim_assert(
		one.runs < SPILL_ROUNDS * SPILL_PICKS, "the yielder starves");
}

static int yields_beside(void *arg)
{
	for (int i = 0; i < SPILLS; i++)
		spills(arg);
	for (int i = 0; i < SPILL_ROUNDS; i++) {
		unsigned before = one.runs;

		weft_yield();
		weft_sim_assert(one.runs - before <= SPILL_PICKS,
			"%u picks until it runs", one.runs - before);
	}
	one.over = true;
	return 0;
}

void yield_spills(void *arg)
{
	(void)arg;
	run_one(yields_beside);
}
