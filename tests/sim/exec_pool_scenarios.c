/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/exec_pool_scenarios.c - the pool, the condition it sleeps on, the
 * manual executor and the inline one: nothing is lost to a thread that goes to
 * sleep, and nothing is touched that was destroyed.
 */
#include "sim/item_kit.h"

#include "os/cond.h"
#include "os/lock.h"

static struct {
	weft_executor *e;
	struct desk desk;
	_Atomic(weft_fiber *) box;
	weft_group group;
	int work;
	int turns;
	size_t ran[2]; /* by each runner */
	/* cond_* */
	struct wf_lock lock;
	struct wf_cond cond;
	int letters; /* these by the lock */
	int taken;
} s;

static void open_pool(unsigned threads)
{
	int err = weft_pool_create(&s.e, threads);

	weft_sim_assert(err == 0, "no pool: %d", err);
	items.to = s.e;
}

static void destroy(void)
{
	int err = weft_executor_destroy(s.e);

	weft_sim_assert(err == 0, "destroy says %d", err);
}

static void submit_1(void *arg)
{
	(void)arg;
	item_submit(1);
}

/* ------------------------------------------------------------------------ */
/* The pool. */

/* While the only thread goes to sleep. */
void pooled_submit(void *arg)
{
	int other;

	(void)arg;
	open_pool(1);
	other = duo_thread(submit_1, NULL, "other");
	item_submit(0);
	(void)weft_sim_join(other);
	destroy();
	items_check(2);
}

void pooled_two(void *arg)
{
	int other;

	(void)arg;
	open_pool(2);
	other = duo_thread(submit_1, NULL, "other");
	item_submit(0);
	(void)weft_sim_join(other);
	item_submit(2);
	destroy();
	items_check(3);
}

static void wait_group(struct item *i)
{
	int err = weft_group_wait(&s.group, WEFT_FOREVER);

	(void)i;
	weft_sim_assert(err == 0, "wait: %d", err);
}

static void done_group(struct item *i)
{
	(void)i;
	weft_group_done(&s.group);
}

/* The first needs the second, so both threads must be called. */
void pooled_need(void *arg)
{
	(void)arg;
	weft_group_add(&s.group, 1);
	items.item[0].then = wait_group;
	items.item[1].then = done_group;
	open_pool(2);
	item_submit(0);
	item_submit(1);
	destroy();
	items_check(2);
}

static void submit_next(struct item *i)
{
	item_submit(item_number(i) + 1);
}

static void call(void *arg)
{
	(void)arg;
	item_submit(0);
}

/* Destroy waits for tasks that tasks submit too. */
void pooled_inside(void *arg)
{
	int err;

	(void)arg;
	open_pool(2);
	items.item[0].then = submit_next;
	items.item[1].then = submit_next;
	err = weft_submit_fn(s.e, call, NULL);
	weft_sim_assert(err == 0, "submit_fn says %d", err);
	destroy();
	items_check(3);
}

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	/* [pair: pooled.box] */
	wf_store_rel(&s.box, f);
	return true;
}

static void *sleeps(void *arg)
{
	struct weft_awaiter a = { .commit = publish };
	int refused = weft_suspend(&a);

	weft_sim_assert(refused == 0 && s.work == 1, "suspend: %d", refused);
	s.turns++;
	return arg;
}

static void wakes(void *arg)
{
	weft_fiber *f;

	(void)arg;
	/* [pair: pooled.box] */
	while ((f = wf_load_acq(&s.box)) == NULL)
		weft_sim_yield();
	s.work = 1;
	weft_wake(f, WEFT_HINT_DEFAULT);
}

/* It is freed when its last fiber ends, with the waker still in its call. */
void pooled_fiber(void *arg)
{
	int waker;

	(void)arg;
	open_pool(1);
	weft_detach(spawn_on(s.e, sleeps, NULL));
	waker = duo_thread(wakes, NULL, "waker");
	destroy();
	weft_sim_assert(s.turns == 1, "its fiber has not ended");
	(void)weft_sim_join(waker);
}

static void start_sleeper(struct item *i)
{
	(void)i;
	weft_detach(spawn_on(s.e, sleeps, NULL));
}

/* A task that runs while all others are idle may still start one. */
void pooled_late_fiber(void *arg)
{
	int waker;

	(void)arg;
	open_pool(2);
	items.item[0].then = start_sleeper;
	item_submit(0);
	waker = duo_thread(wakes, NULL, "waker");
	destroy();
	weft_sim_assert(s.turns == 1, "its fiber has not ended");
	(void)weft_sim_join(waker);
}

static void *yields(void *arg)
{
	int stack[1] = { 0 }, *mine = duo_watched(stack);

	for (int i = 0; i < 2; i++) {
		*mine = i;
		weft_yield();
		weft_sim_assert(*mine == i, "%d, not %d", *mine, i);
		++*(int *)arg;
	}
	return arg;
}

/* From thread to thread, and joined by the fiber that then destroys. */
void pooled_yield(void *arg)
{
	void *result = NULL;
	weft_fiber *f;
	int err;

	(void)arg;
	open_pool(2);
	f = spawn_on(s.e, yields, &s.turns);
	err = weft_join(f, &result, WEFT_FOREVER);
	weft_sim_assert(err == 0 && result == &s.turns && s.turns == 2,
		"join: %d, %d", err, s.turns);
	destroy();
}

static void *destroys(void *arg)
{
	weft_fiber *self = weft_self();

	destroy();
	duo_scribble();
	desk_check_here(&s.desk.executor, self);
	items_check(2);
	desk_leave(&s.desk);
	return arg;
}

void pooled_by_fiber(void *arg)
{
	(void)arg;
	open_pool(1);
	items.item[0].then = submit_next;
	item_submit(0);
	desk_open(&s.desk, 1);
	desk_root(&s.desk, destroys, NULL);
	desk_run(&s.desk, 1);
}

/* No memory, or fewer threads than it shall have: nothing is left of it. */
void pooled_faults(void *arg)
{
	int err;

	(void)arg;
	weft_sim_os_faults(4);
	err = weft_pool_create(&s.e, 2);
	weft_sim_assert(err == 0 || err == -ENOMEM || err == -EAGAIN,
		"create says %d", err);
	if (err)
		return;
	items.to = s.e;
	item_submit(0);
	destroy();
	items_check(1);
}

/* ------------------------------------------------------------------------ */
/* The manual one. */

static void open_manual(void)
{
	int err = weft_manual_create(&s.e);

	weft_sim_assert(err == 0, "no executor: %d", err);
	items.to = s.e;
}

static void run_some(void *arg)
{
	*(size_t *)arg = weft_manual_run(s.e, 2);
}

/* Two run it while one submits; a task submits another. */
void manual_two(void *arg)
{
	int other, runner;

	(void)arg;
	open_manual();
	items.item[2].then = submit_next;
	item_submit(0);
	other = duo_thread(submit_1, NULL, "other");
	runner = duo_thread(run_some, &s.ran[1], "runner");
	item_submit(2);
	run_some(&s.ran[0]);
	(void)weft_sim_join(other);
	(void)weft_sim_join(runner);
	weft_sim_assert(s.ran[0] <= 2 && s.ran[1] <= 2, "more than wanted ran");
	s.ran[0] += weft_manual_run(s.e, SIZE_MAX);
	weft_sim_assert(s.ran[0] + s.ran[1] == 4, "%zu and %zu ran", s.ran[0],
		s.ran[1]);
	destroy();
	items_check(4);
}

static void destroy_when_idle(void)
{
	int err;

	while ((err = weft_executor_destroy(s.e)) == -EBUSY)
		weft_sim_yield();
	weft_sim_assert(err == 0, "destroy says %d", err);
}

/* The runner of the last task may still be in its call. */
void manual_destroy(void *arg)
{
	int runner;

	(void)arg;
	open_manual();
	items.item[0].then = submit_next;
	item_submit(0);
	runner = duo_thread(run_some, &s.ran[0], "runner");
	destroy_when_idle();
	items_check(2);
	(void)weft_sim_join(runner);
	weft_sim_assert(s.ran[0] == 2, "%zu ran", s.ran[0]);
}

static void run_one(void *arg)
{
	*(size_t *)arg = weft_manual_run(s.e, 1);
}

/* Two runners, one after the other or at once, may still be in a call. */
void manual_destroy_two(void *arg)
{
	int one, other;

	(void)arg;
	open_manual();
	item_submit(0);
	item_submit(1);
	one = duo_thread(run_one, &s.ran[0], "one");
	other = duo_thread(run_one, &s.ran[1], "other");
	destroy_when_idle();
	items_check(2);
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	weft_sim_assert(
		s.ran[0] == 1 && s.ran[1] == 1, "%zu, %zu", s.ran[0], s.ran[1]);
}

static void wakes_and_runs(void *arg)
{
	wakes(arg);
	s.ran[1] = weft_manual_run(s.e, 1);
}

/* A fiber that waits keeps it; so does one that is about to end. */
void manual_fiber(void *arg)
{
	int waker;

	(void)arg;
	open_manual();
	weft_detach(spawn_on(s.e, sleeps, NULL));
	waker = duo_thread(wakes_and_runs, NULL, "waker");
	s.ran[0] = weft_manual_run(s.e, 1);
	destroy_when_idle();
	weft_sim_assert(s.turns == 1, "its fiber has not ended");
	(void)weft_sim_join(waker);
	weft_sim_assert(
		s.ran[0] == 1 && s.ran[1] == 1, "%zu, %zu", s.ran[0], s.ran[1]);
}

/* ------------------------------------------------------------------------ */
/* The inline one. */

static void *waits_inline(void *arg)
{
	int err = weft_group_wait(&s.group, WEFT_FOREVER);

	weft_sim_assert(err == 0 && s.work == 1, "wait: %d", err);
	s.turns++;
	return arg;
}

static void done_inline(void *arg)
{
	(void)arg;
	s.work = 1;
	weft_group_done(&s.group);
}

/* A fiber goes on in its waker's call, and is joined meanwhile. */
void inline_two(void *arg)
{
	void *result = NULL;
	int other, err;
	weft_fiber *f;

	(void)arg;
	weft_group_add(&s.group, 1);
	other = duo_thread(done_inline, NULL, "other");
	f = spawn_on(weft_inline(), waits_inline, &s.turns);
	err = weft_join(f, &result, WEFT_FOREVER);
	weft_sim_assert(err == 0 && result == &s.turns && s.turns == 1,
		"join: %d, %d", err, s.turns);
	(void)weft_sim_join(other);
}

/* ------------------------------------------------------------------------ */
/* The condition. */

static void receive(void *arg)
{
	(void)arg;
	wf_lock(&s.lock);
	while (s.letters == 0)
		wf_cond_wait(&s.cond, &s.lock);
	s.letters--;
	s.taken++;
	wf_unlock(&s.lock);
}

static void send(void *arg)
{
	(void)arg;
	wf_lock(&s.lock);
	s.letters++;
	wf_cond_signal_unlock(&s.cond, &s.lock);
}

static void cond_check(int n)
{
	weft_sim_assert(s.letters == 0 && s.taken == n, "%d of %d were taken",
		s.taken, n);
	weft_sim_assert(s.cond.waiters == 0, "%u seem to wait", s.cond.waiters);
}

void cond_one(void *arg)
{
	int one = duo_thread(receive, NULL, "one");

	(void)arg;
	send(NULL);
	(void)weft_sim_join(one);
	cond_check(1);
}

/* Two receivers that wait again, and letters from two senders. */
static void receive_two(void *arg)
{
	receive(arg);
	receive(arg);
}

void cond_two(void *arg)
{
	int one, other, sender;

	(void)arg;
	one = duo_thread(receive_two, NULL, "one");
	other = duo_thread(receive, NULL, "other");
	sender = duo_thread(send, NULL, "sender");
	send(NULL);
	send(NULL);
	(void)weft_sim_join(sender);
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	cond_check(3);
}

/* One is called, and then all. */
void cond_all(void *arg)
{
	int one, other, third;

	(void)arg;
	one = duo_thread(receive, NULL, "one");
	other = duo_thread(receive, NULL, "other");
	third = duo_thread(receive, NULL, "third");
	send(NULL);
	wf_lock(&s.lock);
	s.letters += 2;
	wf_cond_broadcast_unlock(&s.cond, &s.lock);
	(void)weft_sim_join(one);
	(void)weft_sim_join(other);
	(void)weft_sim_join(third);
	cond_check(3);
}
