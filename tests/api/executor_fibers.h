/* SPDX-License-Identifier: MIT */
/*
 * tests/api/executor_fibers.h - what fibers do on every executor.
 *
 * A part of executor_suite.h.  No check here knows the kind of the executor.
 * So a fiber never spins for something that comes from outside: on some
 * executors the fiber runs inside the very call that would bring it.
 */
#ifndef WEFT_TESTS_API_EXECUTOR_FIBERS_H
#define WEFT_TESTS_API_EXECUTOR_FIBERS_H

#include "api/executor_kit.h"

/* The executor of the present check. */
static struct subject *here;

static weft_fiber *spawn_on(weft_executor *e, void *(*fn)(void *), void *arg)
{
	weft_fiber_attr attr = { .executor = e };
	weft_fiber *f = NULL;

	expect_eq(weft_spawn(&f, &attr, fn, arg), 0);
	return f;
}

/* On the test's thread. */
static void *join_outside(weft_fiber *f)
{
	void *result = NULL;
	int err;

	assert_expected();
	assert_non_null(f);
	err = weft_join(f, &result, PATIENCE);
	assert_expected();
	assert_int_equal(err, 0);
	return result;
}

/* Run fn(arg) in a fiber of s, to its end. */
static void play_on(struct subject *s, void *(*fn)(void *), void *arg)
{
	here = s;
	assert_ptr_equal(join_outside(spawn_on(s->e, fn, arg)), arg);
}

static bool commit_refuses(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	(void)f;
	expect(weft_self() == NULL);
	return false;
}

static bool commit_wakes(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	weft_wake(f, WEFT_HINT_DEFAULT);
	return true;
}

/* ------------------------------------------------------------------------ */
/* Spawn and join. */

static void fibers_are_joined_outside(struct subject *s)
{
	enum { FIBERS = 100 };
	weft_fiber *fibers[FIBERS];

	here = s;
	assert_int_equal(weft_spawn(&fibers[0], NULL, echo, NULL), -EPERM);
	for (uintptr_t i = 0; i < FIBERS; i++)
		fibers[i] = spawn_on(s->e, echo, (void *)i);
	for (uintptr_t i = 0; i < FIBERS; i++)
		assert_ptr_equal(join_outside(fibers[i]), (void *)i);
	assert_null(weft_self());
}

static void *spawn_two(void *arg)
{
	uintptr_t depth = (uintptr_t)arg;

	expect(runs_this(here));
	if (depth > 0) {
		weft_fiber *a = spawn(spawn_two, (void *)(depth - 1));
		weft_fiber *b = spawn(spawn_two, (void *)(depth - 1));

		expect(weft_self() != a && a != b);
		expect_eq((uintptr_t)join(b), depth - 1);
		expect_eq((uintptr_t)join(a), depth - 1);
		expect(runs_this(here));
	}
	return arg;
}

static void fibers_join_fibers(struct subject *s)
{
	play_on(s, spawn_two, (void *)(uintptr_t)(API_TSAN ? 6 : 9));
}

static struct {
	struct baton baton;
	weft_group ended;
	_Atomic(unsigned) runs;
} late;

static void *wait_for_late(void *arg)
{
	baton_wait(&late.baton);
	atomic_fetch_add(&late.runs, 1);
	weft_group_done(&late.ended);
	return arg;
}

static weft_fiber *spawn_late(struct subject *s)
{
	weft_fiber *f;

	weft_group_add(&late.ended, 1);
	f = spawn_on(s->e, wait_for_late, &late);
	assert_expected();
	return f;
}

static void a_join_may_come_late_or_early(struct subject *s)
{
	weft_fiber *f = spawn_late(s);
	void *result = s;

	assert_int_equal(weft_join(f, &result, WEFT_NOW), -ETIMEDOUT);
	assert_int_equal(
		weft_join(f, &result, weft_after(NS_PER_MS)), -ETIMEDOUT);
	assert_ptr_equal(result, s);
	assert_true(await(state_of(f) == WEFT_FIBER_WAITING));
	baton_put(&late.baton, WEFT_HINT_DEFAULT);
	assert_true(await(state_of(f) == WEFT_FIBER_DONE));
	assert_int_equal(weft_join(f, &result, WEFT_NOW), 0);
	assert_ptr_equal(result, &late);
	assert_int_equal(weft_group_wait(&late.ended, PATIENCE), 0);
}

static void a_fiber_may_be_detached(struct subject *s)
{
	atomic_store(&late.runs, 0);
	/* While it waits: only its waker still knows the fiber. */
	weft_detach(spawn_late(s));
	baton_put(&late.baton, WEFT_HINT_DEFAULT);
	assert_int_equal(weft_group_wait(&late.ended, PATIENCE), 0);
	/* When it has ended. */
	for (unsigned i = 0; i < 3; i++) {
		weft_fiber *f = spawn_late(s);

		baton_put(&late.baton, hints[i]);
		assert_true(await(state_of(f) == WEFT_FIBER_DONE));
		weft_detach(f);
		assert_int_equal(weft_group_wait(&late.ended, PATIENCE), 0);
	}
	assert_int_equal(atomic_load(&late.runs), 4);
	assert_expected();
}

static void *join_itself(void *arg)
{
	expect_eq(weft_join(weft_self(), NULL, WEFT_FOREVER), -EDEADLK);
	return arg;
}

static void a_fiber_cannot_join_itself(struct subject *s)
{
	play_on(s, join_itself, s);
}

/* ------------------------------------------------------------------------ */
/* weft_self and names. */

static const char *const names[] = { "warp", "weft", NULL };

static struct {
	struct baton baton[3];
	_Atomic(weft_fiber *) self[3];
} known;

static void *know_self(void *arg)
{
	size_t i = (uintptr_t)arg;
	weft_fiber *self = weft_self();

	expect(self != NULL);
	expect(weft_fiber_name(self) == names[i]);
	expect_eq(state_of(self), WEFT_FIBER_RUNNING);
	expect(!weft_cancelled());
	atomic_store(&known.self[i], self);
	baton_wait(&known.baton[i]);
	expect(weft_self() == self);
	weft_yield();
	expect(weft_self() == self);
	return arg;
}

static void fibers_know_their_handle_and_name(struct subject *s)
{
	weft_fiber *f[3];

	for (uintptr_t i = 0; i < 3; i++) {
		weft_fiber_attr attr = { .name = names[i], .executor = s->e };

		atomic_store(&known.self[i], NULL);
		assert_int_equal(
			weft_spawn(&f[i], &attr, know_self, (void *)i), 0);
	}
	for (size_t i = 0; i < 3; i++) {
		assert_ptr_equal(weft_fiber_name(f[i]), names[i]);
		assert_true(await(state_of(f[i]) == WEFT_FIBER_WAITING));
		assert_ptr_equal(atomic_load(&known.self[i]), f[i]);
	}
	assert_null(weft_self());
	for (size_t i = 0; i < 3; i++)
		baton_put(&known.baton[i], hints[i]);
	for (size_t i = 0; i < 3; i++)
		join_outside(f[i]);
}

/* ------------------------------------------------------------------------ */
/* Stacks. */

__attribute__((noinline)) static unsigned use_stack(size_t bytes)
{
	volatile char use[bytes];
	unsigned sum = 0;

	for (size_t i = 0; i < bytes; i += 512)
		use[i] = (char)(i / 512);
	weft_yield();
	for (size_t i = 0; i < bytes; i += 512)
		sum += use[i] == (char)(i / 512);
	return sum;
}

static void *use_much_stack(void *arg)
{
	size_t bytes = (uintptr_t)arg;

	expect_eq(use_stack(bytes), (bytes + 511) / 512);
	return arg;
}

/* Each gets at least the size it asked for; without a size, 64 KiB. */
static void stacks_are_as_large_as_asked(struct subject *s)
{
	static const size_t asked[] = { 1, 16384, 65536, 1 << 20, 0 };
	weft_fiber_attr bad = { .executor = s->e,
		.stack_bytes = (size_t)2 << 30 };
	weft_fiber *f;

	for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++) {
		weft_fiber_attr attr = { .stack_bytes = asked[i],
			.executor = s->e };
		size_t use = asked[i] ? asked[i] / 2 : 32768;

		assert_int_equal(weft_spawn(&f, &attr, use_much_stack,
					 (void *)(use + 1)),
			0);
		join_outside(f);
	}
	assert_int_equal(weft_spawn(&f, &bad, echo, NULL), -EINVAL);
}

/* ------------------------------------------------------------------------ */
/* Giving way. */

enum { YIELDERS = 20, TURNS = 50 };

static struct {
	_Atomic(unsigned) turns[YIELDERS];
	_Atomic(unsigned) content; /* fibers that have had all their turns */
	_Atomic(bool) other_ran;
} ways;

/* Ends only if every other fiber gets its turns too. */
static void *take_turns(void *arg)
{
	_Atomic(unsigned) *turns = arg;

	for (unsigned i = 1; i <= TURNS; i++) {
		expect(runs_this(here));
		atomic_store(turns, i);
		weft_yield();
	}
	atomic_fetch_add(&ways.content, 1);
	expect(await_yielding(atomic_load(&ways.content) == YIELDERS));
	return arg;
}

static void *let_all_take_turns(void *arg)
{
	weft_fiber *f[YIELDERS];

	atomic_store(&ways.content, 0);
	for (size_t i = 0; i < YIELDERS; i++)
		f[i] = spawn(take_turns, &ways.turns[i]);
	for (size_t i = 0; i < YIELDERS; i++)
		expect(join(f[i]) == &ways.turns[i]);
	return arg;
}

static void every_fiber_gets_a_turn(struct subject *s)
{
	play_on(s, let_all_take_turns, s);
}

static void other_runs(weft_task *task)
{
	(void)task;
	atomic_store(&ways.other_ran, true);
}

/* A plain task gets its turn too, whatever its hint. */
static void *give_way(void *arg)
{
	static weft_task other = { .run = other_runs };
	void (*call)(void) = arg ? weft_yield : weft_checkpoint;

	for (size_t i = 0; i < rounds(100); i++) {
		int64_t give_up = PATIENCE;

		atomic_store(&ways.other_ran, false);
		expect_eq(weft_submit(here->e, &other, hints[i % HINTS]), 0);
		while (!atomic_load(&ways.other_ran) && weft_now() < give_up)
			call();
		expect(atomic_load(&ways.other_ran));
	}
	return arg;
}

static void yield_gives_way(struct subject *s)
{
	play_on(s, give_way, s);
}

static void checkpoint_gives_way(struct subject *s)
{
	play_on(s, give_way, NULL);
}

/* ------------------------------------------------------------------------ */
/* Waiting. */

static void *be_refused_and_woken(void *arg)
{
	for (size_t i = 0; i < rounds(1000); i++) {
		struct weft_awaiter a = { .commit = i % 2 ? commit_refuses
							  : commit_wakes };
		weft_fiber *self = weft_self();

		expect_eq(weft_suspend(&a), i % 2);
		expect(weft_self() == self);
		expect(runs_this(here));
	}
	return arg;
}

static void commit_refuses_or_wakes(struct subject *s)
{
	play_on(s, be_refused_and_woken, s);
}

enum { WAITERS = 8, WAKERS = 2 };

static struct {
	struct baton batons[WAITERS];
	unsigned notes[WAITERS]; /* plain: a wake orders them */
	_Atomic(unsigned) left;
} far;

static void *wait_many_times(void *arg)
{
	size_t self = (uintptr_t)arg;
	unsigned n = (unsigned)rounds(300);

	for (unsigned i = 1; i <= n; i++) {
		baton_wait(&far.batons[self]);
		expect_eq(far.notes[self], i);
		expect(runs_this(here));
	}
	atomic_fetch_sub(&far.left, 1);
	return arg;
}

/* Wake those of batons from, from + WAKERS, ...: each has one waker. */
static bool wake_waiters(size_t from)
{
	bool any = false;

	for (size_t i = from; i < WAITERS; i += WAKERS) {
		if (atomic_load(&far.batons[i].word) <= BATON_DOWN)
			continue;
		far.notes[i]++;
		baton_put(&far.batons[i], hints[far.notes[i] % HINTS]);
		any = true;
	}
	return any;
}

static void wake_from_outside(void *arg, unsigned i)
{
	int64_t give_up = PATIENCE;

	(void)arg;
	while (atomic_load(&far.left) > 0 && weft_now() < give_up)
		if (!wake_waiters(i))
			nap_ns(10 * NS_PER_US);
}

static void far_begin(void)
{
	memset(far.notes, 0, sizeof(far.notes));
	atomic_store(&far.left, WAITERS);
}

static void threads_wake_fibers(struct subject *s)
{
	weft_fiber *f[WAITERS];

	here = s;
	far_begin();
	for (uintptr_t i = 0; i < WAITERS; i++)
		f[i] = spawn_on(s->e, wait_many_times, (void *)i);
	assert_expected();
	threads_run(WAKERS, wake_from_outside, NULL);
	for (uintptr_t i = 0; i < WAITERS; i++)
		assert_ptr_equal(join_outside(f[i]), (void *)i);
}

static void *wake_from_inside(void *arg)
{
	while (atomic_load(&far.left) > 0) {
		wake_waiters((uintptr_t)arg);
		weft_yield();
	}
	return arg;
}

static void *fibers_wake_each_other(void *arg)
{
	weft_fiber *f[WAITERS], *g[WAKERS];

	for (uintptr_t i = 0; i < WAITERS; i++)
		f[i] = spawn(wait_many_times, (void *)i);
	for (uintptr_t i = 0; i < WAKERS; i++)
		g[i] = spawn(wake_from_inside, (void *)i);
	for (size_t i = 0; i < WAITERS; i++)
		join(f[i]);
	for (size_t i = 0; i < WAKERS; i++)
		join(g[i]);
	return arg;
}

static void fibers_wake_fibers(struct subject *s)
{
	far_begin();
	play_on(s, fibers_wake_each_other, s);
}

static struct {
	struct baton baton;
	weft_executor *other; /* NULL: the same */
} nexted;

static void *be_next(void *arg)
{
	baton_wait(&nexted.baton);
	return arg;
}

static void *name_next(void *arg)
{
	for (size_t i = 0; i < rounds(200); i++) {
		struct weft_awaiter a = { .commit = i % 2 ? commit_refuses
							  : commit_wakes };
		weft_fiber *f = nexted.other ? spawn_on(nexted.other, be_next,
						       &nexted)
					     : spawn(be_next, &nexted);

		expect(await_yielding(
			atomic_load(&nexted.baton.word) > BATON_DOWN));
		a.next = baton_take(&nexted.baton);
		expect(a.next == f);
		expect_eq(weft_suspend(&a), i % 2);
		expect(runs_this(here));
		expect(join(f) == &nexted);
	}
	return arg;
}

static void next_is_made_ready(struct subject *s)
{
	nexted.other = NULL;
	play_on(s, name_next, s);
}

/* ------------------------------------------------------------------------ */
/* Groups, and many. */

static weft_group crowd_left, crowd_gate;
static _Atomic(size_t) crowd_waits;

static void wait_at_the_gate(void *arg)
{
	expect(runs_this(arg));
	atomic_fetch_add(&crowd_waits, 1);
	expect_eq(weft_group_wait(&crowd_gate, WEFT_FOREVER), 0);
	expect(runs_this(arg));
	weft_group_done(&crowd_left);
}

static void *wait_and_return(void *arg)
{
	wait_at_the_gate(arg);
	return arg;
}

/* All of them wait at once. */
static void thousands_of_fibers_wait(struct subject *s)
{
	size_t n = API_TSAN ? 300 : crowd(3000);

	atomic_store(&crowd_waits, 0);
	weft_group_add(&crowd_gate, 1);
	weft_group_add(&crowd_left, (int64_t)n);
	for (size_t i = 0; i < n; i++)
		weft_detach(spawn_on(s->e, wait_and_return, s));
	assert_true(await(atomic_load(&crowd_waits) == n));
	weft_group_done(&crowd_gate);
	assert_int_equal(weft_group_wait(&crowd_left, PATIENCE), 0);
	assert_expected();
}

static void be_one_of_them(void *arg)
{
	expect(runs_this(here));
	weft_group_done(arg);
}

static void *wait_for_groups(void *arg)
{
	for (size_t i = 0; i < rounds(100); i++) {
		weft_group g = { 0 };

		weft_group_add(&g, 20);
		for (size_t j = 0; j < 20; j++)
			expect_eq(weft_go(be_one_of_them, &g), 0);
		expect_eq(weft_group_wait(&g, WEFT_FOREVER), 0);
		expect_eq(weft_group_wait(&g, WEFT_NOW), 0);
	}
	return arg;
}

static void fibers_wait_for_groups(struct subject *s)
{
	play_on(s, wait_for_groups, s);
}

/* ------------------------------------------------------------------------ */
/* With fibers of a runtime next door. */

static weft_executor *next_door;

static void *visit_next_door(void *arg)
{
	for (uintptr_t i = 0; i < rounds(200); i++) {
		weft_executor *e = i % 2 ? next_door : here->e;
		weft_fiber *f = spawn_on(e, echo, (void *)i);

		expect_eq((uintptr_t)join(f), i);
	}
	return arg;
}

/*
 * Either side spawns on the other, joins there, and names a next there.  A
 * fiber of s may go on in the call that wakes it, on a worker next door, and
 * then yield there for what needs another worker: so there are two.
 */
static void fibers_of_two_executors_join_each_other(struct subject *s)
{
	weft_rt *rt = rt_workers(2);
	weft_fiber *f;

	next_door = weft_rt_executor(rt);
	play_on(s, visit_next_door, s);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, visit_next_door, s), 0);
	assert_ptr_equal(join_outside(f), s);
	nexted.other = next_door;
	play_on(s, name_next, s);
	rt_end(rt);
}

#endif
