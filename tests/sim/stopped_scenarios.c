/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/stopped_scenarios.c - a thread is stopped at any step of a lock,
 * an unlock or a time-out of a mutex, and all other threads finish.
 *
 * The thread may be stopped unless it holds the mutex or the turn is its own
 * (LOCK-FREE in sync/mutex.c).  The turn is seen from outside: WOKEN is set, or
 * the mutex is LOCKED and none of the other threads has said that it holds it.
 * They say so after their lock has returned, and take it back before they
 * unlock.  In between it may look as if the thread had the turn, and then it is
 * not stopped.
 *
 * A thread that is stopped in the list will have the turn in the end.  Waiters
 * behind it that have no deadline wait for it then.  So where there are such
 * waiters, the thread is not stopped while there is a list.
 */
#include "sim/scenario.h"

#include <errno.h>

#include <weft/mutex.h>
#include <weft/time.h>

#include "base/atomic.h"
#include "sim/fiber_kit.h"

/* The bits of the word, as sync/mutex_waiters.h has them. */
enum { LOCKED = 1, WOKEN = 2, BITS = 15 };

/* Which actors give up at the deadline, by bits; the first may be stopped. */
enum { FIRST = 1, SECOND = 2, THIRD = 4, ACTORS_MAX = 3 };

static struct {
	weft_mutex *mutex;
	unsigned timed;
	unsigned rounds;
	bool patient;		/* a waiter behind the first has no deadline */
	int first;		/* the number of the thread to stop */
	bool another_holds;	/* by the mutex */
	int inside;		/* by the mutex */
} s;

static unsigned numbers[ACTORS_MAX] = { 0, 1, 2 };

static bool may_stop(void *arg, int thread)
{
	uint64_t word;

	(void)arg;
	if (thread != s.first)
		return false;
	word = wf_load_rlx((_Atomic(uint64_t) *)&s.mutex->word_);
	if ((word & WOKEN) || (s.patient && (word & ~(uint64_t)BITS) != 0))
		return false;
	return !(word & LOCKED) || s.another_holds;
}

static bool lock(unsigned i)
{
	int err;

	if (!(s.timed >> i & 1)) {
		weft_mutex_lock(s.mutex);
		return true;
	}
	err = weft_mutex_lock_by(s.mutex, weft_after(2000));
	weft_sim_assert(
		err == 0 || err == -ETIMEDOUT, "the result is %d", err);
	return err == 0;
}

static void actor(void *arg)
{
	unsigned i = *(unsigned *)arg;

	for (unsigned n = 0; n < s.rounds; n++) {
		if (!lock(i))
			continue;
		s.another_holds = i != 0;
		weft_sim_assert(s.inside++ == 0, "two hold the mutex");
		weft_sim_yield();
		s.inside--;
		s.another_holds = false;
		weft_mutex_unlock(s.mutex);
	}
}

static void play(unsigned actors, unsigned rounds, unsigned timed)
{
	int thread[ACTORS_MAX];

	s.mutex = duo_alloc(sizeof(*s.mutex));
	s.timed = timed;
	s.rounds = rounds;
	s.patient = actors > 2 && (!(timed & SECOND) || !(timed & THIRD));
	s.first = 1;
	for (unsigned i = 0; i < actors; i++) {
		thread[i] = duo_thread(actor, &numbers[i], "actor");
		weft_sim_assert(i != 0 || thread[i] == s.first,
			"the first thread has number %d", thread[i]);
	}
	for (unsigned i = 0; i < actors; i++)
		(void)weft_sim_join(thread[i]);
	weft_sim_assert(s.mutex->word_ == 0, "the mutex is not free");
	wf_os_free(s.mutex);
}

static void two(void *arg)
{
	play(2, 2, (unsigned)(uintptr_t)arg);
}

static void three(void *arg)
{
	play(3, 1, (unsigned)(uintptr_t)arg);
}

static void three_twice(void *arg)
{
	play(3, 2, (unsigned)(uintptr_t)arg);
}

#define HOW(timed)                                        \
	.arg = (void *)(uintptr_t)(timed),                \
	.opts = { .flags = WEFT_SIM_LOCK_FREE, .steps = 3000, \
		.may_stop = may_stop }

static const struct scenario table[] = {
	{ .name = "stopped/two", .body = two, HOW(0) },
	{ .name = "stopped/three", .body = three, HOW(0) },
	{ .name = "stopped/three-twice", .body = three_twice, HOW(0) },
	{ .name = "stopped/timed", .body = three, HOW(FIRST) },
	{ .name = "stopped/second-timed", .body = three, HOW(SECOND) },
	{ .name = "stopped/others-timed",
		.body = three_twice,
		HOW(SECOND | THIRD) },
	{ .name = "stopped/all-timed",
		.body = three_twice,
		HOW(FIRST | SECOND | THIRD) },
};

const struct scenarios stopped_scenarios = {
	.table = table,
	.count = sizeof(table) / sizeof(table[0]),
};
