/* SPDX-License-Identifier: MIT */
/*
 * weft/mutex.h - one at a time.
 *
 *	weft_mutex m = { 0 };
 *
 *	weft_mutex_lock(&m);
 *	... nobody else is here ...
 *	weft_mutex_unlock(&m);
 *
 * All-zero is valid and unlocked, and there is no destroy.  Fibers of any
 * runtime or executor and plain threads may share one.  A fiber may wait, yield
 * and go on on another thread while it holds a mutex.
 *
 * Who unlocks lets the first waiter try, but whoever comes by just then may be
 * faster.  Once somebody has waited for more than a millisecond, the mutex is
 * handed over to who came first.
 */
#ifndef WEFT_MUTEX_H
#define WEFT_MUTEX_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

typedef struct weft_mutex {
	uint64_t word_;
	uint64_t owner_;
} weft_mutex;

/*
 * Lock m.  Cannot fail, and is no cancellation point.  To lock what one holds
 * already is misuse: one line, abort.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the unlock that let us in happens before.
 */
WEFT_API void weft_mutex_lock(weft_mutex *m);

/*
 * Lock m, waiting no later than deadline; with WEFT_NOW, only if it is free.
 *
 * Returns 0 with m held; -ETIMEDOUT at the deadline; -ECANCELED if it would
 * have to wait and the calling fiber was cancelled; -EAGAIN if, on an executor
 * that is not a runtime's, no thread could be started to watch the deadline.
 * On an error m is not held by this call.  To lock what one holds already times
 * out, or without a deadline is misuse: one line, abort.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, everything before the unlock that let us in happens before.
 */
WEFT_API WEFT_MUST_CHECK int weft_mutex_lock_by(
	weft_mutex *m, weft_time deadline);

/*
 * Unlock m, which the caller holds; if not, it is misuse: one line, abort.  m
 * is not touched after somebody else can have it, who may then free it.
 *
 * Context: fiber or plain thread, the one that locked it.  Never switches.
 */
WEFT_API void weft_mutex_unlock(weft_mutex *m);

WEFT_END_DECLS

#endif
