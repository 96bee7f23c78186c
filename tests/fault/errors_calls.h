/* SPDX-License-Identifier: MIT */
/*
 * tests/fault/errors_calls.h - one function for each call that errors_test.c
 * makes: it sets up, makes the call while the planned calls of the system fail,
 * notes the result, and undoes what the call did.
 */
#ifndef WEFT_TESTS_FAULT_ERRORS_CALLS_H
#define WEFT_TESTS_FAULT_ERRORS_CALLS_H

#include "api/api.h"

#include "support/os_faults.h"

#include <weft/weft.h>

#define SOON_NS (200 * NS_PER_US)

enum place { THREAD, FIBER, TASK, FOREIGN, PLACES };
enum state { PLAIN, CANCELLED, LATE, LIMITED, STOPPING, STATES };

/* How the call is to be made, and its results. */
static struct {
	enum place place;
	enum state state;
	unsigned variant;
	weft_time deadline; /* of waits; SOON_NS: that much from now */
	unsigned kinds;	    /* of calls of the system that fail */
	size_t nth, times;

	size_t injected;
	int results[4];
	unsigned count;
} how;

static void arm(void)
{
	os_faults_plan(how.kinds, how.nth, how.times);
}

static int note(int result)
{
	how.injected += os_faults_injected();
	os_faults_repair();
	expect(how.count < 4);
	how.results[how.count++ % 4] = result;
	return result;
}

/* The call itself: only here calls of the system fail. */
#define TRY(call) (arm(), note(call))

static weft_time until(void)
{
	return how.deadline == SOON_NS ? weft_after(SOON_NS) : how.deadline;
}

/* ------------------------------------------------------------------------ */
/* The world: every wait in it has to wait. */

enum { TASKS = 8 };

static struct {
	weft_rt *rt;
	weft_executor *foreign; /* NULL, unless place is FOREIGN */
	weft_fiber *holder;	/* holds all locks and a scope, and waits */
	struct baton end;	/* then it ends */
	struct baton hold[2];	/* of other fibers that wait */
	weft_group group;
	weft_mutex mutex, cond_mutex;
	weft_cond cond;
	weft_rwlock read, written;
	weft_sem sem;
	weft_event event;
	weft_barrier barrier;
	weft_amutex amutex;
	weft_scope scope; /* the holder's */
	weft_chan *full, *empty;
	_Atomic(bool) held, hog_ends, called;
	weft_task task, hung[TASKS];
	size_t hung_count;
} w;

static weft_key a_key;

static void *hold_all(void *arg)
{
	weft_mutex_lock(&w.mutex);
	weft_rwlock_rdlock(&w.read);
	weft_rwlock_wrlock(&w.written);
	expect_eq(weft_scope_open(&w.scope, WEFT_FOREVER), 0);
	atomic_store(&w.held, true);
	baton_wait(&w.end);
	weft_mutex_unlock(&w.mutex);
	weft_rwlock_rdunlock(&w.read);
	weft_rwlock_wrunlock(&w.written);
	arg = weft_scope_close(&w.scope) == 0 ? arg : &w;
	return arg;
}

static void world_open(void)
{
	weft_config cfg = { .workers = 1 };
	char c = 1;

	memset(&w, 0, sizeof(w));
	w.sem = (weft_sem)WEFT_SEM_INIT(0);
	w.barrier = (weft_barrier)WEFT_BARRIER_INIT(2);
	weft_group_add(&w.group, 1);
	assert_int_equal(weft_chan_create(&w.full, 1, 1), 0);
	assert_int_equal(weft_chan_create(&w.empty, 1, 1), 0);
	assert_int_equal(weft_chan_send(w.full, &c, WEFT_NOW), 0);
	w.rt = rt_begin(&cfg);
	assert_int_equal(
		weft_rt_spawn(w.rt, &w.holder, NULL, hold_all, NULL), 0);
	assert_true(await(atomic_load(&w.held)));
}

static void world_close(void)
{
	baton_put(&w.end, WEFT_HINT_DEFAULT);
	assert_int_equal(weft_join(w.holder, NULL, PATIENCE), 0);
	rt_end(w.rt);
	weft_chan_unref(w.full);
	weft_chan_unref(w.empty);
}

/* ------------------------------------------------------------------------ */
/* Waits. */

static void try_barrier(void)
{
	(void)TRY(weft_barrier_wait(&w.barrier, until()));
}

static void try_send(void)
{
	char c = 1;

	(void)TRY(weft_chan_send(w.full, &c, until()));
}

static void try_recv(void)
{
	(void)TRY(weft_chan_recv(w.empty, NULL, until()));
}

static void try_select(void)
{
	char v = 1;
	weft_case c[] = { { .op = WEFT_RECV, .obj = w.empty },
		{ .op = WEFT_SEND, .obj = w.full, .value = &v },
		{ .op = WEFT_EVENT, .obj = &w.event },
		{ .op = WEFT_JOIN, .obj = w.holder } };

	(void)TRY(weft_select(c, how.variant == 0 ? 4 : how.variant - 1,
		until()));
}

static void try_cond(void)
{
	weft_mutex_lock(&w.cond_mutex);
	(void)TRY(weft_cond_wait(&w.cond, &w.cond_mutex, until()));
	weft_mutex_unlock(&w.cond_mutex);
}

static void try_event(void)
{
	(void)TRY(weft_event_wait(&w.event, until()));
}

static void try_group(void)
{
	(void)TRY(weft_group_wait(&w.group, until()));
}

static void try_join(void)
{
	(void)TRY(weft_join(w.holder, NULL, until()));
}

static void try_mutex(void)
{
	(void)TRY(weft_mutex_lock_by(&w.mutex, until()));
}

static void try_rdlock(void)
{
	(void)TRY(weft_rwlock_rdlock_by(&w.written, until()));
}

static void try_wrlock(void)
{
	(void)TRY(weft_rwlock_wrlock_by(&w.read, until()));
}

static void try_sem(void)
{
	(void)TRY(weft_sem_acquire(&w.sem, until()));
}

static void try_sleep_until(void)
{
	(void)TRY(weft_sleep_until(until()));
}

static void try_sleep(void)
{
	(void)TRY(weft_sleep(how.deadline));
}

/* ------------------------------------------------------------------------ */
/* Channels, and mistakes in a select. */

static void try_chan_create(void)
{
	static const size_t sizes[][2] = { { 8, 4 }, { 0, 4 },
		{ 8, SIZE_MAX / 2 } };
	weft_chan *c = NULL;

	if (TRY(weft_chan_create(
		    &c, sizes[how.variant][0], sizes[how.variant][1])) == 0)
		weft_chan_unref(c);
}

static void try_chan_close(void)
{
	if (how.variant == 1)
		(void)weft_chan_close(w.empty);
	(void)TRY(weft_chan_close(w.empty));
}

static void try_chan_closed(void)
{
	char c;

	(void)weft_chan_close(w.empty);
	if (how.variant == 0)
		(void)TRY(weft_chan_recv(w.empty, &c, WEFT_FOREVER));
	else
		(void)TRY(weft_chan_send(w.empty, "", WEFT_FOREVER));
}

static void try_select_wrong(void)
{
	weft_case c[] = { { .op = WEFT_JOIN, .obj = weft_self() },
		{ .op = 77, .obj = w.empty } };

	if (how.variant == 0)
		(void)TRY(weft_select(&c[1], 1, WEFT_NOW));
	else if (how.variant == 1)
		(void)TRY(weft_select(c, SIZE_MAX / 2, WEFT_NOW));
	else
		(void)TRY(weft_select(c, 1, WEFT_NOW));
}

/* ------------------------------------------------------------------------ */
/* Fibers. */

static void nothing(void *arg)
{
	(void)arg;
}

static void try_go(void)
{
	(void)TRY(weft_go(nothing, NULL));
}

static weft_fiber_attr attr_of(unsigned variant)
{
	weft_fiber_attr a = { .name = "x" };

	if (variant == 1)
		a.flags = 1;
	if (variant == 2)
		a.hint = (weft_hint)77;
	if (variant == 3)
		a.stack_bytes = SIZE_MAX / 2;
	if (variant == 4)
		a.stack_bytes = 300000;
	if (variant == 5)
		a.executor = weft_rt_executor(w.rt);
	if (variant == 6)
		a.executor = weft_inline();
	if (variant == 7)
		a.executor = w.foreign;
	return a;
}

/* Variant 7 without w.foreign: executor NULL, the one that we are on. */
static void try_spawn(void)
{
	weft_fiber_attr a = attr_of(how.variant);
	weft_fiber *f = NULL;

	if (TRY(weft_spawn(&f, how.variant ? &a : NULL, echo, NULL)) == 0)
		weft_detach(f);
}

static void try_rt_go(void)
{
	(void)TRY(weft_rt_go(w.rt, nothing, NULL));
}

static void try_rt_spawn(void)
{
	weft_fiber_attr a = attr_of(how.variant);
	weft_fiber *f = NULL;

	if (TRY(weft_rt_spawn(w.rt, &f, how.variant ? &a : NULL, echo, NULL)) ==
		0)
		weft_detach(f);
}

static void try_join_self(void)
{
	(void)TRY(weft_join(weft_self(), NULL, WEFT_FOREVER));
}

static void try_cancel(void)
{
	(void)TRY(weft_cancel(w.holder));
}

static bool refuse(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	(void)f;
	return false;
}

static void try_suspend(void)
{
	struct weft_awaiter a = { .commit = refuse };

	(void)TRY(weft_suspend(&a));
}

static void try_key_create(void)
{
	weft_key k;

	/* There are no more than 1024, of which none is ever given back. */
	for (int i = 0; how.variant == 1 && i < 1100; i++)
		if (weft_key_create(&k, NULL) != 0)
			break;
	(void)TRY(weft_key_create(&k, NULL));
}

static void try_key_set(void)
{
	(void)TRY(weft_key_set(how.variant ? 0 : a_key, &w));
}

/* ------------------------------------------------------------------------ */
/* Scopes. */

static int succeed(void *arg)
{
	(void)arg;
	return 0;
}

static void try_scope_open(void)
{
	weft_scope s;

	if (TRY(weft_scope_open(&s, until())) == 0)
		expect(weft_scope_close(&s) <= 0);
}

/* The scope of another fiber; an open one; a cancelled one; a late one. */
static void try_scope_go(void)
{
	weft_scope s;

	if (how.variant == 0) {
		(void)TRY(weft_scope_go(&w.scope, succeed, NULL));
		return;
	}
	if (weft_scope_open(&s, how.variant == 3 ? 1 : WEFT_FOREVER) != 0)
		return;
	if (how.variant == 2)
		weft_scope_cancel(&s);
	(void)TRY(weft_scope_go(&s, succeed, NULL));
	expect(weft_scope_close(&s) <= 0);
}

static void try_scope_close(void)
{
	weft_scope s;

	expect_eq(weft_scope_open(&s, how.variant == 2 ? 1 : WEFT_FOREVER), 0);
	if (how.variant == 1)
		weft_scope_cancel(&s);
	(void)TRY(weft_scope_close(&s));
}

/* ------------------------------------------------------------------------ */
/* Runtimes. */

/* Variant 1 is a bad one, which is reported on standard error. */
static weft_config config_of(unsigned variant)
{
	weft_config cfg = { .workers = 2 };

	if (variant == 1)
		cfg.local_capacity = 3;
	return cfg;
}

/* A configuration from a newer header. */
struct newer {
	weft_config cfg;
	uint64_t more;
};

static void stop_other(weft_rt *rt)
{
	expect_eq(weft_rt_stop(rt, PATIENCE), 0);
}

static void try_rt_start(void)
{
	weft_config cfg = config_of(how.variant);
	weft_rt *rt;

	if (TRY(weft_rt_start(&rt, &cfg)) == 0)
		stop_other(rt);
}

static void try_rt_start_sized(void)
{
	struct newer n = { .cfg = config_of(how.variant),
		.more = how.variant == 2 };
	weft_rt *rt;

	if (TRY(weft_rt_start_sized(&rt, &n.cfg, sizeof(n))) == 0)
		stop_other(rt);
}

static void try_run(void)
{
	weft_config cfg = config_of(how.variant);

	(void)TRY(weft_run(&cfg, succeed, NULL));
}

static void try_run_sized(void)
{
	struct newer n = { .cfg = config_of(how.variant),
		.more = how.variant == 2 };

	(void)TRY(weft_run_sized(&n.cfg, sizeof(n), succeed, NULL));
}

static void try_config_check(void)
{
	weft_config cfg = config_of(how.variant);

	(void)TRY(weft_config_check(&cfg, NULL, 0));
}

static void try_config_check_sized(void)
{
	struct newer n = { .cfg = config_of(how.variant),
		.more = how.variant == 2 };

	(void)TRY(weft_config_check_sized(&n.cfg, sizeof(n), NULL, 0));
}

static void try_rt_shutdown(void)
{
	(void)TRY(weft_rt_shutdown(w.rt));
}

static void *wait_for_hold(void *baton)
{
	baton_wait(baton);
	return baton;
}

/* Stop another runtime; one with a fiber that stays; our own. */
static void try_rt_stop(void)
{
	weft_config cfg = config_of(0);
	weft_fiber *f = NULL;
	weft_rt *rt = NULL;

	if (how.variant == 2) {
		(void)TRY(weft_rt_stop(w.rt, WEFT_NOW));
		return;
	}
	expect_eq(weft_rt_start(&rt, &cfg), 0);
	if (how.variant == 1)
		expect_eq(weft_rt_spawn(
				  rt, &f, NULL, wait_for_hold, &w.hold[0]),
			0);
	if (TRY(weft_rt_stop(rt, f ? weft_after(SOON_NS) : PATIENCE)) == 0)
		return;
	if (f) {
		bool before = weft_shield(true);

		baton_put(&w.hold[0], WEFT_HINT_DEFAULT);
		expect_eq(weft_join(f, NULL, WEFT_FOREVER), 0);
		(void)weft_shield(before);
	}
	stop_other(rt);
}

static void *hog(void *arg)
{
	while (!atomic_load(&w.hog_ends))
		continue;
	return arg;
}

/* All fibers wait; or (variant 1) one computes. */
static void try_rt_wait_idle(void)
{
	weft_fiber *f = NULL;

	if (how.variant == 1 && weft_rt_spawn(w.rt, &f, NULL, hog, NULL) != 0)
		return;
	(void)TRY(weft_rt_wait_idle(
		w.rt, f ? weft_after(SOON_NS) : PATIENCE));
	atomic_store(&w.hog_ends, true);
	if (f)
		weft_detach(f);
}

/* ------------------------------------------------------------------------ */
/* Tasks and executors. */

static void task_runs(weft_task *task)
{
	task->run = NULL;
}

static weft_task *fresh_task(void)
{
	weft_task *t = &w.hung[w.hung_count++ % TASKS];

	t->run = task_runs;
	return t;
}

static void try_submit(void)
{
	weft_executor *e = how.variant == 2 ? weft_inline()
					    : weft_rt_executor(w.rt);

	(void)TRY(weft_submit(e, fresh_task(),
		how.variant == 1 ? (weft_hint)77 : WEFT_HINT_DEFAULT));
}

static void try_submit_fn(void)
{
	weft_executor *e = how.variant == 2 ? weft_inline()
					    : weft_rt_executor(w.rt);

	(void)TRY(weft_submit_fn(e, how.variant == 1 ? NULL : nothing, NULL));
}

static void unlock_amutex(weft_task *task)
{
	(void)task;
	weft_amutex_unlock(&w.amutex);
}

static int refuse_task(weft_executor *e, weft_task *task, weft_hint hint)
{
	(void)e;
	(void)task;
	(void)hint;
	return -EBUSY;
}

enum { AMUTEX_PLACES = 6 };

/* A task that holds it, and one of each executor it remembers that waits. */
static void fill_amutex(weft_task *tasks, weft_executor *manual)
{
	static weft_executor other[AMUTEX_PLACES];

	tasks[0].run = unlock_amutex;
	expect_eq(weft_amutex_lock(&w.amutex, &tasks[0], manual), 0);
	for (size_t i = 0; i < AMUTEX_PLACES; i++) {
		other[i].submit = refuse_task;
		tasks[1 + i].run = unlock_amutex;
		expect_eq(weft_amutex_lock(
				  &w.amutex, &tasks[1 + i], &other[i]),
			0);
	}
}

/* Inline; no function; over the runtime, which may stop; no place. */
static void try_amutex_lock(void)
{
	static weft_task t, tasks[1 + AMUTEX_PLACES];
	weft_executor *manual = NULL;

	t.run = how.variant == 1 ? NULL : unlock_amutex;
	if (how.variant == 3) {
		expect_eq(weft_manual_create(&manual), 0);
		fill_amutex(tasks, manual);
	}
	(void)TRY(weft_amutex_lock(&w.amutex, &t,
		how.variant == 2 ? weft_rt_executor(w.rt) : weft_inline()));
	if (manual != NULL) {
		expect_eq(weft_manual_run(manual, SIZE_MAX), 1);
		expect_eq(weft_executor_destroy(manual), 0);
	}
}

static void destroy(weft_executor *e)
{
	bool before = weft_shield(true);

	expect_eq(weft_executor_destroy(e), 0);
	(void)weft_shield(before);
}

static void try_pool_create(void)
{
	weft_executor *e = NULL;

	if (TRY(weft_pool_create(&e, how.variant ? 5000 : 2)) == 0)
		destroy(e);
}

static void try_manual_create(void)
{
	weft_executor *e = NULL;

	if (TRY(weft_manual_create(&e)) == 0)
		destroy(e);
}

static void try_strand_create(void)
{
	weft_executor *e = NULL;

	if (TRY(weft_strand_create(&e, weft_inline())) == 0)
		destroy(e);
}

static void call_back(void *arg)
{
	(void)TRY(weft_strand_call(arg, nothing, NULL));
}

/*
 * Inline; not a strand; no function; in a section; over the runtime, which may
 * stop.  A task must not block its runtime's thread.
 */
static void try_strand_call(void)
{
	bool over_rt = how.variant == 4 && how.place != TASK;
	weft_executor *e = NULL;

	expect_eq(weft_strand_create(&e,
			  over_rt ? weft_rt_executor(w.rt) : weft_inline()),
		0);
	if (how.variant == 1)
		(void)TRY(weft_strand_call(weft_inline(), nothing, NULL));
	else if (how.variant == 2)
		(void)TRY(weft_strand_call(e, NULL, NULL));
	else if (how.variant == 3)
		expect_eq(weft_strand_call(e, call_back, e), 0);
	else
		(void)TRY(weft_strand_call(e, nothing, NULL));
	destroy(e);
}

/* An idle one; one that holds a task; the inline one; the one we are on. */
static void try_executor_destroy(void)
{
	weft_executor *e = weft_inline();

	if (how.variant == 0)
		expect_eq(weft_strand_create(&e, weft_inline()), 0);
	if (how.variant == 1) {
		expect_eq(weft_manual_create(&e), 0);
		expect_eq(weft_submit(e, fresh_task(), WEFT_HINT_DEFAULT), 0);
	}
	if (how.variant == 3)
		e = w.foreign ? w.foreign : weft_rt_executor(w.rt);
	(void)TRY(weft_executor_destroy(e));
	if (how.variant == 1) {
		(void)weft_manual_run(e, SIZE_MAX);
		destroy(e);
	}
}

/* ------------------------------------------------------------------------ */
/* The others. */

static void try_metrics_read(void)
{
	weft_metrics m;

	(void)TRY(weft_metrics_read(w.rt, &m, how.variant ? 0 : sizeof(m)));
}

static void try_metrics_proc(void)
{
	weft_metrics m;

	(void)TRY(weft_metrics_proc(
		w.rt, how.variant == 1, &m, how.variant == 2 ? 0 : sizeof(m)));
}

static void try_policy_parse(void)
{
	static const char *const words[] = { "global-fifo", "no such", "" };
	weft_policy p;

	(void)TRY(weft_policy_parse(&p, words[how.variant], NULL, 0));
}

static void try_policy_print(void)
{
	weft_policy p = { .queue = how.variant == 1 ? 77 : 0 };
	char text[120];

	(void)TRY(weft_policy_print(
		&p, text, how.variant == 2 ? 1 : sizeof(text)));
}

#endif
