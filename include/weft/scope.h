/* SPDX-License-Identifier: MIT */
/*
 * weft/scope.h - fibers that belong together, and end together.
 *
 *	weft_scope s;
 *
 *	err = weft_scope_open(&s, weft_after(second));
 *	if (!err) {
 *		err = weft_scope_go(&s, fetch, &page[0]);
 *		if (!err)
 *			err = weft_scope_go(&s, fetch, &page[1]);
 *		if (err)
 *			weft_scope_cancel(&s);
 *		err = weft_scope_close(&s);
 *	}
 *
 * A scope lives in the frame of the function that opens it.  The fibers started
 * in it cannot outlive it, because closing it always waits for all of them; so
 * they may use the variables of that frame.  The first fiber of the scope that
 * fails cancels the others.
 *
 * In a cancelled scope, every call that would wait returns -ECANCELED, and
 * weft_cancelled() is true; this holds for the fibers of the scope, and for its
 * owner between open and close.  When the deadline of the scope has passed,
 * every call that would wait returns -ETIMEDOUT, and weft_cancelled() is true
 * as well.  (weft/time.h lists the calls that wait all the same.)  Both also
 * reach the scopes that the owner opens inside this one, the scopes that fibers
 * of the scope open, and so on.  No fiber is ever stopped from outside.
 *
 * weft_shield hides both from the fiber that called it, and from scopes that it
 * opens while the shield is on: those see only their own deadline and their own
 * cancellation.
 *
 * Fibers that are started by weft_go or weft_spawn, in a scope or outside, do
 * not belong to any scope.
 */
#ifndef WEFT_SCOPE_H
#define WEFT_SCOPE_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

/* Needs no initialisation.  Must not be moved while it is open. */
typedef struct weft_scope {
	uint64_t reserved_[16];
} weft_scope;

/*
 * Open s.  The calling fiber is its owner.  It must close s before it ends, and
 * before it closes the scopes that it opened earlier.  If one of those outer
 * scopes, or the scope that the fiber belongs to, has an earlier deadline, that
 * deadline holds for s too.  In a cancelled fiber s is cancelled from the
 * beginning.
 *
 * Returns 0; -EPERM outside a fiber.
 *
 * Context: fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_scope_open(weft_scope *s, weft_time deadline);

/*
 * Start fn(arg) in a new fiber of s, on the caller's executor.  The first
 * result of a fiber of s that is not 0 cancels s, and weft_scope_close returns
 * it.
 *
 * Returns 0; -ECANCELED once s was cancelled; -ETIMEDOUT once its deadline has
 * passed; -ESHUTDOWN; -ENOMEM; -EINVAL if fn is NULL; -EPERM for any caller but
 * the owner, the fibers of s, and fibers of scopes inside s; or the error of an
 * executor that refused the fiber.  On an error fn does not run.
 *
 * Context: fiber.  Never switches.
 * Order:   everything before happens before fn begins.
 */
WEFT_API WEFT_MUST_CHECK int weft_scope_go(
	weft_scope *s, int (*fn)(void *), void *arg);

/*
 * Cancel s and everything in it; a second call does nothing.  s must be open
 * when this is called, but may be closed meanwhile: weft_scope_close waits
 * until this call does not use s any more.
 *
 * Context: any.  Never switches.
 */
WEFT_API void weft_scope_cancel(weft_scope *s);

/*
 * Wait until all fibers of s have ended, however long it takes: neither a
 * cancellation nor a deadline ends this wait.  Only the owner may close s, and
 * only as the last scope that it opened and has not closed.  Anything else,
 * closing s twice, or ending the fiber without closing s, is misuse: weft
 * prints one line and aborts.
 *
 * Returns the first result of a fiber of s that was not 0, whatever its sign;
 * if there was none, -ECANCELED if s was cancelled or its runtime is stopping;
 * else -ETIMEDOUT if its deadline has passed; else 0.  In every case s is
 * closed, and its memory may be used for anything else.
 *
 * Context: fiber.  May switch.
 * Order:   everything the fibers of s did happens before the return.
 */
WEFT_API WEFT_MUST_CHECK int weft_scope_close(weft_scope *s);

WEFT_END_DECLS

#endif
