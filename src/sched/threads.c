/* SPDX-License-Identifier: MIT */
/*
 * sched/threads.c - a thread of the runtime, from its first to its last line.
 */
#include "sched/threads.h"

#include <errno.h>

#include "sched/idle.h"
#include "sched/run.h"
#include "sched/runtime.h"
#include "sched/thread.h"
#include "sched/tuning.h"
#include "stack/overflow.h"

/*
 * The loop has left its stack for good.  Another thread may hold the processor
 * by now, so the stack goes to the cache of outside.
 */
static void give_stack(struct weft_rt *rt, struct wf_stack *stack)
{
	wf_lock(&rt->outside.lock);
	wf_stack_give(&rt->outside.stacks, stack);
	wf_unlock(&rt->outside.lock);
}

/* The next wf_threads_reap joins t.  The last access of t to the runtime. */
static void farewell(struct wf_thread *t)
{
	struct weft_rt *rt = t->rt;

	wf_lock(&rt->threads_lock);
	t->next = rt->threads_ended;
	rt->threads_ended = t;
	(void)wf_sub_rlx(&rt->threads, 1);
	wf_unlock(&rt->threads_lock);
	wf_rt_tell_ended(rt);
}

static void thread_main(void *arg)
{
	struct wf_thread *t = arg;
	weft_task *task;

	(void)wf_os_self_set(t);
	if (wf_overflow_enter(&t->alternate) != 0)
		(void)wf_add_rlx(&t->rt->thread_fails, 1);
	wf_bump(&t->proc->counters.wakes, 1);
	wf_proc_clock(t->proc, wf_os_now_ns());
	wf_idle_began(t->rt);
	/* The waker has counted the processor as a searcher: search first. */
	task = wf_idle(t);
	if (task != NULL) {
		wf_loop_begin(t, task);
		give_stack(t->rt, t->spent);
	}
	wf_overflow_leave(&t->alternate);
	(void)wf_os_self_set(NULL);
	farewell(t);
}

void wf_threads_reap(struct weft_rt *rt)
{
	struct wf_thread *t, *next;

	wf_lock(&rt->threads_lock);
	t = rt->threads_ended;
	rt->threads_ended = NULL;
	wf_unlock(&rt->threads_lock);
	for (; t != NULL; t = next) {
		next = t->next;
		wf_os_thread_join(&t->os);
		wf_os_free(t);
	}
}

int wf_thread_start(struct weft_rt *rt, struct wf_proc *p)
{
	struct wf_thread *t;
	int err = -EAGAIN;

	wf_threads_reap(rt);
	if (wf_add_rlx(&rt->threads, 1) >= rt->config.max_threads)
		goto refused;
	err = -ENOMEM;
	t = wf_os_alloc(sizeof(*t));
	if (t == NULL)
		goto refused;
	t->rt = rt;
	t->proc = p;
	t->budget_full = rt->config.coop_budget;
	wf_store_rlx(&p->thread, t);
	err = wf_os_thread_start(&t->os, thread_main, t, 0, "weft");
	if (!err)
		return 0;
	wf_store_rlx(&p->thread, NULL);
	wf_os_free(t);
refused:
	(void)wf_sub_rlx(&rt->threads, 1);
	/* A thread that waits in stop may have counted this one. */
	wf_rt_tell_ended(rt);
	(void)wf_add_rlx(&rt->thread_fails, 1);
	return err;
}

/*
 * May the caller ask the system for a thread?  When a pause is over, one waker
 * may, and moves the time on for the others.  Relaxed: a waker that sees an old
 * time asks once too often.
 */
static bool may_ask(struct weft_rt *rt, int64_t now_ns)
{
	int64_t at = wf_load_rlx(&rt->ask_ns);

	if (wf_likely(at == 0))
		return true;
	return now_ns >= at &&
		wf_cas_rlx(&rt->ask_ns, &at,
			now_ns + wf_load_rlx(&rt->ask_pause_ns));
}

/* The system has refused a thread, or made one after it had refused some. */
static void set_pause(struct weft_rt *rt, int64_t now_ns, bool refused)
{
	int64_t pause = 0;

	if (refused) {
		pause = 2 * wf_load_rlx(&rt->ask_pause_ns);
		if (pause < wf_tuning.ask_min_ns)
			pause = wf_tuning.ask_min_ns;
		if (pause > wf_tuning.ask_max_ns)
			pause = wf_tuning.ask_max_ns;
	}
	wf_store_rlx(&rt->ask_pause_ns, pause);
	wf_store_rlx(&rt->ask_ns, refused ? now_ns + pause : 0);
}

int wf_thread_ask(struct weft_rt *rt, struct wf_proc *p, int64_t now_ns)
{
	int err;

	if (!may_ask(rt, now_ns))
		return -EAGAIN;
	err = wf_thread_start(rt, p);
	if (err || wf_load_rlx(&rt->ask_ns) != 0)
		set_pause(rt, now_ns, err != 0);
	return err;
}
