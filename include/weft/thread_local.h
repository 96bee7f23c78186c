/* SPDX-License-Identifier: MIT */
/*
 * weft/thread_local.h - thread-local variables, for code that runs in fibers.
 *
 * For values that belong to a fiber use a weft_key (weft/key.h).  This header
 * is for values that belong to a thread: a cache, a counter, a library's state.
 *
 *	struct cache { size_t hits; char buffer[512]; };
 *
 *	WEFT_THREAD_LOCAL(struct cache, cache);
 *
 *	cache()->hits++;		this thread's
 *	weft_yield();
 *	cache()->hits++;		perhaps another's
 *
 * A fiber may continue on another thread after any call that may switch.  The
 * address of a _Thread_local variable differs from thread to thread, but gcc
 * and clang treat it as a constant of the function: they compute it once and
 * use it after the switch too.  The fiber then reads and writes the variable of
 * a thread that it has left, while that thread uses it too, or has ended.
 * clang does so even at -O0, and no compiler flag prevents it.
 *
 * The compiler never inlines the functions that these macros define, and cannot
 * see their results in advance, not even at link time.  So each call returns
 * the variable of the thread on which it is made.  The result is valid until
 * the next call that may switch.  In `*cache() = f()' the compiler may call
 * cache before f; if f may switch, store its result in a variable first.
 *
 * gcc and clang treat three more things as constants in this way: the result of
 * pthread_self(), h_errno, and the tables behind the macros of <ctype.h>.  All
 * of these are right in a function that does not switch and is not inlined into
 * one that does.
 *
 * The flags that `pkg-config --variable=fiber_cflags weft' prints, and that the
 * CMake targets carry, do not replace these macros.  On x86-64 they include
 * -ftls-model=initial-exec.  With it, code compiled with -fPIC gets most reads
 * and writes of a variable right that it names; addresses, and other
 * architectures, stay as wrong as without.
 */
#ifndef WEFT_THREAD_LOCAL_H
#define WEFT_THREAD_LOCAL_H

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/*
 * Define a thread-local variable of the given type, zero at first, and a static
 * function `type *name(void)' that returns the address of the current thread's
 * variable.
 *
 * Use it at file scope, or in a namespace.  The variable can be reached only
 * through the function.  For an array, make the type a struct or a typedef.
 */
#define WEFT_THREAD_LOCAL(type, name)                                      \
	static WEFT_PER_THREAD_ type name##_of_this_thread_;               \
	WEFT_THREAD_VALUE(type *, name, &name##_of_this_thread_)

/*
 * Define a static function `type name(void)' that evaluates the expression
 * again at each call, on the thread on which the caller runs now.  The type is
 * a pointer or an integer.  Use it for variables that exist already, that do
 * not begin with zero or that several files share, and for functions of libc
 * that gcc and clang treat as constants:
 *
 *	static _Thread_local int depth_ = 1;
 *	WEFT_THREAD_VALUE(int *, depth, &depth_);
 *
 *	extern _Thread_local struct log *log_of_thread;
 *	WEFT_THREAD_VALUE(struct log *, thread_log, log_of_thread);
 *
 *	WEFT_THREAD_VALUE(pthread_t, this_thread, pthread_self());
 *
 * Use it at file scope, or in a namespace.
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
