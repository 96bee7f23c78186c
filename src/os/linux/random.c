/* SPDX-License-Identifier: MIT */
/*
 * os/linux/random.c - seeds.
 */
#include "os/os.h"

#include <sys/random.h>

uint64_t wf_os_random(void)
{
	uint64_t seed;

	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) == sizeof(seed))
		return seed;
	/*
	 * Early at boot there is no randomness; time and address differ between
	 * runs.
	 */
	return (uint64_t)wf_os_now_ns() ^ (uint64_t)(uintptr_t)&seed << 20;
}
