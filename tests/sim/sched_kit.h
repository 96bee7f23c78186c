/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/sched_kit.h - a small runtime on simulated threads, and its jobs.
 *
 * The KIT is an assembled runtime of up to three processors, whose queues hold
 * two or four entries.  A scenario starts simulated threads that take the place
 * of the runtime's own.  They sleep without a deadline, so that a lost wake
 * stays lost.
 *
 * A JOB is a task with a plain payload, written before the submit and read by
 * the run, so that a missing order is a race, and with a plain count of its
 * runs.  All other accesses of the scenarios are relaxed: they order no more
 * than the code under test does.
 */
#ifndef WEFT_TESTS_SIM_SCHED_KIT_H
#define WEFT_TESTS_SIM_SCHED_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <weft/sim.h>
#include <weft/weft.h>

#include "base/atomic.h"
#include "base/units.h"
#include "idle/monitor.h"
#include "idle/parker.h"
#include "idle/search.h"
#include "idle/wake.h"
#include "os/os.h"
#include "queue/resubmit_check.h"
#include "rt/assemble.h"
#include "sched/idle.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "sched/tuning.h"
#include "support/agenda.h"

/* Run task like the loop. */
static inline void kit_run_task(weft_task *task)
{
	wf_resubmit_leave(task);
	task->run(task);
}

enum {
	KIT_PROCS = 3,
	KIT_CAP = 4,
	KIT_JOBS = 16,
	KIT_FAR = 1000000,	/* picks: never */
	KIT_PAYLOAD = 4711,
};

/* How many looks of the monitor it may take until help comes. */
struct help {
	uint32_t workers;
	unsigned looks;
	uint32_t group_size;	/* 0: one group */
};

/* A thread blocks here until another one opens it.  Relaxed. */
struct latch {
	_Atomic(uint32_t) word;
};

struct job {
	weft_task task;			/* must be first */
	int payload;			/* plain */
	int ran;			/* plain */
	void (*then)(struct job *j);	/* run by the job, or NULL */
	unsigned arg;			/* of then */
};

struct kit {
	struct weft_rt rt;
	struct wf_group *group;		/* these two: of rt */
	struct wf_proc *proc;
	struct wf_thread thread[KIT_PROCS];
	int sim[KIT_PROCS + 2];		/* threads that were started */
	uint32_t sims;
};

/* All data of a scenario; every run begins with zeroes. */
struct stage {
	struct kit kit;
	struct job job[KIT_JOBS];
	_Atomic(uint32_t) left;		/* jobs that have not run */
	_Atomic(bool) over;		/* all have run: the workers end */
	struct latch latch[4];
	weft_rt *rt;			/* the runtime that is watched */
	bool stops;			/* it is in weft_rt_stop, */
	bool cancels;			/* which cancels every wait */
	_Atomic(uint32_t) blocked;	/* threads that wait for a latch */
	struct latch *help;		/* opened by a task that needs help */
	unsigned idles;			/* how often no thread ran so far */
	unsigned looks;			/* limit of idles; 0: none */
};

extern struct stage stage;

/* ------------------------------------------------------------------------ */
/* Latches. */

static inline void latch_open(struct latch *l)
{
	wf_store_rlx(&l->word, 1);
	(void)wf_os_futex_wake(&l->word, UINT32_MAX);
}

static inline void latch_wait(struct latch *l)
{
	(void)wf_add_rlx(&stage.blocked, 1);
	while (wf_load_rlx(&l->word) == 0)
		(void)wf_os_futex_wait(&l->word, 0, INT64_MAX);
	(void)wf_sub_rlx(&stage.blocked, 1);
}

/*
 * latch_wait for a task that blocks its processor.  A task that only another
 * processor can run opens l: help comes within stage.looks looks.
 */
static inline void latch_need(struct latch *l)
{
	stage.help = l;
	latch_wait(l);
	stage.help = NULL;
}

/* ------------------------------------------------------------------------ */
/* Jobs. */

static inline size_t job_number(struct job *j)
{
	return (size_t)(j - stage.job);
}

static inline void job_run(weft_task *task)
{
	struct job *j = (struct job *)task;

	weft_sim_assert(j->payload == KIT_PAYLOAD,
		"job %zu runs without its payload", job_number(j));
	j->ran++;
	weft_sim_assert(j->ran == 1, "job %zu runs twice", job_number(j));
	if (j->then != NULL)
		j->then(j);
	(void)wf_sub_rlx(&stage.left, 1);
}

/* Prepare job i for its submit. */
static inline weft_task *job_make(size_t i, void (*then)(struct job *j))
{
	struct job *j = &stage.job[i];

	j->task.run = job_run;
	j->payload = KIT_PAYLOAD;
	j->then = then;
	return &j->task;
}

/* Submit job i to rt, keeping its `then'. */
static inline void job_submit(weft_rt *rt, size_t i, weft_hint hint)
{
	int err = weft_submit(weft_rt_executor(rt),
		job_make(i, stage.job[i].then), hint);

	weft_sim_assert(err == 0, "job %zu is refused: %d", i, err);
}

/* A `then': open latch j->arg. */
static inline void job_opens(struct job *j)
{
	latch_open(&stage.latch[j->arg]);
}

/* All threads were joined: each of the first n jobs ran once. */
static inline void jobs_check(size_t n)
{
	for (size_t i = 0; i < n; i++)
		weft_sim_assert(stage.job[i].ran == 1, "job %zu ran %d times",
			i, stage.job[i].ran);
}

/* ------------------------------------------------------------------------ */
/* The kit. */

/* Processor i is awake; it looks around when a scenario says so. */
static inline void kit_open_proc(uint32_t i)
{
	struct kit *kit = &stage.kit;

	agenda_set(&kit->proc[i], KIT_FAR, KIT_FAR);
	kit->thread[i].proc = &kit->proc[i];
	kit->thread[i].rt = &kit->rt;
	wf_store_rlx(&kit->proc[i].thread, &kit->thread[i]);
}

/* n processors, all awake, in one group, or in groups of one. */
static inline void kit_open_groups(
	uint32_t n, uint32_t size, uint64_t capacity, const weft_policy *policy)
{
	struct kit *kit = &stage.kit;
	struct weft_rt *rt = &kit->rt;
	int err;

	rt->config = (weft_config){ .workers = n,
		.group_size = size,
		.local_capacity = (uint32_t)capacity,
		.global_tick = 3,
		.lifo_budget = 2,
		.steal_rounds = 1,
		.coop_budget = 2 };
	rt->policy = *policy;
	wf_rt_derive(rt);
	rt->linger_ns = INT64_MAX;
	err = wf_rt_assemble(rt);
	weft_sim_assert(err == 0, "there is no memory for the kit");
	kit->group = rt->groups;
	kit->proc = rt->procs;
	for (uint32_t i = 0; i < rt->group_count; i++)
		wf_store_rlx(&kit->group[i].sleeping, 0);
	for (uint32_t i = 0; i < n; i++)
		kit_open_proc(i);
	stage.rt = rt;
}

static inline void kit_open(uint32_t n, uint64_t capacity)
{
	kit_open_groups(n, n, capacity, &(weft_policy){ 0 });
}

/* All threads were joined, all jobs have run. */
static inline void kit_close(void)
{
	stage.rt = NULL;
	wf_rt_disassemble(&stage.kit.rt);
}

static inline void kit_start(void (*fn)(void *), void *arg, const char *name)
{
	struct kit *kit = &stage.kit;

	kit->sim[kit->sims] = weft_sim_thread(fn, arg, name);
	weft_sim_assert(kit->sim[kit->sims] > 0, "no thread for %s", name);
	kit->sims++;
}

static inline void kit_join(void)
{
	for (uint32_t i = 0; i < stage.kit.sims; i++)
		(void)weft_sim_join(stage.kit.sim[i]);
	stage.kit.sims = 0;
}

/* Like weft_rt_stop when no fiber is left: workers that park end. */
static inline void kit_quit(void)
{
	wf_store_rlx(&stage.kit.rt.quit, true);
	/* [pair: park.sleep] A worker that parks later sees quit. */
	wf_fence_seq();
	for (uint32_t i = 0; i < stage.kit.rt.group_count; i++)
		wf_wake_all(&stage.kit.group[i]);
}

/* Wait for all jobs; then the workers end. */
static inline void kit_finish(void)
{
	uint32_t left;

	weft_sim_quiesce();
	/* A load might return an older value. */
	left = wf_add_rlx(&stage.left, 0);
	weft_sim_assert(left == 0, "no thread runs, and %u jobs have not run",
		left);
	kit_quit();
	kit_join();
}

/* A worker: a thread of the runtime that runs no fibers. */
static inline void kit_work(void *arg)
{
	struct wf_thread *t = arg;
	weft_task *task;

	wf_os_self_set(t);
	while ((task = wf_pick(t)) != NULL)
		kit_run_task(task);
	wf_os_self_set(NULL);
}

/* Start workers for processors 0 to n - 1. */
static inline void kit_start_workers(uint32_t n)
{
	static const char *const names[KIT_PROCS] = { "P0", "P1", "P2" };

	for (uint32_t i = 0; i < n; i++)
		kit_start(kit_work, &stage.kit.thread[i], names[i]);
}

/* Start workers, and wait until all of them sleep. */
static inline void kit_start_sleepers(uint32_t n)
{
	kit_start_workers(n);
	weft_sim_quiesce();
}

/* Submit job i from outside. */
static inline void kit_submit(size_t i)
{
	struct wf_batch batch = { 0 };

	wf_batch_add(&batch, job_make(i, stage.job[i].then));
	wf_submit_outside(&stage.kit.rt, &batch);
}

/* Push job i to processor p, whose holder the caller is. */
static inline void kit_push(uint32_t p, size_t i)
{
	wf_push(&stage.kit.proc[p],
		wf_entry_of(job_make(i, stage.job[i].then)));
}

/* Run all tasks left in the queues; no other thread runs. */
static inline void kit_drain(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		weft_task *task;

		while ((task = wf_pick_quick(&stage.kit.proc[i])) != NULL)
			kit_run_task(task);
	}
}

/*
 * One round of a thief that holds p.  It has searched for so long that every
 * holder that did not pick meanwhile seems to compute.  It runs what it takes.
 */
static inline void kit_rob(struct wf_proc *p)
{
	struct wf_search s;
	weft_task *task;

	wf_search_begin(&s, p);
	s.now_ns += wf_tuning.stuck_ns;
	task = wf_search_round(&s, true);
	if (task != NULL)
		kit_run_task(task);
}

/* ------------------------------------------------------------------------ */
/* Whole runtimes: small queues, few turns, no spinning. */

weft_config rt_config(uint32_t workers);
void rt_start_with(const weft_config *cfg);
void rt_start(uint32_t workers);

/* Stop stage.rt, without a deadline. */
void rt_stop(void);

/* Assert what holds at every step. */
void sched_step(void *arg);

/* Assert what holds when no thread can run before time passes. */
void sched_idle(void *arg);

/* ------------------------------------------------------------------------ */
/* The bodies, by file. */

/* park_scenarios.c */
void park_one_worker(void *arg);
void park_two_workers(void *arg);
void park_three_workers(void *arg);
void park_last_searcher(void *arg);
void park_pick(void *arg);
void park_word(void *arg);
void park_limit(void *arg);
void wake_chain(void *arg);
void wake_self_enlisted(void *arg);
void wake_two_wakers(void *arg);
void wake_fails(void *arg);
void wake_other(void *arg);
void wake_limit(void *arg);
void wake_pause(void *arg);

/* handshake_scenarios.c */
void handshake_queue(void *arg);
void handshake_slot(void *arg);
void handshake_yielders(void *arg);
void handshake_close_queue(void *arg);
void handshake_close_slot(void *arg);
void handshake_close_yielders(void *arg);
void handshake_reopen(void *arg);
void handshake_second_look(void *arg);
void handshake_two_thieves(void *arg);
void handshake_shuffle(void *arg);
void slot_push(void *arg);
void slot_displace(void *arg);

/* steal_scenarios.c */
void steal_chain(void *arg);
void steal_offload(void *arg);
void steal_spill(void *arg);
void pick_global(void *arg);
void pick_count(void *arg);
void gate_opens(void *arg);
void monitor_helps(void *arg);
void monitor_sleeps(void *arg);
void monitor_outside(void *arg);

/* rt_scenarios.c */
void rt_start_stop(void *arg);
void rt_outside(void *arg);
void rt_submit_races_shutdown(void *arg);
void rt_caller(void *arg);
void rt_late_caller(void *arg);
void rt_waker(void *arg);
void rt_cancel(void *arg);
void rt_stop_twice(void *arg);
void rt_shutdown_inside(void *arg);
void rt_inside(void *arg);
void rt_inside_fiber(void *arg);
void rt_limit(void *arg);
void rt_give_back(void *arg);
void rt_two_runtimes(void *arg);
void rt_faults(void *arg);
void rt_faults_later(void *arg);

/* stop_scenarios.c */
void rt_linger(void *arg);
void rt_need_at_the_end(void *arg);
void rt_help_and_stop(void *arg);
void rt_overflow_at_the_end(void *arg);
void rt_late_spawn(void *arg);

/* work_scenarios.c */
void work_yield(void *arg);
void work_spawn(void *arg);
void work_help(void *arg);
void work_turns(void *arg);
void work_transfer(void *arg);
void work_burst(void *arg);
void work_joins(void *arg);
void turns_check(void *arg);

#endif
