/* SPDX-License-Identifier: MIT */
/*
 * sched/proc.c - a processor comes and goes.
 */
#include "sched/proc.h"

#include "base/assert.h"
#include "os/os.h"

int wf_proc_open(struct wf_proc *p, struct wf_group *group,
	struct wf_inject *inject, uint32_t index, uint32_t id,
	struct wf_stack_pool *stacks, _Atomic(wf_entry) *slots,
	uint64_t capacity)
{
	*p = (struct wf_proc){
		.group = group,
		.inject = inject,
		.bit = (uint64_t)1 << index,
		.id = id,
		.pause = 1,
	};
	wf_random_seed(&p->random, wf_os_random());
	wf_runq_init(&p->runq, slots, capacity);
	return wf_stack_cache_open(&p->stacks, stacks);
}

void wf_proc_close(struct wf_proc *p)
{
	wf_assert(wf_proc_backlog(p) == 0,
		"processor %u is closed with tasks in its queues", p->id);
	wf_stack_cache_close(&p->stacks);
}

void wf_yielders_cut(struct wf_proc *p, uint32_t n, struct wf_batch *out)
{
	struct wf_yielders *y = &p->yielders;
	uint32_t count = wf_load_rlx(&y->count);
	struct wf_batch all = { y->first, y->last, count };

	wf_batch_cut(&all, n, out);
	y->first = all.first;
	wf_store_rlx(&y->count, count - n);
	y->round = y->round > n ? y->round - n : 0;
	if (y->round == 0)
		wf_yielders_close(p, count - n);
}
