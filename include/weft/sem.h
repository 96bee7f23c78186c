/* SPDX-License-Identifier: MIT */
/*
 * weft/sem.h - a semaphore: a number of permits.
 *
 *	weft_sem slots = WEFT_SEM_INIT(8);
 *
 *	err = weft_sem_acquire(&slots, WEFT_FOREVER);
 *	... at most eight fibers are here ...
 *	weft_sem_release(&slots, 1);
 *
 * A permit has no owner: any fiber or thread may release one, also if it never
 * acquired one.  A zeroed semaphore is valid and has no permits.  A semaphore
 * needs no destroy.
 */
#ifndef WEFT_SEM_H
#define WEFT_SEM_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

typedef struct weft_sem {
	uint64_t state_;
	void *waiters_[2];
} weft_sem;

/* Initialiser of a semaphore with n permits, 0 <= n <= UINT32_MAX. */
#define WEFT_SEM_INIT(n) { (uint64_t)(uint32_t)(n) << 32, { 0, 0 } }

/*
 * Take a permit; wait if there is none.  Waiters are served in order; newcomers
 * cannot overtake them.
 *
 * Returns 0; -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was
 * cancelled and would have to wait; -EAGAIN on a foreign executor (weft/task.h)
 * if no thread could be started to watch the deadline.  On an error no permit
 * was taken.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, everything before the release of the permit happens before the
 *	    return.
 */
WEFT_API WEFT_MUST_CHECK int weft_sem_acquire(weft_sem *s, weft_time deadline);

/*
 * Add n permits.  More than UINT32_MAX permits are misuse: weft prints one line
 * and aborts.
 *
 * This call does not touch the semaphore after the last of these permits can
 * have been acquired: a fiber or thread that has all permits may free the
 * semaphore if it is the only user left.
 *
 * Context: any.  Never switches.
 * Order:   see weft_sem_acquire.
 */
WEFT_API void weft_sem_release(weft_sem *s, uint32_t n);

WEFT_END_DECLS

#endif
