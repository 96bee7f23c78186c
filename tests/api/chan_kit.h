/* SPDX-License-Identifier: MIT */
/*
 * tests/api/chan_kit.h - what the tests of channels share.
 */
#ifndef WEFT_TESTS_API_CHAN_KIT_H
#define WEFT_TESTS_API_CHAN_KIT_H

#include "api/api.h"

#include <weft/weft.h>

static inline weft_chan *chan_of(size_t bytes, size_t capacity)
{
	weft_chan *c = NULL;

	expect_eq(weft_chan_create(&c, bytes, capacity), 0);
	expect(c != NULL);
	return c;
}

static inline weft_chan *chan_of_int(size_t capacity)
{
	return chan_of(sizeof(int), capacity);
}

static inline int send_by(weft_chan *c, int v, weft_time deadline)
{
	return weft_chan_send(c, &v, deadline);
}

/* The value received, or the error. */
static inline int recv_by(weft_chan *c, weft_time deadline)
{
	int v = -1, err = weft_chan_recv(c, &v, deadline);

	if (err)
		expect_eq(v, -1);
	return err ? err : v;
}

/*
 * Does f wait on c, for what?  weft_fiber_look shows a waiter a moment before
 * it is in c's list; weft_chan_len takes c's lock, and so waits for that.
 */
static inline bool waits_on(weft_fiber *f, weft_chan *c, const char *what)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	if (info.state != WEFT_FIBER_WAITING || !info.waits_for ||
		strcmp(info.waits_for, what) != 0)
		return false;
	(void)weft_chan_len(c);
	return true;
}

/* On a plain thread, and in a fiber. */
static inline void both(void *(*fn)(void *), void *arg)
{
	fn(arg);
	assert_expected();
	play(1, fn, arg);
}

static inline void *receive_int(void *c)
{
	return (void *)(intptr_t)recv_by(c, PATIENCE);
}

static inline void *send_seven(void *c)
{
	return (void *)(intptr_t)send_by(c, 7, PATIENCE);
}

#endif
