/* SPDX-License-Identifier: MIT */
/*
 * tests/install/tsan.c - a user's program for ThreadSanitizer: it is correct
 * and must give no report; with an argument it has a race and must give one.
 *
 * The shared data is plain memory, so that only weft's own calls order it: a
 * channel, a mutex, join, a group, and the submit of a task to a pool.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <weft/weft.h>

#define FIBERS 20
#define TURNS 50

static weft_mutex mutex;
static weft_group done;
static long counted;

/* Every error ends the program. */
static void must(int err)
{
	if (err < 0) {
		fprintf(stderr, "tsan.c: error %d\n", err);
		exit(2);
	}
}

/* One of many that count under the mutex, here or on the pool. */
static void count(void *unused)
{
	(void)unused;
	for (int i = 0; i < TURNS; i++) {
		weft_mutex_lock(&mutex);
		counted++;
		weft_mutex_unlock(&mutex);
		weft_yield();
	}
	weft_group_done(&done);
}

static void *count_joined(void *arg)
{
	long *mine = arg;

	for (int i = 0; i < TURNS; i++) {
		++*mine;
		weft_yield();
	}
	return mine;
}

/* Sends the addresses of numbers that it has written. */
static void *produce(void *arg)
{
	static long numbers[TURNS];
	weft_chan *out = arg;

	for (int i = 0; i < TURNS; i++) {
		long *next = &numbers[i];

		*next = i;
		must(weft_chan_send(out, &next, WEFT_FOREVER));
	}
	weft_chan_close(out);
	return NULL;
}

static long consume(size_t room)
{
	weft_chan *c;
	weft_fiber *f;
	long *number, sum = 0;

	must(weft_chan_create(&c, sizeof(number), room));
	must(weft_spawn(&f, NULL, produce, c));
	while (weft_chan_recv(c, &number, WEFT_FOREVER) == 0)
		sum += *number;
	must(weft_join(f, NULL, WEFT_FOREVER));
	weft_chan_unref(c);
	return sum;
}

static long join_all(void)
{
	weft_fiber *f[FIBERS];
	long number[FIBERS] = { 0 }, sum = 0;

	for (int i = 0; i < FIBERS; i++)
		must(weft_spawn(&f[i], NULL, count_joined, &number[i]));
	for (int i = 0; i < FIBERS; i++) {
		must(weft_join(f[i], NULL, WEFT_FOREVER));
		sum += number[i];
	}
	return sum;
}

/* Half of the counters run on a pool, which is destroyed at the end. */
static long count_all(void)
{
	weft_executor *pool;

	must(weft_pool_create(&pool, 2));
	for (int i = 0; i < FIBERS; i++) {
		weft_group_add(&done, 1);
		must(i % 2 ? weft_go(count, NULL)
			   : weft_submit_fn(pool, count, NULL));
	}
	must(weft_group_wait(&done, WEFT_FOREVER));
	must(weft_executor_destroy(pool));
	return counted;
}

static int correct(void *unused)
{
	(void)unused;
	return consume(0) == TURNS * (TURNS - 1) / 2 &&
		consume(10) == TURNS * (TURNS - 1) / 2 &&
		join_all() == FIBERS * TURNS && count_all() == FIBERS * TURNS;
}

/*
 * Two fibers race on two workers.  A relaxed counter makes them wait for each
 * other and orders nothing.  ThreadSanitizer may miss two accesses in the same
 * instant, so there are many.
 */
static void *race(void *arrived)
{
	static long shared[1000];
	atomic_int *n = arrived;

	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
	while (atomic_load_explicit(n, memory_order_relaxed) < 2)
		;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++)
		shared[i]++;
	return NULL;
}

static int racy(void *unused)
{
	static atomic_int arrived;
	weft_fiber *f[2];

	(void)unused;
	for (int i = 0; i < 2; i++)
		must(weft_spawn(&f[i], NULL, race, &arrived));
	/* Not by weft_join, which might run the fiber on this worker. */
	while (atomic_load_explicit(&arrived, memory_order_relaxed) < 2)
		must(weft_sleep(1000000));
	for (int i = 0; i < 2; i++)
		must(weft_join(f[i], NULL, WEFT_FOREVER));
	return 1;
}

int main(int argc, char **argv)
{
	weft_config two = { .workers = 2 };
	int good;

	(void)argv;
	good = weft_run(&two, argc > 1 ? racy : correct, NULL);
	puts(good == 1 ? "done" : "wrong");
	return good != 1;
}
