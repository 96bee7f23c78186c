/* SPDX-License-Identifier: MIT */
/*
 * base/version.c - the version of the linked library.
 */
#include <weft/version.h>

#define STR_(x) #x
#define STR(x) STR_(x)

const char *weft_version(void)
{
	return STR(WEFT_VERSION_MAJOR) "." STR(WEFT_VERSION_MINOR) "." STR(
		WEFT_VERSION_PATCH);
}
