/* SPDX-License-Identifier: MIT */
/*
 * tests/stack/frames.c - functions that recurse until the guard stops them.
 */
#include "frames.h"

#include <alloca.h>
#include <stddef.h>

#include "base/compiler.h"

/* Nothing changes it, but the compiler cannot know. */
static volatile int go_on = 1;

static wf_noinline int recurse(int n)
{
	volatile int kept = n;

	return go_on ? recurse(n + 1) + kept : n;
}

static void small(void)
{
	go_on += recurse(1);
}

/* Only the two ends of a frame are ever written. */
static wf_noinline int recurse_wide(int n)
{
	volatile char frame[5000];

	frame[0] = (char)n;
	return go_on ? recurse_wide(n + 1) + frame[0] : n;
}

static void wide(void)
{
	go_on += recurse_wide(1);
}

static wf_noinline int recurse_wider(int n)
{
	volatile char frame[12000];

	frame[0] = (char)n;
	return go_on ? recurse_wider(n + 1) + frame[0] : n;
}

static void wider(void)
{
	go_on += recurse_wider(1);
}

static void growing(void)
{
	for (size_t n = 0; go_on; n++) {
		volatile char *p = alloca(1000 + n % 7 * 1000);

		p[0] = 1;
	}
}

const struct frames frames_probed = { small, wide, wider, growing };
