/* SPDX-License-Identifier: MIT */
/*
 * tests/arch/registers.h - putting values into registers, and reading them.
 *
 * Each architecture has a folder with registers.S.  The registers that a
 * function must preserve are numbered in the order of registers_names.
 */
#ifndef WEFT_TESTS_ARCH_REGISTERS_H
#define WEFT_TESTS_ARCH_REGISTERS_H

#include <stdint.h>

/* At least as many as any architecture has. */
#define REGISTERS_MAX 64

/* The name of each register; "" ends the list. */
extern const char registers_names[][8];

/*
 * Fill the registers with in, call call(arg), and store in out what they hold
 * then; what of a register cannot be filled counts as kept.  Both arrays are
 * aligned to 16 bytes.
 */
void registers_around(const uint64_t *in, uint64_t *out,
	void (*call)(void *arg), void *arg);

/* Overwrite every register that a function may overwrite. */
void registers_trash(void);

#endif
