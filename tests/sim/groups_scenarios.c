/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/groups_scenarios.c - several groups: a processor that has nothing
 * to do takes from those of another group, and runs all that it took.
 *
 * Children are joined by a parent that runs them as calls.  Their tickets, dead
 * then, stay in the queue among tasks that wait; a thief may find one of them
 * first, and must not overlook what came with it.
 */
#include "sim/fiber_kit.h"
#include "sim/policy_kit.h"

enum { TICKETS = 2, TASKS = 2 };

static struct {
	weft_group left;
	int ran[TASKS]; /* plain: seen by the parent when left is done */
	int runs[TICKETS];
} s;

static void *child(void *arg)
{
	*(int *)arg += 1;
	return arg;
}

static void task(void *arg)
{
	*(int *)arg += 1;
	weft_group_done(&s.left);
}

/* A ticket, a task, a ticket, a task; the tickets die. */
static void *parent(void *arg)
{
	weft_fiber *f[TICKETS];
	int err;

	weft_group_add(&s.left, TASKS);
	for (int i = 0; i < TASKS; i++) {
		err = weft_spawn(&f[i], NULL, child, &s.runs[i]);
		weft_sim_assert(err == 0, "child %d: %d", i, err);
		err = weft_go(task, &s.ran[i]);
		weft_sim_assert(err == 0, "task %d: %d", i, err);
	}
	for (int i = 0; i < TICKETS; i++) {
		err = weft_join(f[i], NULL, WEFT_FOREVER);
		weft_sim_assert(err == 0 && s.runs[i] == 1,
			"child %d ran %d times: %d", i, s.runs[i], err);
	}
	err = weft_group_wait(&s.left, WEFT_FOREVER);
	for (int i = 0; i < TASKS; i++)
		weft_sim_assert(err == 0 && s.ran[i] == 1,
			"task %d ran %d times: %d", i, s.ran[i], err);
	return arg;
}

/* The other worker, a group of its own, has nothing but what it steals. */
void groups_tickets(void *arg)
{
	duo_open(DUO_COARSE | DUO_GROUPS | (unsigned)(uintptr_t)arg);
	duo_root(0, parent, NULL);
	duo_run();
	duo_close();
}

/* Tasks are coarse: so thieves of another group may come. */
static void be_coarse(void)
{
	for (uint32_t i = 0; i < stage.rt->proc_count; i++) {
		wf_store_rlx(&stage.rt->procs[i].mean_ns, WF_NS_PER_S);
		wf_set_coarse(&stage.rt->procs[i], true);
	}
}

/* One of every group is woken, whatever the others think of it. */
static void send_thieves(void)
{
	wf_outside_enter(stage.rt);
	for (uint32_t i = 0; i < stage.rt->group_count; i++)
		(void)wf_wake_one(&stage.rt->groups[i]);
	wf_outside_leave(stage.rt);
}

/* A whole runtime, under any policy. */
void groups_rt(void *arg)
{
	weft_config cfg = plan_config(arg);
	weft_policy policy = plan_policy(arg);
	weft_fiber *f = NULL;
	int err;

	cfg.policy = &policy;
	cfg.local_capacity = 4;
	rt_start_with(&cfg);
	be_coarse();
	err = weft_rt_spawn(stage.rt, &f, NULL, parent, NULL);
	weft_sim_assert(err == 0, "spawn says %d", err);
	send_thieves();
	err = weft_join(f, NULL, WEFT_FOREVER);
	weft_sim_assert(err == 0, "join says %d", err);
	err = weft_rt_wait_idle(stage.rt, WEFT_FOREVER);
	weft_sim_assert(err == 0, "wait_idle says %d", err);
	rt_stop();
}
