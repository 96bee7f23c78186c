/* SPDX-License-Identifier: MIT */
/*
 * os/cxx.h - what the C++ runtime keeps for a thread: its exceptions.
 *
 * The C++ runtime keeps two words for each thread: the list of exceptions whose
 * catch blocks are running, and how many exceptions are being thrown and not
 * caught yet.  Between the throw and the end of the catch block they belong to
 * the code that runs, which may be a fiber.  So a fiber that leaves its thread
 * takes them with it:
 *
 *	(X1) When a fiber, a loop or a thread's own stack begins or goes on,
 *	     both words are zero.  A fiber that has something to put back does
 *	     it then, into the words of the thread that it is on now.
 *
 * It follows that most switches have nothing to do but to see that the words
 * are zero.  Where they are is asked once for each thread.
 *
 * The layout is that of the Itanium C++ ABI, which libstdc++ and libc++abi
 * share.  The second word is an unsigned int and padding.
 *
 * A program that is not linked with a C++ runtime has none of this: the
 * function that finds the words is a weak symbol, and all threads get words
 * that stay zero.  The symbol is bound when the library is loaded, or when the
 * program is linked with libweft.a.  A C++ runtime that is loaded later, by
 * dlopen, is not noticed.
 *
 * Reads next: sched/switch.h, the switch.
 */
#ifndef WF_OS_CXX_H
#define WF_OS_CXX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

struct wf_cxx {
	uint64_t caught;	/* the innermost of a list */
	uint64_t uncaught;	/* how many */
};

/* The words of the calling thread.  Never NULL; good while it lives. */
wf_noinline struct wf_cxx *wf_os_cxx(void);

/* Is an exception thrown or caught here, and not done with? */
static inline bool wf_cxx_is_busy(const struct wf_cxx *c)
{
	return wf_unlikely((c->caught | c->uncaught) != 0);
}

/* Take the words away, and leave zero (X1).  Only if c is busy. */
static inline struct wf_cxx wf_cxx_take(struct wf_cxx *c)
{
	struct wf_cxx taken = *c;

	*c = (struct wf_cxx){ 0 };
	return taken;
}

static inline void wf_cxx_put(struct wf_cxx *c, struct wf_cxx taken)
{
	*c = taken;
}

#endif
