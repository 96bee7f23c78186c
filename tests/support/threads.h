/* SPDX-License-Identifier: MIT */
/*
 * tests/support/threads.h - what tests that run on several threads share.
 *
 * A failed assertion jumps out of the test, so it must not be made on a thread
 * that the test has started.  Such a thread writes down what it sees, and the
 * test looks at it after threads_run: in a ledger if things must be taken
 * exactly once, and at a goal if work must come to an end.
 *
 * Environment.
 *	WEFT_TEST_SEED	decimal; what every random choice starts from.  A test
 *			prints its seed, so that a run can be made again.
 *	WEFT_TEST_SCALE	per cent of the rounds to do, and of the time to take
 */
#ifndef WEFT_TESTS_SUPPORT_THREADS_H
#define WEFT_TESTS_SUPPORT_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

/* Call fn(arg, i) for 0 <= i < n, each on a new thread, all at once; join. */
void threads_run(unsigned n, void (*fn)(void *arg, unsigned i), void *arg);

/* The seed of this run; the first call prints it. */
uint64_t threads_seed(void);

/* How many of n rounds to do: fewer on valgrind; at least 1. */
size_t threads_rounds(size_t n);

/* Does valgrind run us, one thread at a time?  Then times say nothing. */
bool threads_on_valgrind(void);

/* The monotonic clock: now, and when a test that takes so long should end. */
int64_t threads_now_ns(void);
int64_t threads_until_ns(unsigned ms);

/*
 * A goal: so much is to be done, by all together.  If nothing at all is done
 * for half a minute, somebody gives up for all; things must have been lost.
 */
struct threads_goal {
	size_t wanted;
	_Atomic(size_t) done;
	_Atomic(bool) stuck;
};

/* One thread's memory of the goal.  All-zero to begin with. */
struct threads_patience {
	size_t seen;
	int64_t since_ns;
};

/* n more are done. */
void threads_goal_add(struct threads_goal *g, size_t n);

/* Is it time to stop? */
bool threads_goal_over(struct threads_goal *g);

/* There was nothing to do: let others run, and see whether they do. */
void threads_goal_idle(struct threads_goal *g, struct threads_patience *p);

/*
 * A ledger: how often each thread took each of some things.  Each thread marks
 * on its own page, without any atomic operation: that would order the accesses
 * under test.
 */
struct threads_ledger {
	size_t things;
	unsigned threads;
	uint8_t *pages;
};

void threads_ledger_open(
	struct threads_ledger *l, unsigned threads, size_t things);

static inline void threads_ledger_mark(
	struct threads_ledger *l, unsigned thread, size_t thing)
{
	l->pages[thread * l->things + thing]++;
}

/* How often thing was taken, by all. */
unsigned threads_ledger_count(const struct threads_ledger *l, size_t thing);

/* How many things were not taken exactly once; prints the first of them. */
size_t threads_ledger_close(struct threads_ledger *l);

#endif
