/* SPDX-License-Identifier: MIT */
/*
 * sched/runtime.c - a runtime starts, shuts down, stops.
 */
#include "sched/runtime.h"

#include <errno.h>
#include <stdio.h>

#include "arch/context.h"
#include "base/assert.h"
#include "base/sanitize.h"
#include "base/units.h"
#include "os/os.h"
#include "queue/resubmit_check.h"
#include "idle/park.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "wait/wait.h"
#include "idle/wake.h"
#include "stack/overflow.h"

#define WF_RT_LINGER_NS (30 * WF_NS_PER_S)
#define WF_RT_WAKE_NS (30 * WF_NS_PER_US) /* until it was measured */

/*
 * A thread that runs tasks of a runtime or of another executor ends.  What it
 * had of them on its stack is gone.
 */
static void task_ended_thread(void)
{
	wf_assert(false, "a task ended its thread by pthread_exit or "
			 "pthread_cancel: a task ends by its return");
}

/* Who runs on this thread; in a signal handler. */
static bool whois(struct wf_overflow_who *who)
{
	struct wf_thread *t = wf_os_self();
	weft_fiber *f = t ? t->current : NULL;

	if (f == NULL || t->stack == NULL)
		return false;
	who->name = wf_load_rlx(&f->name);
	who->entry = f->stack ? wf_load_rlx(&f->entry)
			      : wf_load_rlx(&f->start.fn);
	who->stack = t->stack;
	return true;
}

/*
 * The frames of a fiber were unwound, because its thread shall end: what waits
 * in the thread's queues would be lost, and its joiner would wait for ever.
 */
static void fiber_ended_thread(void)
{
	struct wf_overflow_who who = { 0 };

	wf_assert(!whois(&who),
		"fiber \"%.64s\" (entry %p) ended its thread by pthread_exit "
		"or pthread_cancel: a fiber ends by the return of its function",
		who.name ? who.name : "unnamed", who.entry);
	task_ended_thread();
}

uint64_t wf_rt_fibers(struct weft_rt *rt)
{
	uint64_t finished = 0, spawned = 0;

	for (uint32_t i = 0; i < rt->proc_count; i++)
		/* [pair: rt.finished] Its beginning is seen below. */
		finished += wf_load_acq(&rt->procs[i].counters.finished);
	for (uint32_t i = 0; i < rt->proc_count; i++)
		spawned += wf_load_rlx(&rt->procs[i].counters.spawned);
	return spawned + wf_load_rlx(&rt->outside.spawned) - finished;
}

/* What p has instead of choices: see sched/policy.h. */
static void open_policy(struct wf_proc *p, const weft_policy *policy)
{
	uint8_t flags = 0;

	if (wf_policy_is_apart(policy))
		flags |= WF_APART;
	if (policy->wake != WEFT_WAKE_GATE)
		flags |= WF_COARSE;
	wf_store_rlx(&p->coarse, flags);
	if (policy->lifo == WEFT_LIFO_OFF)
		wf_store_rlx(&p->slot, WF_SLOT_SHUT);
}

/* How many processors were opened: all, or up to the one that failed. */
static uint32_t open_procs(struct weft_rt *rt, int *err)
{
	uint64_t capacity = rt->config.local_capacity;
	uint32_t size = rt->config.group_size, i;

	for (i = 0; i < rt->proc_count; i++) {
		struct wf_group *g = &rt->groups[i / size];

		*err = wf_proc_open(&rt->procs[i], g, &g->inject, i % size, i,
			&rt->stacks, &rt->slots[i * capacity], capacity);
		if (*err)
			break;
		rt->procs[i].gap_ns = rt->spin_ns / 2;
		open_policy(&rt->procs[i], &g->policy);
		wf_store_rlx(&rt->procs[i].shared, g->share_always);
		wf_store_rlx(&rt->procs[i].open, g->share_always);
	}
	return i;
}

static void close_procs(struct weft_rt *rt, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		wf_proc_close(&rt->procs[i]);
}

/* Of each bounded queue; 0: there are none. */
static uint64_t bounded_cells(struct weft_rt *rt)
{
	if (rt->policy.queue != WEFT_QUEUE_BOUNDED)
		return 0;
	return rt->policy.bounded_capacity ? rt->policy.bounded_capacity
					   : WF_BOUNDED_CAP_DEFAULT;
}

static void open_groups(struct weft_rt *rt)
{
	uint32_t size = rt->config.group_size, most = rt->config.max_searchers;

	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];
		uint64_t all = UINT64_MAX >> (64 - size);
		uint64_t cells = bounded_cells(rt);

		*g = (struct wf_group){ .rt = rt,
			.inject.fetch = wf_crowd_fetch,
			.policy = rt->policy,
			.procs = &rt->procs[i * size],
			.count = size,
			.all = all,
			.share_always = !rt->membarrier ||
				wf_policy_shares(&rt->policy),
			.max_searchers = most ? most : (size + 1) / 2 };
		wf_store_rlx(&g->sleeping, all);
		wf_store_rlx(&g->coarse, rt->policy.wake != WEFT_WAKE_GATE);
		wf_store_rlx(&g->wake_ns, WF_RT_WAKE_NS);
		if (cells != 0)
			wf_bounded_init(
				&g->bounded, &rt->cells[i * cells], cells);
	}
}

/* The memory whose size depends on the configuration. */
static int allocate(struct weft_rt *rt)
{
	uint64_t slots = (uint64_t)rt->proc_count * rt->config.local_capacity;
	uint64_t cells = rt->group_count * bounded_cells(rt);

	rt->groups = wf_os_alloc(rt->group_count * sizeof(*rt->groups));
	rt->procs = wf_os_alloc(rt->proc_count * sizeof(*rt->procs));
	rt->slots = wf_os_alloc(slots * sizeof(*rt->slots));
	if (cells != 0)
		rt->cells = wf_os_alloc(cells * sizeof(*rt->cells));
	return rt->groups && rt->procs && rt->slots && (rt->cells || !cells)
		? 0
		: -ENOMEM;
}

static void deallocate(struct weft_rt *rt)
{
	wf_os_free(rt->cells);
	wf_os_free(rt->slots);
	wf_os_free(rt->procs);
	wf_os_free(rt->groups);
	wf_os_free(rt);
}

/* Two stacks for each processor: of its loop, and of one that is leaving. */
static size_t loop_stacks(struct weft_rt *rt)
{
	return (size_t)rt->proc_count * 2;
}

/* As a waker does, but p has no thread yet.  0, -EAGAIN, -ENOMEM. */
static int start_thread(struct weft_rt *rt, struct wf_proc *p)
{
	struct wf_group *g = p->group;
	int err;

	(void)wf_and_rlx(&g->sleeping, ~p->bit);
	err = wf_thread_start(rt, p);
	if (err)
		/* Relaxed: nothing was submitted yet, so nobody takes it. */
		(void)wf_or_rlx(&g->sleeping, p->bit);
	return err;
}

/*
 * The monitor, and one thread: the others come when they are needed.  In the
 * lock-free mode they all come now, since it takes locks to make one; those
 * that fail are tried again when they are needed.
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

/*
 * Once in a process.  A user who sees the reports of ThreadSanitizer would look
 * for races that are not there.
 */
static void warn_of_tsan(void)
{
	static const char line[] =
		"weft: this program uses ThreadSanitizer but libweft was not "
		"built for it; link weft-tsan (pkg-config weft-tsan)\n";
	static _Atomic(uint32_t) said;

	if (wf_san_is_blind() && wf_xchg_rlx(&said, 1) == 0)
		wf_os_complain(line, sizeof(line) - 1);
}

int wf_rt_open_memory(struct weft_rt *rt)
{
	struct wf_stack_config stacks = {
		.strict_guards = rt->config.flags & WEFT_STRICT_GUARDS,
		.wipe = rt->config.flags & WEFT_WIPE_STACKS,
	};
	int err = wf_overflow_watch(whois);

	wf_context_watch(fiber_ended_thread);
	if (!err)
		err = wf_os_exit_watch(task_ended_thread);
	if (err)
		return err;
	warn_of_tsan();
	wf_stack_pool_open(&rt->stacks, &stacks);
	rt->cls = (uint8_t)wf_stack_pool_class(
		&rt->stacks, rt->config.stack_bytes);
	rt->promised = rt->stacks.store[rt->cls].shape.promised;
	wf_fiber_pool_open(&rt->fibers, rt, &rt->stacks, rt->cls);
	return 0;
}

static void set_up(struct weft_rt *rt)
{
	bool alone = wf_os_cpus_allowed() == 1 || wf_os_cpu_quota_milli("");

	rt->executor.submit = wf_rt_submit;
	rt->proc_count = rt->config.workers;
	rt->group_count = rt->proc_count / rt->config.group_size;
	rt->linger_ns = rt->policy.locks == WEFT_LOCKS_NONE ? INT64_MAX
							    : WF_RT_LINGER_NS;
	rt->global_tick = (uint32_t)wf_max_size(rt->config.global_tick, 2);
	rt->spin_ns = alone || rt->config.spin_ns < 0 ? 0 : rt->config.spin_ns;
	rt->membarrier = wf_os_membarrier_register() == 0;
}

/* Everything that can fail, in order; undone in reverse. */
static int bring_up(struct weft_rt *rt)
{
	uint32_t opened = 0;
	int err = wf_rt_open_memory(rt);

	if (err)
		return err;
	set_up(rt);
	err = allocate(rt);
	if (err)
		goto pools;
	open_groups(rt);
	opened = open_procs(rt, &err);
	if (err)
		goto procs;
	err = wf_stack_cache_open(&rt->outside.stacks, &rt->stacks);
	if (err)
		goto procs;
	err = wf_stack_pool_promise(&rt->stacks, rt->cls, loop_stacks(rt));
	if (err)
		goto outside;
	err = start_threads(rt);
	if (!err)
		return 0;
	wf_monitor_stop(rt);
	wf_stack_pool_release(&rt->stacks, rt->cls, loop_stacks(rt));
outside:
	wf_stack_cache_close(&rt->outside.stacks);
procs:
	close_procs(rt, opened);
pools:
	wf_stack_pool_close(&rt->stacks);
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
	rt->config.policy = NULL;
	err = bring_up(rt);
	if (err) {
		deallocate(rt);
		return err;
	}
	*out = rt;
	return 0;
}

/*
 * Fibers whose wait was cut short become runnable.  None is marked: that the
 * runtime stops is the mark of all.
 */
static void cancel(weft_fiber *f, void *arg)
{
	(void)arg;
	if (wf_load_rlx(&f->state) & WF_FIBER_LIVE)
		wf_cut_wake(f);
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
		 * One walk is enough: a wait that it does not find begins after
		 * the fence, and its fiber sees the flag (wait/wait.c, begin).
		 */
		wf_cut_fence(rt);
		wf_fiber_pool_walk(&rt->fibers, cancel, NULL);
	}
	wf_outside_leave(rt);
	return 0;
}

/* Wait until no fiber is left. */
static int wait_fibers(struct weft_rt *rt, weft_time deadline)
{
	for (;;) {
		/* [pair: rt.ended] What ended before is counted. */
		uint32_t seen = wf_load_acq(&rt->ended);

		if (wf_rt_fibers(rt) == 0)
			return 0;
		if (deadline <= wf_os_now_ns())
			return -ETIMEDOUT;
		(void)wf_os_futex_wait(&rt->ended, seen, deadline);
	}
}

/* Those who were in a call from outside have left it. */
static void wait_callers(struct weft_rt *rt)
{
	/* [pair: rt.callers] What they submitted is in the queues. */
	while ((wf_load_acq(&rt->outside.callers) & ~WF_OUTSIDE_CLOSED) != 0)
		wf_os_thread_yield();
}

/*
 * Wait until no thread is left but the monitor.  They stay as long as a fiber
 * lives: one may have been started at the last moment, by a task that had begun
 * to when shutdown came.  Who sleeps is woken to look again.
 */
static void wait_threads(struct weft_rt *rt)
{
	for (;;) {
		/* [pair: rt.ended] */
		uint32_t seen = wf_load_acq(&rt->ended);

		if (wf_load_rlx(&rt->threads) == 0)
			break;
		/* [pair: park.sleep] Who parks after this sees that it ends. */
		wf_fence_seq();
		for (uint32_t i = 0; i < rt->group_count; i++)
			wf_wake_all(&rt->groups[i]);
		(void)wf_os_futex_wait(&rt->ended, seen, INT64_MAX);
	}
}

/* No fiber is left: the threads run what else there is, and end. */
static void end_threads(struct weft_rt *rt)
{
	wait_callers(rt);
	wf_store_rlx(&rt->quit, true);
	wait_threads(rt);
	/* Who woke the last fiber may be about to start a thread for it. */
	wait_callers(rt);
	wf_monitor_stop(rt);
	/* It may have started one since, which finds that it must end. */
	wait_threads(rt);
	wf_threads_reap(rt);
}

/* Fibers that have ended and that nobody joined keep their descriptors. */
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
	wf_fiber_cache_close(&rt->outside.fibers, &rt->fibers);
	for (uint32_t i = 0; i < rt->proc_count; i++)
		wf_fiber_cache_close(&rt->procs[i].fibers, &rt->fibers);
	wf_stack_cache_close(&rt->outside.stacks);
	close_procs(rt, rt->proc_count);
	wf_stack_pool_release(&rt->stacks, rt->cls, loop_stacks(rt));
	wf_stack_pool_close(&rt->stacks);
	wf_fiber_pool_close(&rt->fibers);
	deallocate(rt);
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
	struct wf_thread *t = wf_enter();

	while (t != NULL && t->visitor)
		t = t->host;
	return t ? t->rt : NULL;
}

int wf_rt_submit(weft_executor *e, weft_task *task, weft_hint hint)
{
	struct weft_rt *rt = (struct weft_rt *)e;
	struct wf_thread *t = wf_thread_in(rt);
	struct wf_batch batch = { 0 };

	if (t != NULL) {
		if (wf_load_rlx(&rt->stopping))
			return -ESHUTDOWN;
		wf_twice_enter(task);
		wf_push_hint(t->proc, wf_entry_of(task), hint);
		return 0;
	}
	if (!wf_outside_accept(rt))
		return -ESHUTDOWN;
	wf_twice_enter(task);
	wf_batch_add(&batch, task);
	wf_submit_outside(rt, &batch);
	wf_outside_leave(rt);
	return 0;
}

/* What weft_run runs in a fiber. */
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
