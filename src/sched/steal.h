/* SPDX-License-Identifier: MIT */
/*
 * sched/steal.h - how a thief takes tasks from another processor.
 *
 * A thief takes half of its victim's queue, or if that is empty half of the
 * victim's yielders, rounded down.  So a task alone in its queue, and the one
 * in the slot, stay with a holder that is about to run them, unless the thief
 * is told to take the last.  From which victims it takes is decided in idle/.
 *
 * Reads next: idle/search.h, which victims a thief goes to.
 */
#ifndef WF_SCHED_STEAL_H
#define WF_SCHED_STEAL_H

#include <stdbool.h>
#include <stdint.h>

#include <weft/task.h>

#include "sched/group.h"
#include "sched/proc.h"

/*
 * Take from v.  take_last: also a task that is alone in its queue, or in the
 * slot.  A task to run, counted; or NULL.  NULL does not mean that nothing was
 * taken: if the first entry was a dead ticket, the others are in the queue of p
 * now, where the caller must look.  Holder of p.
 */
weft_task *wf_steal_from(struct wf_proc *p, struct wf_proc *v, bool take_last);

#endif
