/* SPDX-License-Identifier: MIT */
/*
 * sched/finish.h - a fiber has ended: its credit, its joiner, its descriptor.
 *
 * Reads next: sched/join.c, the other side of it.
 */
#ifndef WF_SCHED_FINISH_H
#define WF_SCHED_FINISH_H

#include "sched/thread.h"

/* The function of f returned into the loop that called it. */
void wf_finish(struct wf_thread *t, weft_fiber *f, void *result);

/* It returned into its joiner, who has the result. */
void wf_finish_inline(struct wf_thread *t, weft_fiber *f);

/* The descriptor of an ended fiber that nobody needs any more.  Anyone. */
void wf_fiber_free(weft_fiber *f);

#endif
