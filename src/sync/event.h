/* SPDX-License-Identifier: MIT */
/*
 * sync/event.h - what a wait on several objects needs of an event.
 *
 * The waiter is armed (wait/wait.h) before its node is enlisted, and the node
 * is taken out again before its frame goes, unless it is the one that won.
 */
#ifndef WF_SYNC_EVENT_H
#define WF_SYNC_EVENT_H

#include <stdbool.h>

#include <weft/event.h>

#include "base/compiler.h"
#include "wait/wait.h"

/* Is it set?  If so: with all that was done before. */
wf_must_check bool wf_event_look(weft_event *e);

/* Put n into the list.  False: the event is set, and n is in no list. */
wf_must_check bool wf_event_enlist(weft_event *e, struct wf_node *n);

/* Take n out, if it is still there. */
void wf_event_delist(weft_event *e, struct wf_node *n);

#endif
