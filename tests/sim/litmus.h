/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/litmus.h - a litmus test: a few threads of a few operations, and
 * what may come of it.
 *
 * Threads are text, operations are separated by ';'.  w, x, y and z are atomic
 * objects, p and q plain ones, all 0 at first; a to f are registers.
 *
 *	x=1 rel			store
 *	a=x acq			load
 *	a=x<-1 sc		exchange; a is the old value
 *	a=x+1 rlx		fetch and add
 *	a=x?0<-1 acqrel/rlx	compare and swap: if x is 0 it becomes 1; a is
 *				the old value; the order of a failure is that of
 *				the success without its release, unless it is
 *				given
 *	a=x~0<-1 acq		the weak one: a is - if it failed for no reason
 *	p=1  a=p		plain, because no order is given
 *	y=a rlx			store what is in a register
 *	F sc			fence
 *	light  membarrier	the two sides of an asymmetric fence
 *	if a=1			the thread goes on only if a is 1
 *
 * Orders are rlx, acq, rel, acqrel and sc.  A read-modify-write needs no
 * register.
 *
 * An outcome is what is in the registers that are used, in alphabetical order;
 * - is one that was never set.  "10" is a=1, b=0; "1*" is both a=1, b=0 and
 * a=1, b=1.  Every outcome there could be is in exactly one of three lists, of
 * which one can be "else": all that the others leave.
 */
#ifndef WEFT_TESTS_SIM_LITMUS_H
#define WEFT_TESTS_SIM_LITMUS_H

#include <stdbool.h>
#include <stddef.h>

enum { LITMUS_THREADS = 4 };

struct litmus {
	const char *name;
	const char *threads[LITMUS_THREADS];
	const char *first;	/* before they start */
	const char *last;	/* when they have ended, for final values */
	const char *may;	/* allowed; the simulator must produce them */
	const char *beyond;	/* allowed, but not by the simulator's model */
	const char *never;	/* forbidden */
	bool race;		/* on plain data: has no other outcome */
};

extern const struct litmus litmus_table[];
extern const size_t litmus_count;

#endif
