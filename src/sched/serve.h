/* SPDX-License-Identifier: MIT */
/*
 * sched/serve.h - one step that serves events: the clock and timers.
 *
 * Contract: implemented in idle/.
 *
 * The loop takes this step every so many picks; a searcher between two rounds;
 * a processor that gets up.  A poller of descriptors joins the same step.
 *
 * Reads next: idle/serve.c
 */
#ifndef WF_SCHED_SERVE_H
#define WF_SCHED_SERVE_H

#include <stdbool.h>
#include <stdint.h>

struct wf_proc;

/*
 * Set the clock of p to now_ns and end waits whose deadline has come, but not
 * more of them than the local queue has room for: the others would overflow
 * into the global queue, behind all that waits there.  Returns whether a fiber
 * became ready.  Holder.
 */
bool wf_serve(struct wf_proc *p, int64_t now_ns);

#endif
