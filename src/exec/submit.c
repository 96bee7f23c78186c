/* SPDX-License-Identifier: MIT */
/*
 * exec/submit.c - calls that are for any executor.
 *
 * Reads next: exec/manual.c
 */
#include <errno.h>

#include <weft/task.h>

#include "base/assert.h"
#include "exec/exec.h"
#include "os/os.h"
#include "exec/foreign_pool.h"
#include "sched/thread.h"
#include "exec/foreign.h"
#include "wait/wait.h"

/* ------------------------------------------------------------------------ */
/* A function as a task. */

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

void weft_task_run(weft_executor *e, weft_task *t)
{
	struct wf_thread *here = wf_enter(), v;

	if (here != NULL && here->visitor && here->executor == e &&
		here->current == NULL) {
		t->run(t);
		return;
	}
	wf_visit_begin(&v, e);
	t->run(t);
	wf_visit_end(&v);
}

/* ------------------------------------------------------------------------ */
/* The beginning and the end of an executor. */

int wf_exec_open(struct wf_exec **e, size_t bytes,
	int (*submit)(weft_executor *, weft_task *, weft_hint))
{
	struct wf_exec *made = wf_os_alloc(bytes);
	struct weft_rt *home;
	int err;

	if (made == NULL)
		return -ENOMEM;
	err = wf_home_hold(&home);
	if (err) {
		wf_os_free(made);
		return err;
	}
	made->base.submit = submit;
	wf_visit_count(&made->base, &made->fibers);
	*e = made;
	return 0;
}

void wf_exec_close(struct wf_exec *e)
{
	wf_os_free(e);
	wf_home_drop();
}

bool wf_exec_has_fibers(struct wf_exec *e)
{
	return weft_group_wait(&e->fibers, WEFT_NOW) != 0;
}

enum { BUSY, WAITS, TOLD };

/* The fiber is off its stack: from now on it may be woken. */
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
		wf_assert(false, "a fiber that destroys an executor is none");
	/* [pair: leaver.state] All that ran on the executor is seen. */
	while (wf_load_acq(&l->state) != TOLD)
		(void)wf_os_futex_wait(&l->state, WAITS, INT64_MAX);
}

void wf_leaver_tell(struct wf_leaver *l)
{
	weft_fiber *f = l->fiber;

	/*
	 * [pair: leaver.state] Our last access, behind all that ran; and a
	 * fiber that we wake has left its stack.
	 */
	if (wf_xchg_acqrel(&l->state, TOLD) != WAITS)
		return;
	if (f != NULL)
		weft_wake(f, WEFT_HINT_DEFAULT);
	else
		(void)wf_os_futex_wake(&l->state, 1);
}

static const struct {
	int (*submit)(weft_executor *, weft_task *, weft_hint);
	int (*destroy)(weft_executor *);
} kinds[] = {
	{ wf_pool_submit, wf_pool_destroy },
	{ wf_manual_submit, wf_manual_destroy },
	{ wf_strand_submit, wf_strand_destroy },
};

int weft_executor_destroy(weft_executor *e)
{
	int err;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (e->submit != kinds[i].submit)
			continue;
		if (wf_visit_is_inside(e))
			return -EDEADLK;
		err = kinds[i].destroy(e);
		wf_wait_not();
		return err;
	}
	return -EINVAL;
}
