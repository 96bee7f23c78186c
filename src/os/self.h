/* SPDX-License-Identifier: MIT */
/*
 * os/self.h - who am I: one word per thread.
 */
#ifndef WF_OS_SELF_H
#define WF_OS_SELF_H

#include "base/compiler.h"

/*
 * NULL until set; set returns what it was.
 *
 * Never by the compiler's own means: it must not carry the address of a
 * thread-local across a switch.  So it is a call, or where every call counts an
 * instruction that the compiler cannot see through.
 */
#if defined(__x86_64__) && !defined(WEFT_SIM)
extern wf_hidden _Thread_local void *wf_os_self_word;

static inline void *wf_os_self(void)
{
	void *self;

	__asm__ volatile("movq wf_os_self_word@gottpoff(%%rip), %0\n\t"
			 "movq %%fs:(%0), %0" : "=r"(self) : : "memory");
	return self;
}
#else
wf_noinline void *wf_os_self(void);
#endif
wf_noinline void *wf_os_self_set(void *self);

/* An address that no other thread of the process has at the same time. */
wf_noinline const void *wf_os_self_place(void);

#endif
