/* SPDX-License-Identifier: MIT */
/*
 * exec/exec.c - the common beginning and end of executors.
 *
 * Reads next: exec/manual.c
 */
#include "exec/exec.h"

#include <errno.h>

#include "base/assert.h"
#include "exec/foreign.h"
#include "os/os.h"
#include "sched/foreign.h"
#include "sched/thread.h"

int wf_exec_open(struct wf_exec **e, size_t bytes,
	int (*submit)(weft_executor *, weft_task *, weft_hint),
	int (*destroy)(struct wf_exec *))
{
	struct wf_exec *made = wf_os_alloc(bytes);
	struct weft_rt *pool;
	int err;

	if (made == NULL)
		return -ENOMEM;
	err = wf_foreign_pool_hold(&pool);
	if (err) {
		wf_os_free(made);
		return err;
	}
	made->base.submit = submit;
	made->base.reserved_[0] = made;
	made->destroy = destroy;
	*e = made;
	return 0;
}

void wf_exec_close(struct wf_exec *e)
{
	wf_os_free(e);
	wf_foreign_pool_drop();
}

int weft_executor_destroy(weft_executor *e)
{
	struct wf_exec *made = wf_exec_of(e);
	struct wf_thread *t;
	bool inside;
	int err;

	if (made == NULL)
		return -EINVAL;
	t = wf_enter();
	inside = wf_foreign_is_inside(e);
	wf_leave(t);
	if (inside)
		return -EDEADLK;
	err = made->destroy(made);
	weft_checkpoint();
	return err;
}
