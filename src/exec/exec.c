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

enum { BUSY, WAITS, TOLD };

/* The leaver is off its stack: from now on it may be woken. */
static bool commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct wf_leaver *l = wf_container_of(a, struct wf_leaver, awaiter);
	uint32_t busy = BUSY;

	(void)f;
	/* [pair: leaver.state] It left its stack before it can be woken. */
	return wf_cas_rel(&l->state, &busy, WAITS);
}

void wf_leaver_begin(struct wf_leaver *l)
{
	*l = (struct wf_leaver){ { .commit = commit }, .fiber = weft_self() };
}

wf_may_switch void wf_leaver_wait(struct wf_leaver *l)
{
	uint32_t busy = BUSY;

	if (l->fiber == NULL)
		(void)wf_cas_rlx(&l->state, &busy, WAITS);
	else if (weft_suspend(&l->awaiter) < 0)
		wf_assert(false, "weft_suspend failed in fiber %p, which "
				 "destroys an executor",
			(void *)l->fiber);
	/* [pair: leaver.state] All that ran on the executor is seen. */
	while (wf_load_acq(&l->state) != TOLD)
		(void)wf_os_futex_wait(&l->state, WAITS, INT64_MAX);
}

void wf_leaver_tell(struct wf_leaver *l)
{
	weft_fiber *f = l->fiber;

	/*
	 * [pair: leaver.state] The teller's last access, after all that ran;
	 * and a fiber that it wakes has left its stack.
	 */
	if (wf_xchg_acqrel(&l->state, TOLD) != WAITS)
		return;
	if (f != NULL)
		weft_wake(f, WEFT_HINT_DEFAULT);
	else
		(void)wf_os_futex_wake(&l->state, 1);
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
