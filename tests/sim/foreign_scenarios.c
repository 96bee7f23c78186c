/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/foreign_scenarios.c - fibers on an executor that is no runtime: woken
 * while they leave, resumed by one thread and then by another, joined from
 * everywhere; and the home, which is gone when the last one is.
 *
 * That nothing is left of the home is the simulator's check for leaks; that
 * nobody uses it afterwards, its check for what was freed.
 */
#include "sim/exec_kit.h"

#include "exec/foreign_pool.h"

static struct {
	struct desk desk, other;
	_Atomic(weft_fiber *) box[2];
	int work; /* what the waker did before */
	int turns[2];
	int data; /* what the fiber that is joined did */
	int runs;
	weft_fiber *fiber; /* that is joined, or detached */
	weft_group group;
	_Atomic(uint32_t) users; /* of the group */
} s;

/* An awaiter in memory that is freed the instant its fiber goes on. */
struct post {
	struct weft_awaiter awaiter;
	_Atomic(weft_fiber *) *box; /* where the fiber is published */
	bool refused;
};

/* Nothing of the post or the fiber is touched again. */
static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	struct post *post = wf_container_of(a, struct post, awaiter);

	weft_sim_assert(weft_self() == NULL, "commit runs in a fiber");
	/* [pair: visit.box] */
	wf_store_rel(post->box, f);
	return true;
}

static int suspend_with(bool (*commit)(struct weft_awaiter *, weft_fiber *),
	unsigned box, weft_fiber *next)
{
	struct post *post = duo_alloc(sizeof(*post));
	int refused;

	post->awaiter.commit = commit;
	post->awaiter.next = next;
	post->box = &s.box[box];
	refused = weft_suspend(&post->awaiter);
	weft_sim_assert(refused == post->refused, "suspend says %d", refused);
	wf_os_free(post);
	return refused;
}

/* Who is in the box, once somebody is. */
static weft_fiber *collect(unsigned box)
{
	weft_fiber *f;

	/* [pair: visit.box] */
	while ((f = wf_load_acq(&s.box[box])) == NULL)
		duo_pause();
	wf_store_rlx(&s.box[box], NULL);
	return f;
}

/* ------------------------------------------------------------------------ */
/* Woken from elsewhere. */

/* Twice; whoever resumes it sees what it did before, on its stack too. */
static void *sleeper(void *arg)
{
	weft_fiber *self = weft_self();
	int stack[2] = { 0 }, *mine = duo_watched(stack);

	for (int i = 0; i < 2; i++) {
		int refused;

		mine[i]++;
		s.turns[0]++;
		refused = suspend_with(publish, 0, NULL);
		desk_check_here(&s.desk.executor, self);
		weft_sim_assert(refused == 0, "it was not suspended");
		weft_sim_assert(
			mine[i] == 1 && s.turns[0] == i + 1 && s.work == i + 1,
			"round %d: %d, %d", i, mine[i], s.work);
	}
	desk_leave(&s.desk);
	return arg;
}

static void *wake_twice(void *arg)
{
	weft_hint hint = (weft_hint)(uintptr_t)arg;

	for (int i = 0; i < 2; i++) {
		weft_fiber *f = collect(0);

		s.work = i + 1;
		weft_wake(f, hint);
	}
	return NULL;
}

static void waker(void *arg)
{
	(void)wake_twice(arg);
}

void visit_wake(void *arg)
{
	int thread;

	desk_open(&s.desk, 1);
	desk_root(&s.desk, sleeper, NULL);
	thread = duo_thread(waker, arg, "waker");
	desk_run(&s.desk, 2);
	(void)weft_sim_join(thread);
}

/* In place of a fiber: it was signalled. */
static weft_fiber *signal_mark(void)
{
	return (weft_fiber *)&s.work;
}

/* Unless the signal came first. */
static bool publish_or_refuse(struct weft_awaiter *a, weft_fiber *f)
{
	struct post *post = wf_container_of(a, struct post, awaiter);
	weft_fiber *none = NULL;

	/* [pair: visit.signal] */
	if (wf_cas_rel(post->box, &none, f))
		return true;
	post->refused = true;
	return false;
}

static void *sleeps_or_not(void *arg)
{
	weft_fiber *self = weft_self();
	int stack[2] = { 0 }, *mine = duo_watched(stack);

	for (unsigned i = 0; i < 2; i++) {
		weft_fiber *seen;
		int refused;

		mine[i]++;
		refused = suspend_with(publish_or_refuse, i, NULL);
		desk_check_here(&s.desk.executor, self);
		/* [pair: visit.signal] If it was refused this is why. */
		seen = wf_load_acq(&s.box[i]);
		weft_sim_assert(!refused || seen == signal_mark(),
			"round %u: refused for no reason", i);
		weft_sim_assert(mine[i] == 1 && s.turns[i] == 1, "round %u", i);
	}
	desk_leave(&s.desk);
	return arg;
}

static void signals(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < 2; i++) {
		weft_fiber *f;

		s.turns[i] = 1;
		/* [pair: visit.signal] */
		f = wf_xchg_acqrel(&s.box[i], signal_mark());
		if (f != NULL)
			weft_wake(f, WEFT_HINT_DEFAULT);
	}
}

/* The signal comes before or after it has left. */
void visit_refuse(void *arg)
{
	int thread;

	(void)arg;
	desk_open(&s.desk, 1);
	desk_root(&s.desk, sleeps_or_not, NULL);
	thread = duo_thread(signals, NULL, "waker");
	desk_run(&s.desk, 2);
	(void)weft_sim_join(thread);
}

static void *goes_first(void *arg)
{
	weft_fiber *self = weft_self();

	(void)suspend_with(publish, 0, NULL);
	desk_check_here(&s.desk.executor, self);
	weft_sim_assert(s.work == 1, "what was done before is not seen");
	if (arg == NULL)
		weft_wake(collect(1), WEFT_HINT_NEXT);
	desk_leave(&s.desk);
	return arg;
}

static bool refuse(struct weft_awaiter *a, weft_fiber *f)
{
	(void)f;
	wf_container_of(a, struct post, awaiter)->refused = true;
	return false;
}

static void *goes_on_as(void *arg)
{
	weft_fiber *self = weft_self(), *next = collect(0);
	int refused;

	s.work = 1;
	refused = suspend_with(arg ? refuse : publish, 1, next);
	desk_check_here(&s.desk.executor, self);
	weft_sim_assert(refused == (arg != NULL), "suspend: %d", refused);
	desk_leave(&s.desk);
	return arg;
}

/* One wakes the other by waiting; with arg it need not wait after all. */
void visit_transfer(void *arg)
{
	desk_open(&s.desk, 2);
	desk_root(&s.desk, goes_first, arg);
	desk_root(&s.desk, goes_on_as, arg);
	desk_run(&s.desk, 2);
}

/* ------------------------------------------------------------------------ */
/* Giving way. */

static void *yields(void *arg)
{
	weft_fiber *self = weft_self();
	int stack[1] = { 0 }, *mine = duo_watched(stack), *turns = arg;

	for (int i = 0; i < 2; i++) {
		*mine = ++*turns;
		weft_yield();
		desk_check_here(&s.desk.executor, self);
		weft_sim_assert(*mine == i + 1 && *turns == i + 1,
			"turn %d: %d, %d", i, *mine, *turns);
	}
	desk_leave(&s.desk);
	return arg;
}

void visit_yield(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 2);
	desk_root(&s.desk, yields, &s.turns[0]);
	desk_root(&s.desk, yields, &s.turns[1]);
	desk_run(&s.desk, 2);
}

/* ------------------------------------------------------------------------ */
/* Children. */

static void grandchild(void *arg)
{
	weft_fiber *self = weft_self();

	desk_check_here(&s.desk.executor, self);
	*(int *)arg += 1;
	desk_leave(&s.desk);
}

static void *child(void *arg)
{
	int err = weft_go(grandchild, &s.turns[1]);

	weft_sim_assert(err == 0, "go says %d", err);
	desk_check_here(&s.desk.executor, weft_self());
	*(int *)arg += 1;
	return arg;
}

static void *parent(void *arg)
{
	weft_fiber *self = weft_self(), *f = NULL;
	void *result = NULL;
	int err = weft_spawn(&f, NULL, child, &s.turns[0]);

	weft_sim_assert(err == 0, "spawn says %d", err);
	err = weft_join(f, &result, WEFT_FOREVER);
	desk_check_here(&s.desk.executor, self);
	weft_sim_assert(err == 0 && result == &s.turns[0], "join: %d", err);
	weft_sim_assert(s.turns[0] == 1, "what the child did is not seen");
	desk_leave(&s.desk);
	return arg;
}

/* They are where their parents are. */
void visit_family(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 2);
	desk_root(&s.desk, parent, NULL);
	desk_run(&s.desk, 2);
	weft_sim_assert(s.turns[1] == 1, "a child of a child did not run");
}

/* ------------------------------------------------------------------------ */
/* What is waited for in groups. */

static void *waits(void *arg)
{
	weft_fiber *self = weft_self();
	int err = weft_group_wait(&s.group, WEFT_FOREVER);

	desk_check_here(&s.desk.executor, self);
	weft_sim_assert(err == 0 && s.work == 1, "wait: %d", err);
	desk_leave(&s.desk);
	return arg;
}

static void done(void *arg)
{
	(void)arg;
	s.work = 1;
	weft_group_done(&s.group);
}

void visit_group(void *arg)
{
	int thread;

	(void)arg;
	weft_group_add(&s.group, 1);
	desk_open(&s.desk, 2);
	desk_root(&s.desk, waits, NULL);
	desk_root(&s.desk, waits, NULL);
	thread = duo_thread(done, NULL, "other");
	desk_run(&s.desk, 2);
	(void)weft_sim_join(thread);
}

/* An executor that is freed as soon as no fiber is on it. */
struct passing {
	weft_executor executor; /* must be first */
	struct desk *to;
	int submits; /* by whoever has the right to the fiber */
};

static int pass_on(weft_executor *e, weft_task *t, weft_hint hint)
{
	struct passing *p = (struct passing *)e;
	struct desk *to = p->to;

	p->submits++;
	return desk_submit(&to->executor, t, hint);
}

static void *sleeps_once(void *arg)
{
	weft_fiber *self = weft_self();

	(void)suspend_with(publish, 0, NULL);
	desk_check_here(s.desk.as, self);
	return arg;
}

static void wakes_once(void *arg)
{
	(void)arg;
	weft_wake(collect(0), WEFT_HINT_DEFAULT);
}

/* Who waits for its fibers to end frees the executor; arg: they are joined. */
void visit_count(void *arg)
{
	struct passing *p = duo_alloc(sizeof(*p));
	int thread, server, err;
	weft_fiber *f;

	p->executor.submit = pass_on;
	p->to = &s.desk;
	wf_visit_count(&p->executor, &s.group);
	desk_open(&s.desk, 1);
	s.desk.as = &p->executor;
	server = duo_thread(desk_serve, &s.desk, "server");
	thread = duo_thread(wakes_once, NULL, "waker");
	f = spawn_on(&p->executor, sleeps_once, NULL);
	if (arg == NULL)
		weft_detach(f);
	err = weft_group_wait(&s.group, WEFT_FOREVER);
	weft_sim_assert(err == 0 && p->submits == 2, "%d, %d", err, p->submits);
	wf_os_free(p);
	if (arg != NULL)
		err = weft_join(f, NULL, WEFT_NOW);
	weft_sim_assert(err == 0, "join: %d", err);
	desk_leave(&s.desk);
	(void)weft_sim_join(thread);
	(void)weft_sim_join(server);
}

/* ------------------------------------------------------------------------ */
/* Joined from everywhere. */

static void *ends(void *arg)
{
	s.runs++;
	s.data = 1;
	return arg;
}

static void check_end(int err, void *result)
{
	weft_sim_assert(err == 0 && result == &s.data, "join: %d", err);
	weft_sim_assert(s.runs == 1 && s.data == 1, "it ran %d times", s.runs);
}

static void join_it(void)
{
	void *result = NULL;
	int err = weft_join(s.fiber, &result, WEFT_FOREVER);

	check_end(err, result);
}

void visit_join_thread(void *arg)
{
	int server;

	(void)arg;
	desk_open(&s.desk, 1);
	s.fiber = spawn_on(&s.desk.executor, ends, &s.data);
	server = duo_thread(desk_serve, &s.desk, "server");
	join_it();
	desk_leave(&s.desk);
	(void)weft_sim_join(server);
}

static void joins_by_deadline(void *arg)
{
	void *result = NULL;
	int err = weft_join(s.fiber, &result, weft_after(500));

	(void)arg;
	duo_scribble();
	if (err == -ETIMEDOUT)
		err = weft_join(s.fiber, &result, WEFT_FOREVER);
	check_end(err, result);
	desk_leave(&s.desk);
}

void visit_join_deadline(void *arg)
{
	int thread;

	(void)arg;
	desk_open(&s.desk, 1);
	s.fiber = spawn_on(&s.desk.executor, ends, &s.data);
	thread = duo_thread(joins_by_deadline, NULL, "joiner");
	desk_run(&s.desk, 1);
	(void)weft_sim_join(thread);
}

static void *joins_abroad(void *arg)
{
	weft_fiber *self = weft_self();

	join_it();
	desk_check_here(&s.desk.executor, self);
	desk_leave(&s.desk);
	return arg;
}

/* By one on the same executor, or with arg on another. */
void visit_join_abroad(void *arg)
{
	struct desk *there = arg ? &s.other : &s.desk;
	int thread;

	desk_open(&s.desk, 1);
	desk_open(&s.other, 1);
	s.fiber = spawn_on(&there->executor, ends, &s.data);
	desk_root(&s.desk, joins_abroad, NULL);
	thread = duo_thread(desk_serve, there, "server");
	desk_run(&s.desk, 1);
	desk_leave(&s.other);
	(void)weft_sim_join(thread);
}

static void *joins_in_rt(void *arg)
{
	weft_fiber *self = weft_self();

	join_it();
	duo_check_here(self);
	desk_leave(&s.desk);
	return arg;
}

/* By a fiber of a runtime. */
void visit_join_rt(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 1);
	duo_open(0);
	s.fiber = spawn_on(&s.desk.executor, ends, &s.data);
	duo_root(0, joins_in_rt, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
}

/* The other way round. */
void visit_joins_rt(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 1);
	duo_open(0);
	s.fiber = duo_handle(0, ends, &s.data);
	desk_root(&s.desk, joins_abroad, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
}

/* Woken by a fiber of a runtime. */
void visit_wake_rt(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 1);
	duo_open(0);
	desk_root(&s.desk, sleeper, NULL);
	duo_root(0, wake_twice, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
}

static void *sleeps_in_rt(void *arg)
{
	weft_fiber *self = weft_self();

	for (int i = 0; i < 2; i++) {
		(void)suspend_with(publish, 0, NULL);
		duo_check_here(self);
		weft_sim_assert(s.work == i + 1, "round %d: %d", i, s.work);
	}
	return arg;
}

static void *wakes_abroad(void *arg)
{
	weft_fiber *self = weft_self();

	(void)wake_twice(NULL);
	desk_check_here(&s.desk.executor, self);
	desk_leave(&s.desk);
	return arg;
}

/* The other way round. */
void visit_wakes_rt(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 1);
	duo_open(0);
	duo_root(0, sleeps_in_rt, NULL);
	desk_root(&s.desk, wakes_abroad, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
}

/* ------------------------------------------------------------------------ */
/* The end, and the home. */

static void detaches(void *arg)
{
	(void)arg;
	weft_detach(s.fiber);
}

static void *ends_and_leaves(void *arg)
{
	(void)ends(arg);
	desk_leave(&s.desk);
	return arg;
}

/* It is detached at the moment that it ends; then the home goes too. */
void visit_detach(void *arg)
{
	int thread;

	(void)arg;
	desk_open(&s.desk, 1);
	s.fiber = spawn_on(&s.desk.executor, ends_and_leaves, &s.data);
	thread = duo_thread(detaches, NULL, "detacher");
	desk_run(&s.desk, 1);
	(void)weft_sim_join(thread);
	weft_sim_assert(s.runs == 1, "it ran %d times", s.runs);
}

static void hold_once(void *arg)
{
	struct weft_rt *home = NULL;
	bool faults = arg != NULL;
	int err = wf_home_hold(&home);

	weft_sim_assert(
		err == 0 || (faults && err == -ENOMEM), "hold says %d", err);
	if (err)
		return;
	wf_lock(&home->outside.lock);
	weft_sim_assert(home->is_home, "this is no home");
	wf_bump(&home->outside.spawned, 1);
	wf_unlock(&home->outside.lock);
	wf_home_drop();
}

/* Two come and go. */
void home_hold(void *arg)
{
	int one = duo_thread(hold_once, arg, "one");

	hold_once(arg);
	(void)weft_sim_join(one);
}

void home_faults(void *arg)
{
	(void)arg;
	weft_sim_os_faults(3);
	home_hold(&s);
}

static void live(void *arg)
{
	struct desk *d = arg;
	weft_fiber *f;

	desk_open(d, 1);
	f = spawn_on(&d->executor, ends, &s.data);
	weft_detach(f);
	weft_task_run(&d->executor, desk_take(d));
}

static void *counts(void *arg)
{
	return arg;
}

static void live_elsewhere(void *arg)
{
	struct desk *d = arg;

	desk_open(d, 1);
	weft_detach(spawn_on(&d->executor, counts, NULL));
	weft_task_run(&d->executor, desk_take(d));
}

/* Two threads have a fiber each, and may be the last. */
void home_fibers(void *arg)
{
	int one = duo_thread(live, &s.desk, "one");

	(void)arg;
	live_elsewhere(&s.other);
	(void)weft_sim_join(one);
	weft_sim_assert(s.runs == 1, "it ran %d times", s.runs);
}
