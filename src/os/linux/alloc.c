/* SPDX-License-Identifier: MIT */
/*
 * os/linux/alloc.c - small memory, from malloc.
 */
#include "os/os.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"

void *wf_os_alloc(size_t bytes)
{
	size_t whole = wf_round_up(bytes, WF_FALSE_SHARING);
	void *p = whole == 0 ? NULL : aligned_alloc(WF_FALSE_SHARING, whole);

	return p == NULL ? NULL : memset(p, 0, whole);
}

void wf_os_free(void *p)
{
	free(p);
}
