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
 * a send waits until somebody receives; otherwise only while the buffer is
 * full.
 */
#ifndef WEFT_CHAN_H
#define WEFT_CHAN_H

#include <stddef.h>
#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

/* A channel.  It lives until all references to it were given back. */
typedef struct weft_chan weft_chan;

/*
 * Make a channel for elements of elem_bytes bytes, with room for capacity of
 * them.  The caller has the one reference.
 *
 * Returns 0 and the channel in *c; -EINVAL if elem_bytes is 0 or the size of
 * the buffer no number; -ENOMEM.
 *
 * Context: any.  Never switches.
 */
WEFT_API WEFT_MUST_CHECK int weft_chan_create(
	weft_chan **c, size_t elem_bytes, size_t capacity);

/*
 * One more reference to c, by whoever has one.
 *
 * Returns c; may be ignored.
 *
 * Context: any.  Never switches.
 */
WEFT_API weft_chan *weft_chan_ref(weft_chan *c);

/*
 * Give a reference back.  With the last one the channel is freed, and what was
 * still in its buffer is lost; if somebody waits on it then, that is misuse:
 * one line, abort.
 *
 * Whoever has learned through the channel that nobody else will use it may give
 * the last one back at once: a send, receive or close does not touch the
 * channel after the other side could know of it.
 *
 * Context: any.  Never switches.
 */
WEFT_API void weft_chan_unref(weft_chan *c);

/*
 * Send a copy of the element at v, waiting no later than deadline until there
 * is room for it, or a receiver.
 *
 * Returns 0; -EPIPE if the channel is closed, also while we wait; -ETIMEDOUT at
 * the deadline; -ECANCELED if the calling fiber was cancelled and would have to
 * wait; -EAGAIN if, on an executor that is no runtime's, there is no thread to
 * keep the time.  On an error nothing was sent.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   everything before the send happens before the return of the receive
 *	    that gets the element.
 */
WEFT_API WEFT_MUST_CHECK int weft_chan_send(
	weft_chan *c, const void *v, weft_time deadline);

/*
 * Receive the oldest element into v, or if that is NULL drop it, waiting no
 * later than deadline for one.
 *
 * Returns 0; -EPIPE if the channel is closed and nothing is left in it;
 * -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was cancelled and
 * would have to wait; -EAGAIN as for weft_chan_send.  On an error *v is as
 * before.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   as for weft_chan_send; and with capacity 0, everything before the
 *	    receive happens before the return of the send.
 */
WEFT_API WEFT_MUST_CHECK int weft_chan_recv(
	weft_chan *c, void *v, weft_time deadline);

/*
 * Close c: nothing more can be sent.  Whoever waits to send gets -EPIPE, and
 * receivers too once they have taken what is in the buffer.
 *
 * Returns 0; -EALREADY if it was closed before; may be ignored.
 *
 * Context: any.  Never switches.
 * Order:   everything before the close happens before the return of -EPIPE.
 */
WEFT_API int weft_chan_close(weft_chan *c);

/*
 * How many elements are in the buffer; others may change it meanwhile.
 *
 * Context: any.  Never switches.
 */
WEFT_API size_t weft_chan_len(weft_chan *c);

/* What a case of weft_select is about. */
enum {
	WEFT_SEND = 1,	/* obj: weft_chan *; value: the element */
	WEFT_RECV,	/* obj: weft_chan *; value: where to, or NULL */
	WEFT_JOIN,	/* obj: weft_fiber *; value: void **, or NULL */
	WEFT_EVENT,	/* obj: weft_event * */
};

/* One thing to wait for.  A case whose obj is NULL is never ready. */
typedef struct weft_case {
	int op;			/* WEFT_SEND ... */
	int result;		/* of the case that was done: 0 or -EPIPE */
	void *obj;
	void *value;
	uint64_t node_[8];	/* needs no initialisation */
} weft_case;

/*
 * Do one of n cases, as soon as one can be done, and no other.  If several can
 * be done at once, each of them is chosen with the same probability.  With n =
 * 0, or no case that can ever be ready, wait for the deadline.
 *
 * A case is done as the call of its own would be: a send or receive on a closed
 * channel is done too, with the result -EPIPE; after a join the handle is gone.
 * The same channel may be in several cases; a send never meets a receive of the
 * same select.  A fiber can be joined by one case only.
 *
 * Returns the index of the case that was done, and its outcome in its result;
 * -ETIMEDOUT at the deadline; -ECANCELED if the calling fiber was cancelled and
 * would have to wait; -EINVAL for an op that is none, or n above INT_MAX;
 * -EDEADLK if the caller is to join itself; -EAGAIN as for weft_chan_send.  On
 * an error nothing was done.  The results of other cases are as before.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 * Order:   as for the call of its own.
 */
WEFT_API WEFT_MUST_CHECK int weft_select(
	weft_case *cases, size_t n, weft_time deadline);

WEFT_END_DECLS

#endif
