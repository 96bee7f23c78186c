/* SPDX-License-Identifier: MIT */
/*
 * sim/real.h - what a simulated program must not do for real.
 *
 * All simulated threads share one real thread.  A call that makes it wait makes
 * all of them wait, for something that none of them can then do; and one that
 * reads a clock or draws a number brings in what is different the next time, so
 * that no schedule could be replayed.
 *
 * real.c therefore defines functions of libc under their own names, and the
 * linker takes ours.  Each asks two questions:
 *
 *	Is this a simulation?		no: libc's own function does it
 *	Did the program itself call?	no: the same, since a library that
 *					happens to lock a mutex on its way does
 *					no harm
 *
 * and if both are answered with yes, the run fails and says what to use
 * instead.  Memory is different: there the program gets what it asked for, from
 * the heap of the run (sim/heap.h), where every touch of it is judged and every
 * address is the same each time.
 *
 * "The program itself" is the main executable, told by the return address.
 * What libc does inside of another call (getline, printf) is not seen, and
 * neither is a system call made without libc.
 *
 * Reads next: sim/heap.h, where the memory comes from.
 */
#ifndef WF_SIM_REAL_H
#define WF_SIM_REAL_H

#include <stdint.h>

#include "base/compiler.h"

/* Why a call is refused, which is also what the program should do instead. */
enum wf_sim_real {
	WF_SIM_REAL_SLEEP,
	WF_SIM_REAL_INPUT,
	WF_SIM_REAL_LOCK,
	WF_SIM_REAL_THREAD,
	WF_SIM_REAL_JOIN,
	WF_SIM_REAL_YIELD,
	WF_SIM_REAL_CLOCK,
	WF_SIM_REAL_RANDOM,
	WF_SIM_REAL_PROCESS,
	WF_SIM_REAL_END,
	WF_SIM_REALS,
};

/*
 * Somebody makes the call that is spelled like name, and will return to pc.
 * The run fails if that is the program, in a simulation; otherwise nothing
 * happens.
 */
void wf_sim_real_call(const char *name, enum wf_sim_real why, uintptr_t pc);

#endif
