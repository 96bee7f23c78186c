/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/kit.h - an assembled runtime without threads.
 *
 * It has a configuration, groups and processors with queues.  The thread of
 * each processor is a struct that no system thread runs; a waker sets its word,
 * which a test can read.  A test calls the functions that such a thread would
 * call, on its own thread.  All processors sleep to begin with.
 */
#ifndef WEFT_TESTS_SCHED_KIT_H
#define WEFT_TESTS_SCHED_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/sanitize.h"
#include "base/units.h"
#include "os/os.h"
#include "rt/assemble.h"
#include "rt/config.h"
#include "sched/runtime.h"
#include "sched/thread.h"
#include "support/threads.h"

enum { KIT_PROCS = 64, KIT_TASKS = 512 };

struct kit {
	struct weft_rt rt;
	struct wf_group *groups;	/* these two: of rt */
	struct wf_proc *procs;
	struct wf_thread threads[KIT_PROCS];
	weft_task tasks[KIT_TASKS];
	size_t next_task;
};

static struct kit kit;

static inline void kit_task_run(weft_task *task)
{
	(void)task;
}

/* The thread of processor i, which no system thread runs. */
static inline void kit_open_thread(uint32_t i)
{
	kit.threads[i].proc = &kit.procs[i];
	kit.threads[i].rt = &kit.rt;
	wf_store_rlx(&kit.procs[i].thread, &kit.threads[i]);
}

/* So many processors in groups of this size, 0: in one group. */
static inline void kit_open_policy(
	uint32_t workers, uint32_t group_size, const weft_policy *policy)
{
	weft_config cfg = { .workers = workers, .group_size = group_size };
	struct weft_rt *rt = &kit.rt;
	char why[200];

	memset(&kit, 0, sizeof(kit));
	wf_assert(wf_config_fill(&rt->config, &cfg, sizeof(cfg), why,
			  sizeof(why)) == 0,
		"%s", why);
	rt->policy = *policy;
	wf_rt_derive(rt);
	rt->linger_ns = WF_NS_PER_MS;
	rt->spin_ns = 0;
	wf_assert(wf_rt_assemble(rt) == 0, "no memory");
	kit.groups = rt->groups;
	kit.procs = rt->procs;
	for (uint32_t i = 0; i < rt->proc_count; i++)
		kit_open_thread(i);
	for (size_t i = 0; i < KIT_TASKS; i++)
		kit.tasks[i].run = kit_task_run;
}

static inline void kit_open(uint32_t workers, uint32_t group_size)
{
	kit_open_policy(workers, group_size, &(weft_policy){ 0 });
}

/* Drop the tasks in the local queue and the slot. */
static inline void kit_empty(struct wf_proc *p)
{
	while (wf_runq_pop(&p->runq) != 0)
		continue;
	wf_store_rlx(&p->slot, 0);
}

static inline void kit_close(void)
{
	for (uint32_t i = 0; i < kit.rt.proc_count; i++)
		kit_empty(&kit.procs[i]);
	wf_rt_disassemble(&kit.rt);
}

static inline weft_task *kit_task(void)
{
	return &kit.tasks[kit.next_task++ % KIT_TASKS];
}

/* Put n tasks into the queue of processor i, or the global queue of group i. */
static inline void kit_fill(uint32_t i, size_t n)
{
	while (n-- > 0)
		wf_assert(wf_runq_push(&kit.procs[i].runq,
				  wf_entry_of(kit_task())),
			"the queue is full");
}

static inline void kit_inject(uint32_t i, size_t n)
{
	struct wf_batch batch = { 0 };

	while (n-- > 0)
		wf_batch_add(&batch, kit_task());
	wf_inject_push(&kit.groups[i].inject, &batch);
}

/* Mark processor i as awake. */
static inline void kit_run(uint32_t i)
{
	(void)wf_and_acqrel(&kit.procs[i].group->sleeping, ~kit.procs[i].bit);
}

/* Was processor i woken?  Afterwards it sleeps again. */
static inline bool kit_was_woken(uint32_t i)
{
	struct wf_proc *p = &kit.procs[i];

	if (wf_xchg_rlx(&kit.threads[i].parker.word, 0) == 0)
		return false;
	(void)wf_and_rlx(&p->group->searching, ~p->bit);
	(void)wf_or_acqrel(&p->group->sleeping, p->bit);
	return true;
}

/* How many processors were woken?  They are asleep again afterwards. */
static inline uint32_t kit_woken(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < kit.rt.proc_count; i++)
		n += kit_was_woken(i);
	return n;
}

static inline void kit_pause_us(uint64_t us)
{
	struct timespec t = { .tv_sec = (time_t)(us / 1000000),
		.tv_nsec = (long)(us % 1000000 * 1000) };

	while (nanosleep(&t, &t) != 0)
		continue;
}

#endif
