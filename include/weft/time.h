/* SPDX-License-Identifier: MIT */
/*
 * weft/time.h - points in time, and sleeping until one.
 *
 * Most calls that can wait take an absolute deadline as their last argument.  A
 * deadline that has passed, a negative one included, means the same as
 * WEFT_NOW.  (A fiber that has computed for a tenth of a second without a pause
 * may notice only by waiting that its deadline has just passed: it yields, and
 * an event that comes meanwhile may still end the wait in time.)
 *
 * A wait with a deadline also ends early when the calling fiber is cancelled,
 * with -ECANCELED, and when the deadline of its scope passes, with -ETIMEDOUT.
 * In these calls neither of the two ends a wait, and most have no deadline:
 *
 *	weft_mutex_lock			weft_mutex_lock_by has one
 *	weft_rwlock_rdlock		weft_rwlock_rdlock_by has one
 *	weft_rwlock_wrlock		weft_rwlock_wrlock_by has one
 *	weft_cond_wait			while it locks the mutex again
 *	weft_once_do			waits until fn has returned
 *	weft_scope_close		waits until all its fibers have ended
 *	weft_executor_destroy		waits until all work on it has ended
 *	weft_suspend			waits for weft_wake
 *	weft_run			waits until main has returned
 *	weft_rt_stop			has a deadline, which does end it
 *	weft_rt_wait_idle		has a deadline, which does end it
 *
 * In a fiber on a foreign executor (weft/task.h), a wait until a deadline, its
 * own or that of a scope, needs a thread that watches the deadline.  There is
 * one for the whole process, started when it is needed first.  If the system
 * refuses that thread, the call returns -EAGAIN and has done nothing.  Try
 * again later, or wait with WEFT_FOREVER and outside of scopes with a deadline.
 *
 * A deadline never ends a wait before its time.  It may end it a little later,
 * so that fibers with close deadlines wake together: later by at most a 256th
 * of the planned duration of the wait, and by at most about half a millisecond.
 * To this add the time that the system needs to run the thread and, on a busy
 * runtime, the time until it is the fiber's turn.
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
 * Sleep until t; return at once if t has passed.  With WEFT_FOREVER, sleep
 * until the fiber is cancelled.  Signals do not end the sleep.
 *
 * Returns 0 when t has come; -ECANCELED if the fiber was cancelled, before or
 * during the sleep; -ETIMEDOUT if the deadline of a scope came before t;
 * -EAGAIN on a foreign executor (weft/task.h) if no thread could be started to
 * watch t.  The result may be ignored.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API int weft_sleep_until(weft_time t);

/*
 * Sleep for ns nanoseconds, like weft_sleep_until(weft_after(ns)), but return 0
 * at once if ns <= 0.
 *
 * Returns the result of weft_sleep_until.  It may be ignored.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API int weft_sleep(int64_t ns);

WEFT_END_DECLS

#endif
