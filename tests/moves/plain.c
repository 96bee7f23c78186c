/* SPDX-License-Identifier: MIT */
/*
 * tests/moves/plain.c - what compilers make of shapes.h without weft's headers.
 *
 * The test expects nothing of this file: it may be right by chance.
 */
#include <errno.h>
#include <pthread.h>

#include "moves/moves.h"

static WEFT_PER_THREAD_ struct parcel parcel;
extern WEFT_PER_THREAD_ int shared;

#define SHAPES plain
#define LOCAL (&parcel)
#define SHARED (&shared)
#define SELF pthread_self()

#include "moves/shapes.h"
