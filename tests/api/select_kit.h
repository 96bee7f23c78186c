/* SPDX-License-Identifier: MIT */
/*
 * tests/api/select_kit.h - what the tests of select share.
 */
#ifndef WEFT_TESTS_API_SELECT_KIT_H
#define WEFT_TESTS_API_SELECT_KIT_H

#include "api/api.h"

#include <weft/weft.h>

enum { UNTOUCHED = 4711, MANY = 64 };

static inline weft_chan *chan_of_int(size_t capacity)
{
	weft_chan *c = NULL;

	expect_eq(weft_chan_create(&c, sizeof(int), capacity), 0);
	return c;
}

/* A channel with one value in it. */
static inline weft_chan *chan_with(int v, size_t capacity)
{
	weft_chan *c = chan_of_int(capacity);

	expect_eq(weft_chan_send(c, &v, WEFT_NOW), 0);
	return c;
}

static inline weft_case case_of(int op, void *obj, void *value)
{
	return (weft_case){
		.op = op, .result = UNTOUCHED, .obj = obj, .value = value
	};
}

static inline weft_case never(void)
{
	return case_of(WEFT_RECV, NULL, NULL);
}

/* No case was touched but i (-1: none at all), which has that result. */
static inline bool only_done(
	const weft_case *cases, size_t n, int i, int result)
{
	for (size_t k = 0; k < n; k++)
		if (cases[k].result != ((int)k == i ? result : UNTOUCHED))
			return false;
	return true;
}

static inline bool waits_in_select(weft_fiber *f)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	return info.state == WEFT_FIBER_WAITING && info.waits_for &&
		strcmp(info.waits_for, "select") == 0;
}

/* On a plain thread, and in a fiber. */
static inline void both(void *(*fn)(void *), void *arg)
{
	fn(arg);
	assert_expected();
	play(1, fn, arg);
}

/* ------------------------------------------------------------------------ */
/* A fiber in a select. */

struct select {
	weft_case *cases;
	size_t n;
	weft_time deadline;
};

static inline void *select_fiber(void *arg)
{
	struct select *s = arg;

	return (void *)(intptr_t)weft_select(s->cases, s->n, s->deadline);
}

/* A fiber in a select; the caller makes something ready then. */
static inline weft_fiber *select_begin(
	struct select *s, weft_case *cases, size_t n)
{
	weft_fiber *f;

	*s = (struct select){ cases, n, WEFT_FOREVER };
	f = spawn(select_fiber, s);
	expect(await_yielding(waits_in_select(f)));
	return f;
}

static inline int select_end(weft_fiber *f)
{
	return (int)(intptr_t)join(f);
}

#endif
