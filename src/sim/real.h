/* SPDX-License-Identifier: MIT */
/*
 * sim/real.h - calls of libc that a simulated program must not make.
 *
 * All simulated threads share one real thread.  A call that makes it wait makes
 * all of them wait, and then none of them can end the wait.  A call that reads
 * a clock or draws a random number returns something else the next time, and no
 * schedule could be replayed.
 *
 * So real.c defines such functions of libc under their own names, and the
 * linker takes ours.  Each makes two tests:
 *
 *	Is this a simulation?		no: call libc's own function
 *	Did the program itself call?	no: call libc's own function, since a
 *					library that happens to lock a mutex
 *					does no harm
 *
 * If both answers are yes, the run fails with a message that says what to use
 * instead.  Memory is different: the program gets its memory from the heap of
 * the run (sim/heap.h), where every access is checked and every address is the
 * same each time.
 *
 * "The program itself" is the main executable, recognised by the return
 * address.  Calls that libc makes inside of another call (getline, printf) are
 * not noticed, nor are system calls made without libc.
 *
 * Reads next: sim/heap.h, where the memory comes from.
 */
#ifndef WF_SIM_REAL_H
#define WF_SIM_REAL_H

#include <stdint.h>

#include "base/compiler.h"

/* Why a call is refused; it also selects the advice in the message. */
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
 * A caller that will return to pc calls the function name.  The run fails if
 * that is the program, in a simulation; otherwise nothing happens.
 */
void wf_sim_real_call(const char *name, enum wf_sim_real why, uintptr_t pc);

#endif
