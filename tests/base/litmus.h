/* SPDX-License-Identifier: MIT */
/*
 * tests/base/litmus.h - store buffering, shown by two threads that race.
 *
 * Each side writes a word of its own, then reads the other's.  One of them at
 * least must read what was written, unless a side can read before its write is
 * out: then both read 0.  That takes both being at it in the same moment, so
 * they meet before every race and start it after a pause that changes a
 * little; and it takes both having a CPU, so each is bound to one if there are
 * two, and they race for a while.
 */
#ifndef WEFT_TESTS_BASE_LITMUS_H
#define WEFT_TESTS_BASE_LITMUS_H

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "arch/context.h"
#include "base/atomic.h"
#include "base/compiler.h"
#include "base/random.h"
#include "os/os.h"

#define LITMUS_RACES 256	/* between two looks at the clock */

/* Write 1 to mine, order it, return what is in theirs. */
typedef uint32_t litmus_side(
	_Atomic(uint32_t) *mine, _Atomic(uint32_t) *theirs);

struct litmus_word {
	/* On lines of its own, or the races would be too tame. */
	wf_aligned(WF_FALSE_SHARING) _Atomic(uint32_t) word;
};

struct litmus {
	litmus_side *side[2];
	struct litmus_word at[2];	/* which race a side has come to */
	struct litmus_word race[LITMUS_RACES][2];
	uint32_t saw[2][LITMUS_RACES];
	struct litmus_word stop;
	int64_t end_ns;
	long races, both_zero;		/* the outcome */
};

/* Come to race n, and wait until the other side has. */
static inline void litmus_meet(struct litmus *l, int me, uint32_t n)
{
	wf_store_rel(&l->at[me].word, n);
	for (int i = 1; (int32_t)(wf_load_acq(&l->at[!me].word) - n) < 0; i++) {
		if (i % 1024 == 0)
			wf_os_thread_yield();
		else
			wf_cpu_relax();
	}
}

static inline void litmus_races(
	struct litmus *l, int me, uint32_t *n, struct wf_random *random)
{
	for (int i = 0; i < LITMUS_RACES; i++) {
		uint32_t pause = wf_random_below(random, 64);

		litmus_meet(l, me, ++*n);
		while (pause-- > 0)
			wf_fence_light();
		l->saw[me][i] = l->side[me](
			&l->race[i][me].word, &l->race[i][!me].word);
	}
	litmus_meet(l, me, ++*n);
}

static inline void litmus_count(struct litmus *l)
{
	for (int i = 0; i < LITMUS_RACES; i++) {
		l->both_zero += !l->saw[0][i] && !l->saw[1][i];
		wf_store_rlx(&l->race[i][0].word, 0);
		wf_store_rlx(&l->race[i][1].word, 0);
	}
	l->races += LITMUS_RACES;
}

/* The left side counts, and says when it is enough. */
static inline void *litmus_left(void *arg)
{
	struct litmus *l = arg;
	struct wf_random random = { .state = 1 };
	uint32_t n = 0;

	(void)wf_os_thread_pin(0);
	do {
		litmus_meet(l, 0, ++n);
		litmus_races(l, 0, &n, &random);
		litmus_count(l);
	} while (l->both_zero == 0 && wf_os_now_ns() < l->end_ns);
	wf_store_rlx(&l->stop.word, 1);
	litmus_meet(l, 0, ++n);
	return NULL;
}

static inline void *litmus_right(void *arg)
{
	struct litmus *l = arg;
	struct wf_random random = { .state = 2 };
	uint32_t n = 0;

	(void)wf_os_thread_pin(1);
	for (;;) {
		litmus_meet(l, 1, ++n);
		if (wf_load_rlx(&l->stop.word))
			return NULL;
		litmus_races(l, 1, &n, &random);
	}
}

/* Race for ns nanoseconds, or until both sides have read 0. */
static inline void litmus_run(struct litmus *l, int64_t ns)
{
	pthread_t left, right;

	l->end_ns = wf_os_now_ns() + ns;
	if (pthread_create(&left, NULL, litmus_left, l) != 0 ||
		pthread_create(&right, NULL, litmus_right, l) != 0)
		abort();
	pthread_join(left, NULL);
	pthread_join(right, NULL);
}

#endif
