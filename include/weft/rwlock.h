/* SPDX-License-Identifier: MIT */
/*
 * weft/rwlock.h - a lock for many readers or one writer.
 *
 *	weft_rwlock l = { 0 };
 *
 *	weft_rwlock_rdlock(&l);
 *	... there is no writer ...
 *	weft_rwlock_rdunlock(&l);
 *
 * A zeroed lock is valid and unlocked.  A lock needs no destroy.  Fibers of any
 * runtime or executor and plain threads may use one lock.
 *
 * Readers and writers take turns: one writer, then all readers that wait by
 * then, together, then one writer.  A waiting writer holds back new readers.
 * So a reader that locks again for reading while it reads may wait for ever.
 */
#ifndef WEFT_RWLOCK_H
#define WEFT_RWLOCK_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

typedef struct weft_rwlock {
	uint64_t word_;
	uint64_t owner_;
	void *waiters_[4];
} weft_rwlock;

/*
 * Lock l for reading.  Cannot fail, and is not a cancellation point.  If the
 * caller is the writer, that is misuse: weft prints one line and aborts.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the last weft_rwlock_wrunlock happens before the
 *	    return.
 */
WEFT_API void weft_rwlock_rdlock(weft_rwlock *l);

/*
 * Lock l for reading, waiting no later than deadline; with WEFT_NOW, only if it
 * need not wait.
 *
 * Returns 0, and the caller holds l; -ETIMEDOUT at the deadline; -ECANCELED if
 * the calling fiber was cancelled and would have to wait; -EAGAIN on a foreign
 * executor (weft/task.h) if no thread could be started to watch the deadline.
 * On an error this call has not locked l.  If the caller is the writer:
 * -ETIMEDOUT at the deadline; with WEFT_FOREVER that is misuse: weft prints one
 * line and aborts.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, everything before the last weft_rwlock_wrunlock happens before
 *	    the return.
 */
WEFT_API WEFT_MUST_CHECK int weft_rwlock_rdlock_by(
	weft_rwlock *l, weft_time deadline);

/*
 * End one reading.  If l has no reader, that is misuse: weft prints one line
 * and aborts.  This call does not touch l after the next holder can have locked
 * it; that holder may free l.
 *
 * Context: any.  Never switches.
 * Order:   everything before happens before the next weft_rwlock_wrlock
 *	    returns.
 */
WEFT_API void weft_rwlock_rdunlock(weft_rwlock *l);

/*
 * Lock l for writing.  Cannot fail, and is not a cancellation point.  If the
 * caller is the writer already, that is misuse: weft prints one line and
 * aborts.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the unlocks by the previous holders happens before
 *	    the return.
 */
WEFT_API void weft_rwlock_wrlock(weft_rwlock *l);

/*
 * Lock l for writing, waiting no later than deadline; with WEFT_NOW, only if l
 * is free.  A writer that gives up releases the readers that it held back.
 *
 * Returns 0, and the caller holds l; -ETIMEDOUT at the deadline; -ECANCELED if
 * the calling fiber was cancelled and would have to wait; -EAGAIN on a foreign
 * executor (weft/task.h) if no thread could be started to watch the deadline.
 * On an error this call has not locked l.  If the caller is the writer:
 * -ETIMEDOUT at the deadline; with WEFT_FOREVER that is misuse: weft prints one
 * line and aborts.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, everything before the unlocks by the previous holders happens
 *	    before the return.
 */
WEFT_API WEFT_MUST_CHECK int weft_rwlock_wrlock_by(
	weft_rwlock *l, weft_time deadline);

/*
 * End the writing.  If the caller is not the writer, that is misuse: weft
 * prints one line and aborts.  This call does not touch l after the next holder
 * can have locked it; that holder may free l.
 *
 * Context: fiber or plain thread, the one that locked it.  Never switches.
 * Order:   everything before happens before the next lock returns.
 */
WEFT_API void weft_rwlock_wrunlock(weft_rwlock *l);

WEFT_END_DECLS

#endif
