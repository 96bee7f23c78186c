/* SPDX-License-Identifier: MIT */
/*
 * weft/attr.h - attributes of the public prototypes.
 */
#ifndef WEFT_ATTR_H
#define WEFT_ATTR_H

/* The symbol is part of the ABI; everything else in the library is hidden. */
#define WEFT_API __attribute__((visibility("default")))

/* The compiler warns when a caller ignores the result. */
#define WEFT_MUST_CHECK __attribute__((warn_unused_result))

/*
 * The compiler does not inline this function and assumes nothing about its
 * body.  So it makes every call, and takes every result as a new one.  clang
 * has no noipa: there the body must also hide its result from the compiler
 * (weft/thread_local.h).
 */
#ifdef __clang__
#define WEFT_OPAQUE_ __attribute__((noinline))
#else
#define WEFT_OPAQUE_ __attribute__((noipa))
#endif

#ifdef __cplusplus
#define WEFT_BEGIN_DECLS extern "C" {
#define WEFT_END_DECLS }
#define WEFT_PER_THREAD_ thread_local
#else
#define WEFT_BEGIN_DECLS
#define WEFT_END_DECLS
#define WEFT_PER_THREAD_ _Thread_local
#endif

#endif
