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
 * Permits belong to nobody: one may be released by somebody who never acquired
 * it.  All-zero is valid, a semaphore without permits, and there is no destroy.
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

/* A semaphore with n permits, 0 <= n <= UINT32_MAX; for an initialiser. */
#define WEFT_SEM_INIT(n) { (uint64_t)(uint32_t)(n) << 32, { 0, 0 } }

/*
 * Take a permit; wait for one if there is none.  Who waits is served first
 * come, first served, and before who comes when the permit is there.
 *
 * Returns 0; -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was
 * cancelled and would have to wait; -EAGAIN if, on an executor that is no
 * runtime's, there is no thread to watch the deadline.  On an error no permit
 * was taken.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, everything before the release of the permit happens before.
 */
WEFT_API WEFT_MUST_CHECK int weft_sem_acquire(weft_sem *s, weft_time deadline);

/*
 * Give n permits.  More than UINT32_MAX of them is misuse: one line, abort.
 *
 * The semaphore is not touched after somebody could have acquired the last of
 * these permits: who has them all may free it, if nobody else uses it.
 *
 * Context: any.  Never switches.
 * Order:   see weft_sem_acquire.
 */
WEFT_API void weft_sem_release(weft_sem *s, uint32_t n);

WEFT_END_DECLS

#endif
