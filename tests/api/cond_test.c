/* SPDX-License-Identifier: MIT */
/*
 * tests/api/cond_test.c - no signal is lost to a waiter that gives up at the
 * same moment; the mutex is held on return, whatever the result.
 */
#include "api/api.h"

enum { CROWD = 30, ROOM = 4 };

static struct {
	weft_mutex mutex;
	weft_cond changed, freed;
	/* by mutex */
	size_t ring[ROOM], put, got, sum, wanted;
	int inside;
	_Atomic(size_t) late;
	_Atomic(int) result, waiting;
} s;

static int begin(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	return 0;
}

/* The caller holds the mutex: it is alone in here. */
static void hold(void)
{
	expect_eq(s.inside++, 0);
	expect_eq(--s.inside, 0);
}

/* ------------------------------------------------------------------------ */
/* A queue with little room, for fibers and threads of all kinds. */

static void *produce(void *arg)
{
	for (size_t i = 0; i < s.wanted / CROWD; i++) {
		weft_mutex_lock(&s.mutex);
		while (s.put - s.got == ROOM) {
			expect_eq(weft_cond_wait(
					  &s.freed, &s.mutex, WEFT_FOREVER),
				0);
			hold();
		}
		s.ring[s.put % ROOM] = s.put;
		s.put++;
		weft_cond_signal(&s.changed);
		weft_mutex_unlock(&s.mutex);
	}
	return arg;
}

/* A consumer that waits, or (arg) times out again and again. */
static void *consume(void *arg)
{
	bool more = true;

	while (more) {
		weft_time until = arg ? weft_after(20 * NS_PER_US)
				      : WEFT_FOREVER;
		int err = 0;

		weft_mutex_lock(&s.mutex);
		while (s.put == s.got && s.got < s.wanted && err == 0) {
			err = weft_cond_wait(&s.changed, &s.mutex, until);
			hold();
		}
		if (err == 0 && s.put != s.got) {
			s.sum += s.ring[s.got % ROOM];
			if (++s.got == s.wanted)
				weft_cond_broadcast(&s.changed);
			weft_cond_signal(&s.freed);
		}
		more = s.got < s.wanted;
		weft_mutex_unlock(&s.mutex);
		expect(err == 0 || (arg && err == -ETIMEDOUT));
		if (err != 0)
			atomic_fetch_add(&s.late, 1);
	}
	return NULL;
}

static void consume_on_a_thread(void *arg, unsigned i)
{
	(void)arg;
	(void)consume(i % 2 ? &s : NULL);
}

static void no_signal_is_lost(void **state)
{
	weft_rt *rt[2] = { rt_workers(1), rt_workers(2) };
	weft_fiber *f[2 * CROWD];
	weft_executor *pool = NULL;

	(void)state;
	s.wanted = rounds(300) * CROWD;
	assert_int_equal(weft_pool_create(&pool, 2), 0);
	for (unsigned i = 0; i < 2 * CROWD; i++) {
		weft_fiber_attr attr = { .executor = pool };

		if (i % 3 != 2)
			attr.executor = weft_rt_executor(rt[i % 3]);
		assert_int_equal(
			weft_spawn(&f[i], &attr, i < CROWD ? produce : consume,
				i % 4 ? NULL : &s),
			0);
	}
	threads_run(2, consume_on_a_thread, NULL);
	for (unsigned i = 0; i < 2 * CROWD; i++)
		assert_int_equal(weft_join(f[i], NULL, PATIENCE), 0);
	assert_expected();
	printf("%zu passed on, %zu gave up\n", s.got, atomic_load(&s.late));
	assert_int_equal(s.got, s.wanted);
	assert_int_equal(s.sum, s.wanted * (s.wanted - 1) / 2);
	assert_int_equal(weft_executor_destroy(pool), 0);
	rt_end(rt[0]);
	rt_end(rt[1]);
}

/* ------------------------------------------------------------------------ */
/* Broadcast. */

static void *wait_for_all(void *arg)
{
	weft_mutex_lock(&s.mutex);
	atomic_fetch_add(&s.waiting, 1);
	while (s.put == 0)
		expect_eq(
			weft_cond_wait(&s.changed, &s.mutex, WEFT_FOREVER), 0);
	s.got++;
	hold();
	weft_mutex_unlock(&s.mutex);
	return arg;
}

static void *broadcast(void *arg)
{
	weft_fiber *f[CROWD];

	for (int i = 0; i < CROWD; i++)
		f[i] = spawn(wait_for_all, NULL);
	expect(await_yielding(atomic_load(&s.waiting) == CROWD));
	weft_mutex_lock(&s.mutex);
	s.put = 1;
	weft_cond_broadcast(&s.changed);
	weft_mutex_unlock(&s.mutex);
	for (int i = 0; i < CROWD; i++)
		expect_eq(weft_join(f[i], NULL, PATIENCE), 0);
	expect_eq(s.got, CROWD);
	return arg;
}

static void a_broadcast_reaches_all(void **state)
{
	(void)state;
	play(1, broadcast, NULL);
	begin(NULL);
	play(3, broadcast, NULL);
}

/* ------------------------------------------------------------------------ */
/* Deadlines and cancellation. */

static void *wait_late(void *arg)
{
	weft_mutex_lock(&s.mutex);
	expect_eq(weft_cond_wait(&s.changed, &s.mutex, WEFT_NOW), -ETIMEDOUT);
	expect_eq(weft_cond_wait(&s.changed, &s.mutex, -5), -ETIMEDOUT);
	for (int ms = 1; ms <= 8; ms *= 2) {
		weft_time until = weft_after(ms * NS_PER_MS);

		expect_eq(weft_cond_wait(&s.changed, &s.mutex, until),
			-ETIMEDOUT);
		expect(weft_now() >= until);
		hold();
	}
	weft_mutex_unlock(&s.mutex);
	return arg;
}

static void a_deadline_ends_the_wait(void **state)
{
	(void)state;
	(void)wait_late(NULL);
	assert_expected();
	play(2, wait_late, NULL);
}

static void *wait_cancelled(void *arg)
{
	weft_mutex_lock(&s.mutex);
	atomic_store(
		&s.result, weft_cond_wait(&s.changed, &s.mutex, WEFT_FOREVER));
	hold();
	expect_eq(weft_cond_wait(&s.changed, &s.mutex, PATIENCE), -ECANCELED);
	expect_eq(weft_cond_wait(&s.changed, &s.mutex, WEFT_NOW), -ETIMEDOUT);
	weft_shield(true);
	expect_eq(weft_cond_wait(&s.changed, &s.mutex, weft_after(NS_PER_MS)),
		-ETIMEDOUT);
	weft_shield(false);
	weft_mutex_unlock(&s.mutex);
	return arg;
}

static void *cancel_it(void *arg)
{
	weft_fiber *f = spawn(wait_cancelled, NULL);
	weft_fiber_info info;

	expect(await_yielding(state_of(f) == WEFT_FIBER_WAITING));
	weft_fiber_look(f, &info);
	expect(info.waits_for != NULL && strcmp(info.waits_for, "cond") == 0);
	expect(info.waits_on == &s.changed);
	weft_mutex_lock(&s.mutex);
	weft_cancel(f);
	for (int i = 0; i < 10; i++)
		weft_yield();
	/* The cancelled waiter cannot go on without the mutex. */
	expect_eq(atomic_load(&s.result), 0);
	weft_mutex_unlock(&s.mutex);
	(void)join(f);
	expect_eq(atomic_load(&s.result), -ECANCELED);
	return arg;
}

static void cancellation_ends_the_wait(void **state)
{
	(void)state;
	play(1, cancel_it, NULL);
	begin(NULL);
	play(2, cancel_it, NULL);
}

/* ------------------------------------------------------------------------ */
/* Mutex and cond lie in the frame of the waiter. */

struct frame {
	weft_mutex mutex;
	weft_cond cond;
	bool done;
};

static void signal_it(void *arg)
{
	struct frame *f = arg;

	weft_mutex_lock(&f->mutex);
	f->done = true;
	weft_cond_signal(&f->cond);
	weft_mutex_unlock(&f->mutex);
}

static __attribute__((noinline)) void wait_in_a_frame(void)
{
	struct frame f = { 0 };

	expect_eq(weft_go(signal_it, &f), 0);
	weft_mutex_lock(&f.mutex);
	while (!f.done)
		expect_eq(weft_cond_wait(&f.cond, &f.mutex, WEFT_FOREVER), 0);
	weft_mutex_unlock(&f.mutex);
	memset(&f, 0xa5, sizeof(f));
	__asm__ volatile("" : : "r"(&f) : "memory");
}

static void *wait_in_frames(void *arg)
{
	for (size_t i = 0; i < rounds(20000); i++)
		wait_in_a_frame();
	return arg;
}

static void mutex_and_cond_may_go_with_the_frame(void **state)
{
	(void)state;
	play(2, wait_in_frames, NULL);
}

/* ------------------------------------------------------------------------ */
/* The broadcaster frees the cond while woken waiters are still on the way. */

struct heap {
	weft_mutex mutex;
	weft_cond *cond;
	int waiting; /* by mutex */
};

static void *wait_for_the_last(void *arg)
{
	struct heap *h = arg;

	weft_mutex_lock(&h->mutex);
	h->waiting++;
	while (h->waiting > 0)
		expect_eq(weft_cond_wait(h->cond, &h->mutex, WEFT_FOREVER), 0);
	weft_mutex_unlock(&h->mutex);
	return NULL;
}

static void broadcast_and_free(struct heap *h)
{
	weft_mutex_lock(&h->mutex);
	while (h->waiting < 2) {
		weft_mutex_unlock(&h->mutex);
		weft_yield();
		weft_mutex_lock(&h->mutex);
	}
	h->waiting = 0;
	weft_cond_broadcast(h->cond);
	memset(h->cond, 0xa5, sizeof(*h->cond));
	free(h->cond);
	weft_mutex_unlock(&h->mutex);
}

static void *free_often(void *arg)
{
	for (size_t i = 0; i < rounds(2000); i++) {
		struct heap h = { .cond = calloc(1, sizeof(*h.cond)) };
		weft_fiber *f[2];

		if (!expect(h.cond != NULL))
			return arg;
		f[0] = spawn(wait_for_the_last, &h);
		f[1] = spawn(wait_for_the_last, &h);
		broadcast_and_free(&h);
		(void)join(f[0]);
		(void)join(f[1]);
	}
	return arg;
}

static void a_woken_waiter_needs_only_the_mutex(void **state)
{
	(void)state;
	play(1, free_often, NULL);
	play(3, free_often, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, NULL)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_signal_is_lost),
		TEST(a_broadcast_reaches_all),
		TEST(a_deadline_ends_the_wait),
		TEST(cancellation_ends_the_wait),
		TEST(mutex_and_cond_may_go_with_the_frame),
		TEST(a_woken_waiter_needs_only_the_mutex),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
