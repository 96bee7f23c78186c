/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/steal_scenarios.c - thieves, overflow, the global queue, the gate
 * and the monitor, on processors made by hand.
 */
#include "sched_kit.h"

#include "life/finish.h"
#include "idle/gate.h"
#include "sched/handshake.h"
#include "support/agenda.h"

/* n picks of a processor. */
static void pick_n(struct wf_proc *p, unsigned n)
{
	while (n-- > 0) {
		weft_task *task = wf_pick_quick(p);

		if (task != NULL)
			kit_run_task(task);
	}
}

static void be_coarse(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		wf_store_rlx(&stage.kit.proc[i].push_flags, true);
	wf_store_rlx(&stage.kit.group->coarse, true);
}

static void end(uint32_t procs, size_t jobs)
{
	kit_join();
	kit_drain(procs);
	jobs_check(jobs);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* A thief whose own queue is robbed while it fills. */

static void pick_two(void *arg)
{
	pick_n(arg, 2);
}

static void rob_and_pick(void *arg)
{
	kit_rob(arg);
	pick_n(arg, 2);
}

void steal_chain(void *arg)
{
	(void)arg;
	kit_open(3, KIT_CAP);
	be_coarse(3);
	for (size_t i = 0; i < 4; i++)
		kit_push(0, i);
	kit_start(pick_two, &stage.kit.proc[0], "P0");
	kit_start(rob_and_pick, &stage.kit.proc[1], "P1");
	kit_start(rob_and_pick, &stage.kit.proc[2], "P2");
	end(3, 4);
}

/* ------------------------------------------------------------------------ */
/* Tasks that do not fit go to the global queue, while thieves take. */

static void push_five(void *arg)
{
	struct wf_proc *p = arg;

	wf_push_yield(p, job_make(0, NULL));
	for (size_t i = 1; i < 5; i++)
		wf_push(p, wf_entry_of(job_make(i, NULL)));
	pick_n(p, 3);
}

void steal_offload(void *arg)
{
	(void)arg;
	kit_open(3, 2);
	be_coarse(3);
	agenda_set(&stage.kit.proc[1], 1, 1);
	kit_start(push_five, &stage.kit.proc[0], "P0");
	kit_start(pick_two, &stage.kit.proc[1], "P1");
	kit_start(rob_and_pick, &stage.kit.proc[2], "P2");
	end(3, 5);
}

/* Yielders go to the global queue, where searchers find them. */
static void yield_three(void *arg)
{
	struct wf_proc *p = arg;

	for (size_t i = 0; i < 3; i++)
		wf_push_yield(p, job_make(i, NULL));
	agenda_set(p, 1, 1);
	pick_n(p, 2);
}

void steal_spill(void *arg)
{
	(void)arg;
	kit_open(3, 2);
	be_coarse(3);
	(void)wf_or_rlx(&stage.kit.group->searching, stage.kit.proc[2].bit);
	kit_start(yield_three, &stage.kit.proc[0], "P0");
	kit_start(pick_two, &stage.kit.proc[1], "P1");
	kit_start(rob_and_pick, &stage.kit.proc[2], "P2");
	end(3, 3);
}

/* ------------------------------------------------------------------------ */
/* The global queue, from both ends. */

static void submit_two(void *arg)
{
	(void)arg;
	kit_submit(0);
	kit_submit(1);
}

void pick_global(void *arg)
{
	(void)arg;
	kit_open(2, 2);
	wf_store_rlx(&stage.kit.group->gate_open, weft_sim_either(2) == 0);
	agenda_set(&stage.kit.proc[0], 2, 2);
	kit_start(submit_two, NULL, "outside");
	kit_start(pick_two, &stage.kit.proc[0], "P0");
	kit_start(pick_two, &stage.kit.proc[1], "P1");
	end(2, 2);
}

/*
 * Fibers that were started on one processor and went through the global queue
 * end on another, and each processor counts its own: the sum is never too
 * small.  There is one more fiber, from outside.
 */
static void start_three(void *arg)
{
	struct wf_proc *p = arg;

	for (size_t i = 0; i < 3; i++) {
		wf_bump(&p->counters.spawned, 1);
		kit_push(0, i);
	}
}

static void end_there(struct job *j)
{
	(void)j;
	wf_count_end(&stage.kit.proc[1]);
}

void pick_count(void *arg)
{
	struct weft_rt *rt = &stage.kit.rt;

	(void)arg;
	kit_open(2, 2);
	be_coarse(2);
	wf_store_rlx(&rt->outside.spawned, 1);
	for (size_t i = 0; i < 3; i++)
		stage.job[i].then = end_there;
	kit_start(start_three, &stage.kit.proc[0], "P0");
	kit_start(pick_two, &stage.kit.proc[1], "P1");
	for (int i = 0; i < 2; i++) {
		uint64_t n = wf_rt_fibers(rt);

		weft_sim_assert(
			n >= 1 && n <= 4, "%d of 1 to 4 are there", (int)n);
	}
	end(2, 3);
}

/* ------------------------------------------------------------------------ */
/* The gate: the body is the monitor, and time goes as it says. */

enum { FINE = 1000 }; /* tasks that each job stands for */

static void be_many(struct job *j)
{
	(void)j;
	wf_bump(&stage.kit.proc[0].counters.ticks, FINE);
}

static void pick_four(void *arg)
{
	wf_bump(&stage.kit.proc[0].counters.ticks, FINE);
	pick_n(arg, 4);
}

void gate_opens(void *arg)
{
	int64_t now = wf_os_now_ns(), pause = 0;
	enum wf_gate_phase phase;

	(void)arg;
	kit_open(2, KIT_CAP);
	wf_store_rlx(&stage.left, 4);
	kit_start(kit_work, &stage.kit.thread[1], "P1");
	weft_sim_quiesce();
	for (size_t i = 0; i < 4; i++) {
		stage.job[i].then = be_many;
		kit_push(0, i);
	}
	kit_start(pick_four, &stage.kit.proc[0], "P0");
	for (int i = 0; i < 6; i++, now += 500 * WF_NS_PER_US)
		pause = wf_monitor_look(&stage.kit.rt, now, pause);
	phase = stage.kit.rt.monitor->groups->gate.phase;
	weft_sim_assert(wf_load_rlx(&stage.kit.group->gate_open) ==
			(phase == WF_GATE_TRIAL || phase == WF_GATE_OPEN),
		"the gate is not where it says");
	kit_finish();
	jobs_check(4);
	kit_close();
}

/* ------------------------------------------------------------------------ */
/* The monitor. */

/* This task cannot go on before the one behind it, or above it, has run. */
static void need_inside(struct job *j)
{
	weft_hint hint = (weft_hint)weft_sim_either(3);

	(void)j;
	weft_sim_assert(weft_submit(&stage.kit.rt.executor,
				job_make(1, job_opens), hint) == 0,
		"a task from inside is refused");
	latch_open(&stage.latch[1]);
	latch_need(&stage.latch[0]);
}

static void need_outside(struct job *j)
{
	(void)j;
	latch_open(&stage.latch[1]);
	latch_need(&stage.latch[0]);
}

static void start_monitor(void)
{
	weft_sim_assert(wf_monitor_start(&stage.kit.rt) == 0, "no monitor");
	wf_store_rlx(&stage.left, 2);
}

static void open_monitored(const struct help *h)
{
	stage.looks = h->looks;
	kit_open(h->workers, 2);
	start_monitor();
}

static void end_monitored(void)
{
	latch_wait(&stage.latch[0]);
	kit_finish();
	wf_monitor_stop(&stage.kit.rt);
	jobs_check(2);
	kit_close();
}

/* No sleeper was woken for the second task. */
void monitor_helps(void *arg)
{
	open_monitored(arg);
	stage.job[0].then = need_inside;
	kit_start_workers(2);
	kit_submit(0);
	end_monitored();
}

/* As a thread of the runtime begins. */
static void work_first(void *arg)
{
	wf_monitor_wake(&stage.kit.rt);
	kit_work(arg);
}

/*
 * All processors slept, so that the monitor goes to sleep as the first of them
 * wakes up (M1).
 */
void monitor_sleeps(void *arg)
{
	struct wf_group *g;

	stage.looks = ((const struct help *)arg)->looks;
	kit_open(2, 2);
	g = stage.kit.group;
	wf_store_rlx(&g->sleeping, stage.kit.proc[0].bit);
	kit_start(kit_work, &stage.kit.thread[1], "P1");
	weft_sim_quiesce();
	start_monitor();
	stage.job[0].then = need_inside;
	/* [pair: park.bit] As start_threads does. */
	(void)wf_and_acqrel(&g->sleeping, ~stage.kit.proc[0].bit);
	kit_start(work_first, &stage.kit.thread[0], "P0");
	kit_submit(0);
	end_monitored();
}

/* The second one comes from outside, while the first is awake and computes. */
void monitor_outside(void *arg)
{
	open_monitored(arg);
	stage.job[0].then = need_outside;
	kit_start_workers(2);
	kit_submit(0);
	latch_wait(&stage.latch[1]);
	stage.job[1].then = job_opens;
	kit_submit(1);
	end_monitored();
}
