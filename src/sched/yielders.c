/* SPDX-License-Identifier: MIT */
/*
 * sched/yielders.c - the steps that hold the list of yielders.
 */
#include "sched/yielders.h"

void wf_yielders_split(struct wf_proc *p, uint32_t n, struct wf_batch *out)
{
	struct wf_yielders *y = &p->yielders;
	uint32_t count = wf_load_rlx(&y->count);
	struct wf_batch all = { y->first, y->last, count };

	wf_batch_split(&all, n, out);
	y->first = all.first;
	wf_store_rlx(&y->count, count - n);
	y->round = y->round > n ? y->round - n : 0;
	if (y->round == 0)
		wf_yielders_close(p, count - n);
}

weft_task *wf_yielders_pick(struct wf_proc *p, bool anyway)
{
	weft_task *task = NULL;
	bool alone;

	if (wf_load_rlx(&p->yielders.count) == 0)
		return NULL;
	alone = wf_yielders_hold(p);
	if (wf_yielders_ready(p) || (anyway && p->yielders.round != 0))
		task = wf_yielders_take(p);
	wf_yielders_let_go(p, alone);
	return task;
}

void wf_yielders_spill(struct wf_proc *p)
{
	struct wf_batch batch = { 0 };
	bool alone = wf_yielders_hold(p);
	uint32_t count = wf_load_rlx(&p->yielders.count);

	if (count > 1)
		wf_yielders_split(p, count / 2, &batch);
	wf_yielders_let_go(p, alone);
	if (!wf_batch_is_empty(&batch))
		wf_inject_push(p->inject, &batch);
}

bool wf_yielders_wait_global(struct wf_proc *p)
{
	bool alone, waits;

	if (wf_load_rlx(&p->yielders.count) == 0)
		return false;
	alone = wf_yielders_hold(p);
	waits = p->yielders.round != 0 &&
		!wf_inject_passed(p->inject, p->yielders.global_mark);
	wf_yielders_let_go(p, alone);
	return waits;
}

bool wf_yielders_wait_local(struct wf_proc *p)
{
	bool alone, waits;

	if (wf_load_rlx(&p->yielders.count) == 0)
		return false;
	alone = wf_yielders_hold(p);
	waits = p->yielders.round != 0 && !p->yielders.moved &&
		wf_load_rlx(&p->runq.head) < p->yielders.local_mark;
	wf_yielders_let_go(p, alone);
	return waits;
}

void wf_yielders_mark_local(struct wf_proc *p)
{
	bool alone = wf_yielders_hold(p);

	p->yielders.local_mark = wf_load_rlx(&p->runq.tail);
	wf_yielders_let_go(p, alone);
}

void wf_yielders_mark_global(struct wf_proc *p)
{
	bool alone = wf_yielders_hold(p);

	p->yielders.global_mark = wf_inject_pushed(p->inject);
	p->yielders.moved = true;
	wf_yielders_let_go(p, alone);
}
