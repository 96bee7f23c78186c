/* SPDX-License-Identifier: MIT */
/*
 * exec/submit.c - a function as a task, and a task run for a user's executor.
 *
 * Reads next: exec/manual.c
 */
#include <errno.h>

#include <weft/task.h>

#include "exec/foreign.h"
#include "os/os.h"
#include "sched/thread.h"

struct call {
	weft_task task;			/* must be first */
	void (*fn)(void *);
	void *arg;
};

static void call_run(weft_task *task)
{
	struct call c = *(struct call *)task;

	wf_os_free(task);
	c.fn(c.arg);
}

int weft_submit_fn(weft_executor *e, void (*fn)(void *), void *arg)
{
	struct call *c;
	int err;

	if (fn == NULL)
		return -EINVAL;
	c = wf_os_alloc(sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	*c = (struct call){ { .run = call_run }, fn, arg };
	err = weft_submit(e, &c->task, WEFT_HINT_DEFAULT);
	if (err)
		wf_os_free(c);
	return err;
}

void weft_task_run(weft_executor *e, weft_task *task)
{
	struct wf_thread *t = wf_enter(), own;
	bool runs = wf_foreign_runs(t, e);

	wf_leave(t);
	if (!runs)
		wf_foreign_begin(&own, e);
	task->run(task);
	if (!runs)
		wf_foreign_end(&own);
}
