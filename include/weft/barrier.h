/* SPDX-License-Identifier: MIT */
/*
 * weft/barrier.h - a fixed number of fibers or threads wait for each other.
 *
 *	weft_barrier b = WEFT_BARRIER_INIT(3);
 *
 *	for (;;) {
 *		... one step of the work, in each of three fibers ...
 *		err = weft_barrier_wait(&b, WEFT_FOREVER);
 *	}
 *
 * A zeroed barrier is valid, and is like WEFT_BARRIER_INIT(1).  A
 * barrier needs no destroy.
 */
#ifndef WEFT_BARRIER_H
#define WEFT_BARRIER_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

typedef struct weft_barrier {
	uint32_t lock_;
	uint32_t parties_;
	uint32_t here_;
	uint32_t unused_;
	void *waiters_[2];
} weft_barrier;

/* Initialiser of a barrier for n callers, 1 <= n <= UINT32_MAX. */
#define WEFT_BARRIER_INIT(n) { 0, (uint32_t)(n), 0, 0, { 0, 0 } }

/*
 * Wait until as many callers wait as the barrier is for.  Then all of them
 * return, and the barrier begins its next phase.
 *
 * A caller that returns with an error does not count: the phase needs another
 * caller in its place.
 *
 * Returns 1 to one caller of each phase, 0 to the others; -ETIMEDOUT at the
 * deadline; -ECANCELED if the calling fiber was cancelled and would have to
 * wait; -EAGAIN on a foreign executor (weft/task.h) if no thread could be
 * started to watch the deadline.  The barrier may be freed when all callers of
 * a phase have returned.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0 and 1, everything that any caller of the phase did before its
 *	    call happens before the return.
 */
WEFT_API WEFT_MUST_CHECK int weft_barrier_wait(
	weft_barrier *b, weft_time deadline);

WEFT_END_DECLS

#endif
