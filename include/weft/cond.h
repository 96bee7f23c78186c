/* SPDX-License-Identifier: MIT */
/*
 * weft/cond.h - a condition variable: wait until something that a mutex guards
 * has changed.
 *
 *	weft_mutex m = { 0 };
 *	weft_cond changed = { 0 };
 *
 *	weft_mutex_lock(&m);
 *	while (!ready && !err)
 *		err = weft_cond_wait(&changed, &m, WEFT_FOREVER);
 *	...
 *	weft_mutex_unlock(&m);
 *
 *	weft_mutex_lock(&m);			somewhere else
 *	ready = true;
 *	weft_cond_signal(&changed);
 *	weft_mutex_unlock(&m);
 *
 * All-zero is valid and there is no destroy.
 */
#ifndef WEFT_COND_H
#define WEFT_COND_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/mutex.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

typedef struct weft_cond {
	uint32_t lock_;
	uint32_t some_;
	void *waiters_[2];
} weft_cond;

/*
 * Release m, which the caller holds, and wait for a signal; both at once: a
 * signal given by who has m afterwards is not missed.  The wait may end without
 * one, so look at what you wait for in a loop.  Then lock m again, however long
 * that takes.
 *
 * Returns 0; -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was
 * cancelled; -EAGAIN if, on an executor that is no runtime's, there is no
 * thread to watch the deadline.  On an error no signal was used up.  m is held
 * on return, whatever the result; with a deadline that has passed, and in a
 * fiber that was cancelled before, it is not even released.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_cond_wait(
	weft_cond *c, weft_mutex *m, weft_time deadline);

/*
 * End one wait, if there is any: the one that began first.  The caller need not
 * hold the mutex; but who changes what is waited for must have held it.
 *
 * c is not touched after the waiter could know of it.
 *
 * Context: any.  Never switches.
 * Order:   everything before happens before the wait that it ends returns.
 */
WEFT_API void weft_cond_signal(weft_cond *c);

/*
 * End all waits that there are.  They do not touch c again: it may be freed
 * then, if none can have ended otherwise, by a deadline or a cancellation, at
 * the same time.
 *
 * Context: any.  Never switches.
 * Order:   as weft_cond_signal.
 */
WEFT_API void weft_cond_broadcast(weft_cond *c);

WEFT_END_DECLS

#endif
