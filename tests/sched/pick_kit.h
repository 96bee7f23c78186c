/* SPDX-License-Identifier: MIT */
/*
 * tests/sched/pick_kit.h - a runtime without threads, whose first processor a
 * test fills and picks from.
 */
#ifndef WEFT_TESTS_SCHED_PICK_KIT_H
#define WEFT_TESTS_SCHED_PICK_KIT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <string.h>

#include "os/os.h"
#include "rt/assemble.h"
#include "rt/config.h"
#include "sched/global.h"
#include "sched/pick.h"
#include "sched/runtime.h"
#include "sched/submit.h"
#include "sched/turn.h"
#include "sched/yielders.h"
#include "support/agenda.h"

enum { ITEMS = 1024, FAR = 1000000, USE = 7 };

static struct weft_rt *rt;
static struct wf_proc *p;
static weft_fiber item[ITEMS];

static inline void make_rt_policy(uint32_t workers, uint32_t capacity,
	uint32_t tick, weft_policy policy)
{
	weft_config cfg = { .workers = workers,
		.local_capacity = capacity,
		.global_tick = tick,
		.lifo_budget = 3 };
	char why[200];

	rt = wf_os_alloc(sizeof(*rt));
	assert_int_equal(wf_config_fill(&rt->config, &cfg, sizeof(cfg), why,
				 sizeof(why)),
		0);
	rt->policy = policy;
	wf_rt_derive(rt);
	assert_int_equal(wf_rt_assemble(rt), 0);
	wf_store_rlx(&rt->groups->sleeping, 0);
	p = rt->procs;
	agenda_set(p, FAR, FAR);
	memset(item, 0, sizeof(item));
	for (size_t i = 0; i < ITEMS; i++) {
		item[i].task.run = wf_fiber_task_run;
		item[i].context.sp = item; /* it is prefetched */
	}
}

static inline void make_rt(uint32_t workers, uint32_t capacity, uint32_t tick)
{
	make_rt_policy(workers, capacity, tick, (weft_policy){ 0 });
}

/* The next pick is a look, and the turn of the global queue. */
static inline void look_next(void)
{
	agenda_set(p, 1, 1);
}

static inline void free_rt(void)
{
	while (wf_pick_quick(p) != NULL)
		continue;
	wf_rt_disassemble(rt);
	wf_os_free(rt);
}

static inline void to_global(size_t i)
{
	struct wf_batch batch = { 0 };

	wf_batch_add(&batch, &item[i].task);
	wf_inject_push(p->inject, &batch);
}

static inline void to_local(size_t i)
{
	wf_push(p, wf_entry_of(&item[i].task));
}

static inline void to_slot(size_t i)
{
	wf_push_next(p, wf_entry_of(&item[i].task));
}

/* A ticket for item i, good or dead. */
static inline wf_entry ticket(size_t i, bool good)
{
	uint32_t use = USE << WF_FIBER_USE_SHIFT;

	wf_store_rlx(&item[i].state, WF_FIBER_LIVE | WF_FIBER_FRESH | use);
	if (!good)
		wf_store_rlx(&item[i].state, WF_FIBER_LIVE | use);
	return wf_fiber_ticket(&item[i], use);
}

/* Which item is this; -1: none. */
static inline long number(weft_task *task)
{
	return task ? wf_fiber_of(task) - item : -1;
}

#define assert_pick(i) assert_int_equal(number(wf_pick_quick(p)), i)
#define assert_counter(name, n) \
	assert_int_equal(wf_load_rlx(&p->counters.name), n)

#endif
