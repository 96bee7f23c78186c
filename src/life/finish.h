/* SPDX-License-Identifier: MIT */
/*
 * life/finish.h - a fiber has ended: its credit, its joiner, its descriptor.
 *
 * Reads next: life/join.c, the side of the joiner.
 */
#ifndef WF_LIFE_FINISH_H
#define WF_LIFE_FINISH_H

#include "sched/finish.h"
#include "sched/runtime.h"
#include "sched/thread.h"

/*
 * The function of f has returned, and f is still the running fiber: call the
 * destructors of its keys.  Only a fiber that is USED can need this.
 */
wf_may_switch void wf_finish_user(weft_fiber *f);

/* A foreign fiber has ended; its stack is given back. */
void wf_finish_foreign(weft_fiber *f, void *result);

/* Free the descriptor of a fiber that has ended.  From any thread. */
void wf_fiber_free(weft_fiber *f);

#endif
