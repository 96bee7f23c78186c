/* SPDX-License-Identifier: MIT */
/*
 * queue/resubmit_check.h - in debug builds: is a task queued that is queued already?
 *
 * While an executor holds a task, the highest bit of its run is set, which no
 * function's address has.  Who runs a task clears it first.
 */
#ifndef WF_QUEUE_TWICE_H
#define WF_QUEUE_TWICE_H

#include <stdint.h>

#include <weft/task.h>

#include "base/assert.h"

#define WF_TWICE_QUEUED ((uintptr_t)1 << (sizeof(uintptr_t) * 8 - 1))

/* The task is about to be queued. */
static inline void wf_twice_enter(weft_task *task)
{
	uintptr_t run = (uintptr_t)task->run;

	if (!WF_DEBUGGING)
		return;
	wf_assert(!(run & WF_TWICE_QUEUED),
		"task %p was submitted again before it was run", (void *)task);
	task->run = (void (*)(weft_task *))(run | WF_TWICE_QUEUED);
}

/* It is about to be run, or was not queued after all. */
static inline void wf_twice_leave(weft_task *task)
{
	uintptr_t run = (uintptr_t)task->run;

	if (WF_DEBUGGING)
		task->run = (void (*)(weft_task *))(run & ~WF_TWICE_QUEUED);
}

#endif
