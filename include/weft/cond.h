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
 *	weft_mutex_lock(&m);			another fiber
 *	ready = true;
 *	weft_cond_signal(&changed);
 *	weft_mutex_unlock(&m);
 *
 * A zeroed weft_cond is valid.  It needs no destroy.
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
 * Release m, which the caller holds, and wait for a signal.  No signal is
 * missed that is given by a fiber or thread that locks m after this call has
 * released it.  The wait may end without a signal, so test the condition in a
 * loop.  After the wait, lock m again: neither a deadline nor a cancellation
 * ends that.
 *
 * Returns 0; -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was
 * cancelled; -EAGAIN on a foreign executor (weft/task.h) if no thread could be
 * started to watch the deadline.  On an error no signal was used up.  The
 * caller holds m on return, whatever the result.  If the deadline has passed,
 * or the fiber was cancelled, before the call, m is not released at all.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_cond_wait(
	weft_cond *c, weft_mutex *m, weft_time deadline);

/*
 * End the wait that began first, if there is one.  The caller need not hold the
 * mutex here, but must have held it when it changed the condition.
 *
 * The signaller does not touch c after the waiter can have returned.
 *
 * Context: any.  Never switches.
 * Order:   everything before the signal happens before the wait that it ends
 *	    returns.
 */
WEFT_API void weft_cond_signal(weft_cond *c);

/*
 * End all waits on c.  The waiters that it ends do not touch c again, so c may
 * be freed, unless another wait on c may end at the same time by its deadline
 * or by a cancellation.
 *
 * Context: any.  Never switches.
 * Order:   everything before the broadcast happens before the waits that it
 *	    ends return.
 */
WEFT_API void weft_cond_broadcast(weft_cond *c);

WEFT_END_DECLS

#endif
