/* SPDX-License-Identifier: MIT */
/*
 * sched/pick.c - the quick pick.
 */
#include "sched/pick.h"

#include "os/os.h"
#include "sched/global.h"
#include "sched/runtime.h"
#include "sched/handshake.h"
#include "sched/steal.h"
#include "sched/submit.h"

/* The time is looked at so often, if tasks let us: timers may be due. */
#define WF_PICK_LATE_NS WF_NS_PER_MS

wf_inline weft_task *count(
	struct wf_proc *p, _Atomic(uint64_t) *source, weft_task *task)
{
	wf_bump(&p->counters.ticks, 1);
	if (source != NULL)
		wf_bump(source, 1);
	return task;
}

/* What is in the slot; 0: a thief was faster. */
static wf_entry take_slot(struct wf_proc *p)
{
	wf_entry e;

	if (wf_take_begin(p)) {
		e = wf_load_rlx(&p->slot);
		wf_store_rlx(&p->slot, 0);
	} else {
		/* Relaxed: what is there was put there by us. */
		e = wf_xchg_rlx(&p->slot, 0);
	}
	wf_take_end(p);
	return e;
}

/* The slot, unless it has had its turns. */
static weft_task *from_slot(struct wf_proc *p)
{
	uint32_t budget = p->group->rt->config.lifo_budget;
	weft_task *task;
	wf_entry e;

	if (wf_load_rlx(&p->slot) == WF_SLOT_SHUT)
		return NULL;
	e = take_slot(p);
	if (p->streak >= budget) {
		p->streak = 0;
		if (e != 0)
			wf_push(p, e);
		return NULL;
	}
	p->streak++;
	task = e != 0 ? wf_entry_redeem(e) : NULL;
	return task ? count(p, &p->counters.runs_lifo, task) : NULL;
}

weft_task *wf_grab(
	struct wf_proc *p, struct wf_group *g, size_t sharers, size_t max)
{
	struct wf_batch batch = { 0 };
	bool alone, before = false;
	weft_task *first, *task;

	if (!wf_inbox_has_rest(&p->inbox) &&
		wf_policy_of(g)->locks == WEFT_LOCKS_NONE)
		p->turn.of = WF_TURN_NONE; /* a new chain: see is_turn_over */
	if (g == p->group && wf_load_rlx(&p->yielders.count) != 0) {
		alone = wf_yielders_hold(p);
		before = wf_yielders_wait_global(p);
		wf_yielders_let_go(p, alone);
	}
	if (wf_global_take(p, g, sharers, max, &batch) == 0)
		return NULL;
	wf_bump(&p->counters.grabs, 1);
	first = wf_batch_take(&batch);
	while ((task = wf_batch_take(&batch)) != NULL) {
		if (wf_task_is_fiber(task))
			wf_fiber_prefetch(wf_fiber_of(task));
		wf_push(p, wf_entry_of(task));
	}
	if (before) {
		alone = wf_yielders_hold(p);
		p->yielders.local_mark = wf_load_rlx(&p->runq.tail);
		wf_yielders_let_go(p, alone);
	}
	return count(p, &p->counters.runs_global, first);
}

/* Half of the yielders, the first ones, go to the end of the global queue. */
static void spill(struct wf_proc *p)
{
	struct wf_batch batch = { 0 };
	bool alone = wf_yielders_hold(p);
	uint32_t count = wf_load_rlx(&p->yielders.count);

	if (count > 1)
		wf_yielders_cut(p, count / 2, &batch);
	wf_yielders_let_go(p, alone);
	if (!wf_batch_is_empty(&batch))
		wf_inject_push(p->inject, &batch);
}

/* The first yielder, if it is its turn, or whoever's turn it is. */
static weft_task *from_yielders(struct wf_proc *p, bool anyway)
{
	bool alone = wf_yielders_hold(p);
	weft_task *task = NULL;

	if (wf_yielders_ready(p) || (anyway && p->yielders.round != 0))
		task = count(p, NULL, wf_yielders_take(p));
	wf_yielders_let_go(p, alone);
	return task;
}

weft_task *wf_grab_share(struct wf_proc *p, struct wf_group *g, bool shy)
{
	const weft_policy *policy = wf_policy_of(g);
	size_t capacity = (size_t)(p->runq.mask + 1);

	/* The local queue is empty: whatever was marked there has run. */
	p->turn.of = WF_TURN_NONE;
	if (policy->take == WEFT_TAKE_ONE || wf_policy_is_global(policy))
		return wf_grab(p, g, 1, 1);
	if (policy->take == WEFT_TAKE_ALL)
		return wf_grab(p, g, 1, capacity);
	return wf_grab(p, g, shy ? 1 : g->count, capacity / 2);
}

/* The next entry of the local queue; 0: none. */
static wf_entry pop(struct wf_proc *p)
{
	wf_entry e;

	if (wf_take_begin(p))
		e = wf_runq_pop_alone(&p->runq);
	else if (wf_unlikely(wf_load_rlx(&p->coarse) & WF_APART))
		e = wf_policy_runq(wf_policy_of(p->group))->pop(&p->runq);
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
			return count(p, NULL, task);
	}
	return NULL;
}

/* Neither slot nor yielders have their turn: the queues, then whoever. */
static wf_noinline weft_task *from_queues(struct wf_proc *p)
{
	weft_task *task = from_local(p);
	struct wf_group *g = p->group;

	if (task != NULL)
		return task;
	/* Fine tasks are shared with nobody: see wf_group_shares. */
	if (wf_global_len(g) != 0 && wf_group_shares(g, p))
		task = wf_grab_share(p, g, wf_group_is_shy(g));
	/* It was not their turn, but there is nobody else. */
	if (task == NULL && wf_load_rlx(&p->yielders.count) != 0)
		task = from_yielders(p, true);
	return task;
}

/* A ticket was popped: it may be dead. */
static wf_noinline weft_task *from_ticket(struct wf_proc *p, wf_entry e)
{
	weft_task *task = wf_entry_redeem(e);

	return task ? count(p, NULL, task) : from_queues(p);
}

/* The same with thieves about. */
static wf_noinline weft_task *pick_shared(struct wf_proc *p)
{
	weft_task *task = NULL;

	if (wf_load_rlx(&p->yielders.count) != 0)
		task = from_yielders(p, false);
	return task ? task : from_queues(p);
}

/* What is likely, without a call: the head of an own queue. */
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
		return count(p, NULL, task);
	}
	e = wf_runq_pop_alone(&p->runq);
	wf_take_end(p);
	if (wf_unlikely(e == 0))
		return from_queues(p);
	if (wf_unlikely(wf_entry_is_ticket(e)))
		return from_ticket(p, e);
	return count(p, NULL, wf_entry_task(e));
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
	/* Its time is rounded, so it may seem to lie a little ahead. */
	bucket = (int32_t)us <= 0 ? 0 : 32 - (uint32_t)__builtin_clz(us);
	if (bucket >= WEFT_DELAY_BUCKETS)
		bucket = WEFT_DELAY_BUCKETS - 1;
	wf_bump(&p->counters.delay[bucket], 1);
}

/* The next turn of the global queue, and the next look, in so many picks. */
static void arm(struct wf_proc *p, uint32_t turn, uint32_t look)
{
	p->pause = turn < look ? turn : look;
	p->owed = turn - p->pause;
	p->blind = look - p->pause;
}

void wf_pick_turn_in(struct wf_proc *p, uint64_t picks)
{
	if (picks < (uint64_t)p->pause + p->owed)
		arm(p, (uint32_t)picks, p->pause + p->blind);
}

/* The global queue is not empty: let the queues take turns (pick.h). */
static void begin_turns(struct wf_proc *p)
{
	p->turn = (struct wf_turn){
		.of = WF_TURN_LOCAL,
		.rest = wf_inbox_has_rest(&p->inbox),
		.local_mark = wf_load_rlx(&p->runq.tail),
		.global_mark = wf_inject_pushed(p->inject),
	};
}

/*
 * Has all been taken that was in the global queue when the turns began?
 * Without locks there is no telling.  But the rest of a chain that there was
 * then is older than the mark, and if there was none, so is the first task of
 * the next chain; what follows in that chain may be younger.
 */
static bool is_turn_over(struct wf_proc *p)
{
	if (wf_policy_of(p->group)->locks == WEFT_LOCKS_SHORT)
		return wf_inject_passed(p->inject, p->turn.global_mark);
	return p->turn.rest && !wf_inbox_has_rest(&p->inbox);
}

/*
 * A pick looks around.  May it take a task from the global queue?  With short
 * locks always.  Without locks yielders are in the global queue, and run after
 * all that was in the local queue: so only in the global queue's turn.
 */
static bool may_take_global(struct wf_proc *p)
{
	const weft_policy *policy = wf_policy_of(p->group);
	bool always = policy->locks == WEFT_LOCKS_SHORT;
	int64_t left;

	if (wf_global_len(p->group) == 0) {
		p->turn.of = WF_TURN_NONE;
		return false;
	}
	if (wf_policy_is_global(policy))
		return true;
	if (p->turn.of == WF_TURN_GLOBAL && is_turn_over(p))
		p->turn.of = WF_TURN_NONE;
	if (p->turn.of == WF_TURN_NONE)
		begin_turns(p);
	left = (int64_t)(p->turn.local_mark - wf_load_rlx(&p->runq.head));
	if (left <= 0)
		p->turn.of = WF_TURN_GLOBAL;
	else
		wf_pick_turn_in(p, (uint64_t)left + always);
	return left <= 0 || always;
}

/*
 * In the global queue's turn: one task of it.  The turn ends with a joinable
 * fiber.
 */
static weft_task *take_one_in_turn(struct wf_proc *p)
{
	weft_task *task = wf_grab(p, p->group, 1, 1);

	if (task == NULL || wf_task_is_away(task))
		p->turn.of = WF_TURN_NONE;
	else if (wf_unlikely(wf_load_rlx(&p->group->away)))
		wf_store_rlx(&p->group->away, false);
	return task;
}

/*
 * The global queue has its turn.  If the local queue is no more than half full,
 * take a share: that costs less for each task than to take one by one, and what
 * came to the local queue since the turns began, which now runs first, is no
 * more than that.  When the share has run it is the global queue's turn again.
 * Otherwise, or if there may be joinable fibers, take one, and stay in turn:
 * the next pick looks around, too.
 * If the local queue is empty take one, and that is the turn: nothing is
 * overtaken, and others may take the rest.
 */
static weft_task *take_in_turn(struct wf_proc *p)
{
	size_t half = (size_t)(p->runq.mask + 1) / 2;
	size_t len = wf_runq_len(&p->runq);
	struct wf_group *g = p->group;
	weft_task *task;

	if (len == 0) {
		p->turn.of = WF_TURN_NONE;
		return wf_grab(p, g, 1, 1);
	}
	if (wf_policy_of(g)->take == WEFT_TAKE_ONE || len > half ||
		wf_load_rlx(&g->away)) {
		task = take_one_in_turn(p);
		if (p->turn.of == WF_TURN_GLOBAL) {
			p->turn.looks = p->pause;
			p->pause = 1;
		}
		return task;
	}
	task = wf_grab(p, g, wf_group_is_shy(g) ? 1 : g->count, half);
	p->turn.of = WF_TURN_LOCAL;
	p->turn.local_mark = wf_load_rlx(&p->runq.tail);
	if (wf_policy_of(g)->locks == WEFT_LOCKS_NONE) {
		p->turn.rest = wf_inbox_has_rest(&p->inbox);
		if (!p->turn.rest)
			p->turn.of = WF_TURN_NONE;
	}
	wf_pick_turn_in(p, wf_runq_len(&p->runq) + 1);
	return task;
}

/*
 * While the global queue's tasks are taken one by one every pick comes here:
 * the slot and yielders as ever, then the global queue in place of the local
 * one.  NULL: the turn is over.
 */
static weft_task *pick_in_turn(struct wf_proc *p)
{
	weft_task *task = NULL;

	p->pause = 1;
	if (wf_load_rlx(&p->slot) != 0)
		task = from_slot(p);
	if (task != NULL)
		return task;
	p->streak = 0;
	if (wf_load_rlx(&p->yielders.count) != 0)
		task = from_yielders(p, false);
	if (task == NULL && !is_turn_over(p))
		task = take_one_in_turn(p);
	if (task == NULL)
		p->turn.of = WF_TURN_NONE;
	return task;
}

/* A pick looks around: from the global queue, if that may be. */
static weft_task *from_global(struct wf_proc *p)
{
	if (!may_take_global(p))
		return NULL;
	if (p->turn.of == WF_TURN_GLOBAL)
		return take_in_turn(p);
	return wf_grab(p, p->group, 1, 1);
}

/*
 * How many picks until the next look, at most so many; if tasks are long, about
 * as many as take WF_PICK_LATE_NS: those since the look before took so long.
 * One short task among long ones says little, so it becomes at most twice as
 * many as before.
 */
static uint32_t stride(struct wf_proc *p, uint32_t most, int64_t took)
{
	int64_t fits = WF_PICK_LATE_NS * p->stride;

	if (p->stride == 0)
		return most;
	if (wf_unlikely(fits < took))
		return 1;
	if (most > 2 * p->stride)
		most = 2 * p->stride;
	return took <= fits / most ? most : (uint32_t)(fits / took);
}

/*
 * Picks until the next look, on average global_tick; or fewer, as stride says.
 * The pick that looks is also the one that is measured, so their number is
 * random: at a fixed distance from the turns of the global queue it would
 * always, or never, be one of them.
 */
static uint32_t next_look(struct wf_proc *p, int64_t took)
{
	uint32_t tick = p->group->rt->global_tick, least = tick / 2 + 1;
	uint32_t most = stride(p, least + tick - 1, took);

	if (most <= 2)
		return most;
	if (most <= least)
		least = (most + 1) / 2;
	return least + wf_random_below(&p->random, most - least + 1);
}

/* The clock, and timers that are due. */
static int64_t look(struct wf_proc *p)
{
	int64_t now_ns = wf_os_now_ns();

	wf_proc_clock(p, now_ns);
	(void)wf_proc_fire(p, now_ns);
	return now_ns;
}

/*
 * It is time for a look, or a turn of the global queue, or both: look, if it is
 * for that, and plan the next ones.  early: it is so many picks before that,
 * for a turn; the look stays where it was.  The time of the look; 0: none.
 */
static int64_t plan(struct wf_proc *p, uint32_t early)
{
	bool is_turn = p->owed == 0 || early != 0;
	uint32_t turn = is_turn ? p->group->rt->global_tick : p->owed;
	int64_t before_ns = wf_load_rlx(&p->clock_ns), now_ns = 0;
	uint32_t blind = p->blind + early;

	if (blind == 0) {
		now_ns = look(p);
		blind = p->stride = next_look(p, now_ns - before_ns);
	}
	arm(p, turn, blind);
	return now_ns;
}

/*
 * A look before its time, which is no turn of the global queue.  The next one
 * is after the next pick: what comes may be long.
 */
static void look_early(struct wf_proc *p)
{
	uint32_t turn = (p->pause > 1 ? p->pause : 1) + p->owed;

	(void)look(p);
	p->stride = 1;
	arm(p, turn, p->stride);
}

/*
 * A thief and the holder have divided many fine tasks (sched/steal.h).  Put our
 * part into another order, as soon as nobody else takes from it; and each task
 * once at most, so that none waits for more than two queues.
 */
static wf_noinline void mix(struct wf_proc *p)
{
	bool alone = wf_take_begin(p);

	/* Yielders and turns wait for places in the queue, not for tasks. */
	if (alone && wf_load_rlx(&p->yielders.count) == 0 &&
		p->turn.of == WF_TURN_NONE &&
		wf_load_rlx(&p->runq.head) >= p->mixed) {
		wf_runq_mix(&p->runq, &p->random);
		p->mixed = wf_load_rlx(&p->runq.tail);
		wf_store_rlx(&p->divided, false);
	}
	wf_take_end(p);
}

/*
 * Every so often: a look, or a turn of the global queue, or both; and work for
 * searchers.  early: see plan.
 */
static weft_task *look_or_turn(struct wf_proc *p, uint32_t early)
{
	struct wf_group *g = p->group;
	bool turn = p->owed == 0 || early != 0;
	int64_t now_ns = plan(p, early);
	weft_task *task = NULL;

	if (wf_load_rlx(&p->yielders.count) > 1 &&
		wf_load_rlx(&g->searching) != 0 && wf_steal_allowed(p))
		spill(p);
	if (wf_unlikely(wf_load_rlx(&p->divided)) && !wf_is_coarse(p))
		mix(p);
	if (turn || p->turn.of == WF_TURN_GLOBAL)
		task = from_global(p);
	if (task == NULL)
		task = pick(p);
	if (task != NULL && now_ns != 0)
		wf_pick_measure(p, task, now_ns);
	return task;
}

static wf_noinline weft_task *look_around(struct wf_proc *p)
{
	weft_task *task;

	if (p->turn.of != WF_TURN_GLOBAL || --p->turn.looks == 0)
		return look_or_turn(p, 0);
	task = pick_in_turn(p);
	return task ? task : look_or_turn(p, p->turn.looks);
}

weft_task *wf_pick_quick(struct wf_proc *p)
{
	if (wf_unlikely(--p->pause == 0))
		return look_around(p);
	return pick(p);
}

/* So many dead tickets a look for started tasks drops, at most. */
#define WF_PICK_DEAD 8

/*
 * The first of the local queue, if it has started or is a plain task.  Dead
 * tickets before it are dropped, but only some: to drop them all at once, when
 * the queue is full, costs less (sched/submit.c).
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
	return task ? count(p, NULL, task) : NULL;
}

/* In the global queue's turn: from there, or what has started already. */
static weft_task *started_in_turn(struct wf_proc *p)
{
	weft_task *task = from_global(p);

	if (task == NULL && wf_load_rlx(&p->yielders.count) != 0)
		task = from_yielders(p, true);
	return task ? task : started_here(p);
}

weft_task *wf_pick_started(struct wf_proc *p, bool early)
{
	bool in_turn = p->turn.of == WF_TURN_GLOBAL;
	bool turn = in_turn || (!early && p->owed == 0);
	weft_task *task = NULL;
	int64_t now_ns = 0;

	if (early)
		look_early(p);
	else
		now_ns = plan(p, in_turn ? p->turn.looks - 1 : 0);
	if (turn)
		task = started_in_turn(p);
	if (task != NULL && now_ns != 0)
		wf_pick_measure(p, task, now_ns);
	return task;
}

weft_task *wf_pick_yielder(struct wf_proc *p)
{
	return wf_load_rlx(&p->yielders.count) ? from_yielders(p, true) : NULL;
}
