/* SPDX-License-Identifier: MIT */
/*
 * weft/chan.h - channels, and waiting for the first of several things.
 *
 *	weft_chan *c;
 *	int v = 42;
 *
 *	err = weft_chan_create(&c, sizeof(v), 0);
 *	...
 *	err = weft_chan_send(c, &v, WEFT_FOREVER);	one fiber
 *	err = weft_chan_recv(c, &v, WEFT_FOREVER);	another one
 *	...
 *	weft_chan_unref(c);
 *
 * A channel carries elements of one size, first in, first out.  With capacity 0
 * a send waits until a receiver takes the element; otherwise a send waits only
 * while the buffer is full.
 */
#ifndef WEFT_CHAN_H
#define WEFT_CHAN_H

#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

/* A channel.  It lives until its last reference is given back. */
typedef struct weft_chan weft_chan;

/*
 * Make a channel for elements of elem_bytes bytes, with a buffer for capacity
 * elements.  The caller gets the first reference.
 *
 * Returns 0 and the channel in *c; -EINVAL if elem_bytes is 0 or the size of
 * the buffer does not fit a size_t; -ENOMEM.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_chan_create(
	weft_chan **c, size_t elem_bytes, size_t capacity);

/*
 * Take one more reference to c.  The caller must have a reference already.
 *
 * Returns c; may be ignored.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_chan *weft_chan_ref(weft_chan *c);

/*
 * Give a reference back.  The last one frees the channel, and the elements that
 * are still in its buffer are lost.  If a fiber or thread waits on the channel
 * then, that is misuse: weft prints one line and aborts.  To give back more
 * references than were taken is misuse too; the simulator and debug builds of
 * weft find it.
 *
 * A sender or receiver that has learned through the channel that it is the only
 * user left may give the last reference back at once: a send, receive or close
 * does not touch the channel any more after the other side can have seen its
 * effect.
 *
 * Context: any.  Never switches.
 */
WEFT_API void weft_chan_unref(weft_chan *c);

/*
 * Send a copy of the element at v.  Wait, no later than deadline, until there
 * is room in the buffer or a receiver takes the element.
 *
 * Returns 0; -EPIPE if the channel is closed, or is closed during the wait;
 * -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was cancelled and
 * would have to wait; -EAGAIN on a foreign executor (weft/task.h) if no thread
 * could be started to watch the deadline.  On an error nothing was sent.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the send happens before the return of the receive
 *	    that gets the element.
 */
WEFT_API WEFT_MUST_CHECK int weft_chan_send(
	weft_chan *c, const void *v, weft_time deadline);

/*
 * Receive the oldest element into v; with v NULL, drop it.  Wait for an element
 * no later than deadline.
 *
 * Returns 0; -EPIPE if the channel is closed and its buffer empty; -ETIMEDOUT
 * at the deadline; -ECANCELED if the calling fiber was cancelled and would have
 * to wait; -EAGAIN on a foreign executor (weft/task.h) if no thread could be
 * started to watch the deadline.  On an error *v is unchanged.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the send of the element happens before the return;
 *	    with capacity 0, everything before the receive happens before the
 *	    return of the send.
 */
WEFT_API WEFT_MUST_CHECK int weft_chan_recv(
	weft_chan *c, void *v, weft_time deadline);

/*
 * Close c: nothing more can be sent.  Senders that wait get -EPIPE.  Receivers
 * get the elements that are in the buffer, then -EPIPE.
 *
 * Returns 0; -EALREADY if c was closed before; may be ignored.
 *
 * Context: any.  Never switches.
 * Order:   everything before the close happens before the return of -EPIPE.
 */
WEFT_API int weft_chan_close(weft_chan *c);

/*
 * The number of elements in the buffer now.  Other threads may change it before
 * the caller uses the result.
 *
 * Context: any.  Never switches.
 */
WEFT_API size_t weft_chan_len(weft_chan *c);

/* weft_case.op: what a case of weft_select does. */
enum {
	WEFT_SEND = 1,	/* obj: weft_chan *; value: the element */
	WEFT_RECV,	/* obj: weft_chan *; value: destination, or NULL */
	WEFT_JOIN,	/* obj: weft_fiber *; value: void **, or NULL */
	WEFT_EVENT,	/* obj: weft_event * */
};

/*
 * One thing that weft_select may do.  A case whose obj is NULL is never ready.
 */
typedef struct weft_case {
	int op;			/* WEFT_SEND ... */
	int result;		/* 0 or -EPIPE; set in the case that was done */
	void *obj;
	void *value;
	uint64_t node_[8];	/* needs no initialisation */
} weft_case;

/*
 * Do exactly one of n cases, as soon as one is ready.  If several are ready at
 * once, each is chosen with the same probability.  With n = 0, or if no case
 * can ever be ready, wait for the deadline.
 *
 * A case does what the single call would do.  A send or receive on a closed
 * channel counts as ready, with the result -EPIPE; after a join the handle is
 * gone.  Several cases may name one channel; a send never meets a receive of
 * the same weft_select.  Only one case may join a given fiber.
 *
 * Returns the index of the case that was done, and stores the outcome in its
 * result; -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was
 * cancelled and would have to wait; -EINVAL for an unknown op, or n above
 * INT_MAX; -EDEADLK if the caller would join itself; -EAGAIN on a foreign
 * executor (weft/task.h) if no thread could be started to watch the deadline.
 * On an error nothing was done.  The results of other cases are unchanged.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   that of the single call.
 */
WEFT_API WEFT_MUST_CHECK int weft_select(
	weft_case *cases, size_t n, weft_time deadline);

WEFT_END_DECLS

#endif
