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
 * they may use what is in that frame.  The first of them that fails cancels the
 * others.
 *
 * Cancelled means, for a fiber of the scope and for its owner between open and
 * close: every call that would wait returns -ECANCELED, and weft_cancelled() is
 * true.  When the deadline of the scope has passed, every call that would wait
 * returns -ETIMEDOUT, and weft_cancelled() is true as well.  Both reach the
 * scopes that the owner opens inside of this one, those that fibers of the
 * scope open, and so on.  A fiber is never stopped from outside.
 *
 * weft_shield hides both from the fiber that called it, and from scopes that it
 * opens meanwhile: to these only their own deadline and their own cancellation
 * matter.
 *
 * Fibers that are started by weft_go or weft_spawn, or that somebody else
 * starts, do not belong to any scope.
 */
#ifndef WEFT_SCOPE_H
#define WEFT_SCOPE_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

/* Needs no initialisation, and must stay where it is while it is open. */
typedef struct weft_scope {
	uint64_t reserved_[16];
} weft_scope;

/*
 * Open s.  The calling fiber is its owner; it must close s before it ends, and
 * before the scopes that it had open already.  If the deadline of such an outer
 * one, or of the scope that the fiber belongs to, is earlier, then it holds for
 * s too.  In a fiber that was cancelled s is cancelled from the beginning.
 *
 * Returns 0; -EPERM outside of a fiber.
 *
 * Context: fiber.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_scope_open(weft_scope *s, weft_time deadline);

/*
 * Start fn(arg) in a new fiber of s, on the executor that runs the caller.  If
 * it returns something else than 0, and is the first to do so, that is what
 * weft_scope_close will return, and s is cancelled.
 *
 * Returns 0; -ECANCELED once s was cancelled; -ETIMEDOUT once its deadline has
 * passed; -ESHUTDOWN; -ENOMEM; -EINVAL if fn is NULL; -EPERM for anyone but the
 * owner, the fibers of s, and those of scopes inside of s; or what the executor
 * says that refused it.  On an error fn does not run.
 *
 * Context: fiber.  Never switches.
 * Order:   everything before happens before fn begins.
 */
WEFT_API WEFT_MUST_CHECK int weft_scope_go(
	weft_scope *s, int (*fn)(void *), void *arg);

/*
 * Cancel s and everything in it; a second time it does nothing.  s must be open
 * when this is called, but may be closed meanwhile: weft_scope_close waits
 * until this has let go of s.
 *
 * Context: any.  Never switches.
 */
WEFT_API void weft_scope_cancel(weft_scope *s);

/*
 * Wait until all fibers of s have ended, however long it takes: neither a
 * cancellation nor a deadline ends this wait.  By the owner, for the scope that
 * it opened last; anything else, like closing s twice or ending the fiber
 * instead, is misuse: one line, abort.
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
