/* SPDX-License-Identifier: MIT */
/*
 * tests/support/api_calls.h - the public functions, as their headers tell them.
 *
 * The table comes from include/weft when the tests are built
 * (tests/tools/api_calls.py): so a test that has a row for each function
 * notices one that is new.  For tests with API_CALLS in tests/CMakeLists.txt.
 */
#ifndef WEFT_TESTS_SUPPORT_API_CALLS_H
#define WEFT_TESTS_SUPPORT_API_CALLS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct api_call {
	const char *name;
	bool returns_int;
	bool may_switch;	/* its Context says so */
	bool in_sim;		/* weft-sim has it */
	int errors[16];		/* that its comment names, positive; then 0 */
};

static const struct api_call api_calls[] = {
#include "api_calls.inc"
};

enum { API_CALLS = sizeof(api_calls) / sizeof(api_calls[0]) };

/* NULL: there is none. */
static inline const struct api_call *api_call_find(const char *name)
{
	for (size_t i = 0; i < API_CALLS; i++)
		if (strcmp(api_calls[i].name, name) == 0)
			return &api_calls[i];
	return NULL;
}

/* Does its comment name this result, which is negative? */
static inline bool api_call_lists(const struct api_call *call, int result)
{
	for (size_t i = 0; call->errors[i] != 0; i++)
		if (call->errors[i] == -result)
			return true;
	return false;
}

#endif
