/* SPDX-License-Identifier: MIT */
/*
 * sim/symbols.h - names of the program's own code and variables.
 */
#ifndef WF_SIM_SYMBOLS_H
#define WF_SIM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The variable or function at an address of the program, and how far in. */
bool wf_sim_symbol(
	uintptr_t addr, char *name, size_t bytes, size_t *offset);

/*
 * "function (file:line)" for each of n return addresses, as addr2line has it;
 * text[i] is at most 79 bytes.  Where there is no addr2line, the addresses.
 */
void wf_sim_lines(const uintptr_t *pc, size_t n, char (*text)[80]);

#endif
