/* SPDX-License-Identifier: MIT */
/*
 * sim/fibers.h - describe the fibers of a deadlocked run.
 */
#ifndef WF_SIM_FIBERS_H
#define WF_SIM_FIBERS_H

#include <stddef.h>

/*
 * Write a line for each fiber that has not ended, of every runtime with a
 * thread: its name or function, and what it waits for.  Truncated at bytes.
 */
void wf_sim_fibers_describe(char *text, size_t bytes);

#endif
