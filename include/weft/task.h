/* SPDX-License-Identifier: MIT */
/*
 * weft/task.h - the one thing that queues hold: an intrusive task.
 *
 * A task lives in its owner's memory.  The scheduler stores the pointer and
 * never allocates, copies or frees a task.
 */
#ifndef WEFT_TASK_H
#define WEFT_TASK_H

#include <weft/attr.h>

WEFT_BEGIN_DECLS

/*
 * Fill in run before the task is submitted and leave next_ alone.  From submit
 * until run is entered the task belongs to the scheduler; from then on it is
 * its owner's again and may be freed or submitted anew, also by run itself.
 */
typedef struct weft_task {
	void (*run)(struct weft_task *self);
	struct weft_task *next_;
} weft_task;

WEFT_END_DECLS

#endif
