/* SPDX-License-Identifier: MIT */
/*
 * sched/runtime.c - the memory of a runtime, and calls from outside.
 */
#include "sched/runtime.h"

#include "arch/context.h"
#include "base/assert.h"
#include "base/sanitize.h"
#include "os/os.h"
#include "sched/thread.h"
#include "stack/overflow.h"

/* A thread ends in the middle of a task. */
static void task_ended_thread(void)
{
	wf_assert(false, "a task ended its thread by pthread_exit or "
			 "pthread_cancel: a task ends by its return");
}

/* The fiber that runs on this thread.  Called in a signal handler. */
static bool whois(struct wf_overflow_who *who)
{
	struct wf_thread *t = wf_here();
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
 * A thread ends in the middle of a fiber, whose frames were unwound.  The tasks
 * in the thread's queues would be lost, and the joiner would wait for ever.
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
		/* [pair: rt.finished] The loop below sees its beginning. */
		finished += wf_load_acq(&rt->procs[i].counters.finished);
	for (uint32_t i = 0; i < rt->proc_count; i++)
		spawned += wf_load_rlx(&rt->procs[i].counters.spawned);
	return spawned + wf_load_rlx(&rt->outside.spawned) - finished;
}

void wf_rt_tell_ended(struct weft_rt *rt)
{
	/* [pair: rt.ended] The caller has counted the end before. */
	(void)wf_add_rel(&rt->ended, 1);
	(void)wf_os_futex_wake(&rt->ended, UINT32_MAX);
}

void wf_outside_enter(struct weft_rt *rt)
{
	(void)wf_add_rlx(&rt->outside.callers, 1);
}

bool wf_outside_accept(struct weft_rt *rt)
{
	if (!(wf_add_rlx(&rt->outside.callers, 1) & WF_OUTSIDE_CLOSED))
		return true;
	wf_outside_leave(rt);
	return false;
}

void wf_outside_leave(struct weft_rt *rt)
{
	/* [pair: rt.callers] The last access: stop may free rt now. */
	(void)wf_sub_rel(&rt->outside.callers, 1);
}

/*
 * Once in a process.  ThreadSanitizer does not see the switches of a library
 * that was not built for it, and reports races that are not there.
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
