/* SPDX-License-Identifier: MIT */
/*
 * tests/moves/shapes.h - code as users write it, in which compilers like to
 * keep an address that belongs to the thread across a call that may switch.
 *
 * Two files include this: safe.c with weft's headers, where every shape must be
 * right, and plain.c without, to show what goes wrong.  They define first
 *
 *	SHAPES		the set of shapes that the file defines
 *	LOCAL		the address of a thread-local struct parcel
 *	SHARED		the address of the thread-local that all files share
 *	SELF		the pthread_t of this thread
 */
#include "moves/moves.h"

#include <unistd.h>

/* Use the address in a way that the compiler does not know. */
static void touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

/* A call that sets errno, always to EBADF. */
static int fail(void)
{
	return lseek(-1, 0, SEEK_CUR) < 0;
}

static bool errno_read_once(int i)
{
	errno = i;
	move();
	return fail() && errno != EBADF;
}

static size_t errno_read(void)
{
	size_t stale = 0;

	for (int i = 0; i < ROUNDS; i++) {
		errno = 0;
		move();
		stale += fail() && errno != EBADF;
		errno = 0;
	}
	return stale + errno_read_once(1);
}

static size_t errno_written(void)
{
	size_t stale = 0;

	for (int i = 0; i < ROUNDS; i++) {
		errno = i;
		move();
		errno = i + 1;
		stale += *here->errno_at != i + 1;
	}
	return stale;
}

static size_t errno_address(void)
{
	size_t stale = 0;

	touch(&errno);
	for (int i = 0; i < ROUNDS; i++) {
		move();
		stale += &errno != here->errno_at;
	}
	return stale;
}

static size_t local_address(void)
{
	size_t stale = 0;

	for (int i = 0; i < ROUNDS; i++) {
		touch(LOCAL);
		move();
		touch(LOCAL);
		stale += LOCAL != here->SHAPES.local;
	}
	return stale;
}

static size_t local_value(void)
{
	size_t stale = 0;

	for (int i = 0; i < ROUNDS; i++) {
		LOCAL->count = i;
		move();
		LOCAL->count = i + 1;
		stale += here->SHAPES.local->count != i + 1;
	}
	return stale;
}

static size_t local_element(void)
{
	size_t stale = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int nth = (i + ROUNDS) % ELEMENTS;

		LOCAL->element[nth] = i;
		move();
		LOCAL->element[nth] = i + 1;
		stale += here->SHAPES.local->element[nth] != i + 1;
	}
	return stale;
}

static size_t shared_value(void)
{
	size_t stale = 0;

	for (int i = 0; i < ROUNDS; i++) {
		*SHARED = i;
		move();
		*SHARED += 1;
		*SHARED = i + 1;
		stale += *here->shared != i + 1;
	}
	return stale;
}

static size_t thread_self(void)
{
	size_t stale = 0;

	for (int i = 0; i < ROUNDS; i++) {
		touch((void *)SELF);
		move();
		stale += SELF != here->self;
	}
	return stale;
}

static void arrive(struct place *place)
{
	place->SHAPES.local = LOCAL;
}

const struct shapes SHAPES = { arrive, {
	{ "errno read", errno_read },
	{ "errno written", errno_written },
	{ "&errno", errno_address },
	{ "&local", local_address },
	{ "local value", local_value },
	{ "local element", local_element },
	{ "shared value", shared_value },
	{ "pthread_self", thread_self },
} };
