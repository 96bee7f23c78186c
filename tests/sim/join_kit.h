/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/join_kit.h - a family of fibers, for scenarios of how they begin
 * and end.
 *
 * Every child counts itself and writes its result plainly, so that one that
 * runs twice, or whose joiner does not see all it did, is a race.
 */
#ifndef WEFT_TESTS_SIM_JOIN_KIT_H
#define WEFT_TESTS_SIM_JOIN_KIT_H

#include "os/os.h"
#include "sim/fiber_kit.h"

enum { FAMILY = 8 };

static struct family {
	int runs[FAMILY];
	int data[FAMILY];
	weft_fiber *fiber; /* that is joined */
	weft_fiber *joiner;
	_Atomic(weft_fiber *) handle;
	_Atomic(bool) over;
} *s;

static inline void open_all(unsigned flags)
{
	s = duo_alloc(sizeof(*s));
	duo_open(flags);
}

static inline void close_all(void)
{
	duo_close();
	wf_os_free(s);
}

static inline void *number(int i)
{
	return &s->data[i];
}

static inline void *child(void *arg)
{
	int i = (int)((int *)arg - s->data);

	s->runs[i]++;
	s->data[i] = i + 1;
	return arg;
}

static inline weft_fiber *spawn(void *(*fn)(void *), int i)
{
	weft_fiber *f = NULL;
	int err = weft_spawn(&f, NULL, fn, number(i));

	weft_sim_assert(err == 0, "child %d was not spawned: %d", i, err);
	return f;
}

/* Child i has ended, once, and we see what it did. */
static inline void check_child(int i, int err, void *result)
{
	weft_sim_assert(err == 0 && result == number(i), "join: %d", err);
	weft_sim_assert(s->runs[i] == 1 && s->data[i] == i + 1,
		"child %d ran %d times", i, s->runs[i]);
}

static inline void join(weft_fiber *f, int i)
{
	void *result = NULL;
	int err = weft_join(f, &result, WEFT_FOREVER);

	check_child(i, err, result);
}

#endif
