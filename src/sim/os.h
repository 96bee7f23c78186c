/* SPDX-License-Identifier: MIT */
/*
 * sim/os.h - what the simulated operating system offers beyond os/os.h.
 */
#ifndef WF_SIM_OS_H
#define WF_SIM_OS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A call of the operating system begins: a point, past which a compiler moves
 * nothing.  name is for traces.
 */
void wf_sim_os_call(const char *name, uintptr_t pc);

/* The processor is told to wait a little: somebody else should go on. */
void wf_sim_relax(void);

#endif
