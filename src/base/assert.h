/* SPDX-License-Identifier: MIT */
/*
 * base/assert.h - misuse and broken invariants end the program with one line.
 *
 *	wf_assert	 always on; for misuse by callers and cheap invariants
 *	wf_debug_assert	 in builds with WF_DEBUG; may stand on hot paths
 *	wf_check	 in builds with WF_DEBUG; for functions that walk whole
 *			 structures: wf_check(wf_runq_check(q))
 *
 * All of them name the file and line, then abort: errors that a caller could
 * handle are error codes, never assertions.
 */
#ifndef WF_BASE_ASSERT_H
#define WF_BASE_ASSERT_H

#include <stdbool.h>

#include "base/compiler.h"

/* Print "weft: file:line: sentence" to standard error in one write; abort. */
wf_noreturn wf_noinline void wf_panic(
	const char *file, int line, const char *fmt, ...) wf_printf(3, 4);

#define wf_assert(cond, ...)                                               \
	do {                                                               \
		if (wf_unlikely(!(cond)))                                  \
			wf_panic(__FILE_NAME__, __LINE__, __VA_ARGS__);    \
	} while (0)

#ifdef WF_DEBUG
#define WF_DEBUGGING 1
#define wf_debug_assert(cond, ...) wf_assert(cond, __VA_ARGS__)
#define wf_check(call) wf_assert(call, "%s does not hold", #call)
#else
#define WF_DEBUGGING 0
#define wf_debug_assert(cond, ...) ((void)sizeof((cond) ? 1 : 0))
#define wf_check(call) ((void)sizeof((call) ? 1 : 0))
#endif

#endif
