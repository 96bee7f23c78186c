/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/actor_kit.h - scenarios with up to four actors, each a thread or a
 * fiber.
 *
 * The argument of a scenario says whether the actors are threads, fibers on two
 * workers, or both.  An actor frees an object the instant that it may: an actor
 * that touches it later is caught.  The writes before a signal are plain, so
 * that a waiter that does not see them is in a race.
 *
 * Deadlines are met exactly: the signaller sleeps until the same instant, on
 * another worker than the waiter, and both orders of the two are tried.
 */
#ifndef WEFT_TESTS_SIM_ACTOR_KIT_H
#define WEFT_TESTS_SIM_ACTOR_KIT_H

#include <errno.h>

#include "os/os.h"
#include "sim/play_kit.h"
#include "sim/scenario.h"

#define LATER ((weft_time)1 << 21)

/* Which of the actors are fibers, by bits; and how it is played. */
#define THREADS 0u
#define FIBERS 15u
#define MIXED 5u
#define TIMED 16u  /* the first one waits until s.then only */
#define CANCEL 32u /* the first one is cancelled by the last */

#define FREE(p) ((void)(wf_os_free(p), (p) = NULL))

static struct {
	unsigned flags;
	weft_time then;
	weft_fiber *fiber[ACTORS];
	int result[ACTORS];
	int work[ACTORS];		/* what was done before */
	_Atomic(uint32_t) users;	/* actors that may still use it */
} s;

typedef void act(void);

static inline void act_main(void *arg)
{
	((act *)arg)();
}

static inline void begin(void *flags)
{
	s.flags = (unsigned)(uintptr_t)flags;
	/* So round that nobody rounds it; and looking at a clock takes time. */
	s.then = (weft_now() + LATER) & -LATER;
}

/* All of them, from start to end. */
static inline void play(unsigned n, act *const acts[])
{
	struct play p = { .fibers = s.flags & FIBERS,
		.second = 6,
		.duo = DUO_COARSE,
		.act = act_main };

	for (unsigned i = 0; i < n; i++)
		p.actor[i].arg = (void *)acts[i];
	play_all(&p, n, s.fiber);
}

/* The deadline of the first. */
static inline weft_time by(void)
{
	return s.flags & TIMED ? s.then : WEFT_FOREVER;
}

static inline void sleep_until_then(void)
{
	if (s.flags & TIMED)
		(void)weft_sleep_until(s.then);
}

static inline void cancel_first(void)
{
	duo_cancel(s.fiber[0]);
}

/* How the first one's wait may end. */
static inline void check_first(void)
{
	int err = s.result[0];

	weft_sim_assert(err == 0 || (err == -ETIMEDOUT && (s.flags & TIMED)) ||
			(err == -ECANCELED && (s.flags & CANCEL)),
		"the first wait ended with %d", err);
}

/* One less uses it; true: it was the last. */
static inline bool let_go(void)
{
	/* [pair: cond.users] All that was done to it is over. */
	return wf_sub_acqrel(&s.users, 1) == 1;
}

/* A row of a table: a name, what is done, by whom and how. */
#define ROW(words, fn, how)                                                \
	{                                                                  \
		.name = (words), .body = (fn),                             \
		.arg = (void *)(uintptr_t)(how)                            \
	}

#endif
