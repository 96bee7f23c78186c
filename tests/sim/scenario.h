/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/scenario.h - small concurrent programs for the simulator.
 *
 * Each is a body that sets something up, starts threads or a runtime, and
 * asserts what must hold in every schedule.  Every *_scenarios.c ends with one
 * table; driver.c knows the tables and runs them all, some, or one schedule of
 * one.
 *
 * A scenario is good if it is short (20 to 300 points), if two or three threads
 * really meet in it, and if it fails when the code it is about is broken: the
 * mutants of tools/mutate are the measure.
 */
#ifndef WEFT_TESTS_SIM_SCENARIO_H
#define WEFT_TESTS_SIM_SCENARIO_H

#include <stddef.h>

#include <weft/sim.h>

struct scenario {
	const char *name;	/* "ring/two-thieves" */
	void (*body)(void *arg);
	void *arg;
	weft_sim_opts opts;	/* steps, flags, bounds, hooks; no more */
	unsigned weight;	/* its share of the time; 0 is 1 */
	unsigned complete;	/* 1: all schedules within the bounds of opts
				   are seen each time */
};

struct scenarios {
	const struct scenario *table;
	size_t count;
};

extern const struct scenarios queue_scenarios;	  /* run queue, inject, ... */
extern const struct scenarios sched_scenarios;	  /* park, wake, share, ... */
extern const struct scenarios fiber_scenarios;	  /* spawn, join, suspend... */
extern const struct scenarios mutex_scenarios;	  /* rwlock, once, spin */
extern const struct scenarios stopped_scenarios;	  /* mutex */
extern const struct scenarios exec_scenarios;	  /* executors, policies, ... */
extern const struct scenarios scope_scenarios;	  /* scopes, keys */
extern const struct scenarios cond_scenarios;	  /* cond, barrier */
extern const struct scenarios event_scenarios;	  /* event, semaphore */
extern const struct scenarios amutex_scenarios;	  /* asynchronous mutex */
extern const struct scenarios wait_scenarios;	  /* a wait that many may end */
extern const struct scenarios chan_scenarios;	  /* channels */
extern const struct scenarios select_scenarios;	  /* select */
extern const struct scenarios timer_scenarios;	  /* deadlines, sleep */

#endif
