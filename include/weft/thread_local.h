/* SPDX-License-Identifier: MIT */
/*
 * weft/thread_local.h - thread-local variables, for code that runs in fibers.
 *
 * What a fiber has of its own is a weft_key (weft/key.h).  This is for what a
 * thread has: a cache, a counter, a library's state.
 *
 *	struct cache { size_t hits; char buffer[512]; };
 *
 *	WEFT_THREAD_LOCAL(struct cache, cache);
 *
 *	cache()->hits++;		this thread's
 *	weft_yield();
 *	cache()->hits++;		perhaps another's
 *
 * A fiber may go on on another thread after any call that may switch.  The
 * address of a _Thread_local variable differs from thread to thread, but gcc
 * and clang take it for a constant of the function: they compute it once and
 * use it after the switch too.  The fiber then reads and writes the variable of
 * a thread that it has left, while that thread does too, or when it has ended.
 * clang does so even at -O0, and no flag stops it.
 *
 * The functions that these macros define are never inlined nor seen through, at
 * link time neither, so each call finds the thread that it is made on.  What it
 * returned is good until the next call that may switch.  In `*cache() = f()'
 * the compiler may call cache before f; if f may switch, store its result in a
 * variable first.
 *
 * gcc and clang take for constant in the same way what pthread_self() returns,
 * h_errno, and the tables behind the macros of <ctype.h>.  In a function that
 * does not switch and is not inlined into one that does, all of these are right
 * as they are.
 *
 * The flags that `pkg-config --variable=fiber_cflags weft' prints, and that the
 * CMake targets carry, do not replace this.  On x86-64 there is
 * -ftls-model=initial-exec among them.  With it, code compiled with -fPIC gets
 * most reads and writes of a variable right that it names; addresses, and other
 * architectures, are as wrong as without.
 */
#ifndef WEFT_THREAD_LOCAL_H
#define WEFT_THREAD_LOCAL_H

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/*
 * Define a thread-local variable of the given type, zero at first, and a static
 * function `type *name(void)' that returns the address of the one that belongs
 * to the thread the caller runs on now.
 *
 * At file scope, or in a namespace.  The variable has no other name to be used
 * by.  For an array, make the type a struct or a typedef.
 */
#define WEFT_THREAD_LOCAL(type, name)                                      \
	static WEFT_PER_THREAD_ type name##_of_this_thread_;               \
	WEFT_THREAD_VALUE(type *, name, &name##_of_this_thread_)

/*
 * Define a static function `type name(void)' that evaluates the expression anew
 * at each call, on the thread the caller runs on now.  The type is a pointer or
 * an integer.  For variables that exist already, that begin with something else
 * than zero or that several files share, and for functions of libc that gcc and
 * clang take for constant too:
 *
 *	static _Thread_local int depth_ = 1;
 *	WEFT_THREAD_VALUE(int *, depth, &depth_);
 *
 *	extern _Thread_local struct log *log_of_thread;
 *	WEFT_THREAD_VALUE(struct log *, thread_log, log_of_thread);
 *
 *	WEFT_THREAD_VALUE(pthread_t, this_thread, pthread_self());
 *
 * At file scope, or in a namespace.
 */
#define WEFT_THREAD_VALUE(type, name, expression)                          \
	WEFT_OPAQUE_ __attribute__((unused)) static type name(void)        \
	{                                                                  \
		type value_ = (expression);                                \
                                                                           \
		__asm__ volatile("" : "+r"(value_) : : "memory");          \
		return value_;                                             \
	}                                                                  \
	struct weft_semicolon_

WEFT_END_DECLS

#endif
