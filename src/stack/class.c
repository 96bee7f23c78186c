/* SPDX-License-Identifier: MIT */
/*
 * stack/class.c - the size classes of stacks.
 */
#include "stack/class.h"

#include <errno.h>

#include "arch/context.h"
#include "base/limits.h"

/* The stack size that class 0 promises. */
static size_t smallest(size_t page_bytes)
{
	return wf_max_size(WF_STACK_BYTES_MIN, 4 * page_bytes);
}

int wf_stack_class_of(size_t bytes, size_t page_bytes)
{
	size_t promised = smallest(page_bytes);
	int cls = 0;

	if (bytes > WF_STACK_BYTES_MAX)
		return -EINVAL;
	if (bytes == 0)
		bytes = WF_STACK_BYTES_DEFAULT;
	for (; promised < bytes; promised *= 2)
		cls++;
	return cls;
}

struct wf_stack_class wf_stack_class_make(unsigned cls, size_t page_bytes)
{
	struct wf_stack_class c = { .promised = smallest(page_bytes) << cls };
	size_t slack = wf_round_up(c.promised / 4, page_bytes);

	c.guard = wf_round_up(WF_ARCH_GUARD_BYTES, page_bytes);
	c.stride = c.guard + slack + c.promised;
	if (c.stride / page_bytes % 2 == 0)
		c.stride += page_bytes;
	c.batch = (uint32_t)wf_max_size(
		1, wf_min_size(WF_STACK_BATCH_MAX, 2 * WF_MIB / c.promised));
	return c;
}
