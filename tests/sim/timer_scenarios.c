/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/timer_scenarios.c - deadlines: set here and fired there, at the
 * instant of a wake or a cancellation, moved from one processor to another.
 *
 * The object of a wait is freed the instant the wait is over, and the stack
 * below is written over: a late access is caught.
 */
#include "sim/scenario.h"

#include "sim/exec_kit.h"

#include <errno.h>

#include "base/units.h"
#include "idle/serve.h"
#include "wait/timers.h"

static struct {
	weft_group *g, other;	 /* what is waited for */
	weft_fiber *fiber;	 /* that waits */
	_Atomic(uint32_t) users; /* of the group */
	_Atomic(uint32_t) step;
	weft_time deadline;
	_Atomic(weft_fiber *) box;
	struct desk desk;
} s;

static void open_all(uint32_t users)
{
	s.g = duo_alloc(sizeof(*s.g));
	weft_group_add(s.g, 1);
	wf_store_rlx(&s.users, users);
}

/* Whatever is in a wheel knows that it is. */
static void check_list(struct wf_timer *t, struct wf_wheel *w)
{
	for (; t != NULL; t = t->next) {
		weft_sim_assert(wf_load_rlx(&t->in) == w,
			"a timer is in two places, or in one and out");
		if (t->key >> WF_WHEEL_TICK_SHIFT <= w->tick)
			check_list(t->child, w);
	}
}

static void close_all(void)
{
	for (unsigned i = 0; i < DUO_WORKERS; i++) {
		struct wf_wheel *w = &duo->proc[i].timers->wheel;

		if (w->heap.root != NULL)
			w->heap.root->next = NULL;
		check_list(w->heap.root, w);
		for (unsigned l = 0; l < WF_WHEEL_LEVELS; l++)
			for (unsigned d = 0; d < WF_WHEEL_SLOTS; d++)
				check_list(w->slot[l][d].first, w);
	}
	duo_close();
}

/* The last who uses the group frees it. */
static void let_go(void)
{
	/* [pair: timer.users] */
	if (wf_sub_acqrel(&s.users, 1) == 1)
		wf_os_free(s.g);
}

static void done(void *arg)
{
	(void)arg;
	weft_group_done(s.g);
	let_go();
}

static void *done_in_fiber(void *arg)
{
	done(arg);
	return NULL;
}

/* As idle/monitor.c does for a processor that is late. */
static void fire_all(void *arg)
{
	unsigned times = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < times; i++)
		for (unsigned p = 0; p < DUO_WORKERS; p++)
			(void)wf_serve_timers(
				duo->proc[p].timers, weft_now(), SIZE_MAX);
}

/* Some time from ns on: many, so that it comes at any moment. */
static weft_time soon(int64_t ns)
{
	return weft_after(ns + 100 * weft_sim_either(100));
}

static void check_late(int err, weft_time deadline)
{
	weft_time now = weft_now();

	weft_sim_assert(err != -ETIMEDOUT || now >= deadline,
		"%lld ns too early", (long long)(deadline - now));
}

/* ------------------------------------------------------------------------ */
/* Sleep: nobody else ends it. */

static void *sleeps(void *arg)
{
	int64_t ns = (int64_t)(uintptr_t)arg;
	weft_fiber *self = weft_self();
	weft_time at = weft_after(ns);
	int err = weft_sleep_until(at);

	/* Its frame is nobody's any more. */
	duo_scribble();
	duo_check_here(self);
	weft_sim_assert(err == 0, "it was cut short: %d", err);
	weft_sim_assert(weft_now() >= at, "it woke too early");
	return NULL;
}

/* On each worker one; with arg somebody else fires, too. */
static void timer_sleep(void *arg)
{
	int other = -1;

	duo_open(DUO_COARSE);
	duo_root(0, sleeps, (void *)900);
	duo_root(1, sleeps, (void *)1500);
	duo_start();
	if (arg != NULL)
		other = duo_thread(fire_all, arg, "monitor");
	duo_join();
	if (arg != NULL)
		(void)weft_sim_join(other);
	close_all();
}

/* Sleeps twice: the second timer is set by a fiber that was just woken. */
static void *sleeps_twice(void *arg)
{
	(void)sleeps(arg);
	return sleeps(arg);
}

static void timer_twice(void *arg)
{
	int other;

	duo_open(DUO_COARSE);
	duo_root(0, sleeps_twice, (void *)500);
	duo_start();
	other = duo_thread(fire_all, arg, "monitor");
	duo_join();
	(void)weft_sim_join(other);
	close_all();
}

/* Three sleep until one time: two of one processor, one of the other. */
static void *sleeps_till_then(void *arg)
{
	int err = weft_sleep_until(s.deadline);

	(void)arg;
	duo_scribble();
	weft_sim_assert(err == 0, "it was cut short: %d", err);
	weft_sim_assert(weft_now() >= s.deadline, "it woke too early");
	(void)wf_add_rlx(&s.step, 1);
	return NULL;
}

static void timer_equal(void *arg)
{
	(void)arg;
	duo_open(0);
	s.deadline = weft_after(3000);
	for (unsigned i = 0; i < 3; i++)
		duo_root(i / 2, sleeps_till_then, NULL);
	duo_run();
	weft_sim_assert(wf_load_rlx(&s.step) == 3, "one woke twice");
	close_all();
}

/* ------------------------------------------------------------------------ */
/* A deadline against whoever else ends the wait. */

static void *waits(void *arg)
{
	weft_time at = soon(1000);
	int err = weft_group_wait(s.g, at);

	let_go();
	duo_scribble();
	duo_check_here(s.fiber);
	check_late(err, at);
	weft_sim_assert(err == 0 || err == -ETIMEDOUT ||
			(arg != NULL && err == -ECANCELED),
		"it ended with %d", err);
	(void)wf_add_rlx(&s.step, 1);
	return NULL;
}

/* It is woken by a fiber, or with arg by a thread, or its time is up. */
static void timer_wake(void *arg)
{
	int waker = -1;

	duo_open(DUO_COARSE);
	open_all(2);
	s.fiber = duo_handle(0, waits, NULL);
	if (arg == NULL)
		duo_root(1, done_in_fiber, NULL);
	duo_start();
	if (arg != NULL)
		waker = duo_thread(done, NULL, "waker");
	duo_join();
	if (arg != NULL)
		(void)weft_sim_join(waker);
	weft_sim_assert(wf_load_rlx(&s.step) == 1, "it ended more than once");
	weft_detach(s.fiber);
	close_all();
}

static void cancel(void *arg)
{
	(void)arg;
	duo_cancel(s.fiber);
}

/* Nobody wakes it: it is cancelled, or its time is up. */
static void timer_cancel(void *arg)
{
	int canceller;

	(void)arg;
	duo_open(0);
	open_all(1);
	s.fiber = duo_handle(0, waits, &s);
	duo_start();
	canceller = duo_thread(cancel, NULL, "canceller");
	duo_join();
	(void)weft_sim_join(canceller);
	weft_detach(s.fiber);
	close_all();
}

static void *sleeps_or_not(void *arg)
{
	weft_time at = soon(0);
	int err = weft_sleep_until(at);

	(void)arg;
	duo_scribble();
	weft_sim_assert(err == 0 || err == -ECANCELED, "sleep: %d", err);
	weft_sim_assert(err != 0 || weft_now() >= at, "it woke too early");
	return NULL;
}

/* A sleeper is cancelled: as it falls asleep, as it wakes. */
static void timer_cancel_fired(void *arg)
{
	int canceller, other;

	duo_open(0);
	s.fiber = duo_handle(0, sleeps_or_not, NULL);
	duo_start();
	canceller = duo_thread(cancel, NULL, "canceller");
	other = duo_thread(fire_all, arg, "monitor");
	duo_join();
	(void)weft_sim_join(canceller);
	(void)weft_sim_join(other);
	weft_detach(s.fiber);
	close_all();
}

/* ------------------------------------------------------------------------ */
/* Several waits of one fiber, and a timer that stays where it was. */

enum { EARLIER, LATER, NEVER, TWICE };

static void first_wait(weft_time at)
{
	int err = weft_group_wait(s.g, at);

	let_go();
	check_late(err, at);
	weft_sim_assert(err == 0 || err == -ETIMEDOUT, "first: %d", err);
	(void)wf_add_rlx(&s.step, 1);
	/* Perhaps on the other worker by now. */
	duo_pause();
}

static void last_sleep(int64_t ns)
{
	weft_time at = weft_after(ns);
	int err = weft_sleep_until(at);

	duo_scribble();
	weft_sim_assert(err == 0, "sleep: %d", err);
	weft_sim_assert(weft_now() >= at, "an old timer ended a new wait");
}

/* The first is woken, most often, and leaves its timer behind. */
static void *waits_again(void *arg)
{
	int how = (int)(uintptr_t)arg, err;

	first_wait(soon(how == EARLIER ? 20000 : 5000));
	if (how == EARLIER)
		last_sleep(1000);
	if (how == LATER)
		last_sleep(60000);
	if (how == NEVER) {
		err = weft_group_wait(&s.other, WEFT_FOREVER);
		weft_sim_assert(err == 0, "no deadline, and it is %d", err);
	}
	if (how == TWICE) {
		weft_time at = weft_after(1000000);

		err = weft_group_wait(&s.other, at);
		check_late(err, at);
		last_sleep(500);
	}
	return NULL;
}

/* When the first timer has come, or is about to. */
static void done_later(void *arg)
{
	(void)arg;
	while (wf_load_rlx(&s.step) == 0)
		weft_sim_yield();
	(void)weft_sleep_until(soon(3000));
	weft_group_done(&s.other);
}

/*
 * The next wait ends before the timer that was left would fire: it moves,
 * perhaps from another processor; or later: it is set again when it fires; or
 * it has no deadline; or it is woken, too, and there is a third.
 */
static void timer_moves(void *arg)
{
	int how = (int)(uintptr_t)arg, other, waker = -1;

	duo_open(DUO_COARSE);
	open_all(2);
	weft_group_add(&s.other, 1);
	duo_root(0, waits_again, arg);
	duo_root(1, done_in_fiber, NULL);
	duo_start();
	other = duo_thread(fire_all, (void *)5, "monitor");
	if (how >= NEVER)
		waker = duo_thread(done_later, NULL, "waker");
	duo_join();
	(void)weft_sim_join(other);
	if (how >= NEVER)
		(void)weft_sim_join(waker);
	close_all();
}

/*
 * Without a fiber: a thread sets the timer as the commits of a fiber would, and
 * ends the waits; the other thread prunes the timers.
 */
static void one_wait(weft_fiber *f, int64_t until)
{
	uint64_t epoch = wf_load_rlx(&f->wait) & -WF_WAIT_EPOCH;
	uint64_t wait = epoch + WF_WAIT_EPOCH + WF_WAIT_TIMED;
	struct wf_timers *timers;
	enum wf_claim claim;

	wf_store_rlx(&f->until, until);
	wf_store_rlx(&f->latest, until);
	timers = wf_timers_hold(f);
	/* [pair: fiber.wake] As in wait/wait.c. */
	wf_store_rel(&f->wait, wait | WF_WAIT_SETTLED);
	wf_timers_let_go(timers);
	claim = wf_wait_claim(f, wait, 0);
	weft_sim_assert(claim == WF_CLAIM_WAKE, "its time has not come");
	wf_store_rlx(&f->wait, wait & -WF_WAIT_EPOCH);
}

static void sets(void *arg)
{
	(void)arg;
	wf_os_self_set(&duo->thread[1]);
	one_wait(s.fiber, 2000000);
	one_wait(s.fiber, 3000000);
	one_wait(s.fiber, 500000);
	wf_os_self_set(NULL);
}

static void timer_again(void *arg)
{
	int setter;

	(void)arg;
	duo_open(0);
	s.fiber = wf_fiber_take(&duo->proc[0].fibers, &duo->rt.fibers);
	wf_os_self_set(&duo->thread[0]);
	one_wait(s.fiber, 1000000);
	wf_os_self_set(NULL);
	setter = duo_thread(sets, NULL, "fiber");
	for (int i = 0; i < 3; i++)
		(void)wf_timers_prune(duo->proc[0].timers);
	(void)weft_sim_join(setter);
	wf_fiber_give(&duo->proc[0].fibers, &duo->rt.fibers, s.fiber);
	close_all();
}

/* It fires while the commit of the fiber is still at work: a join is armed. */
static void *is_joined(void *arg)
{
	duo_pause();
	return arg;
}

static void *joins(void *arg)
{
	weft_time at = soon(0);
	int err = weft_join(s.fiber, NULL, at);

	(void)arg;
	duo_scribble();
	check_late(err, at);
	if (err != 0) {
		weft_sim_assert(err == -ETIMEDOUT, "join: %d", err);
		err = weft_join(s.fiber, NULL, WEFT_FOREVER);
	}
	weft_sim_assert(err == 0, "join, at last: %d", err);
	return NULL;
}

static void timer_armed(void *arg)
{
	int other;

	duo_open(DUO_COARSE);
	s.fiber = duo_handle(1, is_joined, NULL);
	duo_root(0, joins, NULL);
	duo_start();
	other = duo_thread(fire_all, arg, "monitor");
	duo_join();
	(void)weft_sim_join(other);
	close_all();
}

/* An old timer meets the next life of the descriptor, in another wait. */
static void *short_life(void *arg)
{
	weft_group g = { 0 };
	weft_time at = soon(900);
	int err;

	(void)arg;
	weft_group_add(&g, 1);
	err = weft_group_wait(&g, at);
	check_late(err, at);
	weft_sim_assert(err == -ETIMEDOUT || err == -ECANCELED, "%d", err);
	return NULL;
}

static void *lives(void *arg)
{
	for (int i = 0; i < 2; i++) {
		weft_fiber *f = NULL;
		int err = weft_spawn(&f, NULL, short_life, NULL);

		weft_sim_assert(err == 0, "spawn: %d", err);
		duo_pause();
		(void)weft_cancel(f);
		err = weft_join(f, NULL, WEFT_FOREVER);
		weft_sim_assert(err == 0, "join: %d", err);
	}
	return arg;
}

static void timer_lives(void *arg)
{
	int other;

	duo_open(DUO_COARSE);
	duo_root(0, lives, NULL);
	duo_start();
	other = duo_thread(fire_all, arg, "monitor");
	duo_join();
	(void)weft_sim_join(other);
	close_all();
}

/* ------------------------------------------------------------------------ */
/* A processor sleeps until its timer, and is woken for something else. */

static void *suspends(void *arg)
{
	struct duo_post post = { { .commit = duo_publish }, &s.box };
	int err = weft_suspend(&post.awaiter);

	weft_sim_assert(err == 0, "suspend: %d", err);
	return arg;
}

static void wake_from_box(void *arg)
{
	weft_fiber *f;

	(void)arg;
	/* [pair: duo.box] */
	while ((f = wf_load_acq(&s.box)) == NULL)
		weft_sim_yield();
	weft_wake(f, WEFT_HINT_DEFAULT);
}

static void timer_park(void *arg)
{
	int waker;

	(void)arg;
	duo_open(0);
	duo_root(0, sleeps, (void *)2500);
	duo_root(0, suspends, NULL);
	duo_start();
	waker = duo_thread(wake_from_box, NULL, "waker");
	duo_join();
	(void)weft_sim_join(waker);
	close_all();
}

/* Nothing but time can end it, and it ends: nobody sleeps for good. */
static void timer_alone(void *arg)
{
	(void)arg;
	duo_open(0);
	duo_root(0, sleeps_twice, (void *)100000);
	duo_run();
	close_all();
}

/* ------------------------------------------------------------------------ */
/* Abroad: the thread for timers, and the home that goes with the last. */

static void *sleeps_foreign(void *arg)
{
	int64_t ns = (int64_t)(uintptr_t)arg;
	weft_time at = weft_after(ns);
	int err = weft_sleep_until(at);

	duo_scribble();
	weft_sim_assert(err == 0 || err == -EAGAIN, "sleep: %d", err);
	weft_sim_assert(err != 0 || weft_now() >= at, "it woke too early");
	desk_leave(&s.desk);
	return NULL;
}

/* Two: the later one first, so that the thread must be told. */
static void timer_foreign(void *arg)
{
	desk_open(&s.desk, 2);
	desk_root(&s.desk, sleeps_foreign, (void *)100000);
	desk_root(&s.desk, sleeps_foreign, (void *)1000);
	desk_run(&s.desk, arg ? 2 : 1);
}

/*
 * The thread for timers sleeps until a far deadline when a near one is set: it
 * must be told.  Both fibers run on that thread when they are woken, so no time
 * passes from there to their look at the clock.  When all is quiet the thread
 * knows of both; if the far deadline has not come by then, the near one must
 * come before it.
 */
#define FAR_NS (3600 * WF_NS_PER_S)

static void *sleeps_far(void *arg)
{
	int err = weft_sleep_until(s.deadline);

	weft_sim_assert(err == 0, "sleep: %d", err);
	return arg;
}

static void *sleeps_near(void *arg)
{
	int err = weft_sleep(1000);
	bool in_time = weft_now() < s.deadline;

	weft_sim_assert(err == 0, "sleep: %d", err);
	weft_sim_assert(in_time || wf_load_rlx(&s.step) == 0,
		"a near deadline was kept only when a far one had come");
	return arg;
}

static void timer_told(void *arg)
{
	weft_fiber *f[2];

	(void)arg;
	s.deadline = weft_after(FAR_NS);
	f[0] = spawn_on(weft_inline(), sleeps_far, NULL);
	weft_sim_quiesce();
	f[1] = spawn_on(weft_inline(), sleeps_near, NULL);
	weft_sim_quiesce();
	wf_store_rlx(&s.step, weft_now() < s.deadline);
	for (int i = 1; i >= 0; i--) {
		int err = weft_join(f[i], NULL, WEFT_FOREVER);

		weft_sim_assert(err == 0, "join: %d", err);
	}
}

/*
 * One thread serves both fibers.  The second does not let go of it until the
 * deadline of the first has made that ready, and then cancels it: it runs only
 * after that, and learns that it was cancelled.  Unless the deadline came
 * before the second began.
 */
static void *late_then_canceled(void *arg)
{
	int err;

	s.deadline = weft_after(50 * WF_NS_PER_US);
	err = weft_group_wait(&s.other, s.deadline);
	weft_sim_assert(
		err == (wf_load_rlx(&s.step) ? -ECANCELED : -ETIMEDOUT),
		"late, then cancelled: %d", err);
	desk_leave(&s.desk);
	return arg;
}

static void *cancels_when_late(void *arg)
{
	_Atomic(uint32_t) never = 0;
	weft_fiber_info info;

	/* It blocks its thread. */
	do {
		(void)wf_os_futex_wait(&never, 0, s.deadline + 1);
		weft_sim_yield();
		weft_fiber_look(s.fiber, &info);
	} while (info.state == WEFT_FIBER_WAITING);
	(void)weft_cancel(s.fiber);
	wf_store_rlx(&s.step, 1);
	desk_leave(&s.desk);
	return arg;
}

static void timer_late_then_cancel(void *arg)
{
	int err;

	(void)arg;
	weft_group_add(&s.other, 1);
	desk_open(&s.desk, 2);
	s.fiber = spawn_on(&s.desk.executor, late_then_canceled, NULL);
	desk_root(&s.desk, cancels_when_late, NULL);
	desk_run(&s.desk, 1);
	err = weft_join(s.fiber, NULL, WEFT_NOW);
	weft_sim_assert(err == 0, "join: %d", err);
}

static void *last_of_all(void *arg)
{
	weft_time at = weft_after(1000);
	int err = weft_sleep_until(at);

	duo_scribble();
	weft_sim_assert(err == 0, "sleep: %d", err);
	weft_sim_assert(weft_now() >= at, "it woke too early");
	return arg;
}

/*
 * It runs on, and ends, on the thread for timers, as the last that holds the
 * home; with arg somebody joins it, and is perhaps the last.
 */
static void timer_last(void *arg)
{
	weft_fiber *f = spawn_on(weft_inline(), last_of_all, NULL);
	int err = 0;

	if (arg != NULL)
		err = weft_join(f, NULL, WEFT_FOREVER);
	else
		weft_detach(f);
	weft_sim_assert(err == 0, "join: %d", err);
}

/* The home is left, and built anew, while the old one is torn down. */
static void timer_foreign_pools(void *arg)
{
	(void)arg;
	weft_detach(spawn_on(weft_inline(), last_of_all, NULL));
	weft_detach(spawn_on(weft_inline(), last_of_all, NULL));
}

/* A wait of a foreign fiber that is woken and times out at once. */
static void *waits_foreign(void *arg)
{
	weft_time at = soon(500);
	int err = weft_group_wait(s.g, at);

	(void)arg;
	let_go();
	duo_scribble();
	check_late(err, at);
	weft_sim_assert(err == 0 || err == -ETIMEDOUT, "it is %d", err);
	desk_leave(&s.desk);
	return NULL;
}

static void timer_foreign_wake(void *arg)
{
	int waker;

	(void)arg;
	open_all(2);
	desk_open(&s.desk, 1);
	desk_root(&s.desk, waits_foreign, NULL);
	waker = duo_thread(done, NULL, "waker");
	desk_run(&s.desk, 1);
	(void)weft_sim_join(waker);
}

/* ------------------------------------------------------------------------ */
/* A whole runtime. */

static void sleeps_to_the_end(void *arg)
{
	int err = weft_sleep((int64_t)(uintptr_t)arg);

	weft_sim_assert(err == 0 || err == -ECANCELED, "sleep: %d", err);
}

static void timer_stop(void *arg)
{
	weft_rt *rt = duo_rt_start();
	int err;

	(void)arg;
	weft_sim_assert(rt != NULL, "no runtime");
	err = weft_rt_go(rt, sleeps_to_the_end, (void *)1000);
	weft_sim_assert(err == 0, "go: %d", err);
	err = weft_rt_go(rt, sleeps_to_the_end, (void *)1000000000);
	weft_sim_assert(err == 0, "go: %d", err);
	duo_rt_stop(rt);
}

/* ------------------------------------------------------------------------ */

#define YES ((void *)1)
#define TIMES(n) ((void *)(n))

static const struct scenario table[] = {
	{ .name = "timer/sleep", .body = timer_sleep },
	{ .name = "timer/sleep-fired", .body = timer_sleep, .arg = TIMES(3) },
	{ .name = "timer/twice", .body = timer_twice, .arg = TIMES(3) },
	{ .name = "timer/equal", .body = timer_equal },
	{ .name = "timer/wake", .body = timer_wake },
	{ .name = "timer/wake-outside", .body = timer_wake, .arg = YES },
	{ .name = "timer/cancel", .body = timer_cancel },
	{ .name = "timer/cancel-fired",
		.body = timer_cancel_fired,
		.arg = TIMES(2) },
	{ .name = "timer/moves", .body = timer_moves },
	{ .name = "timer/moves-later",
		.body = timer_moves,
		.arg = TIMES(LATER) },
	{ .name = "timer/moves-never",
		.body = timer_moves,
		.arg = TIMES(NEVER) },
	{ .name = "timer/moves-twice",
		.body = timer_moves,
		.arg = TIMES(TWICE) },
	{ .name = "timer/again", .body = timer_again },
	{ .name = "timer/armed", .body = timer_armed, .arg = TIMES(3) },
	{ .name = "timer/lives", .body = timer_lives, .arg = TIMES(3) },
	{ .name = "timer/park", .body = timer_park },
	{ .name = "timer/alone", .body = timer_alone },
	{ .name = "timer/foreign", .body = timer_foreign },
	{ .name = "timer/foreign-two", .body = timer_foreign, .arg = YES },
	{ .name = "timer/foreign-wake", .body = timer_foreign_wake },
	{ .name = "timer/told", .body = timer_told },
	{ .name = "timer/late-then-cancel", .body = timer_late_then_cancel },
	{ .name = "timer/last", .body = timer_last },
	{ .name = "timer/last-joined", .body = timer_last, .arg = YES },
	{ .name = "timer/foreign-pools", .body = timer_foreign_pools },
	{ .name = "timer/stop", .body = timer_stop },
};

const struct scenarios timer_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
