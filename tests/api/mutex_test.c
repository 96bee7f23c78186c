/* SPDX-License-Identifier: MIT */
/*
 * tests/api/mutex_test.c - one holder at a time, fiber or thread; a waiter gets
 * the mutex or gives up, in time; an unlock does not touch it after the next
 * holder has it; and misuse is one clear line.
 */
#include "api/api.h"

#include "os/child.h"

enum { POISON = 0xA5, HANDS = 16 };

/* ------------------------------------------------------------------------ */
/* One at a time. */

static struct {
	weft_mutex mutex;
	uint64_t a, b; /* by mutex: always the same */
} sum;

static void add_one(bool yields)
{
	weft_mutex_lock(&sum.mutex);
	expect_eq(sum.a, sum.b);
	sum.a++;
	if (yields)
		weft_yield();
	sum.b++;
	weft_mutex_unlock(&sum.mutex);
}

static void *add_many(void *n)
{
	for (size_t i = 0; i < *(size_t *)n; i++)
		add_one(i % 16 == 0);
	return NULL;
}

static void add_on_thread(void *n, unsigned i)
{
	(void)i;
	add_many(n);
}

static void fibers_and_threads_are_in_it_one_at_a_time(void **state)
{
	size_t each = rounds(2000), fibers = 0;

	(void)state;
	memset(&sum, 0, sizeof(sum));
	for (unsigned workers = 1; workers <= 4; workers *= 2) {
		weft_rt *rt[2] = { rt_workers(workers), rt_workers(1) };
		weft_fiber *f[HANDS];

		for (size_t i = 0; i < HANDS; i++)
			assert_int_equal(weft_rt_spawn(rt[i % 2], &f[i], NULL,
						 add_many, &each),
				0);
		threads_run(2, add_on_thread, &each);
		for (size_t i = 0; i < HANDS; i++)
			assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
		fibers += HANDS + 2;
		rt_end(rt[0]);
		rt_end(rt[1]);
		assert_expected();
		assert_int_equal(sum.a, each * fibers);
		assert_int_equal(sum.b, each * fibers);
	}
}

/* Fibers of a pool, and of a manual executor that this thread runs. */
static void fibers_of_any_executor_share_it(void **state)
{
	static size_t each; /* if we give up, they go on */
	weft_executor *pool, *manual;
	weft_fiber_attr attr = { 0 };
	weft_fiber *f[8];
	size_t ran = 0;

	(void)state;
	memset(&sum, 0, sizeof(sum));
	each = rounds(1000);
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	assert_int_equal(weft_manual_create(&manual), 0);
	for (size_t i = 0; i < 8; i++) {
		attr.executor = i % 2 ? pool : manual;
		assert_int_equal(weft_spawn(&f[i], &attr, add_many, &each), 0);
	}
	for (size_t i = 0; i < 8; i++) {
		int64_t until = PATIENCE;
		int err;

		while ((err = weft_join(f[i], NULL, WEFT_NOW)) != 0 &&
			weft_now() < until) {
			size_t n = weft_manual_run(manual, 10);

			if (n == 0) /* only the pool can go on */
				nap_ns(20 * NS_PER_US);
			ran += n;
		}
		assert_int_equal(err, 0);
	}
	assert_expected();
	assert_true(ran > 0);
	assert_int_equal(sum.b, 8 * each);
	assert_int_equal(weft_executor_destroy(manual), 0);
	assert_int_equal(weft_executor_destroy(pool), 0);
}

/* ------------------------------------------------------------------------ */
/* Giving up. */

static struct {
	weft_mutex mutex;
	_Atomic(int) stage;
	int result;
	weft_fiber *waiter;
	int64_t waited_ns;
} one;

static void begin(void)
{
	memset(&one, 0, sizeof(one));
}

static void *wait_forever(void *arg)
{
	one.result = weft_mutex_lock_by(&one.mutex, WEFT_FOREVER);
	if (one.result == 0)
		weft_mutex_unlock(&one.mutex);
	return arg;
}

static void *wait_20_ms(void *arg)
{
	weft_time begin = weft_now();

	one.result = weft_mutex_lock_by(&one.mutex, weft_after(20 * NS_PER_MS));
	one.waited_ns = weft_now() - begin;
	if (one.result == 0)
		weft_mutex_unlock(&one.mutex);
	return arg;
}

static void wait_20_ms_on_thread(void *arg, unsigned i)
{
	(void)i;
	wait_20_ms(arg);
}

static bool waits_for_mutex(weft_fiber *f)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	return info.state == WEFT_FIBER_WAITING && info.waits_for != NULL &&
		strcmp(info.waits_for, "mutex") == 0 &&
		info.waits_on == &one.mutex;
}

static void *deadlines(void *arg)
{
	weft_mutex *m = &one.mutex;

	expect_eq(weft_mutex_lock_by(m, WEFT_NOW), 0);
	expect_eq(weft_mutex_lock_by(m, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_mutex_lock_by(m, -1), -ETIMEDOUT);
	expect_eq(weft_mutex_lock_by(m, 1), -ETIMEDOUT);
	expect_eq(weft_mutex_lock_by(m, weft_after(NS_PER_MS)), -ETIMEDOUT);
	weft_mutex_unlock(m);
	expect_eq(weft_mutex_lock_by(m, 1), 0);
	weft_mutex_unlock(m);
	expect_eq(weft_mutex_lock_by(m, WEFT_FOREVER), 0);
	weft_mutex_unlock(m);
	return arg;
}

static void a_deadline_is_kept(void **state)
{
	weft_rt *rt = rt_workers(1);
	weft_fiber *f;

	(void)state;
	begin();
	deadlines(NULL);
	assert_expected();
	play(1, deadlines, NULL);
	weft_mutex_lock(&one.mutex);
	threads_run(1, wait_20_ms_on_thread, NULL);
	assert_int_equal(one.result, -ETIMEDOUT);
	assert_true(one.waited_ns >= 20 * NS_PER_MS);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, wait_20_ms, NULL), 0);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_int_equal(one.result, -ETIMEDOUT);
	assert_true(one.waited_ns >= 20 * NS_PER_MS);
	weft_mutex_unlock(&one.mutex);
	assert_int_equal(weft_mutex_lock_by(&one.mutex, WEFT_NOW), 0);
	rt_end(rt);
}

static void *lock_without_fail(void *arg)
{
	weft_mutex_lock(&one.mutex);
	expect(weft_cancelled());
	weft_mutex_unlock(&one.mutex);
	/* The fiber is cancelled, but this lock need not wait. */
	one.result = weft_mutex_lock_by(&one.mutex, WEFT_FOREVER);
	if (one.result == 0)
		weft_mutex_unlock(&one.mutex);
	return arg;
}

static void *wait_shielded(void *arg)
{
	expect(!weft_shield(true));
	wait_forever(NULL);
	expect(weft_shield(false));
	return arg;
}

/* Cancel fn while it waits; it is let in only if it goes on waiting. */
static void cancel_waiter(weft_rt *rt, void *(*fn)(void *), bool goes_on)
{
	weft_fiber *f;

	begin();
	weft_mutex_lock(&one.mutex);
	assert_int_equal(weft_rt_spawn(rt, &f, NULL, fn, NULL), 0);
	assert_true(await(waits_for_mutex(f)));
	assert_int_equal(weft_cancel(f), 0);
	if (goes_on) {
		nap_ns(5 * NS_PER_MS);
		assert_true(waits_for_mutex(f));
		weft_mutex_unlock(&one.mutex);
	}
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	if (!goes_on)
		weft_mutex_unlock(&one.mutex);
	assert_expected();
	assert_int_equal(weft_mutex_lock_by(&one.mutex, WEFT_NOW), 0);
	weft_mutex_unlock(&one.mutex);
}

static void cancellation_ends_only_the_wait_that_may_fail(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	cancel_waiter(rt, wait_forever, false);
	assert_int_equal(one.result, -ECANCELED);
	cancel_waiter(rt, lock_without_fail, true);
	assert_int_equal(one.result, 0);
	cancel_waiter(rt, wait_shielded, true);
	assert_int_equal(one.result, 0);
	rt_end(rt);
}

static void *cancelled_before(void *arg)
{
	expect(await_yielding(weft_cancelled()));
	expect_eq(weft_mutex_lock_by(&one.mutex, WEFT_FOREVER), -ECANCELED);
	expect_eq(weft_mutex_lock_by(&one.mutex, PATIENCE), -ECANCELED);
	expect_eq(weft_mutex_lock_by(&one.mutex, WEFT_NOW), -ETIMEDOUT);
	atomic_store(&one.stage, 1);
	weft_mutex_lock(&one.mutex);
	weft_mutex_unlock(&one.mutex);
	return arg;
}

static void a_cancelled_fiber_does_not_wait(void **state)
{
	weft_rt *rt = rt_workers(1);
	weft_fiber *f;

	(void)state;
	begin();
	weft_mutex_lock(&one.mutex);
	assert_int_equal(
		weft_rt_spawn(rt, &f, NULL, cancelled_before, NULL), 0);
	assert_int_equal(weft_cancel(f), 0);
	assert_true(await(atomic_load(&one.stage) == 1));
	weft_mutex_unlock(&one.mutex);
	assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
	assert_expected();
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Order of the waiters, and how long they wait. */

static struct {
	weft_mutex mutex;
	unsigned order[HANDS]; /* by mutex */
	unsigned n;
} line;

static void *stand_in_line(void *arg)
{
	weft_mutex_lock(&line.mutex);
	line.order[line.n++] = (unsigned)(uintptr_t)arg;
	weft_mutex_unlock(&line.mutex);
	return NULL;
}

static void *first_come_first_served(void *arg)
{
	weft_fiber *f[HANDS];

	weft_mutex_lock(&line.mutex);
	for (uintptr_t i = 0; i < HANDS; i++) {
		f[i] = spawn(stand_in_line, (void *)i);
		weft_yield();
	}
	weft_mutex_unlock(&line.mutex);
	for (size_t i = 0; i < HANDS; i++)
		join(f[i]);
	return arg;
}

static void waiters_are_served_in_order(void **state)
{
	(void)state;
	memset(&line, 0, sizeof(line));
	play(1, first_come_first_served, NULL);
	assert_int_equal(line.n, HANDS);
	for (unsigned i = 0; i < HANDS; i++)
		assert_int_equal(line.order[i], i);
}

/* Lock once, and say so. */
static void *wait_for_turn(void *arg)
{
	weft_mutex_lock(&one.mutex);
	atomic_store(&one.stage, 1);
	weft_mutex_unlock(&one.mutex);
	return arg;
}

/*
 * One worker.  The waiter is woken, but another lock comes in between, after
 * more than a millisecond.  From then on the mutex is handed to the waiter.
 */
static void *come_in_between(void *arg)
{
	weft_fiber *f;

	weft_mutex_lock(&one.mutex);
	f = spawn(wait_for_turn, NULL);
	weft_yield();
	nap_ns(3 * NS_PER_MS);
	weft_mutex_unlock(&one.mutex);
	expect_eq(weft_mutex_lock_by(&one.mutex, WEFT_NOW), 0);
	weft_yield();
	expect_eq(atomic_load(&one.stage), 0);
	weft_mutex_unlock(&one.mutex);
	expect_eq(weft_mutex_lock_by(&one.mutex, WEFT_NOW), -ETIMEDOUT);
	weft_mutex_lock(&one.mutex);
	expect_eq(atomic_load(&one.stage), 1);
	weft_mutex_unlock(&one.mutex);
	join(f);
	return arg;
}

static void a_long_waiter_has_it_handed_over(void **state)
{
	(void)state;
	begin();
	play(1, come_in_between, NULL);
}

static struct {
	weft_mutex mutex;
	_Atomic(bool) stop;
	_Atomic(uint64_t) sections;
} hog;

/* Locks again the instant that it has unlocked. */
static void *hog_it(void *arg)
{
	while (!atomic_load(&hog.stop)) {
		int64_t until;

		weft_mutex_lock(&hog.mutex);
		until = weft_now() + 20 * NS_PER_US;
		while (weft_now() < until)
			continue;
		atomic_fetch_add(&hog.sections, 1);
		weft_mutex_unlock(&hog.mutex);
	}
	return arg;
}

enum { TURNS = 30 };

static int64_t turns_ns[TURNS];
static size_t turns;

static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void *take_turns(void *arg)
{
	for (size_t i = 0; i < turns; i++) {
		uint64_t seen = atomic_load(&hog.sections);
		int64_t begin;

		/* The hog is at it. */
		expect(await(atomic_load(&hog.sections) > seen + 1));
		begin = weft_now();
		weft_mutex_lock(&hog.mutex);
		turns_ns[i] = weft_now() - begin;
		weft_mutex_unlock(&hog.mutex);
	}
	atomic_store(&hog.stop, true);
	return arg;
}

static void take_turns_on_thread(void *arg, unsigned i)
{
	(void)i;
	take_turns(arg);
}

/* A waiter gets the mutex from a hog after a little more than 1 ms. */
static void play_hog(bool thread)
{
	weft_rt *rt = rt_workers(2);
	weft_fiber *f[2] = { NULL, NULL };

	memset(&hog, 0, sizeof(hog));
	/* With fewer turns one disturbed turn may be the median. */
	turns = rounds(TURNS) < 9 ? 9 : rounds(TURNS);
	assert_int_equal(weft_rt_spawn(rt, &f[0], NULL, hog_it, NULL), 0);
	if (thread)
		threads_run(1, take_turns_on_thread, NULL);
	else
		assert_int_equal(
			weft_rt_spawn(rt, &f[1], NULL, take_turns, NULL), 0);
	for (size_t i = 0; i < 2; i++)
		if (f[i] != NULL)
			assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_expected();
	rt_end(rt);
	qsort(turns_ns, turns, sizeof(turns_ns[0]), compare_ns);
	printf("a turn against a hog: median %.2f ms, worst %.2f ms, %llu "
	       "sections\n",
		(double)turns_ns[turns / 2] / 1e6,
		(double)turns_ns[turns - 1] / 1e6,
		(unsigned long long)atomic_load(&hog.sections));
	/* The median, because other programs disturb some turns. */
	if (!threads_on_valgrind())
		assert_true(turns_ns[turns / 2] < 50 * NS_PER_MS);
}

static void a_hog_is_made_to_hand_over(void **state)
{
	(void)state;
	play_hog(false);
	play_hog(true);
}

/* ------------------------------------------------------------------------ */
/* Freed by the last holder. */

struct parcel {
	weft_mutex mutex;
	unsigned refs; /* by mutex */
};

static _Atomic(struct parcel *) parcels[64];

/* Not inlined: a compiler would drop stores that no code reads. */
static __attribute__((noinline)) void poison(void *p, size_t bytes)
{
	memset(p, POISON, bytes);
	__asm__ volatile("" : : "r"(p) : "memory");
}

static void drop(struct parcel *p)
{
	bool last;

	weft_mutex_lock(&p->mutex);
	expect(p->refs > 0 && p->refs <= HANDS);
	last = --p->refs == 0;
	weft_mutex_unlock(&p->mutex);
	if (!last)
		return;
	poison(p, sizeof(*p));
	free(p);
}

static void *drop_all(void *arg)
{
	for (size_t i = 0; i < 64; i++)
		drop(atomic_load(&parcels[i]));
	return arg;
}

static void drop_on_thread(void *arg, unsigned i)
{
	(void)i;
	drop_all(arg);
}

static void the_last_holder_may_free_it(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	for (size_t n = 0; n < rounds(200); n++) {
		weft_fiber *f[4];

		for (size_t i = 0; i < 64; i++) {
			struct parcel *p = calloc(1, sizeof(*p));

			assert_non_null(p);
			p->refs = 6;
			atomic_store(&parcels[i], p);
		}
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(
				weft_rt_spawn(rt, &f[i], NULL, drop_all, NULL),
				0);
		threads_run(2, drop_on_thread, NULL);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
		assert_expected();
	}
	rt_end(rt);
}

/* ------------------------------------------------------------------------ */
/* Misuse. */

static void *unlock_it(void *m)
{
	weft_mutex_unlock(m);
	return NULL;
}

static void unlock_on_thread(void *m, unsigned i)
{
	(void)i;
	weft_mutex_unlock(m);
}

static void *lock_it(void *m)
{
	weft_mutex_lock(m);
	return NULL;
}

static void *lock_it_twice(void *m)
{
	weft_mutex_lock(m);
	weft_mutex_lock(m);
	return NULL;
}

static void *by_another_fiber(void *m)
{
	weft_mutex_lock(m);
	join(spawn(unlock_it, m));
	return NULL;
}

static void *on_thread_of_a_fibers(void *m)
{
	weft_mutex_lock(m);
	threads_run(1, unlock_on_thread, m);
	return NULL;
}

static int run_main(void *arg)
{
	void **pair = arg;
	weft_fiber *f = NULL;
	void *(*fn)(void *) = *(void *(**)(void *))pair[0];

	if (weft_spawn(&f, NULL, fn, pair[1]) != 0)
		return 1;
	return weft_join(f, NULL, WEFT_FOREVER);
}

static void in_fiber(void *(*fn)(void *), weft_mutex *m)
{
	void *pair[] = { &fn, m };

	_exit(weft_run(NULL, run_main, pair) == 0 ? 0 : 1);
}

static void unlock_free(void *m)
{
	weft_mutex_unlock(m);
}

static void unlock_twice(void *m)
{
	weft_mutex_lock(m);
	weft_mutex_unlock(m);
	weft_mutex_unlock(m);
}

static void unlock_of_another_thread(void *m)
{
	weft_mutex_lock(m);
	threads_run(1, unlock_on_thread, m);
}

static void relock(void *m)
{
	lock_it_twice(m);
}

static void fiber_unlocks_free(void *m)
{
	in_fiber(unlock_it, m);
}

static void fiber_unlocks_anothers(void *m)
{
	in_fiber(by_another_fiber, m);
}

static void thread_unlocks_a_fibers(void *m)
{
	in_fiber(on_thread_of_a_fibers, m);
}

static void fiber_relocks(void *m)
{
	in_fiber(lock_it_twice, m);
}

static void fiber_unlocks_a_threads(void *m)
{
	lock_it(m);
	in_fiber(unlock_it, m);
}

static void misuse_ends_in_one_clear_line(void **state)
{
	static const struct {
		void (*fn)(void *);
		const char *says;
	} wrong[] = {
		{ unlock_free, "but it is not locked" },
		{ unlock_twice, "but it is not locked" },
		{ fiber_unlocks_free, "but it is not locked" },
		{ unlock_of_another_thread, "another fiber or thread" },
		{ fiber_unlocks_anothers, "another fiber or thread holds it" },
		{ thread_unlocks_a_fibers, "another fiber or thread holds it" },
		{ fiber_unlocks_a_threads, "another fiber or thread holds it" },
		{ relock, "its holder locks it again" },
		{ fiber_relocks, "its holder locks it again" },
	};
	struct child c;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		static weft_mutex m;

		memset(&m, 0, sizeof(m));
		child_run(&c, wrong[i].fn, &m);
		if (!child_was_misuse(&c, wrong[i].says))
			fail_msg("case %zu: status %#x, says %s", i, c.status,
				c.first);
	}
}

/* ------------------------------------------------------------------------ */
/* A waiter that gave up is gone, with its runtime, before the unlock. */

static int give_up_soon(void *arg)
{
	return weft_mutex_lock_by(arg, weft_after(1000000));
}

static void a_runtime_may_end_before_the_unlock(void **state)
{
	weft_mutex m = { 0 };

	(void)state;
	weft_mutex_lock(&m);
	for (int i = 0; i < 3; i++)
		assert_int_equal(weft_run(NULL, give_up_soon, &m), -ETIMEDOUT);
	weft_mutex_unlock(&m);
	assert_int_equal(weft_mutex_lock_by(&m, WEFT_NOW), 0);
	weft_mutex_unlock(&m);
	assert_int_equal(m.word_, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fibers_and_threads_are_in_it_one_at_a_time),
		cmocka_unit_test(fibers_of_any_executor_share_it),
		cmocka_unit_test(a_deadline_is_kept),
		cmocka_unit_test(cancellation_ends_only_the_wait_that_may_fail),
		cmocka_unit_test(a_cancelled_fiber_does_not_wait),
		cmocka_unit_test(waiters_are_served_in_order),
		cmocka_unit_test(a_long_waiter_has_it_handed_over),
		cmocka_unit_test(a_hog_is_made_to_hand_over),
		cmocka_unit_test(the_last_holder_may_free_it),
		cmocka_unit_test(misuse_ends_in_one_clear_line),
		cmocka_unit_test(a_runtime_may_end_before_the_unlock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
