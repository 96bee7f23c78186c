/* SPDX-License-Identifier: MIT */
/*
 * sched/steal.c - the rounds of a thief.
 */
#include "sched/steal.h"

#include "base/limits.h"
#include "base/units.h"
#include "os/os.h"
#include "sched/global.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "sched/handshake.h"

/*
 * A number that changes when v has picked something.  Of coarse tasks, children
 * run as calls do not count: whatever waits behind their joiner waits for all
 * of them.
 */
static uint64_t progress(struct wf_proc *v)
{
	return wf_is_coarse(v) ? wf_proc_picks(v)
			       : wf_load_rlx(&v->counters.ticks);
}

void wf_search_begin(struct wf_search *s, struct wf_proc *p)
{
	struct wf_group *g = p->group;

	s->p = p;
	s->start_ns = s->now_ns = wf_os_now_ns();
	s->lone = false;
	for (uint32_t i = 0; i < g->count; i++)
		s->progress[i] = progress(&g->procs[i]);
}

/* The tasks of v are like this: so are those that came from it. */
static weft_task *got(struct wf_proc *p, struct wf_proc *v, weft_task *task)
{
	wf_bump(&p->counters.ticks, 1);
	wf_bump(&p->counters.runs_stolen, 1);
	/* No look counts these picks, so each is measured with its chance. */
	if (wf_random_below(&p->random, p->group->rt->global_tick) == 0)
		wf_pick_measure(p, task, wf_os_now_ns());
	if (wf_is_coarse(v) && !wf_is_coarse(p)) {
		wf_store_rlx(&p->mean_ns, wf_load_rlx(&v->mean_ns));
		wf_set_coarse(p, true);
	}
	return task;
}

static weft_task *steal_queue(struct wf_proc *p, struct wf_proc *v, bool lone)
{
	const weft_policy *policy = wf_policy_of(v->group);
	size_t moved;
	wf_entry e = wf_policy_runq(policy)->steal(
		&p->runq, &v->runq, lone, wf_policy_steal(policy), &moved);

	if (e == 0)
		return NULL;
	wf_bump(&p->counters.steals, 1);
	wf_bump(&p->counters.stolen, moved);
	if (moved >= WF_MIX_MIN) {
		wf_store_rlx(&p->divided, true);
		wf_store_rlx(&v->divided, true);
	}
	return wf_entry_redeem(e);
}

static weft_task *steal_slot(struct wf_proc *p, struct wf_proc *v)
{
	wf_entry e = wf_load_rlx(&v->slot);

	/*
	 * [pair: slot.take] The task as it was when it was put there; and that
	 * we run is seen by who sees its owner park (idle/wait_idle.h).
	 */
	if (e <= WF_SLOT_SHUT || !wf_cas_acqrel(&v->slot, &e, 0))
		return NULL;
	wf_bump(&p->counters.steals, 1);
	wf_bump(&p->counters.stolen, 1);
	return wf_entry_redeem(e);
}

/* Half of those who yielded; lone: rounded up. */
static weft_task *steal_yielders(
	struct wf_proc *p, struct wf_proc *v, bool lone)
{
	struct wf_batch batch = { 0 };
	size_t most = wf_policy_steal(wf_policy_of(v->group));
	uint32_t count, n;
	weft_task *first;

	if (wf_load_rlx(&v->yielders.count) == 0)
		return NULL;
	wf_lock(&v->yield_lock);
	count = wf_load_rlx(&v->yielders.count);
	n = lone ? count - count / 2 : count / 2;
	n = (uint32_t)wf_min_size(n, most);
	if (n > 0)
		wf_yielders_cut(v, n, &batch);
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

/* Take from v what may be taken; lone: also what is alone there. */
static weft_task *take_from(struct wf_proc *p, struct wf_proc *v, bool lone)
{
	weft_task *task;

	if (!wf_share_open(v) || !wf_rob_begin(v))
		return NULL;
	task = steal_queue(p, v, lone);
	if (task == NULL && lone && wf_runq_len(&p->runq) == 0)
		task = steal_slot(p, v);
	if (task == NULL && wf_runq_len(&p->runq) == 0)
		task = steal_yielders(p, v, lone);
	wf_rob_end(v);
	return task ? got(p, v, task) : NULL;
}

/* i is the victim's place in its group. */
static weft_task *rob(struct wf_search *s, uint32_t i, bool last)
{
	struct wf_proc *p = s->p, *v = &p->group->procs[i];
	bool still = progress(v) == s->progress[i];
	bool stuck = still && s->now_ns - s->start_ns >= WF_STUCK_NS;
	size_t backlog = wf_proc_backlog(v);

	if (backlog == 0)
		return NULL;
	s->lone |= still;
	if (!stuck && (backlog < 2 || !wf_steal_allowed(v)))
		return NULL;
	return take_from(p, v, last && stuck);
}

/* A stride that leads from one of n over all others and back. */
static uint32_t stride_for(struct wf_random *r, uint32_t n)
{
	for (;;) {
		uint32_t stride = 1 + wf_random_below(r, n);
		uint32_t a = n, b = stride;

		while (b != 0) {
			uint32_t rest = a % b;

			a = b;
			b = rest;
		}
		if (a == 1)
			return stride;
	}
}

weft_task *wf_search_round(struct wf_search *s, bool last)
{
	struct wf_proc *p = s->p;
	uint32_t n = p->group->count;
	uint32_t at = wf_random_below(&p->random, n);
	uint32_t stride = stride_for(&p->random, n);

	/* Who seemed to compute may have picked another by now. */
	s->lone = false;
	for (uint32_t i = 0; i < n; i++) {
		weft_task *task = NULL;

		at = (at + stride) % n;
		if (&p->group->procs[at] != p)
			task = rob(s, at, last);
		if (task != NULL)
			return task;
	}
	return NULL;
}

/*
 * Take from v, of another group.  Only its coarse tasks are worth the way; one
 * alone is, too, if they are so long that it waits for as long as behind an
 * owner of our own group that computes.
 */
static weft_task *rob_abroad(struct wf_proc *p, struct wf_proc *v)
{
	bool lone = wf_load_rlx(&v->mean_ns) >= WF_STUCK_NS;

	if (!wf_is_coarse(v) || wf_proc_backlog(v) <= !lone)
		return NULL;
	return take_from(p, v, lone);
}

/* Take from g, which is not the group of p. */
static weft_task *search_group(struct wf_proc *p, struct wf_group *g)
{
	weft_task *task = NULL;

	if (wf_global_len(g) != 0)
		task = wf_grab_share(p, g, false);
	/* A dead ticket may have come first: what came with it is enough. */
	for (uint32_t i = 0; task == NULL && i < g->count; i++) {
		task = rob_abroad(p, &g->procs[i]);
		if (wf_runq_len(&p->runq) != 0)
			break;
	}
	return task;
}

weft_task *wf_search_abroad(struct wf_search *s)
{
	struct wf_proc *p = s->p;
	struct weft_rt *rt = p->group->rt;
	uint32_t at = wf_random_below(&p->random, rt->group_count);
	weft_task *task = NULL;

	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[(at + i) % rt->group_count];

		if (g != p->group)
			task = search_group(p, g);
		if (task != NULL || wf_runq_len(&p->runq) != 0)
			break;
	}
	return task;
}
