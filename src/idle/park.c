/* SPDX-License-Identifier: MIT */
/*
 * idle/park.c - two-phase parking.
 */
#include "idle/park.h"

#include <errno.h>

#include "base/assert.h"
#include "os/os.h"
#include "sched/global.h"
#include "idle/wait_idle.h"
#include "sched/runtime.h"
#include "sched/steal.h"
#include "idle/wake.h"

/* Is there anything that p, its bit being set, should get up for? */
static bool work_left(struct wf_proc *p, bool searched)
{
	struct weft_rt *rt = p->group->rt;

	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];

		if (wf_global_len(g) != 0 &&
			(g != p->group || wf_group_shares(g, p)))
			return true;
	}
	for (uint32_t i = 0; searched && i < p->group->count; i++) {
		struct wf_proc *v = &p->group->procs[i];

		if (wf_steal_allowed(v) && wf_proc_backlog(v) > 1)
			return true;
	}
	return false;
}

/*
 * A processor that did not search leaves the other queues to the searchers.
 * The last of these may have stopped before our bit was set, and then it did
 * not see that we sleep: a processor that sees none looks for itself.
 */
static bool is_last(struct wf_proc *p, bool searched)
{
	return searched || wf_load_rlx(&p->group->searching) == 0;
}

/*
 * Have our bit back; false: somebody took it and is about to wake us.  Relaxed:
 * it was set by us, and what it stands for is our own.
 */
static bool take_bit(struct wf_proc *p)
{
	return wf_and_rlx(&p->group->sleeping, ~p->bit) & p->bit;
}

static void set_bit(struct wf_proc *p)
{
	struct wf_group *g = p->group;
	uint64_t others;

	/* Nobody would run it: others pass over the queues of a sleeper. */
	wf_debug_assert(wf_proc_backlog(p) == 0,
		"processor %u falls asleep with %zu tasks in its queues", p->id,
		wf_proc_backlog(p));
	/*
	 * [pair: runq.consume] Thieves that took from us are seen to be awake
	 * by who sees us sleep (idle/wait_idle.h).
	 */
	(void)wf_load_acq(&p->runq.head);
	/* [pair: slot.take] The same. */
	(void)wf_load_acq(&p->slot);
	/* [pair: park.bit] Who sees it counted sees us as we are. */
	(void)wf_add_rel(&g->parkings, 1);
	/* [pair: park.bit] Who takes it sees the processor as we left it. */
	others = wf_or_rel(&g->sleeping, p->bit);
	/*
	 * [pair: park.sleep] The bit before the last look at the queues;
	 * [pair: quiet.idlers] and before the look at who waits for it.
	 */
	wf_fence_seq();
	if ((others | p->bit) == g->all)
		wf_quiet_tell(g->rt);
}

/*
 * A trim of the descriptors is due before until: one of the threads that sleep
 * sees to it, and sleeps on.  It does not get up: for all others it is asleep,
 * and a wake that comes meanwhile waits for one call of the system.
 */
static wf_noinline void sleep_and_trim(struct wf_thread *t, int64_t until)
{
	struct weft_rt *rt = t->rt;
	int64_t at = wf_fiber_pool_next_trim(&rt->fibers);

	if (wf_xchg_rlx(&rt->trims, 1) != 0)
		return;
	while (at < until && wf_load_rlx(&t->word) == 0)
		if (wf_os_futex_wait(&t->word, 0, at) == -ETIMEDOUT)
			at = wf_fiber_pool_trim(&rt->fibers, wf_os_now_ns());
	wf_store_rlx(&rt->trims, 0);
}

/*
 * True when woken; false: nobody did until the first timer, or if there is none
 * for as long as an idle thread stays.
 */
static bool sleep_on(struct wf_thread *t, int64_t until)
{
	bool stays = t->proc->id == 0 || t->rt->linger_ns == INT64_MAX;

	if (until == INT64_MAX && !stays)
		until = wf_os_now_ns() + t->rt->linger_ns;
	if (wf_unlikely(wf_fiber_pool_next_trim(&t->rt->fibers) < until))
		sleep_and_trim(t, until);

	/* [pair: park.word] What our waker did before. */
	while (wf_load_acq(&t->word) == 0)
		if (wf_os_futex_wait(&t->word, 0, until) == -ETIMEDOUT &&
			take_bit(t->proc))
			return false;
	wf_store_rlx(&t->word, 0);
	return true;
}

/* How long our waker's wake took, as a mean over the group. */
static void learn_wake(struct wf_proc *p)
{
	_Atomic(uint64_t) *mean = &p->group->wake_ns;
	int64_t ns = wf_os_now_ns() - wf_load_rlx(&p->woken_ns);
	int64_t old = (int64_t)wf_load_rlx(mean);

	wf_store_rlx(mean, (uint64_t)(old + (ns - old) / 8));
}

/* Up again, by whatever way: the bit is clear. */
static void get_up(struct wf_thread *t, bool woken)
{
	struct wf_proc *p = t->proc;
	int64_t now_ns = wf_os_now_ns();

	p->woken = woken;
	p->alarmed = false;
	wf_proc_clock(p, now_ns);
	(void)wf_proc_fire(p, now_ns);
	if (woken) {
		wf_bump(&p->counters.wakes, 1);
		learn_wake(p);
	}
	if (t->rt->monitor.started)
		wf_monitor_rouse(t->rt);
}

/*
 * Idle for long, or for good: give the memory back.  The processor goes on
 * sleeping, without a thread; were its bit clear, others would leave the global
 * queue to it.  Should there be work after all, another thread sees to it: the
 * bit may be set by that one by now, so it is not ours to take again.
 */
static void retire(struct wf_thread *t)
{
	struct wf_proc *p = t->proc;

	wf_stack_cache_flush(&p->stacks);
	wf_store_rlx(&p->thread, NULL);
	set_bit(p);
	if (work_left(p, true))
		(void)wf_wake_one(p->group);
}

/* Shall threads end that find nothing to do? */
static bool is_over(struct weft_rt *rt)
{
	return wf_load_rlx(&rt->quit) && wf_rt_fibers(rt) == 0;
}

void wf_rt_tell_ended(struct weft_rt *rt)
{
	/* [pair: rt.ended] What ended is counted before. */
	(void)wf_add_rel(&rt->ended, 1);
	(void)wf_os_futex_wake(&rt->ended, UINT32_MAX);
}

bool wf_park(struct wf_thread *t, bool searched)
{
	struct wf_proc *p = t->proc;
	struct weft_rt *rt = t->rt;
	int64_t until = wf_timers_next(&p->timers);

	if (until != INT64_MAX)
		until = wf_timers_prune(&p->timers);
	if (p->woken)
		wf_bump(&p->counters.wakes_futile, 1);
	p->woken = false;
	if (searched)
		(void)wf_and_rlx(&p->group->searching, ~p->bit);
	set_bit(p);
	/* Later the ends of threads are what stop waits for. */
	if (wf_load_rlx(&rt->stopping) && !wf_load_rlx(&rt->quit))
		wf_rt_tell_ended(rt);
	if (work_left(p, is_last(p, searched))) {
		if (take_bit(p)) {
			get_up(t, false);
			return true;
		}
	} else if (is_over(rt) && take_bit(p)) {
		/* One look decides both: if two differed it would sleep. */
		retire(t);
		return false;
	}
	wf_bump(&p->counters.parks, 1);
	if (!sleep_on(t, until)) {
		if (until != INT64_MAX || work_left(p, true)) {
			get_up(t, false);
			p->alarmed = until != INT64_MAX;
			return true;
		}
		retire(t);
		return false;
	}
	get_up(t, true);
	return true;
}
