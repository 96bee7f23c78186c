/* SPDX-License-Identifier: MIT */
/*
 * sched/turn.c - taking from the global queue.
 */
#include "sched/turn.h"

#include "fiber/fiber.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/yielders.h"

weft_task *wf_grab(
	struct wf_proc *p, struct wf_group *g, size_t sharers, size_t max)
{
	bool before = g == p->group && wf_yielders_wait_global(p);
	struct wf_batch batch = { 0 };
	weft_task *first, *task;

	if (wf_global_is_unmarked(p))
		p->turn.of = WF_TURN_NONE;
	if (wf_global_take(p, g, sharers, max, &batch) == 0)
		return NULL;
	wf_bump(&p->counters.grabs, 1);
	first = wf_batch_take(&batch);
	while ((task = wf_batch_take(&batch)) != NULL) {
		if (wf_task_is_fiber(task))
			wf_fiber_prefetch(wf_fiber_of(task));
		wf_push(p, wf_entry_of(task));
	}
	if (before)
		wf_yielders_mark_local(p);
	return wf_proc_picked(p, &p->counters.runs_global, first);
}

weft_task *wf_grab_share(struct wf_proc *p, struct wf_group *g, bool alone)
{
	const weft_policy *policy = wf_policy_of(g);
	size_t capacity = (size_t)(p->runq.mask + 1);

	/* The local queue is empty: all that was marked there has run. */
	p->turn.of = WF_TURN_NONE;
	if (policy->take == WEFT_TAKE_ONE || wf_policy_is_global(policy))
		return wf_grab(p, g, 1, 1);
	if (policy->take == WEFT_TAKE_ALL)
		return wf_grab(p, g, 1, capacity);
	return wf_grab(p, g, alone ? 1 : g->count, capacity / 2);
}

weft_task *wf_turn_take_one(struct wf_proc *p)
{
	weft_task *task = wf_grab(p, p->group, 1, 1);

	if (task == NULL || wf_task_is_away(task))
		p->turn.of = WF_TURN_NONE;
	else if (wf_unlikely(wf_load_rlx(&p->group->away)))
		wf_store_rlx(&p->group->away, false);
	return task;
}

/* In the GLOBAL turn: one task, and the next pick stops too. */
static weft_task *take_singly(struct wf_proc *p)
{
	weft_task *task = wf_turn_take_one(p);

	if (p->turn.of == WF_TURN_GLOBAL)
		wf_agenda_stop_next(&p->agenda);
	return task;
}

/*
 * In the GLOBAL turn: a share.  It costs less for each task than taking one by
 * one.  The tasks that came to the local queue since the turns began run before
 * it; they are at most half a queue.  When the share has run it is the global
 * queue's turn again.
 */
static weft_task *take_share(struct wf_proc *p, size_t half)
{
	struct wf_group *g = p->group;
	size_t sharers = wf_group_is_shy(g) ? 1 : g->count;
	weft_task *task = wf_grab(p, g, sharers, half);

	p->turn.of = WF_TURN_LOCAL;
	p->turn.local_mark = wf_load_rlx(&p->runq.tail);
	if (wf_global_is_lockfree(g)) {
		p->turn.global_mark = wf_global_mark(p);
		if (!p->turn.global_mark.rest)
			p->turn.of = WF_TURN_NONE;
	}
	wf_agenda_turn_in(&p->agenda, wf_runq_len(&p->runq) + 1);
	return task;
}

/* It is the GLOBAL turn. */
static weft_task *take_in_turn(struct wf_proc *p)
{
	size_t half = (size_t)(p->runq.mask + 1) / 2;
	size_t len = wf_runq_len(&p->runq);
	struct wf_group *g = p->group;

	if (len == 0) {
		/* Nothing local is overtaken: one task is the whole turn. */
		p->turn.of = WF_TURN_NONE;
		return wf_grab(p, g, 1, 1);
	}
	if (wf_policy_of(g)->take == WEFT_TAKE_ONE || len > half ||
		wf_load_rlx(&g->away))
		return take_singly(p);
	return take_share(p, half);
}

/* The turns begin, are over, or go on: whose turn is it? */
static void update(struct wf_proc *p)
{
	struct wf_turn *turn = &p->turn;

	if (turn->of == WF_TURN_GLOBAL && wf_turn_is_over(p))
		turn->of = WF_TURN_NONE;
	if (turn->of == WF_TURN_NONE)
		*turn = (struct wf_turn){
			.of = WF_TURN_LOCAL,
			.local_mark = wf_load_rlx(&p->runq.tail),
			.global_mark = wf_global_mark(p),
		};
	if (wf_load_rlx(&p->runq.head) >= turn->local_mark)
		turn->of = WF_TURN_GLOBAL;
}

weft_task *wf_turn_take(struct wf_proc *p)
{
	struct wf_group *g = p->group;
	bool always = !wf_global_is_lockfree(g);
	uint64_t left;

	if (wf_global_len(g) == 0) {
		p->turn.of = WF_TURN_NONE;
		return NULL;
	}
	if (wf_policy_is_global(wf_policy_of(g)))
		return wf_grab(p, g, 1, 1);
	update(p);
	if (p->turn.of == WF_TURN_GLOBAL)
		return take_in_turn(p);
	left = p->turn.local_mark - wf_load_rlx(&p->runq.head);
	wf_agenda_turn_in(&p->agenda, left + always);
	return always ? wf_grab(p, g, 1, 1) : NULL;
}
