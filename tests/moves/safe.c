/* SPDX-License-Identifier: MIT */
/*
 * tests/moves/safe.c - with weft/errno.h and weft/thread_local.h a fiber finds
 * errno and the variables of the thread it is on.
 */
#include <errno.h>
#include <pthread.h>

#include <weft/weft.h>

#include "moves/moves.h"

#include <weft/errno.h>

/* Included once more, as by a header that comes late. */
#include <errno.h>

extern WEFT_PER_THREAD_ int shared;

WEFT_THREAD_LOCAL(struct parcel, parcel);
WEFT_THREAD_VALUE(int *, shared_here, &shared);
WEFT_THREAD_VALUE(pthread_t, this_thread, pthread_self());

#define SHAPES safe
#define LOCAL parcel()
#define SHARED shared_here()
#define SELF this_thread()

#include "moves/shapes.h"
