/* SPDX-License-Identifier: MIT */
/*
 * sched/proc.c - a processor comes and goes.
 */
#include "sched/proc.h"

#include "base/assert.h"
#include "os/os.h"

int wf_proc_open(struct wf_proc *p, struct wf_group *group,
	struct wf_inject *inject, struct wf_timers *timers, uint32_t index,
	uint32_t id, struct wf_stack_pool *stacks, _Atomic(wf_entry) *slots,
	uint64_t capacity)
{
	*p = (struct wf_proc){
		.group = group,
		.inject = inject,
		.bit = (uint64_t)1 << index,
		.id = id,
		.timers = timers,
		.agenda = { .pause = 1, .stop = 1, .turn = 1, .look = 1 },
	};
	wf_random_seed(&p->random, wf_os_random());
	wf_runq_init(&p->runq, slots, capacity);
	return wf_stack_cache_open(&p->stacks, stacks);
}

void wf_proc_close(struct wf_proc *p)
{
	void *block;

	wf_assert(wf_proc_backlog(p) == 0,
		"processor %u is closed with tasks in its queues", p->id);
	while ((block = wf_spares_take(&p->spares)) != NULL)
		wf_os_free(block);
	wf_stack_cache_close(&p->stacks);
}
