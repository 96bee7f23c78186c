/* SPDX-License-Identifier: MIT */
/*
 * base/units.h - units of size and time, and arithmetic that cannot overflow.
 */
#ifndef WF_BASE_UNITS_H
#define WF_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WF_KIB ((size_t)1 << 10)
#define WF_MIB ((size_t)1 << 20)
#define WF_GIB ((size_t)1 << 30)

#define WF_NS_PER_US ((int64_t)1000)
#define WF_NS_PER_MS ((int64_t)1000000)
#define WF_NS_PER_S ((int64_t)1000000000)

static inline bool wf_is_pow2(uint64_t n)
{
	return n != 0 && (n & (n - 1)) == 0;
}

/* Round n up to a multiple of unit (a power of two); 0 if that overflows. */
static inline size_t wf_round_up(size_t n, size_t unit)
{
	size_t up;

	if (__builtin_add_overflow(n, unit - 1, &up))
		return 0;
	return up & ~(unit - 1);
}

/* a + b for times; saturates at the ends of the range instead of wrapping. */
static inline int64_t wf_time_add(int64_t a, int64_t b)
{
	int64_t sum;

	if (!__builtin_add_overflow(a, b, &sum))
		return sum;
	return b > 0 ? INT64_MAX : INT64_MIN;
}

static inline size_t wf_min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t wf_max_size(size_t a, size_t b)
{
	return a > b ? a : b;
}

#endif
