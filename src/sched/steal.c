/* SPDX-License-Identifier: MIT */
/*
 * sched/steal.c - how a thief takes from a victim.
 */
#include "sched/steal.h"

#include "base/limits.h"
#include "base/units.h"
#include "os/os.h"
#include "sched/pick.h"
#include "sched/shuffle.h"
#include "sched/turn.h"
#include "sched/yielders.h"
#include "sched/runtime.h"
#include "sched/handshake.h"

/* p runs task, which it took from v.  Stolen tasks inherit the coarse flag. */
static weft_task *got(struct wf_proc *p, struct wf_proc *v, weft_task *task)
{
	wf_bump(&p->counters.ticks, 1);
	wf_bump(&p->counters.runs_stolen, 1);
	/* No look measures these picks, so one in global_tick is measured. */
	if (wf_random_below(&p->random, p->group->rt->global_tick) == 0)
		wf_pick_measure(p, task, wf_os_now_ns());
	if (wf_is_coarse(v) && !wf_is_coarse(p)) {
		wf_store_rlx(&p->mean_ns, wf_load_rlx(&v->mean_ns));
		wf_set_coarse(p, true);
	}
	return task;
}

static weft_task *steal_queue(
	struct wf_proc *p, struct wf_proc *v, bool take_last)
{
	const weft_policy *policy = wf_policy_of(v->group);
	size_t moved;
	wf_entry e = v->group->runq->steal(
		&p->runq, &v->runq, take_last, wf_policy_steal(policy), &moved);

	if (e == 0)
		return NULL;
	wf_bump(&p->counters.steals, 1);
	wf_bump(&p->counters.stolen, moved);
	wf_shuffle_mark(p, v, moved);
	return wf_entry_redeem(e);
}

static weft_task *steal_slot(struct wf_proc *p, struct wf_proc *v)
{
	wf_entry e = wf_load_rlx(&v->slot);

	/*
	 * [pair: slot.take] The thief sees the task as its holder put it there.
	 * A thread that sees the holder park sees the thief run
	 * (idle/wait_idle.h).
	 */
	if (e == 0 || !wf_cas_acqrel(&v->slot, &e, 0))
		return NULL;
	wf_bump(&p->counters.steals, 1);
	wf_bump(&p->counters.stolen, 1);
	return wf_entry_redeem(e);
}

/* Half of the yielders; take_last: rounded up. */
static weft_task *steal_yielders(
	struct wf_proc *p, struct wf_proc *v, bool take_last)
{
	struct wf_batch batch = { 0 };
	size_t most = wf_policy_steal(wf_policy_of(v->group));
	uint32_t count, n;
	weft_task *first;

	if (wf_load_rlx(&v->yielders.count) == 0)
		return NULL;
	wf_lock(&v->yield_lock);
	count = wf_load_rlx(&v->yielders.count);
	n = take_last ? count - count / 2 : count / 2;
	n = (uint32_t)wf_min_size(n, most);
	if (n > 0)
		wf_yielders_split(v, n, &batch);
	wf_unlock(&v->yield_lock);
	first = wf_batch_take(&batch);
	if (first == NULL)
		return NULL;
	wf_bump(&p->counters.steals, 1);
	wf_bump(&p->counters.stolen, n);
	if (!wf_batch_is_empty(&batch))
		wf_inject_push(p->inject, &batch);
	return first;
}

weft_task *wf_steal_from(struct wf_proc *p, struct wf_proc *v, bool take_last)
{
	weft_task *task;

	if (!wf_handshake_open(v) || !wf_rob_begin(v))
		return NULL;
	task = steal_queue(p, v, take_last);
	if (task == NULL && take_last && wf_runq_len(&p->runq) == 0)
		task = steal_slot(p, v);
	if (task == NULL && wf_runq_len(&p->runq) == 0)
		task = steal_yielders(p, v, take_last);
	wf_rob_end(v);
	return task ? got(p, v, task) : NULL;
}
