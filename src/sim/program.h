/* SPDX-License-Identifier: MIT */
/*
 * sim/program.h - the simulated program: its variables, its code, its crashes.
 */
#ifndef WF_SIM_PROGRAM_H
#define WF_SIM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

wf_must_check int wf_sim_program_open(void);

/* Save the program's variables as they are now; restore them. */
wf_must_check int wf_sim_program_save(void);
void wf_sim_program_restore(void);

/*
 * Thread-local variables of the program: one block for each simulated thread.
 * fresh makes a block as at the start of a thread.  tls saves those of one
 * thread and loads those of the next; NULL: the real thread's.
 */
void wf_sim_program_tls_fresh(void **tls, uint32_t thread);
void wf_sim_program_tls(void *from, void *to);

/* Whether this address is code of the program, not of a library it uses. */
bool wf_sim_program_text(uintptr_t pc);

/* Whether it is an address of the program's code or variables. */
bool wf_sim_program_owns(uintptr_t addr);

/* The address within the program's file, for addr2line and similar tools. */
uintptr_t wf_sim_program_offset(uintptr_t pc);

/* The first bytes of the build id; 0: it has none. */
uint32_t wf_sim_program_build(void);

/*
 * Between begin and end, crashes and endless loops without a point become
 * failures of the run.
 */
void wf_sim_program_guard_begin(void);
void wf_sim_program_guard_end(void);

#endif
