/* SPDX-License-Identifier: MIT */
/*
 * tests/api/group_test.c - a wait ends when the count is zero and not before,
 * and then weft does not touch the group, nor a finished task or handle.
 */
#include "api/api.h"

#include <weft/weft.h>

#include "os/child.h"

enum { POISON = 0xA5, SPARES = 16, MAILBOXES = 2 };

/* Not inlined: a compiler would drop stores that no code reads. */
static __attribute__((noinline)) void poison(void *p, size_t bytes)
{
	memset(p, POISON, bytes);
	__asm__ volatile("" : : "r"(p) : "memory");
}

static __attribute__((noinline)) bool is_poison(const void *p, size_t bytes)
{
	const unsigned char *b = p;

	__asm__ volatile("" : : "r"(p) : "memory");
	for (size_t i = 0; i < bytes; i++)
		if (b[i] != POISON)
			return false;
	return true;
}

/* ------------------------------------------------------------------------ */
/* Counting. */

static weft_group counted;

static void *count_up_and_down(void *arg)
{
	weft_group g = { 0 };

	expect_eq(weft_group_wait(&g, WEFT_FOREVER), 0);
	expect_eq(weft_group_wait(&g, WEFT_NOW), 0);
	expect_eq(weft_group_wait(&g, INT64_MIN), 0);
	weft_group_add(&g, 5);
	expect_eq(weft_group_wait(&g, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_group_wait(&g, 1), -ETIMEDOUT);
	expect_eq(weft_group_wait(&g, -1), -ETIMEDOUT);
	expect_eq(weft_group_wait(&g, INT64_MIN), -ETIMEDOUT);
	weft_group_add(&g, -3);
	weft_group_done(&g);
	expect_eq(weft_group_wait(&g, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_group_wait(&g, weft_after(1000)), -ETIMEDOUT);
	weft_group_add(&g, 0);
	weft_group_done(&g);
	expect_eq(weft_group_wait(&g, WEFT_NOW), 0);
	weft_group_add(&g, INT64_C(1) << 60);
	expect_eq(weft_group_wait(&g, WEFT_NOW), -ETIMEDOUT);
	weft_group_add(&g, -(INT64_C(1) << 60));
	expect_eq(weft_group_wait(&g, WEFT_FOREVER), 0);
	return arg;
}

static void the_count_is_kept(void **state)
{
	(void)state;
	count_up_and_down(NULL);
	assert_expected();
	play(1, count_up_and_down, NULL);
}

static void a_plain_thread_times_out(void **state)
{
	weft_time begin = weft_now();
	weft_group g = { 0 };

	(void)state;
	weft_group_add(&g, 1);
	assert_int_equal(
		weft_group_wait(&g, weft_after(30 * NS_PER_MS)), -ETIMEDOUT);
	assert_true(weft_now() - begin >= 30 * NS_PER_MS);
	weft_group_done(&g);
	assert_int_equal(weft_group_wait(&g, weft_after(NS_PER_MS)), 0);
}

struct miscount {
	int64_t first, second;
};

static void miscount(void *arg)
{
	struct miscount *m = arg;

	weft_group_add(&counted, m->first);
	if (m->second == -1)
		weft_group_done(&counted);
	else
		weft_group_add(&counted, m->second);
}

static void a_wrong_count_ends_in_one_clear_line(void **state)
{
	const int64_t most = INT64_C(1) << 60;
	struct miscount wrong[] = {
		{ 0, -1 },
		{ 0, -2 },
		{ 1, -2 },
		{ 5, -6 },
		{ 0, INT64_MIN },
		{ most, INT64_MIN },
		{ most, 1 },
		{ 0, most + 1 },
		{ 0, INT64_MAX },
		{ most, INT64_MAX },
	};
	struct child c;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		child_run(&c, miscount, &wrong[i]);
		if (!child_killed_by(&c, SIGABRT))
			fail_msg("case %zu: status %#x", i, c.status);
		assert_int_equal(strncmp(c.first, "weft: ", 6), 0);
		assert_ptr_equal(
			strchr(c.first, '\n'), c.first + c.first_bytes - 1);
	}
}

/* ------------------------------------------------------------------------ */
/* A group in the frame of the one that waits, gone when the wait is over. */

struct finish {
	weft_task task;
	weft_group *group;
};

static void finish_task(weft_task *self)
{
	weft_group_done(((struct finish *)self)->group);
}

/* Start the finishers of the wait: fibers, and a task in the same frame. */
static void start_finishers(weft_group *g, struct finish *f, size_t round)
{
	f->task.run = finish_task;
	f->group = g;
	weft_group_add(g, 1 + (int64_t)(round % 3));
	for (size_t i = 0; i < round % 3; i++)
		expect_eq(weft_go(one_done, g), 0);
	expect_eq(weft_submit(weft_rt_executor(weft_rt_self()), &f->task,
			  (weft_hint)(round % 3)),
		0);
}

static __attribute__((noinline)) void wait_in_frame(size_t round)
{
	weft_group g = { 0 };
	struct finish f;

	start_finishers(&g, &f, round);
	expect_eq(weft_group_wait(&g, WEFT_FOREVER), 0);
	poison(&g, sizeof(g));
	poison(&f, sizeof(f));
}

/* In memory that is poisoned and freed right after the wait. */
static void wait_on_heap(size_t round)
{
	struct {
		weft_group group;
		struct finish finish;
	} *p = calloc(1, sizeof(*p));

	if (!expect(p != NULL))
		return;
	start_finishers(&p->group, &p->finish, round);
	expect_eq(weft_group_wait(&p->group, WEFT_FOREVER), 0);
	poison(p, sizeof(*p));
	free(p);
}

/* A group that stays poisoned until its next use: a late write is seen. */
static void wait_on_spare(weft_group *spare, size_t round)
{
	struct finish f;

	expect(is_poison(spare, sizeof(*spare)));
	memset(spare, 0, sizeof(*spare));
	start_finishers(spare, &f, round);
	expect_eq(weft_group_wait(spare, WEFT_FOREVER), 0);
	poison(spare, sizeof(*spare));
}

static void *wait_often(void *arg)
{
	weft_group spares[SPARES];
	size_t n = *(size_t *)arg;

	poison(spares, sizeof(spares));
	for (size_t i = 0; i < n; i++) {
		wait_in_frame(i);
		wait_on_heap(i / 2);
		wait_on_spare(&spares[i % SPARES], i / 3);
	}
	expect(is_poison(spares, sizeof(spares)));
	return NULL;
}

static void *waiters_of_stack_groups(void *arg)
{
	weft_fiber *fibers[16] = { NULL };
	size_t each = rounds(100000) / 3 / 16 + 1;

	for (size_t i = 0; i < 16; i++)
		expect_eq(weft_spawn(&fibers[i], NULL, wait_often, &each), 0);
	for (size_t i = 0; i < 16; i++)
		expect_eq(weft_join(fibers[i], NULL, WEFT_FOREVER), 0);
	return arg;
}

static void a_group_is_gone_when_wait_returns(void **state)
{
	(void)state;
	for (unsigned workers = 2; workers <= 8; workers += 2)
		play(workers, waiters_of_stack_groups, NULL);
}

/* ------------------------------------------------------------------------ */
/* Fibers and plain threads, on both sides. */

static struct {
	weft_rt *rt;
	_Atomic(weft_group *) mail[MAILBOXES];
	_Atomic(unsigned) waiters;
} mixed;

static void post(weft_group *g, size_t box)
{
	weft_group *none = NULL;

	while (!atomic_compare_exchange_weak(&mixed.mail[box], &none, g)) {
		none = NULL;
		if (weft_self())
			weft_yield();
		else
			nap_ns(10 * NS_PER_US);
	}
}

static void deliver(size_t box)
{
	while (atomic_load(&mixed.waiters) > 0) {
		weft_group *g = atomic_exchange(&mixed.mail[box], NULL);

		if (g)
			weft_group_done(g);
		else
			nap_ns(10 * NS_PER_US);
	}
}

/* The group waits for a thread and for a fiber. */
static __attribute__((noinline)) void wait_mixed(size_t round)
{
	weft_group g = { 0 };

	weft_group_add(&g, 2);
	post(&g, round % MAILBOXES);
	expect_eq(weft_rt_go(mixed.rt, one_done, &g), 0);
	expect_eq(
		weft_group_wait(&g, weft_self() ? WEFT_FOREVER : PATIENCE), 0);
	poison(&g, sizeof(g));
}

static void *wait_mixed_often(void *arg)
{
	for (size_t i = 0; i < rounds(2000); i++)
		wait_mixed(i);
	atomic_fetch_sub(&mixed.waiters, 1);
	return arg;
}

static void mixed_thread(void *arg, unsigned i)
{
	(void)arg;
	if (i < MAILBOXES)
		deliver(i);
	else
		wait_mixed_often(NULL);
}

static void fibers_and_threads_share_groups(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 2; workers++) {
		weft_fiber *fibers[4];

		mixed.rt = rt_workers(workers);
		atomic_store(&mixed.waiters, 4 + 2);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(weft_rt_spawn(mixed.rt, &fibers[i],
						 NULL, wait_mixed_often, NULL),
				0);
		threads_run(MAILBOXES + 2, mixed_thread, NULL);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(
				weft_join(fibers[i], NULL, PATIENCE), 0);
		rt_end(mixed.rt);
		assert_expected();
	}
}

/* ------------------------------------------------------------------------ */
/* Several waiters, and a group used anew while some are on their way. */

enum { WAITERS = 8, THREADS = 3 };

static struct {
	weft_group group;
	_Atomic(unsigned) ready, back;
	unsigned reuser; /* the waiter that adds to the group again */
	unsigned value;	 /* plain: the group orders it */
} many;

static void wait_with_others(unsigned self)
{
	atomic_fetch_add(&many.ready, 1);
	expect_eq(weft_group_wait(
			  &many.group, weft_self() ? WEFT_FOREVER : PATIENCE),
		0);
	expect_eq(many.value, 42);
	if (self == many.reuser)
		weft_group_add(&many.group, 1);
	atomic_fetch_add(&many.back, 1);
}

static void *fiber_among_many(void *arg)
{
	wait_with_others((unsigned)(uintptr_t)arg);
	return arg;
}

/* The last thread ends the wait, long after all seem to be in it. */
static void thread_among_many(void *arg, unsigned i)
{
	(void)arg;
	if (i < THREADS) {
		wait_with_others(WAITERS + i);
		return;
	}
	expect(await(atomic_load(&many.ready) == WAITERS + THREADS));
	nap_ns(100 * NS_PER_MS);
	expect_eq(atomic_load(&many.back), 0);
	many.value = 42;
	weft_group_done(&many.group);
}

static void the_last_done_wakes_all_waiters(void **state)
{
	weft_rt *rt = rt_workers(2);

	(void)state;
	for (unsigned round = 0; round < 6; round++) {
		weft_fiber *fibers[WAITERS];

		memset(&many, 0, sizeof(many));
		many.reuser = 2 * round;
		weft_group_add(&many.group, 1);
		for (uintptr_t i = 0; i < WAITERS; i++)
			assert_int_equal(weft_rt_spawn(rt, &fibers[i], NULL,
						 fiber_among_many, (void *)i),
				0);
		threads_run(THREADS + 1, thread_among_many, NULL);
		for (size_t i = 0; i < WAITERS; i++)
			assert_int_equal(
				weft_join(fibers[i], NULL, PATIENCE), 0);
		assert_int_equal(
			weft_group_wait(&many.group, WEFT_NOW), -ETIMEDOUT);
		assert_expected();
	}
	rt_end(rt);
}

static void *reuse(void *arg)
{
	static weft_group g;

	for (size_t i = 0; i < rounds(50000); i++) {
		weft_group_add(&g, 2);
		expect_eq(weft_go(one_done, &g), 0);
		expect_eq(weft_go(one_done, &g), 0);
		expect_eq(weft_group_wait(&g, WEFT_FOREVER), 0);
		expect_eq(weft_group_wait(&g, WEFT_NOW), 0);
	}
	return arg;
}

static void a_group_is_used_anew_at_once(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 4; workers++)
		play(workers, reuse, NULL);
}

/* ------------------------------------------------------------------------ */
/* The deadline passes about when the count becomes zero. */

static struct {
	weft_rt *rt;
	_Atomic(size_t) late;
} race;

static void done_soon(void *arg)
{
	static _Atomic(unsigned) turn;

	for (unsigned i = atomic_fetch_add(&turn, 1) % 300; i > 0; i--)
		weft_checkpoint();
	weft_group_done(arg);
}

static __attribute__((noinline)) void wait_in_time(size_t round)
{
	weft_group g = { 0 };
	int err;

	weft_group_add(&g, 1);
	expect_eq(weft_rt_go(race.rt, done_soon, &g), 0);
	while ((err = weft_group_wait(
			&g, weft_after((int64_t)(round % 53) * 500))) != 0) {
		if (!expect_eq(err, -ETIMEDOUT))
			break;
		atomic_fetch_add(&race.late, 1);
	}
	poison(&g, sizeof(g));
}

static void race_thread(void *arg, unsigned self)
{
	(void)arg;
	for (size_t i = 0; i < rounds(3000); i++)
		wait_in_time(i + self);
}

static void ends_and_deadlines_race(void **state)
{
	(void)state;
	race.rt = rt_workers(2);
	atomic_store(&race.late, 0);
	threads_run(3, race_thread, NULL);
	rt_end(race.rt);
	assert_expected();
	printf("%zu times out of time\n", atomic_load(&race.late));
}

/* Some waiters time out and leave the list, others stay. */
static struct {
	weft_group group;
	_Atomic(unsigned) left;
} leave;

static void time_out_or_stay(void *arg, unsigned i)
{
	(void)arg;
	if (i == 0) {
		expect(await(atomic_load(&leave.left) == 2));
		weft_group_done(&leave.group);
	} else if (i % 2) {
		expect_eq(weft_group_wait(&leave.group,
				  weft_after((int64_t)i * NS_PER_MS)),
			-ETIMEDOUT);
		atomic_fetch_add(&leave.left, 1);
	} else {
		expect_eq(weft_group_wait(&leave.group, PATIENCE), 0);
	}
}

static void some_time_out_and_others_stay(void **state)
{
	(void)state;
	for (size_t i = 0; i < rounds(30); i++) {
		atomic_store(&leave.left, 0);
		weft_group_add(&leave.group, 1);
		threads_run(5, time_out_or_stay, NULL);
		assert_expected();
	}
}

/* ------------------------------------------------------------------------ */
/* Tasks and handles. */

static struct {
	weft_executor *executor;
	weft_group group;
	_Atomic(size_t) ran;
} own;

static void free_itself(weft_task *self)
{
	poison(self, sizeof(*self));
	free(self);
	atomic_fetch_add(&own.ran, 1);
	weft_group_done(&own.group);
}

static void submit_owners(void *arg, unsigned self)
{
	size_t n = rounds(30000);

	(void)arg;
	weft_group_add(&own.group, (int64_t)n);
	for (size_t i = 0; i < n; i++) {
		weft_task *t = calloc(1, sizeof(*t));

		if (!expect(t != NULL))
			return;
		t->run = free_itself;
		expect_eq(weft_submit(
				  own.executor, t, (weft_hint)((i + self) % 3)),
			0);
	}
}

static void *submit_from_fiber(void *arg)
{
	submit_owners(NULL, 0);
	return arg;
}

static void a_task_is_its_owners_when_it_runs(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		weft_rt *rt = rt_workers(workers);
		weft_fiber *f;

		own.executor = weft_rt_executor(rt);
		atomic_store(&own.ran, 0);
		assert_int_equal(
			weft_rt_spawn(rt, &f, NULL, submit_from_fiber, NULL),
			0);
		threads_run(2, submit_owners, NULL);
		assert_int_equal(weft_join(f, NULL, PATIENCE), 0);
		assert_int_equal(weft_group_wait(&own.group, PATIENCE), 0);
		assert_int_equal(atomic_load(&own.ran), 3 * rounds(30000));
		rt_end(rt);
		assert_expected();
	}
}

/* A task that submits itself anew from its own run, and one that is reused. */
static weft_task again;

static void run_again(weft_task *self)
{
	if (atomic_fetch_add(&own.ran, 1) + 1 < rounds(20000)) {
		self->run = run_again;
		expect_eq(weft_submit(own.executor, self,
				  (weft_hint)(atomic_load(&own.ran) % 3)),
			0);
	} else {
		weft_group_done(&own.group);
	}
}

static void a_task_submits_itself(void **state)
{
	(void)state;
	for (unsigned workers = 1; workers <= 3; workers++) {
		weft_rt *rt = rt_workers(workers);

		own.executor = weft_rt_executor(rt);
		atomic_store(&own.ran, 0);
		weft_group_add(&own.group, 1);
		again.run = run_again;
		assert_int_equal(
			weft_submit(own.executor, &again, WEFT_HINT_DEFAULT),
			0);
		assert_int_equal(weft_group_wait(&own.group, PATIENCE), 0);
		assert_int_equal(atomic_load(&own.ran), rounds(20000));
		rt_end(rt);
		assert_expected();
	}
}

/* A descriptor comes back as another fiber while its thread is still near. */
static void *reuse_handles(void *arg)
{
	weft_fiber *f[4];

	for (uintptr_t i = 0; i < rounds(10000); i++) {
		for (uintptr_t k = 0; k < 4; k++)
			expect_eq(weft_spawn(&f[k], NULL, echo,
					  (void *)(i * 4 + k)),
				0);
		for (uintptr_t k = 0; k < 4; k++) {
			uintptr_t which = (k + i) % 4;
			void *result = NULL;

			expect_eq(
				weft_join(f[which], &result, WEFT_FOREVER), 0);
			expect_eq((uintptr_t)result, i * 4 + which);
		}
	}
	return arg;
}

static void *handle_users(void *arg)
{
	weft_fiber *fibers[8] = { NULL };

	for (size_t i = 0; i < 8; i++)
		expect_eq(weft_spawn(&fibers[i], NULL, reuse_handles, NULL), 0);
	for (size_t i = 0; i < 8; i++)
		expect_eq(weft_join(fibers[i], NULL, WEFT_FOREVER), 0);
	return arg;
}

static void a_handle_is_used_anew_after_join(void **state)
{
	(void)state;
	for (unsigned workers = 2; workers <= 8; workers *= 2)
		play(workers, handle_users, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_count_ends_in_one_clear_line),
		cmocka_unit_test(the_count_is_kept),
		cmocka_unit_test(a_plain_thread_times_out),
		cmocka_unit_test(a_group_is_gone_when_wait_returns),
		cmocka_unit_test(fibers_and_threads_share_groups),
		cmocka_unit_test(the_last_done_wakes_all_waiters),
		cmocka_unit_test(a_group_is_used_anew_at_once),
		cmocka_unit_test(ends_and_deadlines_race),
		cmocka_unit_test(some_time_out_and_others_stay),
		cmocka_unit_test(a_task_is_its_owners_when_it_runs),
		cmocka_unit_test(a_task_submits_itself),
		cmocka_unit_test(a_handle_is_used_anew_after_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
