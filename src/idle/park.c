/* SPDX-License-Identifier: MIT */
/*
 * idle/park.c - two-phase parking.
 */
#include "idle/park.h"

#include "base/assert.h"
#include "idle/economy.h"
#include "idle/groups.h"
#include "idle/monitor.h"
#include "idle/parker.h"
#include "idle/wait_idle.h"
#include "os/os.h"
#include "sched/idle.h"
#include "sched/runtime.h"
#include "sched/serve.h"
#include "sched/steal.h"
#include "wait/timers.h"

/* Is there anything that p, its bit being set, should get up for? */
static bool work_left(struct wf_proc *p, bool searched)
{
	if (wf_may_take_any_global(p))
		return true;
	for (uint32_t i = 0; searched && i < p->group->count; i++) {
		struct wf_proc *v = &p->group->procs[i];

		if (wf_economy_may_steal(
			    wf_proc_backlog(v), wf_steal_allowed(v), false))
			return true;
	}
	return false;
}

/*
 * Shall p look at the queues of other processors as well?  If it did not search
 * it leaves them to the searchers.  But the last searcher may have stopped
 * before the bit of p was set, and then it did not see p asleep: so p looks
 * itself if it sees no searcher.
 */
static bool is_last(struct wf_proc *p, bool searched)
{
	return searched || wf_load_rlx(&p->group->searching) == 0;
}

/*
 * Take our bit back; false: a waker took it and is about to wake us.  Relaxed:
 * we set it, and what it stands for is our own.
 */
static bool take_bit(struct wf_proc *p)
{
	return wf_and_rlx(&p->group->sleeping, ~p->bit) & p->bit;
}

static void set_bit(struct wf_proc *p)
{
	struct wf_group *g = p->group;
	uint64_t others;

	/* The task would stay: others pass over the queues of a sleeper. */
	wf_debug_assert(wf_proc_backlog(p) == 0,
		"processor %u falls asleep with %zu tasks in its queues", p->id,
		wf_proc_backlog(p));
	/*
	 * [pair: runq.consume] A waiter that sees us asleep sees the thieves
	 * that took from us awake (idle/wait_idle.h).
	 */
	(void)wf_load_acq(&p->runq.head);
	/* [pair: slot.take] So for the thief that took from the slot. */
	(void)wf_load_acq(&p->slot);
	/* [pair: park.bit] A waiter that sees the count sees all we did. */
	(void)wf_add_rel(&g->parkings, 1);
	/* [pair: park.bit] Its waker sees the processor as we left it. */
	others = wf_or_rel(&g->sleeping, p->bit);
	/*
	 * [pair: park.sleep] The bit before the last look at the queues;
	 * [pair: wait_idle.idlers] and before the look at the idlers.
	 */
	wf_fence_seq();
	if ((others | p->bit) == g->all)
		wf_wait_idle_tell(g->rt);
}

/*
 * A trim of the descriptors is due before until: one of the sleeping threads
 * does it, and sleeps on.  Others see it asleep all the time, and a wake that
 * comes meanwhile waits for one call of the system.  Returns whether it came.
 */
static wf_noinline bool sleep_and_trim(struct wf_thread *t, int64_t until)
{
	struct weft_rt *rt = t->rt;
	int64_t at = wf_fiber_pool_next_trim(&rt->fibers);
	bool woken = false;

	if (wf_xchg_rlx(&rt->trims, 1) != 0)
		return false;
	while (at < until && !(woken = wf_parker_sleep(&t->parker, at)))
		at = wf_fiber_pool_trim(&rt->fibers, wf_os_now_ns());
	wf_store_rlx(&rt->trims, 0);
	return woken;
}

/*
 * Sleep until woken; false: not until the first timer, or if there is none for
 * as long as an idle thread stays.  The bit is clear then.
 */
static bool sleep_until(struct wf_thread *t, int64_t until)
{
	bool stays = t->proc->id == 0 || t->rt->linger_ns == INT64_MAX;

	if (until == INT64_MAX && !stays)
		until = wf_os_now_ns() + t->rt->linger_ns;
	if (wf_unlikely(wf_fiber_pool_next_trim(&t->rt->fibers) < until) &&
		sleep_and_trim(t, until))
		return true;
	while (!wf_parker_sleep(&t->parker, until))
		if (take_bit(t->proc))
			return false;
	return true;
}

/* Add the time from the wake until now to the mean of the group. */
static void learn_wake(struct wf_proc *p)
{
	_Atomic(uint64_t) *mean = &p->group->wake_ns;
	int64_t ns = wf_os_now_ns() - wf_load_rlx(&p->woken_ns);
	int64_t old = (int64_t)wf_load_rlx(mean);

	wf_store_rlx(mean, (uint64_t)(old + (ns - old) / 8));
}

/* Go on, however it came: the bit is clear.  Returns true, for wf_park. */
static bool get_up(struct wf_thread *t, bool woken)
{
	struct wf_proc *p = t->proc;
	int64_t now_ns = wf_os_now_ns();

	p->woken = woken;
	p->alarmed = false;
	(void)wf_serve(p, now_ns);
	if (woken) {
		wf_bump(&p->counters.wakes, 1);
		learn_wake(p);
	}
	wf_monitor_wake(t->rt);
	return true;
}

/*
 * Idle for long, or for good: give the memory back.  The processor goes on
 * sleeping, without a thread; were its bit clear, others would leave the global
 * queue to it.  Should there be work after all, wake another thread: the one
 * that took over p may have set the bit by now, so it is not ours to take back.
 * Returns false, for wf_park.
 */
static bool retire(struct wf_thread *t)
{
	struct wf_proc *p = t->proc;

	wf_stack_cache_flush(&p->stacks);
	wf_store_rlx(&p->thread, NULL);
	set_bit(p);
	if (work_left(p, true))
		(void)wf_wake_one(p->group);
	return false;
}

/* Shall threads end that find nothing to do? */
static bool is_over(struct weft_rt *rt)
{
	return wf_load_rlx(&rt->quit) && wf_rt_fibers(rt) == 0;
}

/* When a fiber first waits for its time to come; INT64_MAX: none does. */
static int64_t first_timer(struct wf_proc *p)
{
	int64_t next = wf_timers_next(p->timers);

	return next == INT64_MAX ? next : wf_timers_prune(p->timers);
}

/* Phase 1: p stops searching, and counts as a sleeper. */
static void begin_sleep(struct wf_proc *p, bool searched)
{
	struct weft_rt *rt = p->group->rt;

	if (p->woken)
		wf_bump(&p->counters.wakes_futile, 1);
	p->woken = false;
	if (searched)
		(void)wf_and_rlx(&p->group->searching, ~p->bit);
	set_bit(p);
	/* Once the runtime quits, stop waits for the ends of threads. */
	if (wf_load_rlx(&rt->stopping) && !wf_load_rlx(&rt->quit))
		wf_rt_tell_ended(rt);
}

bool wf_park(struct wf_thread *t, bool searched)
{
	struct wf_proc *p = t->proc;
	int64_t until = first_timer(p);

	begin_sleep(p, searched);
	if (work_left(p, is_last(p, searched))) {
		if (take_bit(p))
			return get_up(t, false);
	} else if (is_over(t->rt) && take_bit(p)) {
		/* One look decides both: if two differed it would sleep. */
		return retire(t);
	}
	wf_bump(&p->counters.parks, 1);
	if (sleep_until(t, until))
		return get_up(t, true);
	if (until == INT64_MAX && !work_left(p, true))
		return retire(t);
	(void)get_up(t, false);
	p->alarmed = until != INT64_MAX;
	return true;
}
