/* SPDX-License-Identifier: MIT */
/*
 * queue/resubmit_check.h - debug builds detect a task that is submitted twice.
 *
 * While an executor holds a task, the highest bit of its run is set; no
 * function's address has it.  The thread that runs the task clears the bit
 * first.
 */
#ifndef WF_QUEUE_RESUBMIT_CHECK_H
#define WF_QUEUE_RESUBMIT_CHECK_H

#include <stdint.h>

#include <weft/task.h>

#include "base/assert.h"

#define WF_RESUBMIT_QUEUED ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1))

/* The task is about to be queued. */
static inline void wf_resubmit_enter(weft_task *task)
{
	uintptr_t run = (uintptr_t)task->run;

	if (!WF_DEBUGGING)
		return;
	wf_assert(!(run & WF_RESUBMIT_QUEUED),
		"task %p was submitted again before it was run", (void *)task);
	task->run = (void (*)(weft_task *))(run | WF_RESUBMIT_QUEUED);
}

/* The task is about to be run, or was not queued after all. */
static inline void wf_resubmit_leave(weft_task *task)
{
	uintptr_t run = (uintptr_t)task->run;

	if (WF_DEBUGGING)
		task->run = (void (*)(weft_task *))(run & ~WF_RESUBMIT_QUEUED);
}

#endif
