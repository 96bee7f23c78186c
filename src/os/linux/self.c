/* SPDX-License-Identifier: MIT */
/*
 * os/linux/self.c - the one thread-local variable.
 */
#include "os/self.h"

#if defined(__x86_64__)
wf_kept _Thread_local void *wf_os_self_word;
#else
static _Thread_local void *wf_os_self_word;

void *wf_os_self(void)
{
	/* Not to be merged with another call: the thread may have changed. */
	__asm__ volatile("");
	return wf_os_self_word;
}
#endif

void *wf_os_self_set(void *self)
{
	void *before;

	__asm__ volatile("");
	before = wf_os_self_word;
	wf_os_self_word = self;
	return before;
}

const void *wf_os_self_place(void)
{
	__asm__ volatile("");
	return &wf_os_self_word;
}
