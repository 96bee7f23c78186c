/* SPDX-License-Identifier: MIT */
/*
 * rt/assemble.c - groups, processors, queues and pools of a runtime.
 */
#include "rt/assemble.h"

#include <errno.h>

#include "base/units.h"
#include "idle/monitor.h"
#include "os/os.h"
#include "rt/policy.h"
#include "sched/submit.h"
#include "sched/tuning.h"
#include "wait/timers.h"

void wf_rt_derive(struct weft_rt *rt)
{
	bool alone = wf_os_cpus_allowed() == 1 || wf_os_cpu_quota_milli("");

	rt->executor.submit = wf_rt_submit;
	rt->proc_count = rt->config.workers;
	rt->group_count = rt->proc_count / rt->config.group_size;
	rt->linger_ns = rt->policy.locks == WEFT_LOCKS_NONE
		? INT64_MAX
		: wf_tuning.linger_ns;
	rt->global_tick = (uint32_t)wf_max_size(rt->config.global_tick, 2);
	rt->spin_ns = alone || rt->config.spin_ns < 0 ? 0 : rt->config.spin_ns;
	rt->membarrier = wf_os_membarrier_register() == 0;
}

/* Set the flags by which p follows the policy (sched/policy.h). */
static void open_policy(struct wf_proc *p, const weft_policy *policy)
{
	uint8_t flags = 0;

	if (wf_policy_pushes(policy))
		flags |= WF_PUSH_POLICY;
	if (policy->wake != WEFT_WAKE_GATE)
		flags |= WF_PUSH_COARSE;
	if (policy->lifo == WEFT_LIFO_OFF)
		flags |= WF_PUSH_SLOTLESS;
	wf_store_rlx(&p->push_flags, flags);
}

/* Returns the number of opened processors; err: why not all. */
static uint32_t open_procs(struct weft_rt *rt, int *err)
{
	uint64_t capacity = rt->config.local_capacity;
	uint32_t size = rt->config.group_size, i;

	for (i = 0; i < rt->proc_count; i++) {
		struct wf_group *g = &rt->groups[i / size];

		*err = wf_proc_open(&rt->procs[i], g, &g->inject,
			&rt->timers[i], i % size, i, &rt->stacks,
			&rt->slots[i * capacity], capacity);
		if (*err)
			break;
		rt->procs[i].gap_ns = rt->spin_ns / 2;
		open_policy(&rt->procs[i], &g->policy);
		wf_store_rlx(&rt->procs[i].shared, g->always_open);
		wf_store_rlx(&rt->procs[i].open, g->always_open);
	}
	return i;
}

static void close_procs(struct weft_rt *rt, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		wf_proc_close(&rt->procs[i]);
}

/* The capacity of each bounded queue; 0: the policy has none. */
static uint64_t bounded_cells(struct weft_rt *rt)
{
	if (rt->policy.queue != WEFT_QUEUE_BOUNDED)
		return 0;
	return rt->policy.bounded_capacity ? rt->policy.bounded_capacity
					   : WF_BOUNDED_CAP_DEFAULT;
}

static void open_groups(struct weft_rt *rt)
{
	uint32_t size = rt->config.group_size, most = rt->config.max_searchers;

	for (uint32_t i = 0; i < rt->group_count; i++) {
		struct wf_group *g = &rt->groups[i];
		uint64_t all = UINT64_MAX >> (64 - size);
		uint64_t cells = bounded_cells(rt);

		*g = (struct wf_group){ .rt = rt,
			.inject.fetch = wf_prefetch_chain,
			.policy = rt->policy,
			.runq = wf_policy_runq(&rt->policy),
			.procs = &rt->procs[i * size],
			.count = size,
			.all = all,
			.always_open = !rt->membarrier ||
				wf_policy_is_open(&rt->policy),
			.max_searchers = most ? most : (size + 1) / 2 };
		wf_store_rlx(&g->sleeping, all);
		wf_store_rlx(&g->coarse, rt->policy.wake != WEFT_WAKE_GATE);
		wf_store_rlx(&g->wake_ns, (uint64_t)wf_tuning.wake_ns);
		if (cells != 0)
			wf_bounded_init(
				&g->bounded, &rt->cells[i * cells], cells);
	}
}

/* Allocate what has a size that depends on the configuration. */
static int allocate(struct weft_rt *rt)
{
	uint64_t slots = (uint64_t)rt->proc_count * rt->config.local_capacity;
	uint64_t cells = rt->group_count * bounded_cells(rt);

	rt->groups = wf_os_alloc(rt->group_count * sizeof(*rt->groups));
	rt->procs = wf_os_alloc(rt->proc_count * sizeof(*rt->procs));
	rt->timers = wf_os_alloc(rt->proc_count * sizeof(*rt->timers));
	rt->slots = wf_os_alloc(slots * sizeof(*rt->slots));
	if (cells != 0)
		rt->cells = wf_os_alloc(cells * sizeof(*rt->cells));
	if (!rt->groups || !rt->procs || !rt->timers || !rt->slots ||
		(cells != 0 && !rt->cells))
		return -ENOMEM;
	return 0;
}

static void deallocate(struct weft_rt *rt)
{
	wf_os_free(rt->cells);
	wf_os_free(rt->slots);
	wf_os_free(rt->timers);
	wf_os_free(rt->procs);
	wf_os_free(rt->groups);
}

int wf_rt_assemble(struct weft_rt *rt)
{
	uint32_t opened;
	int err = wf_rt_open_memory(rt);

	if (err)
		return err;
	err = allocate(rt);
	if (err)
		goto allocated;
	open_groups(rt);
	opened = open_procs(rt, &err);
	if (err)
		goto procs;
	err = wf_stack_cache_open(&rt->outside.stacks, &rt->stacks);
	if (err)
		goto procs;
	if (rt->proc_count > 1)
		err = wf_monitor_open(rt);
	if (!err)
		return 0;
	wf_stack_cache_close(&rt->outside.stacks);
procs:
	close_procs(rt, opened);
allocated:
	deallocate(rt);
	wf_stack_pool_close(&rt->stacks);
	wf_fiber_pool_close(&rt->fibers);
	return err;
}

void wf_rt_disassemble(struct weft_rt *rt)
{
	wf_fiber_cache_close(&rt->outside.fibers, &rt->fibers);
	for (uint32_t i = 0; i < rt->proc_count; i++)
		wf_fiber_cache_close(&rt->procs[i].fibers, &rt->fibers);
	wf_stack_cache_close(&rt->outside.stacks);
	close_procs(rt, rt->proc_count);
	wf_monitor_close(rt);
	wf_stack_pool_close(&rt->stacks);
	wf_fiber_pool_close(&rt->fibers);
	deallocate(rt);
}
