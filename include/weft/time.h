/* SPDX-License-Identifier: MIT */
/*
 * weft/time.h - points in time.
 *
 * Every call that can wait takes one absolute deadline, last.  A deadline that
 * has passed, a negative one included, means the same as WEFT_NOW.
 */
#ifndef WEFT_TIME_H
#define WEFT_TIME_H

#include <stdint.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/* Nanoseconds on the monotonic clock; it never jumps and has no date. */
typedef int64_t weft_time;

#define WEFT_NOW ((weft_time)0)	/* "try": do not wait at all */
#define WEFT_FOREVER INT64_MAX	/* "wait": no deadline */

/*
 * The present time; always greater than WEFT_NOW and less than WEFT_FOREVER.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_time weft_now(void);

/*
 * The time ns nanoseconds from now, for use as a deadline.  Saturates at
 * WEFT_FOREVER; never WEFT_NOW for ns > 0.  With ns <= 0 the result has
 * passed already, and far enough back it is WEFT_NOW itself.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_time weft_after(int64_t ns);

WEFT_END_DECLS

#endif
