/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/conserve_kit.h - the oracle of work conservation.
 *
 * When no simulated thread can run before time passes, no ready task may be
 * left to sleepers.  For every watched runtime, every group of it, and every
 * policy:
 *
 *	(C1) a processor that sleeps has nothing in its queue, its slot or its
 *	     list of yielders;
 *	(C2) a group whose processors all sleep has nothing in its global queue:
 *	     the list, the bounded queue, the inboxes of the lock-free mode;
 *	(C3) no processor is counted as searching.
 *
 * A processor that is awake at such a moment is blocked in a task.  The monitor
 * finds the tasks behind that one within a number of looks (sched_kit.h).
 *
 * The driver asks this of every scenario that has no idle hook of its own; the
 * hooks of the kits ask it themselves.
 */
#ifndef WEFT_TESTS_SIM_CONSERVE_KIT_H
#define WEFT_TESTS_SIM_CONSERVE_KIT_H

struct weft_rt;

/* From now on rt is watched; until the same call with forget. */
void conserve_watch(struct weft_rt *rt);
void conserve_forget(struct weft_rt *rt);

/* (C1) to (C3) of rt, unless its threads are ending. */
void conserve_check(struct weft_rt *rt);

/* conserve_check of every watched runtime: weft_sim_opts.idle. */
void conserve_idle(void *arg);

#endif
