/* SPDX-License-Identifier: MIT */
/*
 * sched/idle.h - a processor without work: search, spin, sleep.
 *
 * At most max_searchers of a group search at once, those that were woken too;
 * the others go straight to sleep, because a searcher looks at everything again
 * before it sleeps and so stands for them.  The exceptions are a searcher whose
 * thread was stopped and that has been replaced (idle/monitor.h), until its
 * round ends, and under flare's rule processors that were sent for.
 *
 * Spinning pays exactly when it outlasts the gap until the next task.  Each
 * processor keeps a mean g of its gaps: while g is below spin_ns it spins for
 * 2 g, at most spin_ns, else for a tenth of spin_ns.  One of a group spins, and
 * none where there is but one CPU or a CPU quota; nor who got up for a timer,
 * because that told it nothing about when there will be more.
 *
 * Only on a clean stack, or on the thread's own when it begins: what follows
 * may take long, and the thread may end.
 *
 * Reads next: sched/steal.h, the search itself.
 */
#ifndef WF_SCHED_IDLE_H
#define WF_SCHED_IDLE_H

#include <weft/task.h>

#include "sched/thread.h"

/* A task to run; NULL: the thread shall end. */
weft_task *wf_idle(struct wf_thread *t);

#endif
