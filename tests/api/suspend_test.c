/* SPDX-License-Identifier: MIT */
/*
 * tests/api/suspend_test.c - a suspended fiber goes on once for each wake, by
 * any waker and however early; one that commit refuses goes on at once.
 */
#include "api/api.h"

#include <weft/weft.h>

/* Wait until b has a waiter, which can then be woken. */
static void settle(struct baton *b)
{
	expect(await_yielding(atomic_load(&b->word) > BATON_DOWN));
}

/* ------------------------------------------------------------------------ */
/* What commit sees and says. */

static struct {
	struct weft_awaiter awaiter;
	weft_fiber *self;
	weft_hint hint;
	_Atomic(unsigned) commits;
	bool self_in_commit, other_fiber, refuse;
	_Atomic(bool) other_ran;
} told;

static bool commit_refuses(struct weft_awaiter *a, weft_fiber *f)
{
	atomic_fetch_add(&told.commits, 1);
	told.self_in_commit = weft_self() != NULL;
	told.other_fiber = a != &told.awaiter || f != told.self;
	return false;
}

static void other(void *arg)
{
	(void)arg;
	atomic_store(&told.other_ran, true);
}

static void *be_refused(void *arg)
{
	told.self = weft_self();
	told.awaiter.commit = commit_refuses;
	for (unsigned i = 1; i <= rounds(20000); i++) {
		atomic_store(&told.commits, 0);
		expect_eq(weft_suspend(&told.awaiter), 1);
		expect_eq(atomic_load(&told.commits), 1);
		expect(!told.self_in_commit && !told.other_fiber);
		expect(weft_self() == told.self);
	}
	return arg;
}

static void a_refused_fiber_runs_on(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, be_refused, NULL);
}

/* "At once": no ready fiber, not even a next one, has run before it. */
static void *be_refused_with_others_ready(void *arg)
{
	told.self = weft_self();
	told.awaiter.commit = commit_refuses;
	weft_yield();
	atomic_store(&told.other_ran, false);
	expect_eq(weft_go(other, NULL), 0);
	expect_eq(weft_suspend(&told.awaiter), 1);
	expect(!atomic_load(&told.other_ran));
	weft_yield();
	expect(atomic_load(&told.other_ran));
	return arg;
}

static void a_refused_fiber_runs_on_at_once(void **state)
{
	(void)state;
	play(1, be_refused_with_others_ready, NULL);
}

/* Other fibers are resumable, and the refused one goes back to its stack. */
static struct baton sleepers[8];

static void *sleep_and_mark(void *arg)
{
	baton_wait(arg);
	atomic_store(&told.other_ran, true);
	return arg;
}

static void *be_refused_with_others_resumable(void *arg)
{
	weft_fiber *fibers[8];

	told.self = weft_self();
	told.awaiter.commit = commit_refuses;
	for (size_t round = 0; round < rounds(500); round++) {
		for (size_t i = 0; i < 8; i++)
			fibers[i] = spawn(sleep_and_mark, &sleepers[i]);
		for (size_t i = 0; i < 8; i++)
			settle(&sleepers[i]);
		weft_yield();
		atomic_store(&told.other_ran, false);
		for (size_t i = 0; i < 8; i++)
			baton_put(&sleepers[i], hints[i % HINTS]);
		expect_eq(weft_suspend(&told.awaiter), 1);
		expect(!atomic_load(&told.other_ran));
		expect(!told.self_in_commit && !told.other_fiber);
		for (size_t i = 0; i < 8; i++)
			expect(join(fibers[i]) == &sleepers[i]);
	}
	return arg;
}

static void a_refused_fiber_goes_back_to_its_stack(void **state)
{
	(void)state;
	play(1, be_refused_with_others_resumable, NULL);
}

static bool commit_wakes(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	atomic_fetch_add(&told.commits, 1);
	weft_wake(f, told.hint);
	return true;
}

static void *be_woken_by_commit(void *arg)
{
	struct weft_awaiter a = { .commit = commit_wakes };

	for (unsigned i = 0; i < rounds(20000); i++) {
		told.hint = hints[i % HINTS];
		atomic_store(&told.commits, 0);
		expect_eq(weft_suspend(&a), 0);
		expect_eq(atomic_load(&told.commits), 1);
	}
	return arg;
}

static void commit_may_wake_it_already(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, be_woken_by_commit, NULL);
}

static struct {
	_Atomic(weft_fiber *) published;
	_Atomic(unsigned) resumed;
	_Atomic(bool) stop;
} early;

/* Returns long after the fiber runs again: a may be gone by then. */
static bool commit_is_overtaken(struct weft_awaiter *a, weft_fiber *f)
{
	unsigned before = atomic_load(&early.resumed);

	(void)a;
	atomic_store(&early.published, f);
	for (unsigned i = 0; i < 500000; i++)
		if (atomic_load(&early.resumed) != before)
			break;
	return true;
}

static void wake_the_published(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
	while (!atomic_load(&early.stop)) {
		weft_fiber *f = atomic_exchange(&early.published, NULL);

		if (f)
			weft_wake(f, WEFT_HINT_DEFAULT);
		else
			nap_ns(10 * NS_PER_US);
	}
}

static void *be_overtaken(void *arg)
{
	for (unsigned i = 0; i < rounds(300); i++) {
		struct weft_awaiter a = { .commit = commit_is_overtaken };

		expect_eq(weft_suspend(&a), 0);
		memset(&a, 0xA5, sizeof(a));
		atomic_fetch_add(&early.resumed, 1);
	}
	return arg;
}

static void drive_early(void *arg, unsigned i)
{
	if (i == 0) {
		wake_the_published(NULL, 0);
		return;
	}
	expect_eq(weft_join(arg, NULL, PATIENCE), 0);
	atomic_store(&early.stop, true);
}

static void a_wake_may_come_before_commit_returns(void **state)
{
	weft_rt *rt = rt_workers(3);
	weft_fiber *f;

	(void)state;
	atomic_store(&early.stop, false);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, be_overtaken, NULL), 0);
	threads_run(2, drive_early, f);
	assert_expected();
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Where it may not be called. */

static weft_group task_done;

static void suspend_task(weft_task *self)
{
	(void)self;
	expect_eq(weft_suspend(&told.awaiter), -EPERM);
	weft_group_done(&task_done);
}

static void only_fibers_suspend(void **state)
{
	static weft_task task = { .run = suspend_task };
	weft_rt *rt = rt_workers(1);

	(void)state;
	told.awaiter.commit = commit_refuses;
	atomic_store(&told.commits, 0);
	assert_int_equal(weft_suspend(&told.awaiter), -EPERM);
	weft_group_add(&task_done, 1);
	assert_int_equal(
		weft_submit(weft_rt_executor(rt), &task, WEFT_HINT_DEFAULT), 0);
	assert_int_equal(weft_group_wait(&task_done, PATIENCE), 0);
	assert_int_equal(atomic_load(&told.commits), 0);
	rt_end(rt);
	assert_expected();
}

/* ------------------------------------------------------------------------ */
/* Wakes from elsewhere. */

enum { WAITERS = 16 };

static struct {
	struct baton batons[WAITERS];
	unsigned notes[WAITERS]; /* plain: a wake orders them */
	unsigned wakes[WAITERS];
	weft_hint hint;
	_Atomic(unsigned) left;
} far;

static void *wait_many_times(void *arg)
{
	size_t self = (uintptr_t)arg;
	unsigned n = (unsigned)rounds(2000);

	for (unsigned i = 1; i <= n; i++) {
		baton_wait(&far.batons[self]);
		expect_eq(far.notes[self], i);
	}
	atomic_fetch_sub(&far.left, 1);
	return arg;
}

/* Each baton has one waker, so the notes are in order. */
static bool wake_waiters(size_t from, size_t step)
{
	bool any = false;

	for (size_t i = from; i < WAITERS; i += step) {
		if (atomic_load(&far.batons[i].word) <= BATON_DOWN)
			continue;
		far.notes[i] = ++far.wakes[i];
		baton_put(&far.batons[i], far.hint);
		any = true;
	}
	return any;
}

static void *wake_them(void *arg)
{
	while (atomic_load(&far.left) > 0) {
		wake_waiters((uintptr_t)arg, 2);
		weft_yield();
	}
	return arg;
}

static void far_begin(weft_hint hint)
{
	memset(far.notes, 0, sizeof(far.notes));
	memset(far.wakes, 0, sizeof(far.wakes));
	far.hint = hint;
	atomic_store(&far.left, WAITERS);
}

static void *fibers_wake_fibers(void *arg)
{
	weft_fiber *waiters[WAITERS], *wakers[2];

	far_begin(*(weft_hint *)arg);
	for (uintptr_t i = 0; i < WAITERS; i++)
		waiters[i] = spawn(wait_many_times, (void *)i);
	for (uintptr_t i = 0; i < 2; i++)
		wakers[i] = spawn(wake_them, (void *)i);
	for (size_t i = 0; i < WAITERS; i++)
		join(waiters[i]);
	for (size_t i = 0; i < 2; i++)
		join(wakers[i]);
	return NULL;
}

static void fibers_are_woken_by_fibers(void **state)
{
	static weft_hint hint;

	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		for (size_t i = 0; i < HINTS; i++) {
			hint = hints[i];
			play(workers, fibers_wake_fibers, &hint);
		}
	}
}

static void wake_from_outside(void *arg, unsigned i)
{
	int64_t give_up = PATIENCE;

	(void)arg;
	while (atomic_load(&far.left) > 0 && weft_now() < give_up)
		if (!wake_waiters(i, 2))
			nap_ns(10 * NS_PER_US);
}

static void fibers_are_woken_by_threads(void **state)
{
	weft_fiber *waiters[WAITERS];

	(void)state;
	for (size_t h = 0; h < HINTS; h++) {
		weft_rt *rt = rt_workers(1 + h % 2);

		far_begin(hints[h]);
		for (uintptr_t i = 0; i < WAITERS; i++)
			assert_int_equal(weft_rt_spawn(rt, &waiters[i], NULL,
						 wait_many_times, (void *)i),
				0);
		threads_run(2, wake_from_outside, NULL);
		for (size_t i = 0; i < WAITERS; i++)
			assert_int_equal(
				weft_join(waiters[i], NULL, PATIENCE), 0);
		rt_end(rt);
		assert_expected();
	}
}

/* ------------------------------------------------------------------------ */
/* Symmetric transfer. */

static struct {
	struct baton a, b;
	char trace[8];
	size_t traced;
} swap;

static void trace(char c)
{
	if (swap.traced < sizeof(swap.trace) - 1)
		swap.trace[swap.traced++] = c;
}

static void other_traces(void *arg)
{
	(void)arg;
	trace('o');
}

static void *second(void *arg)
{
	baton_wait(&swap.b);
	trace('b');
	baton_put(&swap.a, WEFT_HINT_DEFAULT);
	return arg;
}

/* One worker.  The next fiber runs before fibers that were ready earlier. */
static void *transfer(void *arg)
{
	weft_fiber *f = spawn(second, NULL);

	settle(&swap.b);
	weft_yield();
	memset(swap.trace, 0, sizeof(swap.trace));
	swap.traced = 0;
	expect_eq(weft_go(other_traces, NULL), 0);
	swap.a.awaiter.commit = baton_commit;
	swap.a.awaiter.next = baton_take(&swap.b);
	expect(swap.a.awaiter.next == f);
	expect_eq(weft_suspend(&swap.a.awaiter), 0);
	trace('a');
	swap.a.awaiter.next = NULL;
	join(f);
	expect(strcmp(swap.trace, "boa") == 0);
	return arg;
}

static void the_next_fiber_runs_at_once(void **state)
{
	(void)state;
	for (size_t i = 0; i < rounds(200); i++)
		play(1, transfer, NULL);
}

/* The next fiber is woken, in this runtime or in its own. */
static struct {
	struct baton baton;
	weft_fiber *fiber;
	weft_rt *home;
} nexted;

static void *be_next(void *arg)
{
	expect(weft_rt_self() == nexted.home);
	baton_wait(&nexted.baton);
	expect(weft_rt_self() == nexted.home);
	return arg;
}

static void spawn_nexted(void)
{
	weft_fiber_attr attr = { .executor = weft_rt_executor(nexted.home) };

	expect_eq(weft_spawn(&nexted.fiber, &attr, be_next, NULL), 0);
	settle(&nexted.baton);
}

static bool always(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	weft_wake(f, WEFT_HINT_DEFAULT);
	return true;
}

static void *name_next(void *arg)
{
	weft_rt *here = weft_rt_self();

	if (arg == NULL)
		nexted.home = here;
	for (size_t i = 0; i < rounds(1000); i++) {
		struct weft_awaiter a = {
			.commit = i % 2 ? commit_refuses : always,
		};

		spawn_nexted();
		a.next = baton_take(&nexted.baton);
		expect(a.next == nexted.fiber);
		expect_eq(weft_suspend(&a), i % 2);
		expect(weft_rt_self() == here);
		join(nexted.fiber);
	}
	return arg;
}

static void the_next_fiber_runs_also_when_commit_refuses(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++)
		play(workers, name_next, NULL);
}

static void the_next_fiber_runs_in_its_own_runtime(void **state)
{
	(void)state;
	nexted.home = rt_workers(1);
	play(1, name_next, nexted.home);
	play(2, name_next, nexted.home);
	rt_end(nexted.home);
}

/* ------------------------------------------------------------------------ */
/* Ping-pong. */

static struct {
	struct baton batons[2];
	weft_hint hint;
	bool transfer;
	size_t rounds;
	size_t count; /* plain: the batons order it */
} pong;

static void pass(struct baton *mine, struct baton *theirs)
{
	uintptr_t down = BATON_DOWN;

	if (!pong.transfer) {
		baton_put(theirs, pong.hint);
		baton_wait(mine);
		return;
	}
	mine->awaiter.next = baton_take(theirs);
	if (mine->awaiter.next == NULL &&
		atomic_compare_exchange_strong(&mine->word, &down, BATON_NONE))
		return;
	mine->awaiter.commit = baton_commit;
	expect(weft_suspend(&mine->awaiter) >= 0);
}

static void *player(void *arg)
{
	size_t self = (uintptr_t)arg;

	if (self == 1)
		baton_wait(&pong.batons[1]);
	for (size_t i = 0; i < pong.rounds; i++) {
		expect_eq(pong.count % 2, self);
		pong.count++;
		if (self == 1 && i == pong.rounds - 1)
			baton_put(&pong.batons[0], pong.hint);
		else
			pass(&pong.batons[self], &pong.batons[!self]);
	}
	return arg;
}

static void *ping_pong(void *arg)
{
	weft_fiber *players[2];

	pong.count = 0;
	memset(pong.batons, 0, sizeof(pong.batons));
	for (uintptr_t i = 0; i < 2; i++)
		players[i] = spawn(player, (void *)(1 - i));
	for (size_t i = 0; i < 2; i++)
		join(players[i]);
	expect_eq(pong.count, 2 * pong.rounds);
	return arg;
}

static void play_ping_pong(weft_hint hint, bool by_transfer)
{
	pong.hint = hint;
	pong.transfer = by_transfer;
	for (unsigned workers = 1; workers <= 2; workers++) {
		int64_t begin = weft_now();

		pong.rounds = rounds(500000);
		play(workers, ping_pong, NULL);
		printf("%u worker(s): %.0f ns per wake\n", workers,
			(double)(weft_now() - begin) / (double)pong.count);
	}
}

static void a_million_wakes_with_default(void **state)
{
	(void)state;
	play_ping_pong(WEFT_HINT_DEFAULT, false);
}

static void a_million_wakes_with_next(void **state)
{
	(void)state;
	play_ping_pong(WEFT_HINT_NEXT, false);
}

static void a_million_wakes_with_yield(void **state)
{
	(void)state;
	play_ping_pong(WEFT_HINT_YIELD, false);
}

static void a_million_transfers(void **state)
{
	(void)state;
	play_ping_pong(WEFT_HINT_NEXT, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_fiber_runs_on),
		cmocka_unit_test(a_refused_fiber_runs_on_at_once),
		cmocka_unit_test(a_refused_fiber_goes_back_to_its_stack),
		cmocka_unit_test(commit_may_wake_it_already),
		cmocka_unit_test(a_wake_may_come_before_commit_returns),
		cmocka_unit_test(only_fibers_suspend),
		cmocka_unit_test(fibers_are_woken_by_fibers),
		cmocka_unit_test(fibers_are_woken_by_threads),
		cmocka_unit_test(the_next_fiber_runs_at_once),
		cmocka_unit_test(the_next_fiber_runs_also_when_commit_refuses),
		cmocka_unit_test(the_next_fiber_runs_in_its_own_runtime),
		cmocka_unit_test(a_million_wakes_with_default),
		cmocka_unit_test(a_million_wakes_with_next),
		cmocka_unit_test(a_million_wakes_with_yield),
		cmocka_unit_test(a_million_transfers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
