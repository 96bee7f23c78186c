/* SPDX-License-Identifier: MIT */
/*
 * weft/event.h - something has happened: all who wait for it go on.
 *
 *	weft_event ready = { 0 };
 *
 *	err = weft_event_wait(&ready, WEFT_FOREVER);	any number of fibers
 *	...
 *	weft_event_set(&ready);				one, once
 *
 * All-zero is valid, an event that has not happened, and there is no destroy.
 */
#ifndef WEFT_EVENT_H
#define WEFT_EVENT_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

typedef struct weft_event {
	uint32_t state_;
	uint32_t unused_;
	void *waiters_[2];
} weft_event;

/*
 * Set the event: who waits goes on, and so does who comes later, until it is
 * reset.  If it is set already, nothing changes, which costs one load.
 *
 * The event is not touched after somebody could know that it is set: who waited
 * may free it, if nobody else uses it.
 *
 * Context: any.  Never switches.
 * Order:   everything before the call that sets it happens before the wait that
 *	    it ends returns.  Set and reset are sequentially consistent: who
 *	    stores something that way and then sets, and who resets and then
 *	    loads it that way, do not miss each other.
 */
WEFT_API void weft_event_set(weft_event *e);

/*
 * The event has not happened (any more).  A wait that a set has ended stays
 * ended, even if it has not returned yet: set followed by reset lets all go who
 * waited at the set.
 *
 * Context: any.  Never switches.
 * Order:   see weft_event_set.
 */
WEFT_API void weft_event_reset(weft_event *e);

/*
 * Wait until the event is set; not at all if it is.
 *
 * Returns 0; -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was
 * cancelled and would have to wait; -EAGAIN if, on an executor that is no
 * runtime's, there is no thread to watch the deadline.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   on 0, everything before the call that set it happens before.
 */
WEFT_API WEFT_MUST_CHECK int weft_event_wait(weft_event *e, weft_time deadline);

WEFT_END_DECLS

#endif
