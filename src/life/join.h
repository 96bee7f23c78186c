/* SPDX-License-Identifier: MIT */
/*
 * life/join.h - waiting for the end of a fiber, among other things.
 *
 * Reads next: life/join.c, then chan/select.c, which does so.
 */
#ifndef WF_SCHED_JOIN_H
#define WF_SCHED_JOIN_H

#include "wait/wait.h"

/* Has f ended?  With all that it did. */
wf_must_check bool wf_join_look(weft_fiber *f);

/*
 * In commit, the waiter of n being armed: when f ends it claims n.  False: it
 * has ended.  Misuse: somebody joins f already.
 */
wf_must_check bool wf_join_enlist(weft_fiber *f, struct wf_node *n);

/*
 * After a wait that f did not end: it will not touch n any more.  True: it has
 * ended meanwhile.
 */
bool wf_join_delist(weft_fiber *f, struct wf_node *n);

/* Of a fiber that has ended: take the result; the handle is gone. */
void wf_join_take(weft_fiber *f, void **result);

#endif
