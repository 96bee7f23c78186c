/* SPDX-License-Identifier: MIT */
/*
 * os/errno.c - where this thread's errno is.
 *
 * libc declares the function behind errno const, and a second declaration of
 * it without const does not help: when the linker optimises, gcc and clang
 * merge the two, and which one stays depends on the order of the files.  So
 * users call a function of ours, which no compiler sees through.
 */
#include <errno.h>

#include "base/compiler.h"

/* Before weft/errno.h makes errno a call of weft_errno. */
wf_inline int *libc_errno(void)
{
	return &errno;
}

#include <weft/errno.h>

WEFT_OPAQUE_ int *weft_errno(void)
{
	int *at = libc_errno();

	/*
	 * clang would pass on that the result is libc's, which is const, and
	 * callers would call only once.
	 */
	__asm__ volatile("" : "+r"(at) : : "memory");
	return at;
}
