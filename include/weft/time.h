/* SPDX-License-Identifier: MIT */
/*
 * weft/time.h - points in time, and sleeping until one.
 *
 * Every call that can wait takes one absolute deadline, last.  A deadline that
 * has passed, a negative one included, means the same as WEFT_NOW.  (A fiber
 * that has computed for a tenth of a second on end may notice only by waiting
 * that its deadline has just passed: it gives way, and what happens meanwhile
 * may still be in time.)
 *
 * In a fiber on an executor that is not a runtime's (weft/task.h), a wait until
 * a deadline, its own or an inherited one, needs a thread that watches it: one
 * for the whole process, started when it is needed first.  If the system
 * refuses that thread, the call returns -EAGAIN and has done nothing.  Try
 * again later, or wait with WEFT_FOREVER and without a scope's deadline.
 *
 * A wait never ends by its deadline before that has come.  It may end a little
 * later, so that fibers whose deadlines are close together wake together: by at
 * most a 256th of how long the wait was to last, and about half a millisecond
 * at most.  To that comes what the system takes to run the thread, and on a
 * busy runtime what it takes until it is the fiber's turn.
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

/*
 * Sleep until t; if that has passed, not at all.  WEFT_FOREVER: until the fiber
 * is cancelled.  Signals do not cut it short.
 *
 * Returns 0, and t has come; -ECANCELED: the fiber was cancelled, before or
 * while it slept; -ETIMEDOUT: an inherited deadline, of a scope, came before t;
 * -EAGAIN: (a fiber on an executor that is not a runtime's) there is no thread
 * to wake it, and none could be started.  The result may be ignored.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API int weft_sleep_until(weft_time t);

/*
 * Sleep for ns nanoseconds: the same as weft_sleep_until(weft_after(ns)), but
 * returns 0 at once if ns <= 0.
 *
 * Returns as weft_sleep_until.  The result may be ignored.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API int weft_sleep(int64_t ns);

WEFT_END_DECLS

#endif
