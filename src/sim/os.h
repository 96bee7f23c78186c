/* SPDX-License-Identifier: MIT */
/*
 * sim/os.h - calls of the simulated operating system beyond os/os.h.
 */
#ifndef WF_SIM_OS_H
#define WF_SIM_OS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Begin a call of the operating system: a point, and a light fence, because no
 * compiler moves accesses across a call.  name is for traces.
 */
void wf_sim_os_call(const char *name, uintptr_t pc);

/* A spin loop relaxes: another thread should run. */
void wf_sim_relax(void);

#endif
