/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/rt_scenarios.c - whole runtimes that start and stop: whatever comes
 * in between, each accepted task runs, every thread ends, all memory is free.
 */
#include "sched_kit.h"

#include <errno.h>

void rt_start_stop(void *arg)
{
	(void)arg;
	rt_start(2);
	rt_stop();
}

/* ------------------------------------------------------------------------ */
/* From outside. */

static void submit_second(void *arg)
{
	(void)arg;
	job_submit(stage.rt, 1, WEFT_HINT_DEFAULT);
}

void rt_outside(void *arg)
{
	int other;

	rt_start((uint32_t)(uintptr_t)arg);
	other = weft_sim_thread(submit_second, NULL, "outside");
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	job_submit(stage.rt, 2, WEFT_HINT_NEXT);
	(void)weft_sim_join(other);
	rt_stop();
	jobs_check(3);
}

/* A task is either refused or run, when the runtime shuts down meanwhile. */
static void submit_some(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < 2; i++) {
		int err = weft_submit(weft_rt_executor(stage.rt),
			job_make(i, NULL), WEFT_HINT_DEFAULT);

		weft_sim_assert(
			err == 0 || err == -ESHUTDOWN, "submit says %d", err);
		stage.job[i].arg = err == 0;
	}
}

void rt_submit_races_shutdown(void *arg)
{
	int other;

	(void)arg;
	rt_start(2);
	other = weft_sim_thread(submit_some, NULL, "outside");
	(void)weft_rt_shutdown(stage.rt);
	(void)weft_sim_join(other);
	rt_stop();
	for (size_t i = 0; i < 2; i++)
		weft_sim_assert(stage.job[i].ran == (int)stage.job[i].arg,
			"job %zu ran %d times", i, stage.job[i].ran);
}

/* The submitter may still be in its call when the task has run. */
static void submit_first(void *arg)
{
	(void)arg;
	stage.job[0].then = job_opens;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
}

void rt_caller(void *arg)
{
	int other;

	(void)arg;
	rt_start(1);
	other = weft_sim_thread(submit_first, NULL, "outside");
	latch_wait(&stage.latch[0]);
	rt_stop();
	(void)weft_sim_join(other);
	jobs_check(1);
}

/*
 * A call that begins when no fiber is left, while the last task still runs and
 * so keeps the runtime alive: stop waits for its end too.
 */
static _Atomic(bool) entered;

static void wait_for_caller(struct job *j)
{
	(void)j;
	/* [pair: scenario.entered] */
	while (!wf_load_acq(&entered))
		weft_sim_yield();
}

static void call_late(void *arg)
{
	weft_rt *rt = stage.rt;

	(void)arg;
	while (!wf_load_rlx(&rt->quit))
		weft_sim_yield();
	wf_outside_enter(rt);
	/* [pair: scenario.entered] It is counted before the task ends. */
	wf_store_rel(&entered, true);
	wf_lock(&rt->outside.lock);
	wf_unlock(&rt->outside.lock);
	wf_outside_leave(rt);
}

void rt_late_caller(void *arg)
{
	int other;

	(void)arg;
	rt_start(1);
	stage.job[0].then = wait_for_caller;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	other = weft_sim_thread(call_late, NULL, "outside");
	rt_stop();
	(void)weft_sim_join(other);
	jobs_check(1);
}

/* The waker may still be in its call when the fiber, the last, has ended. */
static _Atomic(weft_fiber *) suspended;

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	/* [pair: scenario.suspended] Its context is saved. */
	wf_store_rel(&suspended, f);
	latch_open(&stage.latch[0]);
	return true;
}

static void suspend_once(void *arg)
{
	struct weft_awaiter a = { .commit = publish };

	weft_sim_assert(weft_suspend(&a) == 0, "nobody woke it");
	*(int *)arg += 1;
}

static void wake_suspended(void *arg)
{
	weft_fiber *f;

	(void)arg;
	latch_wait(&stage.latch[0]);
	/* [pair: scenario.suspended] */
	while ((f = wf_load_acq(&suspended)) == NULL)
		weft_sim_yield();
	weft_wake(f, WEFT_HINT_DEFAULT);
}

void rt_waker(void *arg)
{
	int other, ended = 0;

	rt_start((uint32_t)(uintptr_t)arg);
	weft_sim_assert(
		weft_rt_go(stage.rt, suspend_once, &ended) == 0, "no fiber");
	other = weft_sim_thread(wake_suspended, NULL, "waker");
	rt_stop();
	(void)weft_sim_join(other);
	weft_sim_assert(ended == 1, "the fiber has not gone on");
}

/* ------------------------------------------------------------------------ */
/* The end, as seen by fibers. */

static weft_group never_done;

static void wait_in_vain(void *arg)
{
	int err = weft_group_wait(&never_done, WEFT_FOREVER);

	weft_sim_assert(err == -ECANCELED, "a wait in vain ends with %d", err);
	(void)wf_add_rlx((_Atomic(uint32_t) *)arg, 1);
}

/* It waits, and has started another that will, unless it is too late. */
static void wait_for_two(void *arg)
{
	int err = weft_go(wait_in_vain, arg);

	weft_sim_assert(err == 0 || err == -ESHUTDOWN, "go says %d", err);
	if (err)
		(void)wf_add_rlx((_Atomic(uint32_t) *)arg, 1);
	wait_in_vain(arg);
}

/* A fiber that waits at the end is cancelled, even if it just began. */
void rt_cancel(void *arg)
{
	static _Atomic(uint32_t) told;

	rt_start((uint32_t)(uintptr_t)arg);
	weft_group_add(&never_done, 1);
	stage.cancels = true;
	weft_sim_assert(
		weft_rt_go(stage.rt, wait_for_two, &told) == 0, "no fiber");
	rt_stop();
	weft_sim_assert(wf_load_rlx(&told) == 2, "%u fibers of 2 were told",
		wf_load_rlx(&told));
}

/* It is not told when it waits in a call that nobody can cut short. */
void rt_stop_twice(void *arg)
{
	int ended = 0, err, other;

	(void)arg;
	rt_start(1);
	weft_sim_assert(
		weft_rt_go(stage.rt, suspend_once, &ended) == 0, "no fiber");
	err = weft_rt_stop(stage.rt, WEFT_NOW);
	weft_sim_assert(err == -ETIMEDOUT, "stop says %d", err);
	other = weft_sim_thread(wake_suspended, NULL, "waker");
	rt_stop();
	(void)weft_sim_join(other);
	weft_sim_assert(ended == 1, "the fiber has not gone on");
}

/* A task ends the runtime it runs in; the others that were accepted run. */
static void shut_down(struct job *j)
{
	int err;

	(void)j;
	job_submit(stage.rt, 1, WEFT_HINT_YIELD);
	(void)weft_rt_shutdown(stage.rt);
	err = weft_submit(weft_rt_executor(stage.rt), job_make(2, NULL),
		WEFT_HINT_DEFAULT);
	weft_sim_assert(err == -ESHUTDOWN, "submit says %d", err);
	latch_open(&stage.latch[0]);
}

void rt_shutdown_inside(void *arg)
{
	(void)arg;
	rt_start(2);
	stage.job[0].then = shut_down;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	rt_stop();
	jobs_check(2);
}

/* ------------------------------------------------------------------------ */
/* From inside: more than the queues hold, with every hint. */

static void submit_four(struct job *j)
{
	(void)j;
	job_submit(stage.rt, 1, (weft_hint)weft_sim_either(3));
	job_submit(stage.rt, 2, (weft_hint)weft_sim_either(3));
	job_submit(stage.rt, 3, WEFT_HINT_DEFAULT);
	job_submit(stage.rt, 4, WEFT_HINT_NEXT);
	latch_open(&stage.latch[0]);
}

/* Submits from a fiber that gives way in between. */
static void submit_from_fiber(void *arg)
{
	job_submit(stage.rt, 5, (weft_hint)weft_sim_either(3));
	weft_yield();
	submit_four(arg);
	weft_yield();
	weft_checkpoint();
}

void rt_inside_fiber(void *arg)
{
	rt_start((uint32_t)(uintptr_t)arg);
	weft_sim_assert(
		weft_rt_go(stage.rt, submit_from_fiber, NULL) == 0, "no fiber");
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	rt_stop();
	jobs_check(6);
}

void rt_inside(void *arg)
{
	rt_start((uint32_t)(uintptr_t)arg);
	stage.job[0].then = submit_four;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	rt_stop();
	jobs_check(5);
}

/* Submits where only one processor may search at a time. */
void rt_limit(void *arg)
{
	weft_config cfg = rt_config((uint32_t)(uintptr_t)arg);

	cfg.max_searchers = 1;
	rt_start_with(&cfg);
	stage.job[0].then = submit_four;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	rt_stop();
	jobs_check(5);
}

/* ------------------------------------------------------------------------ */
/* A thread that sleeps gives the memory of descriptors back. */

enum { UNIT = WF_UNIT_BYTES / sizeof(weft_fiber), AFTER = 6 };

static bool any_bare(struct wf_fiber_pool *pool)
{
	bool any;

	wf_lock(&pool->lock);
	any = pool->bare.count != 0;
	wf_unlock(&pool->lock);
	return any;
}

/* The second unit of the first slab is idle. */
static void fill_unit(struct wf_fiber_pool *pool)
{
	struct wf_fiber_cache c = { 0 };
	weft_fiber *f[UNIT + AFTER];

	for (unsigned n = 0; n < UNIT + AFTER; n++) {
		struct wf_slab *slab = wf_load_rlx(&pool->slabs);

		/* As if nearly all of the first unit had been handed out. */
		if (n == AFTER)
			wf_store_rlx(&slab->used, WF_SLAB_FIBERS - UNIT);
		f[n] = wf_fiber_take(&c, pool);
		weft_sim_assert(f[n] != NULL, "no descriptor");
	}
	for (unsigned n = UNIT + AFTER; n > 0; n--)
		wf_fiber_give(&c, pool, f[n - 1]);
	wf_fiber_cache_close(&c, pool);
}

static void nap(int64_t ns)
{
	int64_t until = wf_os_now_ns() + ns;
	_Atomic(uint32_t) never = 0;

	while (wf_os_now_ns() < until)
		(void)wf_os_futex_wait(&never, 0, until);
}

/*
 * The thread that sleeps is woken before, while or after it gives memory back;
 * a fiber may begin in what was given.
 */
void rt_give_back(void *arg)
{
	weft_config cfg = rt_config((uint32_t)(uintptr_t)arg);
	struct weft_rt *rt;

	rt_start_with(&cfg);
	rt = stage.rt;
	fill_unit(&rt->fibers);
	job_submit(rt, 0, WEFT_HINT_DEFAULT);
	weft_sim_quiesce();
	if (weft_sim_either(2))
		nap(WF_TRIM_NS);
	stage.job[1].then = job_opens;
	job_submit(rt, 1, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	nap(3 * WF_TRIM_NS);
	weft_sim_quiesce();
	weft_sim_assert(any_bare(&rt->fibers), "nothing was given back");
	rt_stop();
	jobs_check(2);
}

/* ------------------------------------------------------------------------ */
/* Two runtimes that give each other work. */

static weft_rt *ours, *theirs;

static void come_back(struct job *j)
{
	(void)j;
	job_submit(ours, 2, WEFT_HINT_DEFAULT);
}

static void go_there(struct job *j)
{
	(void)j;
	stage.job[1].then = come_back;
	stage.job[2].then = job_opens;
	job_submit(theirs, 1, WEFT_HINT_NEXT);
}

void rt_two_runtimes(void *arg)
{
	(void)arg;
	rt_start(1);
	theirs = stage.rt;
	rt_start(1);
	ours = stage.rt;
	stage.job[0].then = go_there;
	job_submit(ours, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	rt_stop();
	stage.rt = theirs;
	rt_stop();
	jobs_check(3);
}

/* ------------------------------------------------------------------------ */
/* Memory and threads that are not to be had. */

void rt_faults(void *arg)
{
	weft_config cfg = rt_config(2);
	size_t accepted = 0;
	int err;

	(void)arg;
	weft_sim_os_faults(8);
	err = weft_rt_start(&stage.rt, &cfg);
	if (err) {
		weft_sim_assert(
			err == -ENOMEM || err == -EAGAIN, "start says %d", err);
		stage.rt = NULL;
		return;
	}
	for (; accepted < 3; accepted++)
		job_submit(stage.rt, accepted, WEFT_HINT_DEFAULT);
	rt_stop();
	jobs_check(accepted);
}

/* It runs, and then no more threads are to be had, or only sometimes. */
void rt_faults_later(void *arg)
{
	rt_start((uint32_t)(uintptr_t)arg);
	weft_sim_os_faults(2);
	stage.job[0].then = submit_four;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	job_submit(stage.rt, 5, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	rt_stop();
	jobs_check(6);
}
