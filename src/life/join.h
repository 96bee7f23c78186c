/* SPDX-License-Identifier: MIT */
/*
 * life/join.h - the steps of a join, for select.
 *
 * Reads next: life/join.c, then chan/select.c
 */
#ifndef WF_LIFE_JOIN_H
#define WF_LIFE_JOIN_H

#include "wait/wait.h"

/* Has f ended?  If so, the caller sees all that it did. */
wf_must_check bool wf_join_look(weft_fiber *f);

/*
 * In commit, the waiter of n being armed: when f ends it claims n.  False: f
 * has ended.  If f has a joiner already, the program is ended with a message.
 */
wf_must_check bool wf_join_enlist(weft_fiber *f, struct wf_node *n);

/*
 * After a wait that f did not end: f does not touch n any more.  True: f has
 * ended meanwhile.
 */
bool wf_join_delist(weft_fiber *f, struct wf_node *n);

/* f has ended: take its result, and free its descriptor. */
void wf_join_take(weft_fiber *f, void **result);

/*
 * Before self (NULL: a plain thread) waits for the end of f: hold the runtime
 * of f, which may be stopped as soon as f has ended, but then is not freed.
 * Returns that runtime, for wf_outside_leave; NULL: self has f's runtime, or f
 * is foreign.  The pool of foreign fibers stays as long as f's handle.
 */
struct weft_rt *wf_join_hold(weft_fiber *f, weft_fiber *self);

#endif
