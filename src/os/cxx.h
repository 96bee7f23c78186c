/* SPDX-License-Identifier: MIT */
/*
 * os/cxx.h - the state that the C++ runtime keeps for a thread: exceptions.
 *
 * The C++ runtime keeps two words for each thread: the list of exceptions whose
 * catch blocks are running, and the number of exceptions that are thrown and
 * not caught yet.  Between the throw and the end of the catch block they belong
 * to the running code, which may be a fiber.  So a fiber that leaves its thread
 * takes them along:
 *
 *	(X1) When a fiber, a loop or a thread's own stack begins or continues,
 *	     both words are zero.  A fiber that has saved words then stores
 *	     them into the words of the thread that it is on now.
 *
 * So most switches only check that the words are zero.  weft asks for their
 * address once for each thread.
 *
 * The layout is that of the Itanium C++ ABI, which libstdc++ and libc++abi
 * share.  The second word is an unsigned int and padding.
 *
 * A program that is not linked with a C++ runtime has no such words: the
 * function that finds them is a weak symbol, and all threads get words that
 * stay zero.  The symbol is bound when the library is loaded, or when the
 * program is linked with libweft.a.  weft does not notice a C++ runtime that
 * dlopen loads later.
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

/*
 * The words of the calling thread.  Never NULL; valid while the thread lives.
 */
wf_noinline struct wf_cxx *wf_os_cxx(void);

/* Whether an exception is being thrown or caught here. */
static inline bool wf_cxx_is_busy(const struct wf_cxx *c)
{
	return wf_unlikely((c->caught | c->uncaught) != 0);
}

/* Move the words out, and leave zero (X1).  Call it only if c is busy. */
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
