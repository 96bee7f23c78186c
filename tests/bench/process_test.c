/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/process_test.c - memory and mappings grow when some are made, and
 * context switches are counted thread by thread.
 */
#include "bench/process.h"

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#define MEMORY ((size_t)16 << 20)

static void memory_is_seen(void **state)
{
	uint64_t rss = bench_rss_bytes(), mappings = bench_mappings();
	char *p;

	(void)state;
	assert_true(rss > 0 && mappings > 0);
	assert_true(bench_memory_left() > 0);
	p = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	memset(p, 1, MEMORY);
	/* Another protection, or the kernel could merge it with a neighbour. */
	assert_int_equal(mprotect(p, MEMORY / 2, PROT_READ), 0);
	assert_true(bench_rss_bytes() >= rss + MEMORY / 2);
	assert_true(bench_mappings() > mappings);
	munmap(p, MEMORY);
}

static void switches_are_compared(void **state)
{
	struct bench_switches a = { .n = 2, .of = { { 10, 5 }, { 11, 7 } } };
	struct bench_switches b = { .n = 2, .of = { { 11, 9 }, { 12, 3 } } };

	(void)state;
	/* Thread 10 has ended (1), 11 had two, 12 is new and had three. */
	assert_int_equal(bench_switches_between(&a, &b), 1 + 2 + 3);
	assert_int_equal(bench_switches_between(&a, &a), 0);
}

static sem_t ping, pong;

#define ANSWERS 20

/* The thread sleeps before most answers, since ask() waits 1 ms. */
static void *answer(void *unused)
{
	for (int i = 0; i < ANSWERS + 2; i++) {
		sem_wait(&ping);
		sem_post(&pong);
	}
	return unused;
}

static void ask(int times)
{
	for (int i = 0; i < times; i++) {
		usleep(1000);
		sem_post(&ping);
		sem_wait(&pong);
	}
}

static void a_sleeper_is_counted(void **state)
{
	static struct bench_switches before, after;
	pthread_t thread;

	(void)state;
	sem_init(&ping, 0, 0);
	sem_init(&pong, 0, 0);
	assert_int_equal(pthread_create(&thread, NULL, answer, NULL), 0);
	ask(1);
	assert_int_equal(bench_switches_read(&before), 0);
	ask(ANSWERS);
	assert_int_equal(bench_switches_read(&after), 0);
	ask(1);
	pthread_join(thread, NULL);
	assert_true(before.n >= 1);
	assert_true(bench_switches_between(&before, &after) >= 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_seen),
		cmocka_unit_test(switches_are_compared),
		cmocka_unit_test(a_sleeper_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
