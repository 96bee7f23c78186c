/* SPDX-License-Identifier: MIT */
/*
 * weft/version.h - the version of weft, at compile time and at run time.
 */
#ifndef WEFT_VERSION_H
#define WEFT_VERSION_H

#include <weft/attr.h>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

/* The version as one number: 1.2.3 is 10203. */
#define WEFT_VERSION                                                       \
	(WEFT_VERSION_MAJOR * 10000 + WEFT_VERSION_MINOR * 100 +           \
	 WEFT_VERSION_PATCH)

WEFT_BEGIN_DECLS

/*
 * The version of the linked library, "major.minor.patch", as a static string.
 * It differs from the macros above when a program that was built with one
 * release runs with another.
 *
 * Context: any.  Never switches.
 */
WEFT_API const char *weft_version(void);

WEFT_END_DECLS

#endif
