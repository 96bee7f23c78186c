/* SPDX-License-Identifier: MIT */
/*
 * base/random.h - a small fast generator that each owner keeps for itself.
 *
 * SplitMix64: one word of state, every seed good, full period 2^64.  Used to
 * spread load, never for secrets.  The seed comes from the operating system
 * contract, so a simulated run decides all of it.
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
 * A number in [0, n), n > 0.  Multiply-and-shift: no division; the bias is
 * below n / 2^32 and of no matter where load is spread.
 */
static inline uint32_t wf_random_below(struct wf_random *r, uint32_t n)
{
	wf_debug_assert(n > 0, "no number lies below 0");
	return (uint32_t)(((wf_random_next(r) >> 32) * n) >> 32);
}

#endif
