/* SPDX-License-Identifier: MIT */
/*
 * os/linux/alloc.c - small memory, from libc or what stands in for it.
 */
#include "os/os.h"

#include <stdlib.h>

void *wf_os_alloc(size_t bytes)
{
	return calloc(1, bytes);
}

void wf_os_free(void *p)
{
	free(p);
}
