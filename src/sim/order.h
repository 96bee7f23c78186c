/* SPDX-License-Identifier: MIT */
/*
 * sim/order.h - check the order in which fibers and plain threads take the
 * locks of the API: weft_mutex and weft_rwlock.
 *
 * A HOLDER is a fiber, or a plain thread.  An ORDER is what one holder did: it
 * took one lock while it held others.  Orders are kept until the run ends.
 * Some of them form a CYCLE if each takes a lock that the next one holds.  A
 * cycle is a failure, even if no holder got stuck this time, when
 *
 *	(O1) its orders are of different holders: one alone never waits for
 *	     itself;
 *	(O2) no two of its orders hold a lock in common, or both hold it as
 *	     readers: otherwise only one of the two can be under way;
 *	(O3) each waits for the next: one of the two is not a reader, and the
 *	     lock was taken by a call without a deadline.
 *
 * A lock is known by its TAG, a number that lies in the lock itself while it
 * has no exclusive holder, in the word that has OWNER otherwise (sync/mutex.h).
 * Only a lock that is part of an order keeps its tag; in all others that word
 * is 0.  Initialising a lock clears the tag.  So another lock that has the
 * address of an earlier one, on a stack or in a pool, has orders of its own.
 * An address instead of a tag would report programs that are correct.
 *
 * Short locks inside weft (os/lock.h, os/spin.h): see sim/locks.h.
 */
#ifndef WF_SIM_ORDER_H
#define WF_SIM_ORDER_H

#include "base/compiler.h"

/* Open it once; reset it for a new run. */
wf_must_check int wf_sim_order_open(void);
void wf_sim_order_reset(void);

#endif
