/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/frames.h - functions that use up a stack, each in its own way.
 *
 * They are compiled twice: with frames that touch each of their pages in
 * order, as all our code is, and without, as the code of others may be.
 */
#ifndef WEFT_TESTS_STACK_FRAMES_H
#define WEFT_TESTS_STACK_FRAMES_H

struct frames {
	void (*small)(void);		/* recursion */
	void (*wide)(void);		/* by frames of 5 KB */
	void (*wider)(void);		/* by frames of 12 KB */
	void (*growing)(void);		/* by alloca */
};

extern const struct frames frames_probed;
extern const struct frames frames_unprobed;

#endif
