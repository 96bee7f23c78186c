/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/policy_kit.h - the kit of sched_kit.h, and whole runtimes, under
 * another policy than the default.
 *
 * A PLAN says what a scenario is run with.  Its policy is in words, as
 * weft_policy_parse has them; a bounded queue holds two tasks.
 */
#ifndef WEFT_TESTS_SIM_POLICY_KIT_H
#define WEFT_TESTS_SIM_POLICY_KIT_H

#include "sched_kit.h"

#include "sched/policy.h"

struct plan {
	const char *words;
	uint32_t workers;
	uint32_t groups;	/* of a whole runtime; 0: one */
};

enum { PLAN_BOUNDED = 2 };

static inline weft_policy plan_policy(const struct plan *plan)
{
	weft_policy policy;
	char why[300];
	int err = weft_policy_parse(&policy, plan->words, why, sizeof(why));

	weft_sim_assert(err == 0, "%s", why);
	if (policy.queue == WEFT_QUEUE_BOUNDED)
		policy.bounded_capacity = PLAN_BOUNDED;
	return policy;
}

/* As open_policy and open_groups of sched/runtime.c, after kit_open. */
static inline void kit_open_policy(uint32_t n, const weft_policy *policy)
{
	static struct wf_bounded_cell cells[PLAN_BOUNDED];
	struct wf_group *g = &stage.kit.group;
	uint8_t flags = 0;

	if (wf_policy_is_apart(policy))
		flags |= WF_APART;
	if (policy->wake != WEFT_WAKE_GATE)
		flags |= WF_COARSE;
	stage.kit.rt.policy = *policy;
	g->policy = *policy;
	g->share_always = !stage.kit.rt.membarrier || wf_policy_shares(policy);
	wf_store_rlx(&g->coarse, policy->wake != WEFT_WAKE_GATE);
	if (policy->queue == WEFT_QUEUE_BOUNDED)
		wf_bounded_init(&g->bounded, cells, PLAN_BOUNDED);
	for (uint32_t i = 0; i < n; i++) {
		struct wf_proc *p = &g->procs[i];

		wf_store_rlx(&p->coarse, flags);
		if (policy->lifo == WEFT_LIFO_OFF)
			wf_store_rlx(&p->slot, WF_SLOT_SHUT);
		wf_store_rlx(&p->shared, g->share_always);
		wf_store_rlx(&p->open, g->share_always);
	}
}

/* The kit as planned. */
static inline void kit_open_plan(const struct plan *plan, uint64_t capacity)
{
	weft_policy policy = plan_policy(plan);

	kit_open(plan->workers, capacity);
	kit_open_policy(plan->workers, &policy);
}

/* A whole runtime as planned, but for its policy. */
static inline weft_config plan_config(const struct plan *plan)
{
	weft_config cfg = rt_config(plan->workers);

	if (plan->groups != 0)
		cfg.group_size = plan->workers / plan->groups;
	return cfg;
}

static inline void rt_start_plan(const struct plan *plan)
{
	weft_config cfg = plan_config(plan);
	weft_policy policy = plan_policy(plan);

	cfg.policy = &policy;
	rt_start_with(&cfg);
}

/* ------------------------------------------------------------------------ */
/* The bodies, by file. */

/* idle_wait_scenarios.c */
void idle_one(void *arg);
void idle_inside(void *arg);
void idle_stolen(void *arg);
void idle_outside(void *arg);
void idle_two_waiters(void *arg);
void idle_deadline(void *arg);
void idle_already(void *arg);
void idle_taken_abroad(void *arg);
void idle_stolen_abroad(void *arg);
void idle_ping(void *arg);
void idle_last_push(void *arg);
void idle_last_left(void *arg);
void idle_last_stolen(void *arg);
void idle_fiber(void *arg);
void idle_rt(void *arg);
void idle_faults(void *arg);

/* policy_scenarios.c */
void policy_pick(void *arg);
void policy_need(void *arg);
void policy_rest(void *arg);
void policy_order(void *arg);
void policy_overflow(void *arg);
void policy_inside(void *arg);
void policy_rt(void *arg);

/* abroad_scenarios.c */
void abroad_rt(void *arg);

/* lockfree_scenarios.c */
void lockfree_outside(void *arg);
void lockfree_inside(void *arg);

#endif
