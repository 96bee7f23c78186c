/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/foreign_scenarios.c - fibers on foreign executors: woken while
 * they leave, resumed by one thread and then by another, joined from
 * everywhere; and the foreign pool, which is freed with the last of them.
 *
 * The simulator's check for leaks finds a pool that is left; its check for
 * freed memory finds a thread that still uses the pool.
 */
#include "sim/exec_kit.h"

#include "sched/foreign.h"

static struct {
	struct desk desk, other;
	_Atomic(weft_fiber *) box[2];
	int work; /* by the waker, before it wakes */
	int turns[2];
	int data; /* by the fiber that is joined */
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

/* The fiber in the box, once there is one. */
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

/* Twice; each resumer sees all that it did before, on its stack too. */
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

void foreign_wake(void *arg)
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
void foreign_refuse(void *arg)
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
void foreign_transfer(void *arg)
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

void foreign_yield(void *arg)
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
void foreign_family(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 2);
	desk_root(&s.desk, parent, NULL);
	desk_run(&s.desk, 2);
	weft_sim_assert(s.turns[1] == 1, "a child of a child did not run");
}

/* ------------------------------------------------------------------------ */
/* Wait groups. */

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

void foreign_group(void *arg)
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

/* An executor that submits to the desk. */
struct passing {
	union { /* must be first */
		weft_executor executor;
		struct wf_exec exec;
	};
	struct desk *to;
	int submits; /* by the thread with the right to the fiber */
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
	if (arg == NULL)
		desk_leave(&s.desk);
	return arg;
}

static void wakes_once(void *arg)
{
	(void)arg;
	weft_wake(collect(0), WEFT_HINT_DEFAULT);
}

/*
 * A fiber waits on an executor of its own and is woken by a thread.  If arg is
 * NULL it is detached, and the executor counts it until it has ended.  Else it
 * is joined, and its executor, which counts nothing, is freed at once.
 */
void foreign_count(void *arg)
{
	struct passing *p = duo_alloc(sizeof(*p));
	int thread, server, err = 0;
	weft_fiber *f;

	p->executor.submit = pass_on;
	p->executor.reserved_[0] = arg == NULL ? p : NULL;
	p->to = &s.desk;
	desk_open(&s.desk, 1);
	s.desk.as = &p->executor;
	server = duo_thread(desk_serve, &s.desk, "server");
	thread = duo_thread(wakes_once, NULL, "waker");
	f = spawn_on(&p->executor, sleeps_once, arg);
	if (arg == NULL)
		weft_detach(f);
	else
		err = weft_join(f, NULL, WEFT_FOREVER);
	weft_sim_assert(err == 0, "join: %d", err);
	if (arg != NULL) {
		wf_os_free(p);
		desk_leave(&s.desk);
	}
	(void)weft_sim_join(thread);
	(void)weft_sim_join(server);
	if (arg != NULL)
		return;
	weft_sim_assert(p->submits == 2 && !wf_exec_has_fibers(&p->exec),
		"%d submits", p->submits);
	wf_os_free(p);
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

void foreign_join_thread(void *arg)
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

void foreign_join_deadline(void *arg)
{
	int thread;

	(void)arg;
	desk_open(&s.desk, 1);
	s.fiber = spawn_on(&s.desk.executor, ends, &s.data);
	thread = duo_thread(joins_by_deadline, NULL, "joiner");
	desk_run(&s.desk, 1);
	(void)weft_sim_join(thread);
}

static void *joins_foreign(void *arg)
{
	weft_fiber *self = weft_self();

	join_it();
	desk_check_here(&s.desk.executor, self);
	desk_leave(&s.desk);
	return arg;
}

/* By a fiber on its executor, or with arg on another. */
void foreign_join_foreign(void *arg)
{
	struct desk *there = arg ? &s.other : &s.desk;
	int thread;

	desk_open(&s.desk, 1);
	desk_open(&s.other, 1);
	s.fiber = spawn_on(&there->executor, ends, &s.data);
	desk_root(&s.desk, joins_foreign, NULL);
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
void foreign_join_rt(void *arg)
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
void foreign_joins_rt(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 1);
	duo_open(0);
	s.fiber = duo_handle(0, ends, &s.data);
	desk_root(&s.desk, joins_foreign, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
}

/* Woken by a fiber of a runtime. */
void foreign_wake_rt(void *arg)
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

static void *wakes_foreign(void *arg)
{
	weft_fiber *self = weft_self();

	(void)wake_twice(NULL);
	desk_check_here(&s.desk.executor, self);
	desk_leave(&s.desk);
	return arg;
}

/* The other way round. */
void foreign_wakes_rt(void *arg)
{
	(void)arg;
	desk_open(&s.desk, 1);
	duo_open(0);
	duo_root(0, sleeps_in_rt, NULL);
	desk_root(&s.desk, wakes_foreign, NULL);
	duo_start();
	desk_run(&s.desk, 1);
	duo_join();
	duo_close();
}

/* ------------------------------------------------------------------------ */
/* The end, and the foreign pool. */

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

/* It is detached at the moment that it ends; then the pool is freed too. */
void foreign_detach(void *arg)
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
	struct weft_rt *pool = NULL;
	bool faults = arg != NULL;
	int err = wf_foreign_pool_hold(&pool);

	weft_sim_assert(
		err == 0 || (faults && err == -ENOMEM), "hold says %d", err);
	if (err)
		return;
	wf_lock(&pool->outside.lock);
	weft_sim_assert(pool->is_foreign, "this is not the pool");
	wf_bump(&pool->outside.spawned, 1);
	wf_unlock(&pool->outside.lock);
	wf_foreign_pool_drop();
}

/* Two come and go. */
void foreign_pool_hold(void *arg)
{
	int one = duo_thread(hold_once, arg, "one");

	hold_once(arg);
	(void)weft_sim_join(one);
}

void foreign_pool_faults(void *arg)
{
	(void)arg;
	weft_sim_os_faults(3);
	foreign_pool_hold(&s);
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
void foreign_pool_fibers(void *arg)
{
	int one = duo_thread(live, &s.desk, "one");

	(void)arg;
	live_elsewhere(&s.other);
	(void)weft_sim_join(one);
	weft_sim_assert(s.runs == 1, "it ran %d times", s.runs);
}
