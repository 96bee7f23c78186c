/* SPDX-License-Identifier: MIT */
/*
 * tests/timer/model.h - timers, which of them are in, and which is the first:
 * what the heap and the wheel are held against.
 */
#ifndef WEFT_TESTS_TIMER_MODEL_H
#define WEFT_TESTS_TIMER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/random.h"
#include "support/threads.h"
#include "timer/heap.h"

enum { TIMERS = 300 };

static struct wf_timer timers[TIMERS];
static bool is_in[TIMERS];
static struct wf_random rng;

static inline void model_begin(void)
{
	memset(timers, 0, sizeof(timers));
	memset(is_in, 0, sizeof(is_in));
	wf_random_seed(&rng, threads_seed());
}

static inline uint32_t below(uint32_t n)
{
	return wf_random_below(&rng, n);
}

/* The first that is in; NULL: there is none. */
static inline struct wf_timer *model_first(void)
{
	struct wf_timer *first = NULL;

	for (size_t i = 0; i < TIMERS; i++)
		if (is_in[i] &&
			(first == NULL || timers[i].key < first->key ||
				(timers[i].key == first->key &&
					timers[i].turn < first->turn)))
			first = &timers[i];
	return first;
}

#endif
