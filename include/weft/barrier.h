/* SPDX-License-Identifier: MIT */
/*
 * weft/barrier.h - a number of fibers or threads wait for each other.
 *
 *	weft_barrier b = WEFT_BARRIER_INIT(3);
 *
 *	for (;;) {
 *		... one step of the work, in each of three fibers ...
 *		err = weft_barrier_wait(&b, WEFT_FOREVER);
 *	}
 *
 * All-zero is valid, and is like WEFT_BARRIER_INIT(1).  There is no destroy.
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

/* A barrier for n, 1 <= n <= UINT32_MAX; for an initialiser. */
#define WEFT_BARRIER_INIT(n) { 0, (uint32_t)(n), 0, 0, { 0, 0 } }

/*
 * Wait until as many are here as the barrier is for.  Then they all go on, and
 * the barrier is as new, for the next phase.
 *
 * One that leaves early, by an error, is as if it had never come.
 *
 * Returns 1 for one of each phase, 0 for the others; -ETIMEDOUT at the
 * deadline; -ECANCELED if the calling fiber was cancelled and would have to
 * wait; -EAGAIN if, on an executor that is no runtime's, there is no thread to
 * watch the deadline.  The barrier may be freed when all of a phase have
 * returned.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0 and 1, everything that any of the phase did before it came
 *	    happens before.
 */
WEFT_API WEFT_MUST_CHECK int weft_barrier_wait(
	weft_barrier *b, weft_time deadline);

WEFT_END_DECLS

#endif
