/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/sched_kit.h - what the scenarios of the scheduler stand on.
 *
 * The KIT is a runtime made by hand: one group of up to three processors with
 * queues of two or four entries.  Its threads are simulated ones that a
 * scenario starts, each in the place of one thread of the runtime; they sleep
 * without a deadline, so that a wake that was lost stays lost.
 *
 * A JOB is a task with a plain payload, written before it is submitted and read
 * when it runs, so that a missing order is a race, and with a plain count of
 * its runs.  Nothing here orders anything more than the code under test does:
 * what the scenarios share is relaxed.
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
#include "os/os.h"
#include "queue/resubmit_check.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "sched/steal.h"
#include "sched/submit.h"
#include "sched/thread.h"
#include "idle/wake.h"

/* As the loop does. */
static inline void kit_run_task(weft_task *task)
{
	wf_twice_leave(task);
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

/* Somebody waits, blocking its thread, until another opens it.  Relaxed. */
struct latch {
	_Atomic(uint32_t) word;
};

struct job {
	weft_task task;			/* must be first */
	int payload;			/* plain */
	int ran;			/* plain */
	void (*then)(struct job *j);	/* what it does; NULL: nothing */
	unsigned arg;			/* for that */
};

struct kit {
	struct weft_rt rt;
	struct wf_group group;
	struct wf_proc proc[KIT_PROCS];
	struct wf_thread thread[KIT_PROCS];
	struct wf_monitor_seen seen[KIT_PROCS];
	_Atomic(wf_entry) slots[KIT_PROCS * KIT_CAP];
	int sim[KIT_PROCS + 2];		/* threads that were started */
	uint32_t sims;
};

/* All that a scenario has; as it was before each run. */
struct stage {
	struct kit kit;
	struct job job[KIT_JOBS];
	_Atomic(uint32_t) left;		/* jobs that have not run */
	_Atomic(bool) over;		/* all have; the workers shall end */
	struct latch latch[4];
	weft_rt *rt;			/* the runtime that is watched */
	bool stops;			/* it is in weft_rt_stop */
	bool cancels;			/* which cuts every wait short */
	_Atomic(uint32_t) blocked;	/* threads that wait for a latch */
	struct latch *help;		/* opened by a task that needs help */
	unsigned idles;			/* how often nobody ran before that */
	unsigned looks;			/* ... and may; 0: any number */
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
 * The same for a task that blocks its processor until another one, which only
 * somebody else can run, has opened l: help comes within stage.looks looks.
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

/* Job i, as its submitter makes it. */
static inline weft_task *job_make(size_t i, void (*then)(struct job *j))
{
	struct job *j = &stage.job[i];

	j->task.run = job_run;
	j->payload = KIT_PAYLOAD;
	j->then = then;
	return &j->task;
}

/* Job i, which does what its `then' says, into rt, from wherever we are. */
static inline void job_submit(weft_rt *rt, size_t i, weft_hint hint)
{
	int err = weft_submit(weft_rt_executor(rt),
		job_make(i, stage.job[i].then), hint);

	weft_sim_assert(err == 0, "job %zu is refused: %d", i, err);
}

/* What a job may do: open latch j->arg. */
static inline void job_opens(struct job *j)
{
	latch_open(&stage.latch[j->arg]);
}

/* After all threads were joined: the first n ran, each once. */
static inline void jobs_check(size_t n)
{
	for (size_t i = 0; i < n; i++)
		weft_sim_assert(stage.job[i].ran == 1, "job %zu ran %d times",
			i, stage.job[i].ran);
}

/* ------------------------------------------------------------------------ */
/* The kit. */

static inline void kit_open_proc(uint32_t i, uint64_t capacity)
{
	struct kit *kit = &stage.kit;
	struct wf_proc *p = &kit->proc[i];

	/* Its number would be i; as number 0 it sleeps without a deadline. */
	p->id = 0;
	p->group = &kit->group;
	p->inject = &kit->group.inject;
	p->bit = (uint64_t)1 << i;
	p->pause = KIT_FAR;
	wf_random_seed(&p->random, wf_os_random());
	wf_runq_init(&p->runq, &kit->slots[i * KIT_CAP], capacity);
	kit->thread[i].proc = p;
	kit->thread[i].rt = &kit->rt;
	wf_store_rlx(&p->thread, &kit->thread[i]);
}

/* n processors, all awake, and their queues. */
static inline void kit_open(uint32_t n, uint64_t capacity)
{
	struct kit *kit = &stage.kit;
	struct weft_rt *rt = &kit->rt;

	rt->executor.submit = wf_rt_submit;
	rt->config.workers = n;
	rt->config.group_size = n;
	rt->config.lifo_budget = 2;
	rt->config.steal_rounds = 1;
	rt->config.coop_budget = 2;
	rt->groups = &kit->group;
	rt->procs = kit->proc;
	rt->group_count = 1;
	rt->proc_count = n;
	rt->global_tick = 3;
	rt->monitor.seen = kit->seen;
	rt->membarrier = wf_os_membarrier_register() == 0;
	kit->group.rt = rt;
	kit->group.procs = kit->proc;
	kit->group.count = n;
	kit->group.max_searchers = (n + 1) / 2;
	kit->group.all = UINT64_MAX >> (64 - n);
	wf_store_rlx(&kit->group.wake_ns, 30 * WF_NS_PER_US);
	for (uint32_t i = 0; i < n; i++)
		kit_open_proc(i, capacity);
	stage.rt = rt;
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

/* What weft_rt_stop does when no fiber is left: whoever parks ends. */
static inline void kit_quit(void)
{
	wf_store_rlx(&stage.kit.rt.quit, true);
	/* [pair: park.sleep] As end_threads does. */
	wf_fence_seq();
	wf_wake_all(&stage.kit.group);
}

/* Wait for all jobs; then the workers end. */
static inline void kit_finish(void)
{
	uint32_t left;

	weft_sim_quiesce();
	/* Not a load, which may be of an older value. */
	left = wf_add_rlx(&stage.left, 0);
	weft_sim_assert(left == 0, "nobody runs, and %u jobs have not run",
		left);
	kit_quit();
	kit_join();
}

/* A thread of the runtime, but for its fibers. */
static inline void kit_work(void *arg)
{
	struct wf_thread *t = arg;
	weft_task *task;

	wf_os_self_set(t);
	while ((task = wf_pick(t)) != NULL)
		kit_run_task(task);
	wf_os_self_set(NULL);
}

/* n of them, for processors 0 to n - 1. */
static inline void kit_start_workers(uint32_t n)
{
	static const char *const names[KIT_PROCS] = { "P0", "P1", "P2" };

	for (uint32_t i = 0; i < n; i++)
		kit_start(kit_work, &stage.kit.thread[i], names[i]);
}

/* The same, and nothing else happens until all of them sleep. */
static inline void kit_start_sleepers(uint32_t n)
{
	kit_start_workers(n);
	weft_sim_quiesce();
}

/* Job i into the global queue, as wf_submit_outside does. */
static inline void kit_submit(size_t i)
{
	struct wf_batch batch = { 0 };

	wf_batch_add(&batch, job_make(i, stage.job[i].then));
	wf_submit_outside(&stage.kit.rt, &batch);
}

/* Job i into the queue of processor p, whose holder we are. */
static inline void kit_push(uint32_t p, size_t i)
{
	wf_push(&stage.kit.proc[p],
		wf_entry_of(job_make(i, stage.job[i].then)));
}

/* Run all that is left in the queues, when nobody else is about. */
static inline void kit_drain(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		weft_task *task;

		while ((task = wf_pick_quick(&stage.kit.proc[i])) != NULL)
			kit_run_task(task);
	}
}

/*
 * One round of a thief that holds p, which has looked for so long that every
 * owner that did not pick meanwhile seems to compute.  What it takes it runs.
 */
static inline void kit_rob(struct wf_proc *p)
{
	struct wf_search s;
	weft_task *task;

	wf_search_begin(&s, p);
	s.now_ns += WF_STUCK_NS;
	task = wf_search_round(&s, true);
	if (task != NULL)
		kit_run_task(task);
}

/* ------------------------------------------------------------------------ */
/* Whole runtimes: small queues, few turns, no spinning. */

weft_config rt_config(uint32_t workers);
void rt_start_with(const weft_config *cfg);
void rt_start(uint32_t workers);

/* Stop stage.rt, for as long as it takes. */
void rt_stop(void);

/* Asserts what holds at every step. */
void sched_step(void *arg);

/* Asserts what holds when nobody can run before time passes. */
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

/* share_scenarios.c */
void share_queue(void *arg);
void share_slot(void *arg);
void share_yielders(void *arg);
void share_mix(void *arg);
void share_close_queue(void *arg);
void share_close_slot(void *arg);
void share_close_yielders(void *arg);
void share_reopen(void *arg);
void share_second_look(void *arg);
void share_two_thieves(void *arg);
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
