/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/conserve_kit.c - no task waits in the queues of a sleeper.
 */
#include "sim/conserve_kit.h"

#include <stddef.h>

#include <weft/sim.h>

#include "sched/global.h"
#include "sched/runtime.h"

enum { WATCHED_MAX = 4 };

/* Every run begins with zeroes. */
static struct weft_rt *watched[WATCHED_MAX];

static void replace(struct weft_rt *old, struct weft_rt *with)
{
	for (size_t i = 0; i < WATCHED_MAX; i++) {
		if (watched[i] == old) {
			watched[i] = with;
			return;
		}
	}
	weft_sim_assert(false, "no room to watch another runtime");
}

void conserve_watch(struct weft_rt *rt)
{
	replace(NULL, rt);
}

void conserve_forget(struct weft_rt *rt)
{
	replace(rt, NULL);
}

static void check_group(struct wf_group *g, uint32_t number)
{
	uint64_t sleeping = wf_load_rlx(&g->sleeping);

	weft_sim_assert(wf_load_rlx(&g->searching) == 0,
		"no thread runs, and searching is 0x%x in group %u",
		(unsigned)wf_load_rlx(&g->searching), number);
	weft_sim_assert(sleeping != g->all || wf_global_len(g) == 0,
		"all of group %u sleep, and %zu tasks are in its global queue",
		number, wf_global_len(g));
	for (uint32_t i = 0; i < g->count; i++) {
		struct wf_proc *p = &g->procs[i];

		weft_sim_assert(!(sleeping & p->bit) || wf_proc_backlog(p) == 0,
			"processor %u of group %u sleeps, and %zu tasks are "
			"in its queues",
			i, number, wf_proc_backlog(p));
	}
}

void conserve_check(struct weft_rt *rt)
{
	if (wf_load_rlx(&rt->quit))
		return;
	for (uint32_t i = 0; i < rt->group_count; i++)
		check_group(&rt->groups[i], i);
}

void conserve_idle(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < WATCHED_MAX; i++)
		if (watched[i] != NULL)
			conserve_check(watched[i]);
}
