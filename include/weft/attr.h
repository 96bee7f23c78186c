/* SPDX-License-Identifier: MIT */
/*
 * weft/attr.h - attributes of the public prototypes.
 */
#ifndef WEFT_ATTR_H
#define WEFT_ATTR_H

/* The symbol is part of the ABI; everything else in the library is hidden. */
#define WEFT_API __attribute__((visibility("default")))

/* Ignoring the result is a mistake; the compiler says so. */
#define WEFT_MUST_CHECK __attribute__((warn_unused_result))

#ifdef __cplusplus
#define WEFT_BEGIN_DECLS extern "C" {
#define WEFT_END_DECLS }
#else
#define WEFT_BEGIN_DECLS
#define WEFT_END_DECLS
#endif

#endif
