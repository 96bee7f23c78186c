/* SPDX-License-Identifier: MIT */
/*
 * sched/home.h - where the fibers of all other executors have their memory.
 *
 * They belong to no runtime; what a runtime has for its own (descriptors,
 * stacks, credits, under the lock of `outside') the process has once for all of
 * them, in a runtime without processors: the HOME.  It is there as long as
 * somebody holds it: each executor that weft made, and each fiber until its
 * descriptor is free.
 *
 * Reads next: exec/pool.c
 */
#ifndef WF_SCHED_HOME_H
#define WF_SCHED_HOME_H

#include <stdbool.h>

#include "base/compiler.h"

struct weft_rt;

/* Hold the home, made if need be.  -ENOMEM.  Let go of it. */
wf_must_check int wf_home_hold(struct weft_rt **home);
void wf_home_drop(void);

#endif
