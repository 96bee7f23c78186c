/* SPDX-License-Identifier: MIT */
/*
 * tests/api/scope_kit.h - what the tests of scopes share.
 */
#ifndef WEFT_TESTS_API_SCOPE_KIT_H
#define WEFT_TESTS_API_SCOPE_KIT_H

#include "api/api.h"

/* Soon, but not before a few fibers were started, on any machine. */
#define SOON_NS (150 * NS_PER_MS)

/* A fiber that ends when it is told to, or is cancelled. */
struct waiter {
	weft_event event;
	int result;	/* of its function, if it was told to end */
	int got;	/* from its wait */
	bool cancelled; /* what weft_cancelled said then */
	_Atomic(bool) begun, ended;
	void *arg;		/* for others */
};

static inline int run_waiter(void *arg)
{
	struct waiter *w = arg;

	w->begun = true;
	w->got = weft_event_wait(&w->event, WEFT_FOREVER);
	w->cancelled = weft_cancelled();
	w->ended = true;
	return w->got ? 0 : w->result;
}

static inline int run_nothing(void *arg)
{
	*(int *)arg += 1;
	return 0;
}

static inline int return_it(void *arg)
{
	return *(int *)arg;
}

static inline void go(weft_scope *s, int (*fn)(void *), void *arg)
{
	expect_eq(weft_scope_go(s, fn, arg), 0);
}

static inline void open_scope(weft_scope *s, weft_time deadline)
{
	memset(s, 0xA5, sizeof(*s));
	expect_eq(weft_scope_open(s, deadline), 0);
}

/* Close it; its memory is used for something else at once. */
static inline int close_scope(weft_scope *s)
{
	int result = weft_scope_close(s);

	memset(s, 0x5A, sizeof(*s));
	return result;
}

/*
 * The result of a call that would wait, in this fiber.  If it is cancelled, the
 * deadline is far, so that a stopped thread does not see -ETIMEDOUT instead.
 */
static inline int try_wait(void)
{
	int64_t ns = weft_cancelled() ? PATIENCE_NS : NS_PER_MS;
	weft_event never = { 0 };

	return weft_event_wait(&never, weft_after(ns));
}

static inline void expect_free(void)
{
	expect(!weft_cancelled());
	expect_eq(weft_sleep(1000), 0);
}

#endif
