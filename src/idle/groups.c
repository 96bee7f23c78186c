/* SPDX-License-Identifier: MIT */
/*
 * idle/groups.c - where tasks go, and help comes from, between groups.
 */
#include "idle/groups.h"

#include "idle/economy.h"
#include "sched/idle.h"
#include "sched/runtime.h"
#include "sched/steal.h"
#include "sched/turn.h"

struct wf_group *wf_group_for_outside(struct weft_rt *rt)
{
	uint32_t n = rt->group_count;
	uint32_t at = wf_add_rlx(&rt->outside.next_group, 1);

	for (uint32_t i = 0; i < n; i++) {
		struct wf_group *g = &rt->groups[(at + i) % n];

		if (wf_load_rlx(&g->sleeping) != 0)
			return g;
	}
	return &rt->groups[at % n];
}

bool wf_may_take_any_global(struct wf_proc *p)
{
	struct weft_rt *rt = p->group->rt;

	for (uint32_t i = 0; i < rt->group_count; i++)
		if (wf_may_take_global(p, &rt->groups[i]))
			return true;
	return false;
}

/*
 * Take from v, of another group.  Only coarse tasks are worth the way; also one
 * that is alone, if such tasks are long.
 */
static weft_task *steal_far(struct wf_proc *p, struct wf_proc *v)
{
	bool take_last = wf_economy_is_long(wf_load_rlx(&v->mean_ns));

	if (!wf_is_coarse(v) ||
		!wf_economy_may_steal(wf_proc_backlog(v), true, take_last))
		return NULL;
	return wf_steal_from(p, v, take_last);
}

/* Take from g, which is not the group of p. */
static weft_task *search_group(struct wf_proc *p, struct wf_group *g)
{
	weft_task *task = NULL;

	if (wf_may_take_global(p, g))
		task = wf_grab_share(p, g, false);
	/* NULL for a dead ticket: the tasks that came behind it are enough. */
	for (uint32_t i = 0; task == NULL && i < g->count; i++) {
		task = steal_far(p, &g->procs[i]);
		if (wf_runq_len(&p->runq) != 0)
			break;
	}
	return task;
}

weft_task *wf_search_other_groups(struct wf_proc *p)
{
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

bool wf_wake_other_group(struct wf_group *g,
	bool (*wake)(struct wf_group *other, struct wf_group *g))
{
	struct weft_rt *rt = g->rt;

	for (uint32_t i = 0; i < rt->group_count; i++)
		if (&rt->groups[i] != g && wake(&rt->groups[i], g))
			return true;
	return false;
}
