/* SPDX-License-Identifier: MIT */
/*
 * weft/rwlock.h - many who read, or one who writes.
 *
 *	weft_rwlock l = { 0 };
 *
 *	weft_rwlock_rdlock(&l);
 *	... nobody writes ...
 *	weft_rwlock_rdunlock(&l);
 *
 * All-zero is valid and unlocked, and there is no destroy.  Fibers of any
 * runtime or executor and plain threads may share one.
 *
 * Readers and writers take turns: one writer, then all the readers that wait by
 * then, together, then one writer.  A writer that waits holds back new readers;
 * so to lock it for reading once more while one reads may wait for ever.
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
 * Lock l for reading.  Cannot fail, and is no cancellation point.  To do so
 * while one writes is misuse: one line, abort.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the last weft_rwlock_wrunlock happens before.
 */
WEFT_API void weft_rwlock_rdlock(weft_rwlock *l);

/*
 * Lock l for reading, waiting no later than deadline; with WEFT_NOW, only if
 * it need not wait.
 *
 * Returns 0 with l held; -ETIMEDOUT at the deadline; -ECANCELED if it would
 * have to wait and the calling fiber was cancelled; -EAGAIN if, on an executor
 * that is not a runtime's, no thread could be started to watch the deadline.
 * On an error l is not held.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, as weft_rwlock_rdlock.
 */
WEFT_API WEFT_MUST_CHECK int weft_rwlock_rdlock_by(
	weft_rwlock *l, weft_time deadline);

/*
 * End one reading.  If nobody reads it is misuse: one line, abort.  l is not
 * touched after somebody else can have it, who may then free it.
 *
 * Context: any.  Never switches.
 * Order:   everything before happens before the next weft_rwlock_wrlock
 *	    returns.
 */
WEFT_API void weft_rwlock_rdunlock(weft_rwlock *l);

/*
 * Lock l for writing.  Cannot fail, and is no cancellation point.  To do so
 * while one writes already is misuse: one line, abort.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the unlocks that let us in happens before.
 */
WEFT_API void weft_rwlock_wrlock(weft_rwlock *l);

/*
 * Lock l for writing, waiting no later than deadline; with WEFT_NOW, only if it
 * is free.  A writer that gives up lets those readers go on that it held back.
 *
 * Returns 0 with l held; -ETIMEDOUT at the deadline; -ECANCELED if it would
 * have to wait and the calling fiber was cancelled; -EAGAIN if, on an executor
 * that is not a runtime's, no thread could be started to watch the deadline.
 * On an error l is not held.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, as weft_rwlock_wrlock.
 */
WEFT_API WEFT_MUST_CHECK int weft_rwlock_wrlock_by(
	weft_rwlock *l, weft_time deadline);

/*
 * End the writing.  If the caller does not write it is misuse: one line, abort.
 * l is not touched after somebody else can have it, who may then free it.
 *
 * Context: fiber or plain thread, the one that locked it.  Never switches.
 * Order:   everything before happens before the next lock returns.
 */
WEFT_API void weft_rwlock_wrunlock(weft_rwlock *l);

WEFT_END_DECLS

#endif
