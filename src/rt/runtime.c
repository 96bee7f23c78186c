/* SPDX-License-Identifier: MIT */
/*
 * rt/runtime.c - a runtime starts, shuts down, stops.
 */
#include "sched/runtime.h"

#include <errno.h>
#include <stdio.h>

#include "base/sanitize.h"
#include "idle/monitor.h"
#include "idle/wake.h"
#include "os/os.h"
#include "rt/assemble.h"
#include "rt/config.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "sched/threads.h"
#include "wait/cancel.h"
#include "wait/wait.h"

/* Two for each processor: of its loop, and of a loop that a fiber leaves. */
static size_t loop_stacks(struct weft_rt *rt)
{
	return (size_t)rt->proc_count * 2;
}

/* Wake p, which has no thread yet.  0, -EAGAIN, -ENOMEM. */
static int start_thread(struct weft_rt *rt, struct wf_proc *p)
{
	struct wf_group *g = p->group;
	int err;

	(void)wf_and_rlx(&g->sleeping, ~p->bit);
	err = wf_thread_start(rt, p);
	if (err)
		/* Relaxed: no submitter looks for sleepers yet. */
		(void)wf_or_rlx(&g->sleeping, p->bit);
	return err;
}

/*
 * Start the monitor and one thread; wakers start the other threads.  In the
 * lock-free mode start all threads now, because starting one takes locks; a
 * waker tries again for a thread that the system refuses.
 */
static int start_threads(struct weft_rt *rt)
{
	int err = 0;

	if (rt->proc_count > 1)
		err = wf_monitor_start(rt);
	if (!err)
		err = start_thread(rt, rt->procs);
	if (err || rt->policy.locks == WEFT_LOCKS_SHORT)
		return err;
	for (uint32_t i = 1; i < rt->proc_count; i++)
		(void)start_thread(rt, &rt->procs[i]);
	return 0;
}

/* Start an assembled runtime.  0, -EAGAIN, -ENOMEM. */
static int set_going(struct weft_rt *rt)
{
	int err = wf_stack_pool_promise(&rt->stacks, rt->cls, loop_stacks(rt));

	if (err)
		return err;
	err = start_threads(rt);
	if (!err)
		return 0;
	wf_monitor_stop(rt);
	wf_stack_pool_release(&rt->stacks, rt->cls, loop_stacks(rt));
	return err;
}

static void complain(const char *why)
{
	char line[300];
	int n = snprintf(line, sizeof(line), "weft: weft_config: %s\n", why);

	wf_os_complain(line, (size_t)n);
}

int weft_rt_start_sized(weft_rt **out, const weft_config *cfg, size_t size)
{
	struct weft_rt *rt;
	weft_config config;
	char why[200];
	int err = wf_config_fill(&config, cfg, size, why, sizeof(why));

	if (err) {
		complain(why);
		return err;
	}
	rt = wf_os_alloc(sizeof(*rt));
	if (rt == NULL)
		return -ENOMEM;
	rt->config = config;
	if (config.policy != NULL)
		rt->policy = *config.policy;
	else
		wf_san_policy(&rt->policy);
	rt->config.policy = NULL;
	wf_rt_derive(rt);
	err = wf_rt_assemble(rt);
	if (err)
		goto freed;
	err = set_going(rt);
	if (err)
		goto disassembled;
	*out = rt;
	return 0;
disassembled:
	wf_rt_disassemble(rt);
freed:
	wf_os_free(rt);
	return err;
}

/*
 * Cancel the wait of f.  f itself is not marked as cancelled: rt->stopping
 * cancels all fibers.
 */
static void cancel(weft_fiber *f, void *arg)
{
	(void)arg;
	if (wf_load_rlx(&f->state) & WF_FIBER_LIVE)
		wf_cancel_wake(f);
}

int weft_rt_shutdown(weft_rt *rt)
{
	bool before;

	wf_lock(&rt->outside.lock);
	before = wf_or_rlx(&rt->outside.callers, WF_OUTSIDE_CLOSED) &
		WF_OUTSIDE_CLOSED;
	wf_store_rlx(&rt->stopping, true);
	wf_outside_enter(rt);
	wf_unlock(&rt->outside.lock);
	if (!before) {
		/*
		 * One walk is enough: a wait that the walk does not find begins
		 * after the fence, so its fiber sees stopping (wait/wait.c).
		 */
		wf_cancel_fence(rt);
		wf_fiber_pool_walk(&rt->fibers, cancel, NULL);
	}
	wf_outside_leave(rt);
	return 0;
}

/* Wait until no fiber is left. */
static int wait_fibers(struct weft_rt *rt, weft_time deadline)
{
	for (;;) {
		/* [pair: rt.ended] The count includes all fibers that ended. */
		uint32_t seen = wf_load_acq(&rt->ended);

		if (wf_rt_fibers(rt) == 0)
			return 0;
		if (deadline <= wf_os_now_ns())
			return -ETIMEDOUT;
		(void)wf_os_futex_wait(&rt->ended, seen, deadline);
	}
}

/* Wait until no caller from outside is in a call. */
static void wait_callers(struct weft_rt *rt)
{
	/* [pair: rt.callers] Tasks that they submitted are in the queues. */
	while ((wf_load_acq(&rt->outside.callers) & ~WF_OUTSIDE_CLOSED) != 0)
		wf_os_thread_yield();
}

/*
 * Wait until no thread is left except the monitor.  Threads stay while a fiber
 * lives: a task that had begun to start one at shutdown may still do so.
 * Sleepers are woken, so that they see quit.
 */
static void wait_threads(struct weft_rt *rt)
{
	for (;;) {
		/* [pair: rt.ended] */
		uint32_t seen = wf_load_acq(&rt->ended);

		if (wf_load_rlx(&rt->threads) == 0)
			break;
		/* [pair: park.sleep] A processor that parks later sees quit. */
		wf_fence_seq();
		for (uint32_t i = 0; i < rt->group_count; i++)
			wf_wake_all(&rt->groups[i]);
		(void)wf_os_futex_wait(&rt->ended, seen, INT64_MAX);
	}
}

/* No fiber is left: the threads run the remaining tasks and end. */
static void end_threads(struct weft_rt *rt)
{
	wait_callers(rt);
	wf_store_rlx(&rt->quit, true);
	wait_threads(rt);
	/* The waker of the last fiber may be about to start a thread. */
	wait_callers(rt);
	wf_monitor_stop(rt);
	/* The monitor may have started a thread since, which must end too. */
	wait_threads(rt);
	wf_threads_reap(rt);
}

/* Count fibers that ended without a joiner: they keep their credits. */
static void count_unjoined(weft_fiber *f, void *arg)
{
	if (wf_load_rlx(&f->state) & WF_FIBER_LIVE)
		(*(size_t *)arg)++;
}

static void free_all(struct weft_rt *rt)
{
	size_t unjoined = 0;

	wait_callers(rt);
	wf_fiber_pool_walk(&rt->fibers, count_unjoined, &unjoined);
	wf_stack_pool_release(&rt->stacks, rt->cls, unjoined);
	wf_stack_pool_release(&rt->stacks, rt->cls, loop_stacks(rt));
	wf_rt_disassemble(rt);
	wf_os_free(rt);
}

int weft_rt_stop(weft_rt *rt, weft_time deadline)
{
	int err;

	if (wf_thread_in(rt) != NULL)
		return -EDEADLK;
	(void)weft_rt_shutdown(rt);
	err = wait_fibers(rt, deadline);
	if (err)
		return err;
	end_threads(rt);
	free_all(rt);
	return 0;
}

weft_executor *weft_rt_executor(weft_rt *rt)
{
	return &rt->executor;
}

weft_rt *weft_rt_self(void)
{
	struct wf_thread *t = wf_enter(), *of = t;

	while (of != NULL && of->foreign)
		of = of->host;
	wf_leave(t);
	return of ? of->rt : NULL;
}

/* The function that weft_run runs in a fiber, and its result. */
struct run {
	int (*main)(void *);
	void *arg;
	int result;
};

static void *run_main(void *arg)
{
	struct run *run = arg;

	run->result = run->main(run->arg);
	return NULL;
}

int weft_run_sized(
	const weft_config *cfg, size_t size, int (*main)(void *), void *arg)
{
	struct run run = { .main = main, .arg = arg };
	weft_time deadline = WEFT_FOREVER;
	weft_fiber *f;
	weft_rt *rt;
	int err, stopped;

	if (main == NULL)
		return -EINVAL;
	if (weft_self() != NULL)
		return -EDEADLK;
	err = weft_rt_start_sized(&rt, cfg, size);
	if (err)
		return err;
	err = weft_rt_spawn(
		rt, &f, &(weft_fiber_attr){ .name = "main" }, run_main, &run);
	if (!err)
		err = weft_join(f, NULL, WEFT_FOREVER);
	if (rt->config.stop_ns != 0)
		deadline = weft_after(rt->config.stop_ns);
	stopped = weft_rt_stop(rt, deadline);
	return err ? err : stopped ? stopped : run.result;
}
