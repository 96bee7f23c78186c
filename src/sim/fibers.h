/* SPDX-License-Identifier: MIT */
/*
 * sim/fibers.h - the fibers of a run that has come to a halt.
 */
#ifndef WF_SIM_FIBERS_H
#define WF_SIM_FIBERS_H

#include <stddef.h>

/*
 * A line for each fiber that has not ended, of every runtime whose threads are
 * there: its name or function, and what it waits for.  Cut at bytes.
 */
void wf_sim_fibers_describe(char *text, size_t bytes);

#endif
