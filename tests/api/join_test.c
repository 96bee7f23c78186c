/* SPDX-License-Identifier: MIT */
/*
 * tests/api/join_test.c - a join returns the fiber's result, once, whatever the
 * fiber did meanwhile and to any joiner; misuse ends in one clear line.
 */
#include "api/api.h"

#include <weft/weft.h>

#include "os/child.h"

/* ------------------------------------------------------------------------ */
/* Fibers that are not finished yet, or are. */

static struct {
	struct baton baton;
	weft_fiber *joiner;
	_Atomic(bool) started, release;
} one;

static void *join_fresh(void *arg)
{
	for (uintptr_t i = 0; i < rounds(20000); i++)
		expect_eq((uintptr_t)join(spawn(echo, (void *)i)), i);
	return arg;
}

static void an_unstarted_fiber_is_joined(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++)
		play(workers, join_fresh, NULL);
}

/* It ends only when it has seen its joiner wait. */
static void *run_until_joined(void *arg)
{
	atomic_store(&one.started, true);
	while (state_of(one.joiner) != WEFT_FIBER_WAITING)
		weft_checkpoint();
	return arg;
}

static void *join_running(void *arg)
{
	weft_fiber *f;

	one.joiner = weft_self();
	for (uintptr_t i = 1; i < rounds(500); i++) {
		atomic_store(&one.started, false);
		f = spawn(run_until_joined, (void *)i);
		expect(await_yielding(atomic_load(&one.started)));
		expect_eq((uintptr_t)join(f), i);
	}
	return arg;
}

static void a_running_fiber_is_joined(void **state)
{
	(void)state;
	play(1, join_running, NULL);
	play(2, join_running, NULL);
}

static void *join_finished(void *arg)
{
	weft_fiber *f;

	for (uintptr_t i = 0; i < rounds(5000); i++) {
		void *result = arg;

		f = spawn(echo, (void *)i);
		expect(await_yielding(state_of(f) == WEFT_FIBER_DONE));
		expect_eq(weft_join(f, &result, i % 2 ? WEFT_NOW : -1), 0);
		expect_eq((uintptr_t)result, i);
	}
	return arg;
}

static void a_finished_fiber_is_joined_without_waiting(void **state)
{
	(void)state;
	play(1, join_finished, NULL);
	play(2, join_finished, NULL);
}

static void *wait_for_baton(void *arg)
{
	baton_wait(&one.baton);
	return arg;
}

static void put_baton(void *arg)
{
	baton_put(&one.baton, *(weft_hint *)arg);
}

static void *join_suspended(void *arg)
{
	weft_fiber *f;

	for (uintptr_t i = 0; i < rounds(5000); i++) {
		f = spawn(wait_for_baton, (void *)i);
		expect(await_yielding(state_of(f) == WEFT_FIBER_WAITING));
		expect_eq(weft_go(put_baton, (void *)&hints[i % HINTS]), 0);
		expect_eq((uintptr_t)join(f), i);
	}
	return arg;
}

static void a_suspended_fiber_is_joined(void **state)
{
	(void)state;
	play(1, join_suspended, NULL);
	play(2, join_suspended, NULL);
}

static void *join_without_result(void *arg)
{
	expect_eq(weft_join(spawn(echo, arg), NULL, WEFT_FOREVER), 0);
	return arg;
}

static void a_join_may_drop_the_result(void **state)
{
	(void)state;
	play(1, join_without_result, NULL);
}

/* ------------------------------------------------------------------------ */
/* Deadlines, and a fiber that joins itself. */

static const weft_time past[] = { WEFT_NOW, 1, -1, INT64_MIN };
enum { PAST = sizeof(past) / sizeof(past[0]) };

/* On an error the result is not touched and the handle is as before. */
static void expect_timeouts(weft_fiber *f)
{
	for (size_t i = 0; i < PAST; i++) {
		void *result = &one;

		expect_eq(weft_join(f, &result, past[i]), -ETIMEDOUT);
		expect(result == &one);
	}
}

static void *run_until_released(void *arg)
{
	atomic_store(&one.started, true);
	while (!atomic_load(&one.release))
		weft_checkpoint();
	return arg;
}

static void *join_in_vain(void *arg)
{
	weft_fiber *f;

	/* One worker: f cannot have started. */
	f = spawn(echo, &one);
	expect_timeouts(f);
	/* A second ago: a stopped worker's clock may be 10 ms old. */
	expect_eq(weft_join(f, NULL, weft_now() - NS_PER_S), -ETIMEDOUT);
	expect(join(f) == &one);

	f = spawn(wait_for_baton, &one);
	weft_yield();
	expect_timeouts(f);
	expect_eq(weft_join(f, NULL, weft_after(1000)), -ETIMEDOUT);
	baton_put(&one.baton, WEFT_HINT_DEFAULT);
	expect(join(f) == &one);
	return arg;
}

static void a_fiber_tries_and_goes_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < rounds(100); i++)
		play(1, join_in_vain, NULL);
}

static void *try_running(void *arg)
{
	weft_fiber *f;

	atomic_store(&one.started, false);
	atomic_store(&one.release, false);
	f = spawn(run_until_released, &one);
	expect(await_yielding(atomic_load(&one.started)));
	expect_timeouts(f);
	expect_eq(weft_join(f, NULL, weft_after(1000)), -ETIMEDOUT);
	atomic_store(&one.release, true);
	expect(join(f) == &one);
	return arg;
}

static void a_fiber_tries_while_another_runs(void **state)
{
	(void)state;
	for (size_t i = 0; i < rounds(100); i++)
		play(2, try_running, NULL);
}

static void a_plain_thread_tries_and_waits(void **state)
{
	weft_rt *rt = rt_workers(2);
	void *result = NULL;
	weft_time begin;
	weft_fiber *f;

	(void)state;
	atomic_store(&one.started, false);
	atomic_store(&one.release, false);
	assert_int_equal(
		weft_rt_spawn(rt, &f, NULL, run_until_released, &one), 0);
	expect_timeouts(f);
	assert_true(await(atomic_load(&one.started)));
	expect_timeouts(f);
	begin = weft_now();
	assert_int_equal(
		weft_join(f, &result, weft_after(30 * NS_PER_MS)), -ETIMEDOUT);
	assert_true(weft_now() - begin >= 30 * NS_PER_MS);
	assert_null(result);
	atomic_store(&one.release, true);
	assert_int_equal(weft_join(f, &result, PATIENCE), 0);
	assert_ptr_equal(result, &one);

	assert_int_equal(weft_rt_spawn(rt, &f, NULL, echo, &one), 0);
	assert_true(await(state_of(f) == WEFT_FIBER_DONE));
	result = NULL;
	assert_int_equal(weft_join(f, &result, INT64_MIN), 0);
	assert_ptr_equal(result, &one);
	rt_end(rt);
	assert_expected();
}

/* The deadline passes about when the fiber ends: one of the two is seen. */
static void *end_soon(void *arg)
{
	for (uintptr_t i = 0; i < (uintptr_t)arg % 2000; i++)
		weft_checkpoint();
	return arg;
}

static void ends_and_deadlines_race(void **state)
{
	weft_rt *rt = rt_workers(2);
	size_t late = 0, n = rounds(3000);

	(void)state;
	for (uintptr_t i = 0; i < n; i++) {
		void *result = NULL;
		weft_fiber *f;
		int err;

		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, end_soon, (void *)i), 0);
		while ((err = weft_join(f, &result,
				weft_after((int64_t)(i % 97) * 300))) != 0) {
			assert_int_equal(err, -ETIMEDOUT);
			late++;
		}
		assert_int_equal((uintptr_t)result, i);
	}
	printf("%zu joins, %zu times out of time\n", n, late);
	rt_end(rt);
}

static void *join_myself(void *arg)
{
	void *result = &one;

	expect_eq(weft_join(weft_self(), &result, WEFT_FOREVER), -EDEADLK);
	expect_eq(weft_join(weft_self(), NULL, WEFT_NOW), -EDEADLK);
	expect(result == &one);
	return arg;
}

/* Also when it runs inside its joiner's call. */
static void *join_one_that_joins_itself(void *arg)
{
	expect(join(spawn(join_myself, &one)) == &one);
	return join_myself(arg);
}

static void a_fiber_cannot_join_itself(void **state)
{
	(void)state;
	play(1, join_one_that_joins_itself, NULL);
}

/* ------------------------------------------------------------------------ */
/* Trees and chains. */

/* The number of leaves below, computed by the fibers themselves. */
static void *tree(void *arg)
{
	uintptr_t depth = (uintptr_t)arg, leaves;
	weft_fiber *left, *right;

	if (depth == 0)
		return (void *)1;
	left = spawn(tree, (void *)(depth - 1));
	right = spawn(tree, (void *)(depth - 1));
	leaves = (uintptr_t)join(right);
	leaves += (uintptr_t)join(left);
	return (void *)leaves;
}

static void *grow_tree(void *arg)
{
	uintptr_t depth = *(uintptr_t *)arg;

	expect_eq((uintptr_t)join(spawn(tree, (void *)depth)),
		(uintptr_t)1 << depth);
	return NULL;
}

static void join_trees_are_deep(void **state)
{
	static uintptr_t depth = 18;

	(void)state;
	if (API_TSAN)
		depth = 10;
	while (((size_t)1 << depth) > threads_rounds((size_t)1 << 18))
		depth--;
	play(1, grow_tree, &depth);
	play(2, grow_tree, &depth);
	play(5, grow_tree, &depth);
}

/* Each spawns the next and joins it; the sum comes back through all. */
static void *chain(void *arg)
{
	uintptr_t left = (uintptr_t)arg;
	volatile uintptr_t mine = left;
	uintptr_t below;

	if (left == 0)
		return NULL;
	below = (uintptr_t)join(spawn(chain, (void *)(left - 1)));
	expect_eq(mine, left);
	return (void *)(below + left);
}

static void *hang_chain(void *arg)
{
	uintptr_t n = *(uintptr_t *)arg;

	expect_eq((uintptr_t)join(spawn(chain, (void *)n)), n * (n + 1) / 2);
	return NULL;
}

static void join_chains_are_long(void **state)
{
	static uintptr_t length;

	(void)state;
	length = crowd(5000);
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, hang_chain, &length);
}

/* ------------------------------------------------------------------------ */
/* Children that block while their joiner's call runs them. */

enum { BLOCKERS = 32 };

static struct blocker {
	struct baton baton;
	uintptr_t value;
} blockers[BLOCKERS];

static _Atomic(bool) wakers_stop;

/* Two waits, so that another worker may resume it than began it. */
static void *block_twice(void *arg)
{
	struct blocker *b = arg;
	volatile uintptr_t before = b->value;

	baton_wait(&b->baton);
	expect_eq(before, b->value);
	b->value = before + 1;
	baton_wait(&b->baton);
	expect_eq(before + 1, b->value);
	return (void *)(before + 2);
}

/* Wake every blocker that waits now. */
static void wake_all(void)
{
	for (size_t i = 0; i < BLOCKERS; i++) {
		struct baton *b = &blockers[i].baton;

		if (atomic_load(&b->word) > BATON_DOWN)
			baton_put(b, hints[i % HINTS]);
	}
}

static void *wake_from_fiber(void *arg)
{
	while (!atomic_load(&wakers_stop)) {
		wake_all();
		weft_yield();
	}
	return arg;
}

static void wake_from_thread(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	while (!atomic_load(&wakers_stop)) {
		wake_all();
		nap_ns(20 * NS_PER_US);
	}
}

static void *join_blocker(void *arg)
{
	struct blocker *b = arg;
	weft_fiber *self = weft_self();

	for (uintptr_t i = 0; i < rounds(200); i++) {
		b->value = i;
		expect_eq((uintptr_t)join(spawn(block_twice, b)), i + 2);
		expect(weft_self() == self);
	}
	return arg;
}

static void *join_blockers(void *arg)
{
	weft_fiber *fibers[BLOCKERS], *waker = NULL;

	atomic_store(&wakers_stop, false);
	if (*(bool *)arg)
		waker = spawn(wake_from_fiber, NULL);
	for (size_t i = 0; i < BLOCKERS; i++)
		fibers[i] = spawn(join_blocker, &blockers[i]);
	for (size_t i = 0; i < BLOCKERS; i++)
		expect(join(fibers[i]) == &blockers[i]);
	atomic_store(&wakers_stop, true);
	if (waker)
		join(waker);
	return NULL;
}

static void children_block_and_fibers_wake_them(void **state)
{
	static bool by_fiber = true;

	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, join_blockers, &by_fiber);
}

struct outside {
	weft_rt *rt;
	weft_fiber *fiber;
};

static void drive_from_outside(void *arg, unsigned i)
{
	struct outside *o = arg;

	if (i == 0) {
		wake_from_thread(NULL, 0);
		return;
	}
	expect_eq(weft_join(o->fiber, NULL, PATIENCE), 0);
	atomic_store(&wakers_stop, true);
}

static void children_block_and_threads_wake_them(void **state)
{
	static bool by_fiber = false;
	static struct outside o;

	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		o.rt = rt_workers(workers);
		atomic_store(&wakers_stop, false);
		assert_int_equal(weft_rt_spawn(o.rt, &o.fiber, NULL,
					 join_blockers, &by_fiber),
			0);
		threads_run(2, drive_from_outside, &o);
		assert_expected();
		rt_end(o.rt);
	}
}

/* ------------------------------------------------------------------------ */
/* Plain threads. */

static void *yield_and_echo(void *arg)
{
	if ((uintptr_t)arg % 3 == 0)
		weft_yield();
	return arg;
}

static void spawn_and_join(void *arg, unsigned self)
{
	weft_fiber_attr attr = { .name = "from a thread", .executor = arg };
	size_t n = rounds(2000);

	for (uintptr_t i = 0; i < n; i++) {
		uintptr_t value = self * n + i;
		void *result = NULL;
		weft_fiber *f;

		attr.hint = hints[i % HINTS];
		if (!expect_eq(weft_spawn(&f, &attr, yield_and_echo,
				       (void *)value),
			    0))
			return;
		expect_eq(
			weft_join(f, &result, i % 2 ? WEFT_FOREVER : PATIENCE),
			0);
		expect_eq((uintptr_t)result, value);
	}
}

static void many_threads_spawn_and_join(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	threads_run(6, spawn_and_join, weft_rt_executor(rt));
	rt_end(rt);
	assert_expected();
}

/* ------------------------------------------------------------------------ */
/* Misuse. */

enum misuse { JOIN_TWICE, DETACH_TWICE, JOIN_DETACHED, DETACH_JOINED, MISUSES };

static void misuse(weft_fiber *f, enum misuse how)
{
	bool join_first = how == JOIN_TWICE || how == DETACH_JOINED;

	if (join_first && weft_join(f, NULL, WEFT_FOREVER) != 0)
		_exit(3);
	if (!join_first)
		weft_detach(f);
	if (how == JOIN_TWICE || how == JOIN_DETACHED)
		_exit(4 + (weft_join(f, NULL, WEFT_NOW) == 0));
	weft_detach(f);
}

static int misuse_in_fiber(void *arg)
{
	weft_fiber *f;

	if (weft_spawn(&f, NULL, echo, NULL) != 0)
		return 1;
	misuse(f, *(enum misuse *)arg);
	return 2;
}

static void misuse_by_fiber(void *arg)
{
	const weft_config cfg = { .workers = 1 };

	_exit(weft_run(&cfg, misuse_in_fiber, arg));
}

static void misuse_by_thread(void *arg)
{
	const weft_config cfg = { .workers = 1 };
	weft_fiber *f;
	weft_rt *rt;

	if (weft_rt_start(&rt, &cfg) != 0 ||
		weft_rt_spawn(rt, &f, NULL, echo, NULL) != 0)
		_exit(1);
	while (state_of(f) != WEFT_FIBER_DONE)
		nap_ns(NS_PER_MS);
	misuse(f, *(enum misuse *)arg);
	_exit(2);
}

/* An emulator adds words of its own, so only the first write is looked at. */
static void assert_one_clear_line(void (*fn)(void *), enum misuse how)
{
	struct child c;

	child_run(&c, fn, &how);
	if (!child_killed_by(&c, SIGABRT))
		fail_msg(
			"misuse %d: status %#x, \"%s\"", how, c.status, c.text);
	assert_int_equal(strncmp(c.first, "weft: ", 6), 0);
	assert_ptr_equal(strchr(c.first, '\n'), c.first + c.first_bytes - 1);
}

static void misuse_ends_in_one_clear_line(void **state)
{
	(void)state;
	for (enum misuse how = 0; how < MISUSES; how++) {
		assert_one_clear_line(misuse_by_fiber, how);
		assert_one_clear_line(misuse_by_thread, how);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(misuse_ends_in_one_clear_line),
		cmocka_unit_test(an_unstarted_fiber_is_joined),
		cmocka_unit_test(a_running_fiber_is_joined),
		cmocka_unit_test(a_finished_fiber_is_joined_without_waiting),
		cmocka_unit_test(a_suspended_fiber_is_joined),
		cmocka_unit_test(a_join_may_drop_the_result),
		cmocka_unit_test(a_fiber_tries_and_goes_on),
		cmocka_unit_test(a_fiber_tries_while_another_runs),
		cmocka_unit_test(a_plain_thread_tries_and_waits),
		cmocka_unit_test(ends_and_deadlines_race),
		cmocka_unit_test(a_fiber_cannot_join_itself),
		cmocka_unit_test(join_trees_are_deep),
		cmocka_unit_test(join_chains_are_long),
		cmocka_unit_test(children_block_and_fibers_wake_them),
		cmocka_unit_test(children_block_and_threads_wake_them),
		cmocka_unit_test(many_threads_spawn_and_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
