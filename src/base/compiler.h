/* SPDX-License-Identifier: MIT */
/*
 * base/compiler.h - what we ask of the compiler, under names of our own.
 */
#ifndef WF_BASE_COMPILER_H
#define WF_BASE_COMPILER_H

#include <stddef.h>

#define wf_likely(x) __builtin_expect(!!(x), 1)
#define wf_unlikely(x) __builtin_expect(!!(x), 0)

#define wf_inline static inline __attribute__((always_inline))
#define wf_noinline __attribute__((noinline))
#define wf_noreturn __attribute__((noreturn))
#define wf_printf(fmt, args) __attribute__((format(printf, fmt, args)))
#define wf_must_check __attribute__((warn_unused_result))

/* Unused in this build; stays checked by the compiler. */
#define wf_maybe_unused __attribute__((unused))

/*
 * A function that may leave this thread and come back on another one.  It is
 * never inlined nor looked into.  That does not protect its callers: compilers
 * do carry the addresses of thread-local variables, of errno, and the result of
 * pthread_self() across a call.  So nothing thread-local is touched around it
 * except through wf_os_self(), anew after each call.
 */
#ifdef __clang__
#define wf_may_switch __attribute__((noinline))
#else
#define wf_may_switch __attribute__((noipa))
#endif

/*
 * A function that mostly comes back on another stack than it was called on last
 * leaves by an indirect jump instead of `ret': the return predictor holds the
 * callers of whoever ran before, so `ret' would be mispredicted (7 ns), while a
 * jump is predicted by what happened lately.  See arch/x86_64/entry.S.
 */
#if defined(__x86_64__) && !defined(__clang__)
#define wf_return_by_jump __attribute__((function_return("thunk-extern")))
#else
#define wf_return_by_jump
#endif

/* A variable that assembly names: it keeps its name when programs are linked
 * as a whole. */
#ifdef __clang__
#define wf_kept __attribute__((used))
#else
#define wf_kept __attribute__((used, externally_visible))
#endif
#define wf_hidden __attribute__((visibility("hidden")))
#define wf_weak __attribute__((weak))

/* Two writers closer than this share a line (and its neighbour, on x86). */
#define WF_CACHE_LINE 64
#define WF_FALSE_SHARING 128

#define wf_aligned(n) __attribute__((aligned(n)))

/*
 * It will be needed soon; any address will do.  Without the assembly gcc takes
 * a function that does nothing else for one without effect, and drops calls.
 */
#define wf_prefetch(p)                                                     \
	({                                                                 \
		__builtin_prefetch(p);                                     \
		__asm__ volatile("");                                      \
	})

#define wf_container_of(ptr, type, member)                                 \
	((type *)((char *)(ptr)-offsetof(type, member)))

#endif
