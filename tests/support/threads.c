/* SPDX-License-Identifier: MIT */
/*
 * tests/support/threads.c - threads that start at once, goals and ledgers.
 */
#include "support/threads.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/sanitize.h"
#include "base/units.h"

enum { VALGRIND_PERCENT = 4, PATIENCE_S = 30, PRINTED_MAX = 5 };

/* ------------------------------------------------------------------------ */
/* Threads. */

struct start {
	pthread_barrier_t gate;
	void (*fn)(void *arg, unsigned i);
	void *arg;
};

struct thread {
	struct start *start;
	unsigned i;
	pthread_t id;
};

/* Without threads there is no test; nobody could handle this better. */
static void must(bool ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "the test cannot run: %s failed\n", what);
		exit(1);
	}
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;

	pthread_barrier_wait(&t->start->gate);
	t->start->fn(t->start->arg, t->i);
	return NULL;
}

void threads_run(unsigned n, void (*fn)(void *arg, unsigned i), void *arg)
{
	struct start start = { .fn = fn, .arg = arg };
	struct thread *threads = calloc(n, sizeof(*threads));

	must(threads != NULL, "calloc");
	must(pthread_barrier_init(&start.gate, NULL, n) == 0, "a barrier");
	for (unsigned i = 0; i < n; i++) {
		threads[i].start = &start;
		threads[i].i = i;
		must(pthread_create(&threads[i].id, NULL, thread_main,
			     &threads[i]) == 0,
			"pthread_create");
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i].id, NULL);
	pthread_barrier_destroy(&start.gate);
	free(threads);
}

/* ------------------------------------------------------------------------ */
/* The run as a whole. */

int64_t threads_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * WF_NS_PER_S + now.tv_nsec;
}

static uint64_t seed;

static void choose_seed(void)
{
	const char *given = getenv("WEFT_TEST_SEED");

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)threads_now_ns();
	printf("WEFT_TEST_SEED=%" PRIu64 "\n", seed);
	fflush(stdout);
}

uint64_t threads_seed(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, choose_seed);
	return seed;
}

/* WEFT_TEST_SCALE, or what it is if it is not set. */
static size_t scale(size_t percent)
{
	const char *given = getenv("WEFT_TEST_SCALE");

	return given ? (size_t)strtoull(given, NULL, 10) : percent;
}

size_t threads_rounds(size_t n)
{
	size_t percent = scale(wf_on_valgrind() ? VALGRIND_PERCENT : 100);

	return wf_max_size(n * percent / 100, 1);
}

bool threads_on_valgrind(void)
{
	return wf_on_valgrind();
}

int64_t threads_until_ns(unsigned ms)
{
	int64_t scaled = (int64_t)(ms * scale(100) / 100);

	return threads_now_ns() + scaled * WF_NS_PER_MS;
}

/* ------------------------------------------------------------------------ */
/* Goals. */

void threads_goal_add(struct threads_goal *g, size_t n)
{
	wf_add_rlx(&g->done, n);
}

bool threads_goal_over(struct threads_goal *g)
{
	return wf_load_rlx(&g->done) >= g->wanted || wf_load_rlx(&g->stuck);
}

void threads_goal_idle(struct threads_goal *g, struct threads_patience *p)
{
	size_t done = wf_load_rlx(&g->done);
	int64_t now = threads_now_ns();

	if (p->since_ns == 0 || done != p->seen) {
		p->seen = done;
		p->since_ns = now;
	} else if (now - p->since_ns > PATIENCE_S * WF_NS_PER_S) {
		fprintf(stderr, "stuck: %zu of %zu are done\n", done,
			g->wanted);
		wf_store_rlx(&g->stuck, true);
	}
	sched_yield();
}

/* ------------------------------------------------------------------------ */
/* Ledgers. */

void threads_ledger_open(
	struct threads_ledger *l, unsigned threads, size_t things)
{
	l->threads = threads;
	l->things = things;
	l->pages = calloc(threads, things);
	must(l->pages != NULL, "calloc");
}

unsigned threads_ledger_count(const struct threads_ledger *l, size_t thing)
{
	unsigned n = 0;

	for (unsigned i = 0; i < l->threads; i++)
		n += l->pages[i * l->things + thing];
	return n;
}

size_t threads_ledger_close(struct threads_ledger *l)
{
	size_t wrong = 0;

	for (size_t i = 0; i < l->things; i++) {
		unsigned n = threads_ledger_count(l, i);

		if (n == 1)
			continue;
		if (wrong++ < PRINTED_MAX)
			fprintf(stderr, "%zu was taken %u times\n", i, n);
	}
	if (wrong > PRINTED_MAX)
		fprintf(stderr, "and so on: %zu of %zu\n", wrong, l->things);
	free(l->pages);
	l->pages = NULL;
	return wrong;
}
