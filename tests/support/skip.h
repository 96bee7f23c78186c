/* SPDX-License-Identifier: MIT */
/*
 * tests/support/skip.h - a test that cannot prove its point here says why.
 *
 * After <cmocka.h>.  Only for what the machine or the build cannot do; what an
 * install step could have brought is a failure, not a reason.
 */
#ifndef WEFT_TESTS_SUPPORT_SKIP_H
#define WEFT_TESTS_SUPPORT_SKIP_H

#include <stdio.h>

#define skip_because(why)                                                  \
	do {                                                               \
		printf("skipped: %s\n", why);                              \
		skip();                                                    \
	} while (0)

#endif
