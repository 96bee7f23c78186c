/* SPDX-License-Identifier: MIT */
/*
 * base/random.h - a small fast random generator; each owner has its own.
 *
 * SplitMix64: one word of state, every seed is good, the period is 2^64.  Used
 * to spread load, never for secrets.  Seeds come from wf_os_random, so the
 * simulator controls them.
 */
#ifndef WF_BASE_RANDOM_H
#define WF_BASE_RANDOM_H

#include <stdint.h>

#include "base/assert.h"

struct wf_random {
	uint64_t state;		/* owner only */
};

static inline void wf_random_seed(struct wf_random *r, uint64_t seed)
{
	r->state = seed;
}

static inline uint64_t wf_random_next(struct wf_random *r)
{
	uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/*
 * A random number in [0, n), n > 0.  Multiply-and-shift instead of a division;
 * the bias is below n / 2^32, which does not matter for spreading load.
 */
static inline uint32_t wf_random_below(struct wf_random *r, uint32_t n)
{
	wf_debug_assert(n > 0, "no number lies below 0");
	return (uint32_t)(((wf_random_next(r) >> 32) * n) >> 32);
}

#endif
