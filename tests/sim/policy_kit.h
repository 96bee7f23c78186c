/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/policy_kit.h - the kit of sched_kit.h, and whole runtimes, under
 * another policy than the default.
 *
 * A PLAN says how a scenario is run.  Its policy is written in the words of
 * weft_policy_parse; a bounded queue holds two tasks.
 */
#ifndef WEFT_TESTS_SIM_POLICY_KIT_H
#define WEFT_TESTS_SIM_POLICY_KIT_H

#include "sched_kit.h"

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

/* Open the kit as planned. */
static inline void kit_open_plan(const struct plan *plan, uint64_t capacity)
{
	weft_policy policy = plan_policy(plan);

	kit_open_groups(plan->workers, plan->workers, capacity, &policy);
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
void idle_taken_other_group(void *arg);
void idle_stolen_other_group(void *arg);
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

/* groups_scenarios.c */
void groups_rt(void *arg);

/* lockfree_scenarios.c */
void lockfree_outside(void *arg);
void lockfree_inside(void *arg);

#endif
