/* SPDX-License-Identifier: MIT */
/*
 * weft/mutex.h - a mutex: one holder at a time.
 *
 *	weft_mutex m = { 0 };
 *
 *	weft_mutex_lock(&m);
 *	... only one fiber or thread is here ...
 *	weft_mutex_unlock(&m);
 *
 * A zeroed mutex is valid and unlocked.  A mutex needs no destroy.  Fibers of
 * any runtime or executor and plain threads may use one mutex.  A fiber may
 * wait, yield and continue on another thread while it holds a mutex.
 *
 * An unlock wakes the first waiter, which then tries to lock; a newcomer may be
 * faster.  Once a waiter has waited for more than a millisecond, unlock hands
 * the mutex over to the first waiter, and newcomers cannot overtake it.
 *
 * A thread that the system stops inside lock or unlock delays no other fiber or
 * thread, unless it holds the mutex or an unlock has let it in.  A waiter whose
 * deadline comes, or that is cancelled, returns even if the holder is stopped.
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
 * Lock m.  Cannot fail, and is not a cancellation point.  If the caller holds m
 * already, that is misuse: weft prints one line and aborts.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the unlock by the previous holder happens before
 *	    the return.
 */
WEFT_API void weft_mutex_lock(weft_mutex *m);

/*
 * Lock m, waiting no later than deadline; with WEFT_NOW, only if m is free.
 *
 * Returns 0, and the caller holds m; -ETIMEDOUT at the deadline; -ECANCELED if
 * the calling fiber was cancelled and would have to wait; -ENOMEM if there is
 * no memory for the wait; -EAGAIN on a foreign executor (weft/task.h) if no
 * thread could be started to watch the deadline.  On an error this call has not
 * locked m.  If the caller holds m already: -ETIMEDOUT at the deadline; with
 * WEFT_FOREVER that is misuse: weft prints one line and aborts.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, everything before the unlock by the previous holder happens
 *	    before the return.
 */
WEFT_API WEFT_MUST_CHECK int weft_mutex_lock_by(
	weft_mutex *m, weft_time deadline);

/*
 * Unlock m.  If the caller does not hold m, that is misuse: weft prints one
 * line and aborts.  This call does not touch m after the next holder can have
 * locked it; that holder may free m.
 *
 * Context: fiber or plain thread, the one that locked it.  Never switches.
 */
WEFT_API void weft_mutex_unlock(weft_mutex *m);

WEFT_END_DECLS

#endif
