/* SPDX-License-Identifier: MIT */
/*
 * tests/stress/sched_kit.h - what the tests of the scheduler share.
 *
 * A failed assertion jumps out of the test, which must not happen on the stack
 * of a fiber.  Fibers, tasks and threads of a test use kit_expect, and the test
 * looks with kit_settle, on its own thread, whether all was as expected.
 *
 * A test of a scheduler that hangs is killed by an alarm that says the seed:
 * kit_watch, again and again as long as things move.
 */
#ifndef WEFT_TESTS_STRESS_SCHED_KIT_H
#define WEFT_TESTS_STRESS_SCHED_KIT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <weft/weft.h>

#include "base/atomic.h"
#include "base/random.h"
#include "base/sanitize.h"
#include "base/units.h"
#include "stack/probe.h"
#include "support/threads.h"

/* How much slower than natively this build is: rounds are divided by it. */
#if defined(WF_TSAN) || WEFT_TEST_EMULATED
#define KIT_SLOWER 10
#elif defined(WF_ASAN)
#define KIT_SLOWER 4
#else
#define KIT_SLOWER 1
#endif

/* Seconds without a sign of life after which a test has hung. */
#define KIT_PATIENCE_S 50

static inline bool kit_slow(void)
{
	return KIT_SLOWER > 1 || wf_on_valgrind();
}

/* So many of n rounds, in this build; at least 1. */
static inline size_t kit_rounds(size_t n)
{
	return threads_rounds(wf_max_size(n / KIT_SLOWER, 1));
}

/* Not more than so many fibers with a stack at once. */
static inline size_t kit_stacks(size_t n)
{
	return wf_min_size(n, PROBE_TAKEN_MAX);
}

/* ------------------------------------------------------------------------ */
/* Expectations. */

static _Atomic(const char *) kit_wrong;	/* the first; NULL: none */
static _Atomic(int) kit_wrong_line;

static inline void kit_note(const char *what, int line)
{
	const char *none = NULL;

	if (wf_cas_rlx(&kit_wrong, &none, what))
		wf_store_rlx(&kit_wrong_line, line);
}

/* Was anything wrong yet?  Then long loops end early. */
static inline bool kit_failed(void)
{
	return wf_load_rlx(&kit_wrong) != NULL;
}

/* Like assert_true, but on any stack, and the test goes on. */
#define kit_expect(c) ((c) ? (void)0 : kit_note(#c, __LINE__))

/* On the test's own thread, when fibers and other threads have ended. */
#define kit_settle()                                                       \
	do {                                                               \
		const char *kit_what = wf_xchg_rlx(&kit_wrong, NULL);      \
		if (kit_what != NULL)                                      \
			fail_msg("line %d, in a fiber: %s",                \
				wf_load_rlx(&kit_wrong_line), kit_what);   \
	} while (0)

/* ------------------------------------------------------------------------ */
/* Time. */

static inline void kit_hung(int sig)
{
	static const char words[] = "hung: nothing has moved for too long\n";

	(void)sig;
	if (write(STDERR_FILENO, words, sizeof(words) - 1) < 0)
		_exit(1);
	signal(SIGABRT, SIG_DFL);
	abort();
}

/* The test makes progress: set the alarm anew. */
static inline void kit_watch(void)
{
	unsigned more = kit_slow() ? wf_on_valgrind() ? 8 : 3 : 1;

	signal(SIGALRM, kit_hung);
	alarm(KIT_PATIENCE_S * more);
}

static inline void kit_pause_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000),
		.tv_nsec = (long)(us % 1000000 * 1000) };

	while (nanosleep(&t, &t) != 0)
		continue;
}

static inline int kit_compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Sort, print and give the median; ns[n - 1] is the worst then. */
static inline int64_t kit_median(const char *what, int64_t *ns, size_t n)
{
	qsort(ns, n, sizeof(*ns), kit_compare_ns);
	printf("%-32s median %9.1f us, worst %9.1f us, of %zu\n", what,
		(double)ns[n / 2] / 1e3, (double)ns[n - 1] / 1e3, n);
	return ns[n / 2];
}

/* ------------------------------------------------------------------------ */
/* Runtimes; on the test's own thread. */

/* ctest runs these tests with several policies; NULL: the default. */
static inline const char *kit_policy(void)
{
	return getenv("WEFT_TEST_POLICY");
}

static inline weft_rt *kit_start(const weft_config *cfg)
{
	const char *words = kit_policy();
	weft_config with = cfg ? *cfg : (weft_config){ 0 };
	weft_policy policy;
	weft_rt *rt = NULL;

	kit_watch();
	if (words != NULL && with.policy == NULL) {
		assert_int_equal(weft_policy_parse(&policy, words, NULL, 0), 0);
		with.policy = &policy;
	}
	assert_int_equal(weft_rt_start(&rt, &with), 0);
	assert_non_null(rt);
	return rt;
}

static inline void kit_stop(weft_rt *rt)
{
	assert_int_equal(weft_rt_stop(rt, WEFT_FOREVER), 0);
	kit_settle();
	kit_watch();
}

/* Run fn(rt) in a fiber of a new runtime, to its end. */
static inline void kit_play(void *(*fn)(void *), unsigned workers)
{
	weft_config cfg = { .workers = workers };
	weft_rt *rt = kit_start(&cfg);
	weft_fiber *f;

	assert_int_equal(weft_rt_spawn(rt, &f, NULL, fn, rt), 0);
	assert_int_equal(weft_join(f, NULL, WEFT_FOREVER), 0);
	kit_stop(rt);
}

static inline void kit_nothing(void *arg, unsigned i)
{
	(void)arg;
	(void)i;
}

/* A sanitizer has a thread of its own, from when there is a second one. */
static inline void kit_first_thread(void)
{
	threads_run(1, kit_nothing, NULL);
	kit_pause_us(50000);
}

static inline void kit_metrics(weft_rt *rt, weft_metrics *m)
{
	assert_int_equal(weft_metrics_read(rt, m, sizeof(*m)), 0);
}

#endif
