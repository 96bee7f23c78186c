/* SPDX-License-Identifier: MIT */
/*
 * os/linux/self.c - the one thread-local variable.
 */
#include "os/os.h"

static _Thread_local void *self_;

void *wf_os_self(void)
{
	/* Not to be merged with another call: the thread may have changed. */
	__asm__ volatile("");
	return self_;
}

void *wf_os_self_set(void *self)
{
	void *before;

	__asm__ volatile("");
	before = self_;
	self_ = self;
	return before;
}
