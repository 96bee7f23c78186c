/* SPDX-License-Identifier: MIT */
/*
 * os/errno.c - the address of the current thread's errno.
 *
 * libc declares the function behind errno const.  A second declaration of it
 * without const does not help: with link-time optimisation gcc and clang merge
 * the two, and which one stays depends on the order of the files.  So users
 * call this function of ours, into which no compiler can see.
 */
#include <errno.h>

#include "base/compiler.h"

/* Defined before weft/errno.h makes errno a call of weft_errno. */
wf_inline int *libc_errno(void)
{
	return &errno;
}

#include <weft/errno.h>

WEFT_OPAQUE_ int *weft_errno(void)
{
	int *at = libc_errno();

	/*
	 * Without this, clang would know that the result is that of libc's
	 * const function, and callers would call only once.
	 */
	__asm__ volatile("" : "+r"(at) : : "memory");
	return at;
}
