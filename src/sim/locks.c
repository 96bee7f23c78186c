/* SPDX-License-Identifier: MIT */
/*
 * sim/locks.c - the graph of locks of one run.
 */
#include "sim/locks.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/sanitize.h"
#include "sim/engine.h"
#include "sim/trace.h"

#define WF_SIM_LOCKS 64

static struct {
	const void *lock[WF_SIM_LOCKS];
	uint64_t before[WF_SIM_LOCKS]; /* locks that were held when it was
				        * taken */
	uint64_t held[WF_SIM_THREADS];
	unsigned count;
} graph;

void wf_sim_locks_reset(void)
{
	memset(&graph, 0, sizeof(graph));
}

/* The number of a lock; locks beyond the first 64 are not checked. */
static int number(const void *lock)
{
	for (unsigned i = 0; i < graph.count; i++)
		if (graph.lock[i] == lock)
			return (int)i;
	if (graph.count == WF_SIM_LOCKS)
		return -1;
	graph.lock[graph.count] = lock;
	return (int)graph.count++;
}

/* All locks that were ever held before one of these. */
static uint64_t all_before(uint64_t locks)
{
	uint64_t all = locks, old;

	do {
		old = all;
		for (unsigned i = 0; i < graph.count; i++)
			if (all >> i & 1)
				all |= graph.before[i];
	} while (all != old);
	return all;
}

void wf_sim_lock_taken(const void *lock, bool waited)
{
	uint64_t *held;
	int n;

	if (!wf_sim_on())
		return;
	n = number(lock);
	if (n < 0)
		return;
	held = &graph.held[wf_sim->current->id];
	if (waited && (all_before(*held) >> n & 1))
		wf_sim_fail("lock order", lock,
			"thread %s takes the lock in "
			"%s while it holds a lock that is elsewhere taken "
			"after it",
			wf_sim_thread_name(wf_sim->current->id),
			wf_sim_trace_place(lock));
	if (waited)
		graph.before[n] |= *held;
	*held |= UINT64_C(1) << n;
}

void wf_sim_lock_left(const void *lock)
{
	int n;

	if (!wf_sim_on())
		return;
	n = number(lock);
	if (n >= 0)
		graph.held[wf_sim->current->id] &= ~(UINT64_C(1) << n);
}
