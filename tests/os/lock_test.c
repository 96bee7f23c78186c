/* SPDX-License-Identifier: MIT */
/*
 * tests/os/lock_test.c - one thread at a time has the lock, none sleeps on a
 * free one, and the holder may free its memory.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "base/atomic.h"
#include "base/sanitize.h"
#include "base/units.h"
#include "os/lock.h"
#include "os/os.h"

#define PATIENCE_NS (40 * WF_NS_PER_S)	/* it hangs: give up */
#define THREADS 4
#define INCREMENTS 20000

/* What a failed test leaves behind may still use these. */
static struct wf_lock lock;
static struct wf_os_thread threads[THREADS];
static _Atomic(int) finished;
static unsigned long long count;	/* by lock */

static void nap_ms(long ms)
{
	const struct timespec nap = { .tv_nsec = ms * WF_NS_PER_MS };

	nanosleep(&nap, NULL);
}

static void start_threads(int n, void (*fn)(void *), void *arg)
{
	wf_store_rlx(&finished, 0);
	for (int i = 0; i < n; i++)
		assert_int_equal(wf_os_thread_start(
					 &threads[i], fn, arg, 0, NULL), 0);
}

/* Each says at its end that it is finished: a hang fails instead of hanging. */
static void join_threads(int n)
{
	int64_t give_up = wf_os_now_ns() + PATIENCE_NS;

	while (wf_load_rlx(&finished) < n) {
		if (wf_os_now_ns() > give_up)
			fail_msg("%d of %d threads sleep for ever",
				n - wf_load_rlx(&finished), n);
		nap_ms(1);
	}
	for (int i = 0; i < n; i++)
		wf_os_thread_join(&threads[i]);
}

/* Wait until a thread has found the lock taken and sleeps, or soon will. */
static bool wait_for_sleeper(struct wf_lock *l)
{
	int64_t give_up = wf_os_now_ns() + PATIENCE_NS;

	while (wf_load_rlx(&l->word) != 2) {
		if (wf_os_now_ns() > give_up)
			return false;
		wf_os_thread_yield();
	}
	return true;
}

static void zero_is_unlocked(void **state)
{
	struct wf_lock l;

	(void)state;
	memset(&l, 0, sizeof(l));
	wf_lock(&l);
	assert_int_equal(wf_load_rlx(&l.word), 1);
	wf_unlock(&l);
	assert_int_equal(wf_load_rlx(&l.word), 0);
	wf_lock(&l);
	wf_unlock(&l);
}

static void trylock_takes_a_free_one_only(void **state)
{
	struct wf_lock l = { 0 };

	(void)state;
	assert_true(wf_trylock(&l));
	assert_false(wf_trylock(&l));
	assert_false(wf_trylock(&l));
	wf_unlock(&l);
	assert_true(wf_trylock(&l));
	wf_unlock(&l);
	wf_lock(&l);
	assert_false(wf_trylock(&l));
	wf_unlock(&l);
}

/* Two variables, so that half an increment could be seen. */
static void incrementer(void *arg)
{
	static unsigned long long twin;
	bool *torn = arg;

	for (int i = 0; i < INCREMENTS; i++) {
		wf_lock(&lock);
		if (count != twin)
			*torn = true;
		count++;
		twin++;
		wf_unlock(&lock);
	}
	wf_add_rlx(&finished, 1);
}

static void one_thread_at_a_time(void **state)
{
	static bool torn;

	(void)state;
	count = 0;
	start_threads(THREADS, incrementer, &torn);
	join_threads(THREADS);
	assert_false(torn);
	assert_int_equal(count, THREADS * INCREMENTS);
	assert_int_equal(wf_load_rlx(&lock.word), 0);
}

/* A long hold, so that the others do not get by with spinning. */
static void holder(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		wf_lock(&lock);
		count++;
		nap_ms(1);
		wf_unlock(&lock);
	}
	wf_add_rlx(&finished, 1);
}

static void one_thread_at_a_time_when_all_sleep(void **state)
{
	(void)state;
	count = 0;
	start_threads(THREADS, holder, NULL);
	join_threads(THREADS);
	assert_int_equal(count, THREADS * 10);
	assert_int_equal(wf_load_rlx(&lock.word), 0);
}

static void tryer(void *arg)
{
	(void)arg;
	for (int i = 0; i < INCREMENTS / 10; i++) {
		while (!wf_trylock(&lock))
			wf_os_thread_yield();
		count++;
		wf_unlock(&lock);
	}
	wf_add_rlx(&finished, 1);
}

static void trylock_excludes_as_well(void **state)
{
	(void)state;
	count = 0;
	start_threads(THREADS, tryer, NULL);
	join_threads(THREADS);
	assert_int_equal(count, THREADS * (INCREMENTS / 10));
}

static void once(void *arg)
{
	(void)arg;
	wf_lock(&lock);
	count++;
	wf_unlock(&lock);
	wf_add_rlx(&finished, 1);
}

/* One unlock wakes one sleeper, whose unlock wakes the next, to the last. */
static void all_sleepers_are_woken(void **state)
{
	(void)state;
	count = 0;
	for (int round = 0; round < 20; round++) {
		wf_lock(&lock);
		start_threads(THREADS, once, NULL);
		assert_true(wait_for_sleeper(&lock));
		nap_ms(3);
		wf_unlock(&lock);
		join_threads(THREADS);
		assert_int_equal(wf_load_rlx(&lock.word), 0);
	}
	assert_int_equal(count, 20 * THREADS);
}

/*
 * Two users of a thing that has a lock in it.  The first makes sure that the
 * second sleeps, so that its unlock is the slow one; the second frees the
 * thing as soon as it has the lock, when the first may still be unlocking.
 * From the heap AddressSanitizer would see an access after that; on a page
 * that is unmapped it faults.
 */
struct thing {
	struct wf_lock lock;
	int users;			/* by lock */
};

static struct {
	pthread_barrier_t begin;
	struct thing *thing;
	bool on_page;
	int rounds;
	bool nobody_slept;
} game;

static void free_thing(struct thing *t)
{
	if (game.on_page)
		wf_os_vm_unmap(t, wf_os_page_bytes());
	else
		wf_os_free(t);
}

static void make_thing(void)
{
	void *p = NULL;

	if (!game.on_page)
		p = wf_os_alloc(sizeof(struct thing));
	else if (wf_os_vm_map(&p, wf_os_page_bytes()) != 0)
		p = NULL;
	game.thing = p;
	if (p != NULL)
		game.thing->users = 2;
}

static void user(void *arg)
{
	(void)arg;
	for (int i = 0; i < game.rounds; i++) {
		struct thing *t;

		/* One of the two makes the thing, both begin with it. */
		if (pthread_barrier_wait(&game.begin) ==
			PTHREAD_BARRIER_SERIAL_THREAD)
			make_thing();
		pthread_barrier_wait(&game.begin);
		t = game.thing;
		wf_lock(&t->lock);
		if (--t->users == 0) {
			free_thing(t);
		} else {
			if (!wait_for_sleeper(&t->lock))
				game.nobody_slept = true;
			wf_unlock(&t->lock);
		}
	}
	wf_add_rlx(&finished, 1);
}

static void play(bool on_page)
{
	game.on_page = on_page;
	/* Valgrind takes a wake where no memory is any more for an error. */
	game.rounds = wf_on_valgrind() ? 20 : 500;
	pthread_barrier_init(&game.begin, NULL, 2);
	start_threads(2, user, NULL);
	join_threads(2);
	pthread_barrier_destroy(&game.begin);
	assert_false(game.nobody_slept);
}

static void the_next_holder_may_free_its_heap(void **state)
{
	(void)state;
	play(false);
}

static void the_next_holder_may_unmap_its_page(void **state)
{
	(void)state;
	play(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zero_is_unlocked),
		cmocka_unit_test(trylock_takes_a_free_one_only),
		cmocka_unit_test(one_thread_at_a_time),
		cmocka_unit_test(one_thread_at_a_time_when_all_sleep),
		cmocka_unit_test(trylock_excludes_as_well),
		cmocka_unit_test(all_sleepers_are_woken),
		cmocka_unit_test(the_next_holder_may_free_its_heap),
		cmocka_unit_test(the_next_holder_may_unmap_its_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
