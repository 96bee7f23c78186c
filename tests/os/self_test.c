/* SPDX-License-Identifier: MIT */
/*
 * tests/os/self_test.c - every thread has one word of its own, NULL at first,
 * and a thread that ends while it is set is told.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "os/os.h"

#define THREADS 8

struct probe {
	pthread_barrier_t *all_set;
	void *at_start;
	bool kept;		/* what it set, while all others set theirs */
};

static void *probe_main(void *arg)
{
	struct probe *v = arg;

	v->at_start = wf_os_self();
	wf_os_self_set(v);
	pthread_barrier_wait(v->all_set);
	v->kept = wf_os_self() == v;
	return NULL;
}

static void it_is_null_until_set(void **state)
{
	int something;

	(void)state;
	assert_null(wf_os_self());
	wf_os_self_set(&something);
	assert_ptr_equal(wf_os_self(), &something);
	wf_os_self_set(NULL);
	assert_null(wf_os_self());
}

static void *place(void *arg)
{
	*(const void **)arg = wf_os_self_place();
	return NULL;
}

static void no_two_threads_are_at_one_place(void **state)
{
	const void *here = wf_os_self_place(), *there = NULL;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, place, &there), 0);
	pthread_join(thread, NULL);
	assert_non_null(there);
	assert_ptr_not_equal(here, there);
	assert_ptr_equal(here, wf_os_self_place());
}

/* Twice: the second threads have the memory that the first ones left. */
static void every_thread_has_its_own(void **state)
{
	(void)state;
	wf_os_self_set(state);
	for (int again = 0; again < 2; again++) {
		struct probe probes[THREADS];
		pthread_t threads[THREADS];
		pthread_barrier_t all_set;

		pthread_barrier_init(&all_set, NULL, THREADS);
		for (int i = 0; i < THREADS; i++) {
			probes[i] = (struct probe){ &all_set, &all_set, false };
			assert_int_equal(pthread_create(&threads[i], NULL,
						 probe_main, &probes[i]), 0);
		}
		for (int i = 0; i < THREADS; i++) {
			pthread_join(threads[i], NULL);
			assert_null(probes[i].at_start);
			assert_true(probes[i].kept);
		}
		pthread_barrier_destroy(&all_set);
		assert_ptr_equal(wf_os_self(), state);
	}
	wf_os_self_set(NULL);
}

/* ------------------------------------------------------------------------ */
/* Ends of threads. */

static _Atomic(int) told;
static pthread_key_t late;

static void tell(void)
{
	atomic_fetch_add(&told, 1);
}

static void *leave_it_set(void *arg)
{
	wf_os_self_set(arg);
	return NULL;
}

static void *exit_with_it_set(void *arg)
{
	wf_os_self_set(arg);
	pthread_exit(NULL);
}

static void *put_it_back(void *arg)
{
	wf_os_self_set(arg);
	wf_os_self_set(NULL);
	return NULL;
}

/* A destructor of a key that the program made after ours. */
static void set_late(void *arg)
{
	wf_os_self_set(arg);
}

static void *set_it_late(void *arg)
{
	pthread_setspecific(late, arg);
	return put_it_back(arg);
}

static int told_by(void *(*fn)(void *))
{
	int before = atomic_load(&told), word;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, fn, &word), 0);
	pthread_join(thread, NULL);
	return atomic_load(&told) - before;
}

static void a_thread_that_ends_with_it_set_is_told(void **state)
{
	(void)state;
	assert_int_equal(told_by(leave_it_set), 0);
	assert_int_equal(wf_os_exit_watch(tell), 0);
	assert_int_equal(wf_os_exit_watch(tell), 0);
	assert_int_equal(pthread_key_create(&late, set_late), 0);
	assert_int_equal(told_by(leave_it_set), 1);
	assert_int_equal(told_by(exit_with_it_set), 1);
	assert_int_equal(told_by(put_it_back), 0);
	assert_int_equal(told_by(set_it_late), 1);
	pthread_key_delete(late);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_null_until_set),
		cmocka_unit_test(no_two_threads_are_at_one_place),
		cmocka_unit_test(every_thread_has_its_own),
		cmocka_unit_test(a_thread_that_ends_with_it_set_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
