/* SPDX-License-Identifier: MIT */
/*
 * sim/clock.h - vector clocks: what happened before, and what was seen.
 *
 * One lane per simulated thread counts the releases of that thread; the last
 * lane counts sequentially consistent operations.  All lanes of a clock fit
 * into one cache line, and every operation handles all lanes: no loop, no
 * branch.
 */
#ifndef WF_SIM_CLOCK_H
#define WF_SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

#define WF_SIM_LANES 16
#define WF_SIM_THREADS 15	/* at most, in one run */
#define WF_SIM_SEQ 15		/* the lane of sequential consistency */

/* Signed, because processors compare signed lanes; never negative. */
typedef int32_t wf_clock __attribute__((vector_size(4 * WF_SIM_LANES)));

/*
 * Compilers split such a clock lane by lane; four lanes at a time are faster.
 */
typedef int32_t wf_lanes __attribute__((vector_size(16), may_alias));

#define WF_SIM_QUARTERS (WF_SIM_LANES / 4)

/* *to becomes the join of both. */
wf_inline void wf_clock_join(wf_clock *to, const wf_clock *with)
{
	wf_lanes *a = (wf_lanes *)to;
	const wf_lanes *b = (const wf_lanes *)with;

	for (int i = 0; i < WF_SIM_QUARTERS; i++) {
		wf_lanes later = a[i] > b[i];

		a[i] = (a[i] & later) | (b[i] & ~later);
	}
}

wf_inline bool wf_lanes_any(wf_lanes mask)
{
	typedef int64_t pair __attribute__((vector_size(16)));
	pair m = (pair)mask;

	return (m[0] | m[1]) != 0;
}

/* Whether x is at most y in every lane. */
wf_inline bool wf_clock_within(const wf_clock *x, const wf_clock *y)
{
	const wf_lanes *a = (const wf_lanes *)x, *b = (const wf_lanes *)y;

	return !wf_lanes_any(
		(a[0] > b[0]) | (a[1] > b[1]) | (a[2] > b[2]) | (a[3] > b[3]));
}

/* Whether x has reached y in any lane. */
wf_inline bool wf_clock_reached(const wf_clock *x, const wf_clock *y)
{
	const wf_lanes *a = (const wf_lanes *)x, *b = (const wf_lanes *)y;

	return wf_lanes_any((a[0] >= b[0]) | (a[1] >= b[1]) | (a[2] >= b[2]) |
		(a[3] >= b[3]));
}

#endif
