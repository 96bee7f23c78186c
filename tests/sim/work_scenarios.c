/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/work_scenarios.c - whole runtimes at work: fibers that yield and
 * are stolen, help that comes in time, and turns that come within the bound,
 * whatever other fibers do to go on and on.
 */
#include "sched_kit.h"

#include "base/limits.h"
#include "sched/pick.h"

/* Tasks are coarse, so thieves may come; and one is woken. */
static void send_thief(void)
{
	weft_rt *rt = stage.rt;

	for (uint32_t i = 0; i < rt->proc_count; i++)
		wf_store_rlx(&rt->procs[i].push_flags, true);
	wf_store_rlx(&rt->groups->coarse, true);
	wf_outside_enter(rt);
	(void)wf_wake_one(rt->groups);
	wf_outside_leave(rt);
}

/* ------------------------------------------------------------------------ */
/* Fibers that yield while others steal them. */

enum { YIELDERS = 3, YIELDS = 2 };

static int yields[YIELDERS];

static void yield_some(void *arg)
{
	int *mine = arg;

	for (int i = 0; i < YIELDS; i++) {
		/* It is on one stack only, so plain accesses are in order. */
		int before = *mine;

		weft_yield();
		*mine = before + 1;
	}
}

static void spawn_yielders(struct job *j)
{
	(void)j;
	for (int i = 0; i < YIELDERS; i++)
		weft_sim_assert(
			weft_go(yield_some, &yields[i]) == 0, "no fiber");
	latch_open(&stage.latch[0]);
}

void work_yield(void *arg)
{
	rt_start((uint32_t)(uintptr_t)arg);
	stage.job[0].then = spawn_yielders;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	send_thief();
	latch_wait(&stage.latch[0]);
	rt_stop();
	jobs_check(1);
	for (int i = 0; i < YIELDERS; i++)
		weft_sim_assert(yields[i] == YIELDS,
			"fiber %d went on %d times", i, yields[i]);
}

/* ------------------------------------------------------------------------ */
/* A fiber started on one processor may end on another. */

static void count_up(void *arg)
{
	(void)wf_add_rlx((_Atomic(uint32_t) *)arg, 1);
}

static void spawn_many(void *arg)
{
	for (int i = 0; i < 4; i++)
		weft_sim_assert(weft_go(count_up, arg) == 0, "no fiber");
	latch_open(&stage.latch[0]);
}

void work_spawn(void *arg)
{
	static _Atomic(uint32_t) ended;

	(void)arg;
	rt_start(2);
	weft_sim_assert(
		weft_rt_go(stage.rt, spawn_many, &ended) == 0, "no fiber");
	send_thief();
	latch_wait(&stage.latch[0]);
	rt_stop();
	weft_sim_assert(wf_load_rlx(&ended) == 4, "%u fibers of 4 have run",
		wf_load_rlx(&ended));
}

/* ------------------------------------------------------------------------ */
/* Help, after as many looks as idle/monitor.h says. */

static void need_help(struct job *j)
{
	(void)j;
	stage.job[1].then = job_opens;
	job_submit(stage.rt, 1, (weft_hint)weft_sim_either(3));
	latch_need(&stage.latch[0]);
}

void work_help(void *arg)
{
	const struct help *h = arg;
	weft_config cfg = rt_config(h->workers);

	cfg.group_size = h->group_size;
	stage.looks = h->looks;
	rt_start_with(&cfg);
	stage.job[0].then = need_help;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	rt_stop();
	jobs_check(2);
}

/* ------------------------------------------------------------------------ */
/* Turns: two tasks call each other through the slot, three others wait. */

enum { BALLS = 2, OTHERS = 3, READY = BALLS + OTHERS };

#define HAD UINT64_MAX /* its turn */

static struct {
	weft_task ball[BALLS];
	_Atomic(uint64_t) ready_at[OTHERS]; /* picks + 1; 0: not yet */
	_Atomic(uint32_t) ran;
	uint64_t looked_at; /* turns_check: picks */
	uint64_t extra;	    /* ready besides, at once */
	uint64_t calls;	    /* children that a joiner may run meanwhile */
	_Atomic(uint32_t) live; /* of a burst */
	_Atomic(uint32_t) more; /* to do when all others have had their turn */
	uint64_t fresh_at;	/* picks when a fiber was spawned */
	struct swapper {
		struct weft_awaiter awaiter; /* must be first */
		weft_fiber *fiber;
		bool ended;
	} swapper[2];
} game;

/* B of sched/pick.h, and the calls of a joiner that come on top. */
static uint64_t bound(weft_rt *rt)
{
	return wf_pick_bound(&rt->config, rt->proc_count, READY + game.extra) +
		game.calls;
}

static uint64_t picks(weft_rt *rt)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < rt->proc_count; i++)
		n += wf_load_rlx(&rt->procs[i].counters.ticks);
	return n;
}

static bool is_linked(weft_task *at, size_t n, weft_task *task)
{
	for (; n > 0; n--, at = at->next_)
		if (at == task)
			return true;
	return false;
}

static bool is_local(struct wf_proc *p, weft_task *task)
{
	struct wf_runq *q = &p->runq;

	for (uint64_t i = wf_load_rlx(&q->head); i != wf_load_rlx(&q->tail);
		i++)
		if (wf_load_rlx(&q->slots[i & q->mask]) == wf_entry_of(task))
			return true;
	return wf_load_rlx(&p->slot) == wf_entry_of(task) ||
		is_linked(p->yielders.first, wf_load_rlx(&p->yielders.count),
			task);
}

/* Is it in a queue?  Otherwise a processor has it in hand. */
static bool is_queued(weft_rt *rt, weft_task *task)
{
	struct wf_inject *q = &rt->groups->inject;

	for (uint32_t i = 0; i < rt->proc_count; i++)
		if (is_local(&rt->procs[i], task))
			return true;
	return is_linked(q->front.first, q->front.count, task) ||
		is_linked(q->back.first, q->back.count, task);
}

/* At every step. */
void turns_check(void *arg)
{
	weft_rt *rt = stage.rt;
	uint64_t now;

	sched_step(arg);
	if (rt == NULL || stage.stops)
		return;
	now = picks(rt);
	if (now == game.looked_at)
		return;
	game.looked_at = now;
	for (size_t i = 0; i < OTHERS; i++) {
		uint64_t at = wf_load_rlx(&game.ready_at[i]);

		weft_sim_assert(at == 0 || at == HAD || now < at + bound(rt) ||
				!is_queued(rt, &stage.job[i].task),
			"job %zu has been ready for %u picks", i,
			(unsigned)(now + 1 - at));
	}
}

static void have_turn(struct job *j)
{
	wf_store_rlx(&game.ready_at[job_number(j)], HAD);
	if (wf_add_rlx(&game.ran, 1) + 1 == OTHERS)
		latch_open(&stage.latch[0]);
}

static void be_ready(size_t i, weft_hint hint)
{
	uint64_t not_yet = 0;

	stage.job[i].then = have_turn;
	job_submit(stage.rt, i, hint);
	(void)wf_cas_rlx(&game.ready_at[i], &not_yet, picks(stage.rt) + 1);
}

/* The other ball is next, until all others have had their turn. */
static void play(weft_task *task)
{
	weft_task *next = &game.ball[task == &game.ball[0]];

	/* Refused, if all was over a moment ago. */
	if (wf_load_rlx(&game.ran) < OTHERS)
		(void)!weft_submit(
			weft_rt_executor(stage.rt), next, WEFT_HINT_NEXT);
}

static void begin_game(weft_task *task)
{
	be_ready(0, WEFT_HINT_DEFAULT);
	be_ready(1, WEFT_HINT_YIELD);
	task->run = play;
	play(task);
}

void work_turns(void *arg)
{
	rt_start((uint32_t)(uintptr_t)arg);
	game.ball[0].run = begin_game;
	game.ball[1].run = play;
	weft_sim_assert(weft_submit(weft_rt_executor(stage.rt), &game.ball[0],
				WEFT_HINT_DEFAULT) == 0,
		"a ball is refused");
	be_ready(2, WEFT_HINT_DEFAULT);
	latch_wait(&stage.latch[0]);
	rt_stop();
	jobs_check(OTHERS);
}

/* ------------------------------------------------------------------------ */
/* Fibers that go on and on in other ways. */

static bool goes_on(void)
{
	return wf_load_rlx(&game.ran) < OTHERS || wf_load_rlx(&game.more) > 0;
}

/* Play a game that fn begins, on so many workers. */
static void play_with(uint32_t workers, void (*fn)(void *))
{
	weft_config cfg = rt_config(workers);

	/* So seldom that the turns matter, not the tick. */
	cfg.global_tick = 8;
	cfg.local_capacity = game.calls != 0 ? 16 : 2;
	rt_start_with(&cfg);
	weft_sim_assert(weft_rt_go(stage.rt, fn, NULL) == 0, "no fiber");
	be_ready(2, WEFT_HINT_DEFAULT);
	if (workers > 1)
		send_thief();
	latch_wait(&stage.latch[0]);
	while (goes_on())
		weft_sim_yield();
	rt_stop();
	jobs_check(OTHERS);
}

static bool swap_commit(struct weft_awaiter *a, weft_fiber *f)
{
	((struct swapper *)a)->fiber = f;
	return true;
}

/*
 * Two fibers name each other as the next.  Their plain accesses are in order
 * only if the one that is named runs after the other has left its stack.
 */
static void swap(void *arg)
{
	struct swapper *me = arg, *other = &game.swapper[me == game.swapper];

	while (goes_on()) {
		me->awaiter.next = other->fiber;
		weft_sim_assert(weft_suspend(&me->awaiter) == 0, "refused");
	}
	me->ended = true;
	if (!other->ended)
		weft_wake(other->fiber, WEFT_HINT_DEFAULT);
}

/* The second swapper: it names the first, which waits. */
static void swap_second(void *arg)
{
	be_ready(0, WEFT_HINT_DEFAULT);
	be_ready(1, WEFT_HINT_YIELD);
	game.swapper[1].awaiter.commit = swap_commit;
	swap(arg);
}

/* The first swapper is off its stack: the second may begin. */
static bool swap_begin(struct weft_awaiter *a, weft_fiber *f)
{
	a->commit = swap_commit;
	(void)swap_commit(a, f);
	return weft_rt_go(stage.rt, swap_second, &game.swapper[1]) == 0;
}

static void swap_first(void *arg)
{
	struct swapper *me = &game.swapper[0];

	(void)arg;
	me->awaiter.commit = swap_begin;
	weft_sim_assert(weft_suspend(&me->awaiter) == 0, "refused");
	swap(me);
}

void work_transfer(void *arg)
{
	play_with((uint32_t)(uintptr_t)arg, swap_first);
}

/* A fiber starts itself anew and more than the local queue holds. */
enum { SPARKS = 3, BURSTS = 16, LIVE_MAX = 32 };

static void spark(void *arg)
{
	(void)arg;
	(void)wf_sub_rlx(&game.live, 1);
}

static void start(void (*fn)(void *))
{
	uint32_t live = wf_add_rlx(&game.live, 1) + 1;

	weft_sim_assert(live <= LIVE_MAX, "%u fibers live at once", live);
	/* Refused, if all was over a moment ago. */
	if (weft_go(fn, NULL) != 0)
		spark(NULL);
}

static void burst(void *arg)
{
	if (goes_on()) {
		if (wf_load_rlx(&game.more) > 0)
			(void)wf_sub_rlx(&game.more, 1);
		for (int i = 0; i < SPARKS; i++)
			start(spark);
		/* It stays in the local queue, and runs before them. */
		start(burst);
	}
	spark(arg);
}

static void begin_burst(void *arg)
{
	be_ready(0, WEFT_HINT_DEFAULT);
	be_ready(1, WEFT_HINT_YIELD);
	(void)wf_add_rlx(&game.live, 1);
	burst(arg);
}

void work_burst(void *arg)
{
	game.extra = LIVE_MAX;
	wf_store_rlx(&game.more, BURSTS);
	play_with((uint32_t)(uintptr_t)arg, begin_burst);
}

/* A fiber runs its children as calls. */
static void *be_child(void *arg)
{
	return arg;
}

/* One that has not started is passed over, but not for ever. */
static void *be_fresh(void *arg)
{
	uint64_t waited = picks(stage.rt) - game.fresh_at;

	weft_sim_assert(
		waited <= bound(stage.rt), "%u picks", (unsigned)waited);
	wf_store_rlx(&game.more, 0);
	return arg;
}

/* Once nothing else waits, for which the joiner would give way. */
static void spawn_fresh(void)
{
	weft_fiber *fresh = NULL;

	if (game.fresh_at != 0 || wf_load_rlx(&game.ran) < OTHERS)
		return;
	game.fresh_at = picks(stage.rt);
	weft_sim_assert(
		weft_spawn(&fresh, NULL, be_fresh, NULL) == 0, "no fiber");
	weft_detach(fresh);
}

static void join_children(void *arg)
{
	(void)arg;
	be_ready(0, WEFT_HINT_DEFAULT);
	be_ready(1, WEFT_HINT_YIELD);
	while (goes_on()) {
		weft_fiber *f = NULL;

		spawn_fresh();
		/* Refused or cancelled, if all was over a moment ago. */
		if (weft_spawn(&f, NULL, be_child, NULL) != 0)
			break;
		if (weft_join(f, NULL, WEFT_FOREVER) != 0) {
			weft_sim_assert(!goes_on(), "no join");
			weft_detach(f);
		}
	}
}

void work_joins(void *arg)
{
	game.extra = 2;
	game.calls = 2 * WF_JOIN_CALLS;
	wf_store_rlx(&game.more, 1);
	play_with((uint32_t)(uintptr_t)arg, join_children);
}
