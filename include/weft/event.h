/* SPDX-License-Identifier: MIT */
/*
 * weft/event.h - an event: something has happened, and all waiters continue.
 *
 *	weft_event ready = { 0 };
 *
 *	err = weft_event_wait(&ready, WEFT_FOREVER);	any number of fibers
 *	...
 *	weft_event_set(&ready);				one fiber, once
 *
 * A zeroed event is valid and not set.  An event needs no destroy.
 */
#ifndef WEFT_EVENT_H
#define WEFT_EVENT_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

typedef struct weft_event {
	uint64_t state_;
	void *waiters_[2];
} weft_event;

/*
 * Set the event.  All waiters return, and later waits return at once, until the
 * event is reset.  Setting an event that is set changes nothing and costs one
 * load.
 *
 * This call does not touch the event after a waiter can have returned: a waiter
 * may free the event if it is the only user left.
 *
 * Context: any.  Never switches.
 * Order:   everything before the call that sets the event happens before the
 *	    return of a wait that it ends.  Set and reset are sequentially
 *	    consistent: if one thread stores x (memory_order_seq_cst) and then
 *	    sets, and another resets and then loads x (memory_order_seq_cst),
 *	    then the load sees the store, or the set comes after the reset.
 */
WEFT_API void weft_event_set(weft_event *e);

/*
 * Reset the event: later waits wait again.  A wait that a set has ended stays
 * ended, even if it has not returned yet.  So a set followed by a reset
 * releases all fibers and threads that waited at the set.
 *
 * Context: any.  Never switches.
 * Order:   see weft_event_set.
 */
WEFT_API void weft_event_reset(weft_event *e);

/*
 * Wait until the event is set; return at once if it is.
 *
 * Returns 0; -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was
 * cancelled and would have to wait; -EAGAIN on a foreign executor (weft/task.h)
 * if no thread could be started to watch the deadline.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, everything before the call that set the event happens before
 *	    the return.
 */
WEFT_API WEFT_MUST_CHECK int weft_event_wait(weft_event *e, weft_time deadline);

WEFT_END_DECLS

#endif
