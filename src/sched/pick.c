/* SPDX-License-Identifier: MIT */
/*
 * sched/pick.c - the quick pick.
 */
#include "sched/pick.h"

#include "base/units.h"
#include "fiber/fiber.h"
#include "os/os.h"
#include "sched/handshake.h"
#include "sched/serve.h"
#include "sched/shuffle.h"
#include "sched/submit.h"
#include "sched/turn.h"
#include "sched/yielders.h"

/* Empty the slot.  0: a thief was faster. */
static wf_entry take_slot(struct wf_proc *p)
{
	wf_entry e;

	if (wf_take_begin(p)) {
		e = wf_load_rlx(&p->slot);
		wf_store_rlx(&p->slot, 0);
	} else {
		/* Relaxed: the holder itself has filled it. */
		e = wf_xchg_rlx(&p->slot, 0);
	}
	wf_take_end(p);
	return e;
}

/* The slot, unless its budget is spent: then its task goes to the queue. */
static weft_task *from_slot(struct wf_proc *p)
{
	wf_entry e = take_slot(p);
	weft_task *task;

	if (wf_pick_is_slot_spent(p)) {
		p->streak = 0;
		if (e != 0)
			wf_push(p, e);
		return NULL;
	}
	p->streak++;
	task = e != 0 ? wf_entry_redeem(e) : NULL;
	return task ? wf_proc_picked(p, &p->counters.runs_lifo, task) : NULL;
}

/* The first yielder, if it is its turn or anyway is set. */
static weft_task *from_yielders(struct wf_proc *p, bool anyway)
{
	weft_task *task = wf_yielders_pick(p, anyway);

	return task ? wf_proc_picked(p, NULL, task) : NULL;
}

/* The next entry of the local queue; 0: none. */
static wf_entry pop(struct wf_proc *p)
{
	wf_entry e;

	if (wf_take_begin(p))
		e = wf_runq_pop_alone(&p->runq);
	else if (wf_unlikely(wf_load_rlx(&p->push_flags) & WF_PUSH_POLICY))
		e = p->group->runq->pop(&p->runq);
	else
		e = wf_runq_pop(&p->runq);
	wf_take_end(p);
	return e;
}

static weft_task *from_local(struct wf_proc *p)
{
	wf_entry e;

	while ((e = pop(p)) != 0) {
		weft_task *task = wf_entry_redeem(e);

		if (task != NULL)
			return wf_proc_picked(p, NULL, task);
	}
	return NULL;
}

/* Neither slot nor yielders have their turn: the queues. */
static wf_noinline weft_task *from_queues(struct wf_proc *p)
{
	weft_task *task = from_local(p);
	struct wf_group *g = p->group;

	if (task != NULL)
		return task;
	if (wf_global_len(g) != 0 && wf_group_may_take(g, p))
		task = wf_grab_share(p, g, wf_group_is_shy(g));
	/* It is not the turn of yielders, but nothing else is ready. */
	return task ? task : from_yielders(p, true);
}

/* A ticket was popped: it may be dead. */
static wf_noinline weft_task *from_ticket(struct wf_proc *p, wf_entry e)
{
	weft_task *task = wf_entry_redeem(e);

	return task ? wf_proc_picked(p, NULL, task) : from_queues(p);
}

/* pick_unslotted while thieves are admitted. */
static wf_noinline weft_task *pick_shared(struct wf_proc *p)
{
	weft_task *task = from_yielders(p, false);

	return task ? task : from_queues(p);
}

/* The likely case without a call: the head of a queue of our own. */
wf_inline weft_task *pick_unslotted(struct wf_proc *p)
{
	weft_task *task;
	wf_entry e;

	p->streak = 0;
	if (wf_unlikely(!wf_take_begin(p))) {
		wf_take_end(p);
		return pick_shared(p);
	}
	if (wf_yielders_ready(p)) {
		task = wf_yielders_take(p);
		wf_take_end(p);
		return wf_proc_picked(p, NULL, task);
	}
	e = wf_runq_pop_alone(&p->runq);
	wf_take_end(p);
	if (wf_unlikely(e == 0))
		return from_queues(p);
	if (wf_unlikely(wf_entry_is_ticket(e)))
		return from_ticket(p, e);
	return wf_proc_picked(p, NULL, wf_entry_task(e));
}

static wf_noinline weft_task *pick_slotted(struct wf_proc *p)
{
	weft_task *task = from_slot(p);

	return task ? task : pick_unslotted(p);
}

wf_inline weft_task *pick(struct wf_proc *p)
{
	if (wf_unlikely(wf_load_rlx(&p->slot) != 0))
		return pick_slotted(p);
	return pick_unslotted(p);
}

void wf_pick_measure(struct wf_proc *p, weft_task *task, int64_t now_ns)
{
	uint32_t us, bucket, since = 0;

	if (wf_task_is_fiber(task))
		since = wf_load_rlx(&wf_fiber_of(task)->ready_us);
	if (since <= WF_READY_UNKNOWN)
		return;
	us = (uint32_t)(now_ns / WF_NS_PER_US) - since;
	/* ready_us is rounded, so it may seem to lie a little ahead. */
	bucket = (int32_t)us <= 0 ? 0 : 32 - (uint32_t)__builtin_clz(us);
	if (bucket >= WEFT_DELAY_BUCKETS)
		bucket = WEFT_DELAY_BUCKETS - 1;
	wf_bump(&p->counters.delay[bucket], 1);
}

/* Read the clock and serve events.  Returns the time. */
static int64_t look(struct wf_proc *p)
{
	int64_t now_ns = wf_os_now_ns();

	(void)wf_serve(p, now_ns);
	return now_ns;
}

/*
 * A pick stops, and turned says whether it is a turn: look, if that is due, and
 * plan the next stops.  Returns the time; 0: it was not read.
 */
static int64_t plan(struct wf_proc *p, bool turned)
{
	bool looks = wf_agenda_is_look(&p->agenda);
	int64_t before_ns = wf_load_rlx(&p->clock_ns);
	int64_t now_ns = looks ? look(p) : 0;

	wf_agenda_plan(&p->agenda, p->group->rt->global_tick, turned, looks,
		now_ns - before_ns, &p->random);
	return now_ns;
}

/*
 * A pick stops: a look, a turn of the global queue, or both; yielders for
 * searchers; and a shuffle after a theft.  early: it is a turn though none is
 * due.
 */
static weft_task *look_or_turn(struct wf_proc *p, bool early)
{
	bool turn = early || wf_agenda_is_turn(&p->agenda);
	int64_t now_ns = plan(p, turn);
	weft_task *task = NULL;

	if (wf_load_rlx(&p->yielders.count) > 1 &&
		wf_load_rlx(&p->group->searching) != 0 && wf_steal_allowed(p))
		wf_yielders_spill(p);
	if (wf_unlikely(wf_load_rlx(&p->to_shuffle)))
		wf_shuffle(p);
	if (turn || p->turn.of == WF_TURN_GLOBAL)
		task = wf_turn_take(p);
	if (task == NULL)
		task = pick(p);
	if (task != NULL && now_ns != 0)
		wf_pick_measure(p, task, now_ns);
	return task;
}

/*
 * In the GLOBAL turn every pick stops: slot and yielders as ever, then the
 * global queue in place of the local one.  NULL: the turn is over.
 */
static weft_task *pick_in_turn(struct wf_proc *p)
{
	weft_task *task = NULL;

	wf_agenda_stop_next(&p->agenda);
	if (wf_load_rlx(&p->slot) != 0)
		task = from_slot(p);
	if (task != NULL)
		return task;
	p->streak = 0;
	task = from_yielders(p, false);
	if (task == NULL && !wf_turn_is_over(p))
		task = wf_turn_take_one(p);
	if (task == NULL)
		p->turn.of = WF_TURN_NONE;
	return task;
}

static wf_noinline weft_task *stop(struct wf_proc *p)
{
	struct wf_agenda *a = &p->agenda;
	weft_task *task;

	if (p->turn.of != WF_TURN_GLOBAL || wf_agenda_is_turn(a) ||
		wf_agenda_is_look(a))
		return look_or_turn(p, false);
	task = pick_in_turn(p);
	return task ? task : look_or_turn(p, true);
}

weft_task *wf_pick_quick(struct wf_proc *p)
{
	if (wf_unlikely(wf_agenda_stops(&p->agenda)))
		return stop(p);
	return pick(p);
}

/* So many dead tickets started_here drops at most. */
#define WF_PICK_DEAD 8

/*
 * The first task of the local queue, if it has started or is not a fiber.  Some
 * dead tickets before it are dropped; dropping all of them at once, when the
 * queue is full, costs less (sched/submit.c).
 */
static weft_task *started_here(struct wf_proc *p)
{
	weft_task *task = NULL;
	wf_entry e;

	for (int i = 0; task == NULL && i < WF_PICK_DEAD; i++) {
		e = wf_runq_peek(&p->runq);
		if (e == 0 || (wf_entry_is_ticket(e) && wf_fiber_is_fresh(e)))
			return NULL;
		e = pop(p);
		task = e != 0 ? wf_entry_redeem(e) : NULL;
	}
	return task ? wf_proc_picked(p, NULL, task) : NULL;
}

weft_task *wf_pick_started(struct wf_proc *p, bool early)
{
	bool in_turn = p->turn.of == WF_TURN_GLOBAL;
	bool turn = in_turn || (!early && wf_agenda_is_turn(&p->agenda));
	weft_task *task = NULL;
	int64_t now_ns = 0;

	if (early) {
		(void)look(p);
		wf_agenda_looked_early(&p->agenda);
	} else {
		now_ns = plan(p, turn);
	}
	if (turn) {
		task = wf_turn_take(p);
		if (task == NULL)
			task = from_yielders(p, true);
		if (task == NULL)
			task = started_here(p);
	}
	if (task != NULL && now_ns != 0)
		wf_pick_measure(p, task, now_ns);
	return task;
}

weft_task *wf_pick_yielder(struct wf_proc *p)
{
	return from_yielders(p, true);
}
