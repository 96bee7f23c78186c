/* SPDX-License-Identifier: MIT */
/*
 * sim/program.h - the program around the simulation: its variables, its code,
 * and what to do when it crashes.
 */
#ifndef WF_SIM_PROGRAM_H
#define WF_SIM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

wf_must_check int wf_sim_program_open(void);

/* Remember the program's variables as they are now; put them back. */
wf_must_check int wf_sim_program_save(void);
void wf_sim_program_restore(void);

/*
 * Thread-local variables of the program: one block for each simulated thread.
 * fresh: as at the start of a thread.  tls: put away those of one thread and
 * bring those of the next; NULL: the real thread's.
 */
void wf_sim_program_tls_fresh(void **tls, uint32_t thread);
void wf_sim_program_tls(void *from, void *to);

/* Is this address code of the program, not of a library it uses? */
bool wf_sim_program_text(uintptr_t pc);

/* Is it an address of the program's code or variables? */
bool wf_sim_program_owns(uintptr_t addr);

/* An address as the file has it, for addr2line and the like. */
uintptr_t wf_sim_program_offset(uintptr_t pc);

/* The first bytes of the build's identity; 0: it has none. */
uint32_t wf_sim_program_build(void);

/*
 * Crashes and endless loops without a point become failures of the run, between
 * begin and end.
 */
void wf_sim_program_guard_begin(void);
void wf_sim_program_guard_end(void);

#endif
