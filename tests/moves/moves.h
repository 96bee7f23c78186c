/* SPDX-License-Identifier: MIT */
/*
 * tests/moves/moves.h - a fiber that is on another thread after each yield.
 */
#ifndef TESTS_MOVES_MOVES_H
#define TESTS_MOVES_MOVES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <weft/attr.h>

WEFT_BEGIN_DECLS

enum { ROUNDS = 50, ELEMENTS = 64, KINDS = 8 };

struct parcel {
	int count;
	int element[ELEMENTS];
};

/*
 * Addresses of one of the two threads, noted by that thread before any fiber
 * runs.  One record of locals for each file, by the file's name.
 */
struct place {
	int *errno_at, *shared;
	pthread_t self;
	struct {
		struct parcel *local;
	} safe, plain;
};

/* The thread that runs the fiber now; set by that thread. */
extern struct place *here;

/* Yield, and go on on the other thread. */
void move(void);

/* What a file does: note its locals of this thread; and for each kind of use
 * count how often it met an address of another thread. */
struct shapes {
	void (*arrive)(struct place *place);
	struct {
		const char *name;
		size_t (*stale)(void);
	} kind[KINDS];
};

extern const struct shapes safe, plain;

WEFT_END_DECLS

#endif
