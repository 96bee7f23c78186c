/* SPDX-License-Identifier: MIT */
/*
 * os/linux/clock.c - the monotonic clock.
 */
#include "os/os.h"

#include <time.h>

#include "base/units.h"

int64_t wf_os_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * WF_NS_PER_S + t.tv_nsec;
}
