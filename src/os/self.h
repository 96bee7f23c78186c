/* SPDX-License-Identifier: MIT */
/*
 * os/self.h - one word per thread, which names the thread to the library.
 */
#ifndef WF_OS_SELF_H
#define WF_OS_SELF_H

#include "base/compiler.h"

/*
 * The word of the calling thread.  NULL until it is set; set returns the old
 * value.
 *
 * The compiler must not carry the address of a thread-local variable across a
 * switch.  So reading the word is a call or, on x86-64, for speed, an
 * instruction into which the compiler cannot see.
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
