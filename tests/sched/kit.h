/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/kit.h - a runtime made by hand: processors whose threads are not.
 *
 * Everything a file of sched/ looks at is there: a configuration, groups,
 * processors with queues.  The thread of each processor is a struct that nobody
 * runs; who wakes it sets its word, which a test can read.  A test calls what a
 * thread would call, on its own thread.  All processors sleep to begin with.
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
#include "sched/runtime.h"
#include "sched/thread.h"
#include "support/threads.h"

enum { KIT_PROCS = 64, KIT_GROUPS = 8, KIT_TASKS = 512 };

struct kit {
	struct weft_rt rt;
	struct wf_group groups[KIT_GROUPS];
	struct wf_proc procs[KIT_PROCS];
	struct wf_thread threads[KIT_PROCS];
	struct wf_monitor_seen seen[KIT_PROCS];
	_Atomic(wf_entry) *slots;
	weft_task tasks[KIT_TASKS];
	size_t next_task;
};

static struct kit kit;

static inline void kit_task_run(weft_task *task)
{
	(void)task;
}

static inline void kit_open_proc(uint32_t i)
{
	uint64_t capacity = kit.rt.config.local_capacity;
	uint32_t size = kit.rt.config.group_size;
	struct wf_group *g = &kit.groups[i / size];
	struct wf_proc *p = &kit.procs[i];

	wf_assert(wf_proc_open(p, g, &g->inject, i % size, i, &kit.rt.stacks,
			  &kit.slots[i * capacity], capacity) == 0,
		"no processor can be opened");
	wf_store_rlx(&p->shared, !kit.rt.membarrier);
	wf_store_rlx(&p->open, !kit.rt.membarrier);
	wf_store_rlx(&p->thread, &kit.threads[i]);
	kit.threads[i].proc = p;
	kit.threads[i].rt = &kit.rt;
}

static inline void kit_open_group(uint32_t i)
{
	uint32_t size = kit.rt.config.group_size;

	kit.groups[i] = (struct wf_group){ .rt = &kit.rt,
		.procs = &kit.procs[i * size],
		.count = size,
		.all = UINT64_MAX >> (64 - size),
		.share_always = !kit.rt.membarrier,
		.max_searchers = (size + 1) / 2 };
	wf_store_rlx(&kit.groups[i].sleeping, kit.groups[i].all);
	wf_store_rlx(&kit.groups[i].wake_ns, 30 * WF_NS_PER_US);
}

/* As many processors in groups of this size, 0: in one. */
static inline void kit_open(uint32_t workers, uint32_t group_size)
{
	weft_config cfg = { .workers = workers, .group_size = group_size };
	struct wf_stack_config none = { 0 };
	struct weft_rt *rt = &kit.rt;
	char why[200];

	memset(&kit, 0, sizeof(kit));
	wf_assert(wf_config_fill(&rt->config, &cfg, sizeof(cfg), why,
			  sizeof(why)) == 0,
		"%s", why);
	rt->groups = kit.groups;
	rt->procs = kit.procs;
	rt->proc_count = rt->config.workers;
	rt->group_count = rt->proc_count / rt->config.group_size;
	rt->linger_ns = WF_NS_PER_MS;
	rt->global_tick = rt->config.global_tick;
	rt->membarrier = wf_os_membarrier_register() == 0;
	rt->monitor.seen = kit.seen;
	kit.slots = calloc(rt->proc_count * rt->config.local_capacity,
		sizeof(*kit.slots));
	wf_assert(kit.slots != NULL, "no memory");
	wf_stack_pool_open(&rt->stacks, &none);
	for (uint32_t i = 0; i < rt->group_count; i++)
		kit_open_group(i);
	for (uint32_t i = 0; i < rt->proc_count; i++)
		kit_open_proc(i);
	for (size_t i = 0; i < KIT_TASKS; i++)
		kit.tasks[i].run = kit_task_run;
}

/* Whatever is in the queues is forgotten. */
static inline void kit_empty(struct wf_proc *p)
{
	while (wf_runq_pop(&p->runq) != 0)
		continue;
	wf_store_rlx(&p->slot, 0);
}

static inline void kit_close(void)
{
	for (uint32_t i = 0; i < kit.rt.proc_count; i++) {
		kit_empty(&kit.procs[i]);
		wf_proc_close(&kit.procs[i]);
	}
	wf_stack_pool_close(&kit.rt.stacks);
	free(kit.slots);
}

static inline weft_task *kit_task(void)
{
	return &kit.tasks[kit.next_task++ % KIT_TASKS];
}

/* n tasks into the queue of processor i; into the global queue of group i. */
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

/* Processor i runs. */
static inline void kit_run(uint32_t i)
{
	(void)wf_and_acqrel(&kit.procs[i].group->sleeping, ~kit.procs[i].bit);
}

/* Was processor i woken?  It is asleep again afterwards. */
static inline bool kit_was_woken(uint32_t i)
{
	struct wf_proc *p = &kit.procs[i];

	if (wf_xchg_rlx(&kit.threads[i].word, 0) == 0)
		return false;
	(void)wf_and_rlx(&p->group->searching, ~p->bit);
	(void)wf_or_acqrel(&p->group->sleeping, p->bit);
	return true;
}

/* How many were. */
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
