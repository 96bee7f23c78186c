/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/idle_wait_scenarios.c - weft_rt_wait_idle: it returns, and not
 * before all that was submitted has run.
 *
 * Tasks count themselves in plain variables: the waiter sees the counts, or
 * there is a race.  The kit has no monitor, and all sleep without a deadline.
 */
#include "policy_kit.h"

#include <errno.h>

#include "sched/global.h"
#include "idle/park.h"
#include "sim/fiber_kit.h"

/* Wait, and see that the first n jobs have run. */
static void wait_for_jobs(weft_rt *rt, size_t n)
{
	int err = weft_rt_wait_idle(rt, WEFT_FOREVER);

	weft_sim_assert(err == 0, "wait_idle says %d", err);
	jobs_check(n);
}

static void end_kit(void)
{
	kit_quit();
	kit_join();
	kit_close();
}

/* Against the last processor that parks. */
void idle_one(void *arg)
{
	const struct plan *plan = arg;

	kit_open_plan(plan, KIT_CAP);
	kit_start_workers(plan->workers);
	kit_submit(0);
	wait_for_jobs(&stage.kit.rt, 1);
	end_kit();
}

/* A task submits a task, which submits one. */
static void submit_next(struct job *j)
{
	weft_hint hint = (weft_hint)weft_sim_either(3);
	size_t next = job_number(j) + 1;
	int err;

	if (next < 2)
		stage.job[next].then = submit_next;
	err = weft_submit(&stage.kit.rt.executor,
		job_make(next, stage.job[next].then), hint);
	weft_sim_assert(err == 0, "job %zu is refused: %d", next, err);
}

void idle_inside(void *arg)
{
	const struct plan *plan = arg;

	kit_open_plan(plan, 2);
	kit_start_workers(plan->workers);
	stage.job[0].then = submit_next;
	kit_submit(0);
	wait_for_jobs(&stage.kit.rt, 3);
	end_kit();
}

/* By more than one processor. */
static void submit_three(struct job *j)
{
	struct wf_thread *t = wf_os_self();

	(void)j;
	wf_store_rlx(&t->proc->mean_ns, WF_NS_PER_S);
	wf_set_coarse(t->proc, true);
	for (size_t i = 1; i <= 3; i++) {
		int err = weft_submit(&stage.kit.rt.executor, job_make(i, NULL),
			WEFT_HINT_DEFAULT);

		weft_sim_assert(err == 0, "job %zu is refused: %d", i, err);
	}
}

void idle_stolen(void *arg)
{
	const struct plan *plan = arg;

	kit_open_plan(plan, KIT_CAP);
	kit_start_workers(plan->workers);
	stage.job[0].then = submit_three;
	kit_submit(0);
	wait_for_jobs(&stage.kit.rt, 4);
	end_kit();
}

/* Others submit meanwhile. */
static void submit_second(void *arg)
{
	(void)arg;
	kit_submit(1);
}

void idle_outside(void *arg)
{
	const struct plan *plan = arg;
	int other;

	kit_open_plan(plan, KIT_CAP);
	kit_start_workers(plan->workers);
	kit_submit(0);
	other = weft_sim_thread(submit_second, NULL, "outside");
	wait_for_jobs(&stage.kit.rt, 1);
	(void)weft_sim_join(other);
	wait_for_jobs(&stage.kit.rt, 2);
	end_kit();
}

/* Two wait, each for what it has submitted. */
static void submit_and_wait(void *arg)
{
	size_t i = *(size_t *)arg;
	int err;

	kit_submit(i);
	err = weft_rt_wait_idle(&stage.kit.rt, WEFT_FOREVER);
	weft_sim_assert(err == 0, "wait_idle says %d", err);
	weft_sim_assert(stage.job[i].ran == 1, "job %zu has not run", i);
}

void idle_two_waiters(void *arg)
{
	static size_t first = 0, second = 1;
	const struct plan *plan = arg;
	int other;

	kit_open_plan(plan, KIT_CAP);
	kit_start_workers(plan->workers);
	other = weft_sim_thread(submit_and_wait, &second, "waiter");
	submit_and_wait(&first);
	(void)weft_sim_join(other);
	end_kit();
}

/* It gives up at about the same moment. */
void idle_deadline(void *arg)
{
	const struct plan *plan = arg;
	int err;

	kit_open_plan(plan, KIT_CAP);
	kit_start_workers(plan->workers);
	kit_submit(0);
	err = weft_rt_wait_idle(&stage.kit.rt, weft_after(1000));
	weft_sim_assert(err == 0 || err == -ETIMEDOUT, "wait_idle: %d", err);
	if (err == 0)
		jobs_check(1);
	wait_for_jobs(&stage.kit.rt, 1);
	weft_sim_assert(wf_load_rlx(&stage.kit.rt.idle_wait.idlers) == 0,
		"somebody seems to wait");
	end_kit();
}

/* Nothing has to happen for it. */
void idle_already(void *arg)
{
	const struct plan *plan = arg;
	int err;

	kit_open_plan(plan, KIT_CAP);
	kit_start_sleepers(plan->workers);
	err = weft_rt_wait_idle(&stage.kit.rt, WEFT_NOW);
	weft_sim_assert(err == 0, "wait_idle says %d", err);
	end_kit();
}

/* ------------------------------------------------------------------------ */
/* Two groups of one processor: neither says anything of the other. */

static struct wf_group *two; /* of the kit */
static unsigned here; /* the group that has the work; the other helps */

static void make_two(const struct plan *plan)
{
	weft_policy policy = plan_policy(plan);

	kit_open_groups(2, 1, KIT_CAP, &policy);
	two = stage.kit.group;
}

static void open_two(const struct plan *plan)
{
	make_two(plan);
	here = weft_sim_either(2);
	/* They sleep, or are about to and may think better of it. */
	if (weft_sim_either(2) == 0)
		kit_start_sleepers(2);
	else
		kit_start_workers(2);
}

static _Atomic(bool) is_elsewhere; /* a job runs in the group that helps */

/*
 * One that runs here waits until the other group has taken some, and one that
 * runs there until this one sleeps: as long as they have patience.  Nothing of
 * this orders anything.
 */
static void linger(struct job *j)
{
	struct wf_thread *t = wf_os_self();
	unsigned tries = 30;

	(void)j;
	if (t->proc->group == &two[here]) {
		while (tries-- > 0 && !wf_load_rlx(&is_elsewhere))
			weft_sim_yield();
		return;
	}
	wf_store_rlx(&is_elsewhere, true);
	while (tries-- > 0 && wf_load_rlx(&two[here].sleeping) == 0)
		weft_sim_yield();
	for (tries = 0; tries < 10; tries++)
		weft_sim_yield();
}

static void submit_lingering(struct job *j)
{
	struct wf_thread *t = wf_os_self();

	wf_store_rlx(&t->proc->mean_ns, WF_NS_PER_S);
	wf_set_coarse(t->proc, true);
	for (size_t i = 1; i <= 3; i++) {
		int err = weft_submit(&stage.kit.rt.executor,
			job_make(i, linger), WEFT_HINT_DEFAULT);

		weft_sim_assert(err == 0, "job %zu is refused: %d", i, err);
	}
	linger(j);
}

/* A thread that no other thread knows of wakes the other group. */
static void wake_other_group(void *arg)
{
	(void)arg;
	(void)wf_wake_one(&two[!here]);
}

static void push_here(struct wf_batch *batch)
{
	if (weft_sim_either(2) == 0)
		kit_start(wake_other_group, NULL, "outside");
	wf_global_push(&two[here], NULL, batch);
	wf_wake_for_outside(&two[here]);
}

/* A group takes the tasks left in the global queue of the other. */
void idle_taken_other_group(void *arg)
{
	struct wf_batch batch = { 0 };

	open_two(arg);
	for (size_t i = 0; i < 3; i++)
		wf_batch_add(&batch, job_make(i, linger));
	push_here(&batch);
	wait_for_jobs(&stage.kit.rt, 3);
	end_kit();
}

/* So is what is in the queue of a processor. */
void idle_stolen_other_group(void *arg)
{
	struct wf_batch batch = { 0 };

	open_two(arg);
	wf_batch_add(&batch, job_make(0, submit_lingering));
	push_here(&batch);
	wait_for_jobs(&stage.kit.rt, 4);
	end_kit();
}

enum { PINGS = 5 };

static void push_to(struct wf_group *g, size_t i);

/* To the other group, and then there is nothing left to do here. */
static void ping(struct job *j)
{
	struct wf_thread *t = wf_os_self();
	size_t next = job_number(j) + 1;

	if (next >= PINGS)
		return;
	stage.job[next].then = ping;
	push_to(t->proc->group == &two[0] ? &two[1] : &two[0], next);
}

static void push_to(struct wf_group *g, size_t i)
{
	struct wf_batch batch = { 0 };

	wf_batch_add(&batch, job_make(i, stage.job[i].then));
	wf_global_push(g, NULL, &batch);
	wf_wake_for_outside(g);
}

/* Wherever one looks all sleep, as they do it in turns. */
void idle_ping(void *arg)
{
	open_two(arg);
	stage.job[0].then = ping;
	push_to(&two[here], 0);
	wait_for_jobs(&stage.kit.rt, PINGS);
	end_kit();
}

static void stay(struct job *j)
{
	(void)j;
	wf_store_rlx(&is_elsewhere, true);
	for (unsigned i = 0; i < 20; i++)
		weft_sim_yield();
}

/* A processor that has run something, which was the last, and parks. */
static void push_and_park(void *arg)
{
	struct wf_thread *t = arg;

	wf_os_self_set(t);
	stage.job[0].then = stay;
	push_to(&two[0], 0);
	if (wf_park(t, true))
		kit_work(t);
	wf_os_self_set(NULL);
}

static void wait_for_first(void *arg)
{
	(void)arg;
	wait_for_jobs(&stage.kit.rt, 1);
}

/*
 * What the second group did last is to give work to the first, which was seen
 * to sleep before.
 */
void idle_last_push(void *arg)
{
	struct kit *kit = &stage.kit;

	make_two(arg);
	kit_start(kit_work, &kit->thread[0], "P0");
	weft_sim_quiesce();
	kit_start(push_and_park, &kit->thread[1], "P1");
	kit_start(wait_for_first, NULL, "waiter");
	wait_for_first(NULL);
	end_kit();
}

/* Until the other group has something, or for long enough. */
static void await_theft(void)
{
	for (unsigned i = 0; i < 100 && !wf_load_rlx(&is_elsewhere); i++)
		weft_sim_yield();
}

/* It leaves something in its own global queue, as an overflow does. */
static void leave_and_park(void *arg)
{
	struct wf_thread *t = arg;
	struct wf_batch batch = { 0 };

	wf_os_self_set(t);
	wf_batch_add(&batch, job_make(0, stay));
	wf_global_push(&two[1], t->proc, &batch);
	await_theft();
	if (wf_park(t, true))
		kit_work(t);
	wf_os_self_set(NULL);
}

static void wake_first(void *arg)
{
	(void)arg;
	(void)wf_wake_one(&two[0]);
}

/* The first group has taken it, or is about to. */
void idle_last_left(void *arg)
{
	struct kit *kit = &stage.kit;

	make_two(arg);
	kit_start(kit_work, &kit->thread[0], "P0");
	weft_sim_quiesce();
	kit_start(leave_and_park, &kit->thread[1], "P1");
	kit_start(wake_first, NULL, "outside");
	/* Its first look is while the last one parks. */
	await_theft();
	wait_for_first(NULL);
	end_kit();
}

static void stay_elsewhere(struct job *j)
{
	struct wf_thread *t = wf_os_self();

	if (t->proc == &stage.kit.proc[0])
		stay(j);
}

/* A holder parks after a thief took the last task but one. */
static void be_robbed_and_park(void *arg)
{
	struct wf_thread *t = arg;
	struct wf_proc *p = t->proc;
	weft_task *task;

	wf_os_self_set(t);
	wf_set_coarse(p, true);
	for (size_t i = 0; i < 2; i++) {
		stage.job[i].then = stay_elsewhere;
		kit_push(1, i);
	}
	await_theft();
	while ((task = wf_pick_quick(p)) != NULL)
		kit_run_task(task);
	if (wf_park(t, true))
		kit_work(t);
	wf_os_self_set(NULL);
}

void idle_last_stolen(void *arg)
{
	struct kit *kit = &stage.kit;

	make_two(arg);
	/* As without a membarrier, which would order more than it must. */
	for (uint32_t i = 0; i < 2; i++) {
		two[i].always_open = true;
		wf_store_rlx(&kit->proc[i].shared, true);
		wf_store_rlx(&kit->proc[i].open, true);
	}
	kit_start(kit_work, &kit->thread[0], "P0");
	weft_sim_quiesce();
	kit_start(be_robbed_and_park, &kit->thread[1], "P1");
	kit_start(wake_first, NULL, "outside");
	await_theft();
	wait_for_jobs(&stage.kit.rt, 2);
	end_kit();
}

/* ------------------------------------------------------------------------ */
/* Fibers. */

static struct {
	_Atomic(weft_fiber *) box;
	int ran; /* of what the fiber did, plainly */
} s;

static void *wait_twice(void *arg)
{
	struct duo_post post = { { .commit = duo_publish }, &s.box };

	for (int i = 0; i < 2; i++) {
		weft_sim_assert(
			weft_suspend(&post.awaiter) == 0, "it was refused");
		s.ran++;
	}
	return arg;
}

/* A fiber that waits does not count as work; once woken it does. */
void idle_fiber(void *arg)
{
	(void)arg;
	duo_open(0);
	duo_root(0, wait_twice, NULL);
	duo_start();
	for (int i = 0; i <= 2; i++) {
		int err = weft_rt_wait_idle(&duo->rt, WEFT_FOREVER);
		weft_fiber *f = wf_load_rlx(&s.box);

		weft_sim_assert(err == 0, "wait_idle says %d", err);
		weft_sim_assert(
			s.ran == i, "it has run %d times, not %d", s.ran, i);
		weft_sim_assert(f != NULL, "it does not wait");
		if (i < 2)
			weft_wake(f, WEFT_HINT_DEFAULT);
	}
	duo_join();
	duo_close();
}

/* ------------------------------------------------------------------------ */
/* Whole runtimes. */

static void submit_inside(struct job *j)
{
	struct wf_thread *t = wf_os_self();

	(void)j;
	/* Coarse, so that others help, those of the other group too. */
	wf_store_rlx(&t->proc->mean_ns, WF_NS_PER_S);
	wf_set_coarse(t->proc, true);
	for (size_t i = 1; i <= 3; i++)
		job_submit(stage.rt, i, WEFT_HINT_DEFAULT);
}

void idle_rt(void *arg)
{
	rt_start_plan(arg);
	stage.job[0].then = submit_inside;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	wait_for_jobs(stage.rt, 4);
	job_submit(stage.rt, 4, WEFT_HINT_DEFAULT);
	wait_for_jobs(stage.rt, 5);
	rt_stop();
}

/* Threads that cannot be made, at some time. */
void idle_faults(void *arg)
{
	rt_start_plan(arg);
	weft_sim_os_faults(2);
	stage.job[0].then = submit_inside;
	job_submit(stage.rt, 0, WEFT_HINT_DEFAULT);
	wait_for_jobs(stage.rt, 4);
	rt_stop();
}
