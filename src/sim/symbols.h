/* SPDX-License-Identifier: MIT */
/*
 * sim/symbols.h - names of the program's own code and variables.
 */
#ifndef WF_SIM_SYMBOLS_H
#define WF_SIM_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Map the program's own file. */
void wf_sim_symbols_open(void);

/*
 * The variable or function at an address of the program, and the offset in it.
 */
bool wf_sim_symbol(
	uintptr_t addr, char *name, size_t bytes, size_t *offset);

/* A place in the source. */
struct wf_sim_line {
	uintptr_t pc;		/* a return address */
	bool inside;		/* in weft's own source */
	char text[80];		/* "function (file:line)" */
};

/*
 * Fill in n of them by addr2line; without addr2line the texts are addresses,
 * and all count as the program's.
 */
void wf_sim_lines(struct wf_sim_line *lines, size_t n);

#endif
