/* SPDX-License-Identifier: MIT */
/*
 * base/compiler.h - our names for attributes and built-ins of the compiler.
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

/* May be unused in this build; the compiler still checks it. */
#define wf_maybe_unused __attribute__((unused))

/*
 * A function that may leave this thread and return on another one.  The
 * compiler neither inlines it nor looks into it.  That does not protect its
 * callers: compilers carry the addresses of thread-local variables, of errno,
 * and the result of pthread_self() across a call.  So use nothing thread-local
 * around such a call except wf_os_self(), and call that again after it.
 */
#ifdef __clang__
#define wf_may_switch __attribute__((noinline))
#else
#define wf_may_switch __attribute__((noipa))
#endif

/*
 * The door of sched/thread.h.  A function marked wf_enters is called outside of
 * the runtime and returns inside; one marked wf_leaves is called inside and
 * returns outside.  All others return on the side on which they were called:
 * tools/lint follows their paths.
 */
#define wf_enters
#define wf_leaves

/*
 * For a function that mostly returns to another stack than the one that called
 * it last: it returns by an indirect jump instead of `ret'.  The return
 * predictor holds the callers of the fiber that ran before, so `ret' would be
 * mispredicted (7 ns); a jump is predicted from its recent targets.  See
 * arch/x86_64/entry.S.
 */
#if defined(__x86_64__) && !defined(__clang__)
#define wf_return_by_jump __attribute__((function_return("thunk-extern")))
#else
#define wf_return_by_jump
#endif

/* For a variable that assembly names: link-time optimisation keeps the name. */
#ifdef __clang__
#define wf_kept __attribute__((used))
#else
#define wf_kept __attribute__((used, externally_visible))
#endif
#define wf_hidden __attribute__((visibility("hidden")))
#define wf_weak __attribute__((weak))

/* Two writers this close share a cache line (or, on x86, a pair of lines). */
#define WF_CACHE_LINE 64
#define WF_FALSE_SHARING 128

#define wf_aligned(n) __attribute__((aligned(n)))

/*
 * Load the cache line of p, which will be needed soon; any address is allowed.
 * Without the assembly gcc takes a function that only prefetches for one
 * without effect, and drops calls of it.
 */
#define wf_prefetch(p)                                                     \
	({                                                                 \
		__builtin_prefetch(p);                                     \
		__asm__ volatile("");                                      \
	})

#define wf_container_of(ptr, type, member)                                 \
	((type *)((char *)(ptr)-offsetof(type, member)))

#endif
