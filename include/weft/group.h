/* SPDX-License-Identifier: MIT */
/*
 * weft/group.h - a wait group: wait until a number of things are done.
 *
 *	weft_group g = { 0 };
 *
 *	weft_group_add(&g, 10);
 *	... start ten fibers, each ends with weft_group_done(&g) ...
 *	err = weft_group_wait(&g, WEFT_FOREVER);
 *
 * A zeroed group is valid, with a count of 0.  A group needs no destroy.
 */
#ifndef WEFT_GROUP_H
#define WEFT_GROUP_H

#include <stdint.h>

#include <weft/attr.h>
#include <weft/time.h>

WEFT_BEGIN_DECLS

typedef struct weft_group {
	uint64_t state_;
	void *waiters_[2];
} weft_group;

/*
 * Add n, which may be negative, to the count of things to wait for.  A count
 * below zero or above 2^60 is misuse: weft prints one line and aborts.
 *
 * Context: any.  Never switches.
 */
WEFT_API void weft_group_add(weft_group *g, int64_t n);

/*
 * Subtract one from the count.  If the count becomes zero, all waiters return;
 * this call does not touch the group after a waiter can have returned.
 *
 * Context: any.  Never switches.
 * Order:   everything before happens before the weft_group_wait that it ends
 *	    returns.
 */
WEFT_API void weft_group_done(weft_group *g);

/*
 * Wait until the count is zero.
 *
 * Returns 0, and the group may be freed or used again at once; -ETIMEDOUT at
 * the deadline; -ECANCELED if the calling fiber was cancelled and would have to
 * wait; -EAGAIN on a foreign executor (weft/task.h) if no thread could be
 * started to watch the deadline.
 *
 * Context: fiber (may switch) or plain thread (blocks it).
 */
WEFT_API WEFT_MUST_CHECK int weft_group_wait(weft_group *g, weft_time deadline);

WEFT_END_DECLS

#endif
