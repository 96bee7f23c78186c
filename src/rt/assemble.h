/* SPDX-License-Identifier: MIT */
/*
 * rt/assemble.h - one function puts a runtime together, for tests too.
 *
 * An assembled runtime has all its memory, groups, processors and a monitor,
 * and no thread: every processor sleeps without one.  weft_rt_start then starts
 * threads; a test calls the functions of the loop itself.
 *
 * Reads next: rt/runtime.c, from start to stop.
 */
#ifndef WF_RT_ASSEMBLE_H
#define WF_RT_ASSEMBLE_H

#include "base/compiler.h"
#include "sched/runtime.h"

/*
 * rt is zero except for a complete config, and policy.  Derive the fields that
 * assembly reads, from these and from the machine: the number of groups and
 * processors, how long threads spin and linger, whether there is a membarrier.
 * The caller may change these fields before it assembles.
 */
void wf_rt_derive(struct weft_rt *rt);

/* Open everything.  0, -ENOMEM, -EAGAIN: nothing is left open. */
wf_must_check int wf_rt_assemble(struct weft_rt *rt);

/* Close everything.  No thread runs, no fiber lives, all queues are empty. */
void wf_rt_disassemble(struct weft_rt *rt);

#endif
