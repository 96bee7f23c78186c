/* SPDX-License-Identifier: MIT */
/*
 * tests/api/api.h - what the tests of the public API share.
 *
 * They see only include/weft, as a user does.
 *
 * A failed assertion jumps out of the test, so it must not be made in a fiber
 * or on a thread that the test has started.  These use expect(), which writes
 * down the first thing that went wrong; the test looks at it, on its own
 * thread, with assert_expected().  Whatever can hang is waited for with
 * PATIENCE, so that a test fails instead.  A test that gave up leaves fibers
 * behind, so what fibers use is static.
 */
#ifndef WEFT_TESTS_API_API_H
#define WEFT_TESTS_API_API_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <weft/weft.h>

#define NS_PER_US INT64_C(1000)
#define NS_PER_MS (1000 * NS_PER_US)
#define NS_PER_S (1000 * NS_PER_MS)

#define PATIENCE_NS (40 * NS_PER_S)
#define PATIENCE weft_after(PATIENCE_NS)

#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define API_TSAN 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define API_TSAN 1
#endif
#ifndef API_TSAN
#define API_TSAN 0
#endif

/*
 * From support/threads.h, with the same meaning; that header includes one of
 * src/, which these tests cannot see.
 */
void threads_run(unsigned n, void (*fn)(void *arg, unsigned i), void *arg);
size_t threads_rounds(size_t n);
uint64_t threads_seed(void);
bool threads_on_valgrind(void);

/* How many of n rounds to do: fewer on valgrind and with ThreadSanitizer. */
static inline size_t rounds(size_t n)
{
	size_t some = threads_rounds(n);

	return API_TSAN && some > 20 ? some / 20 : some;
}

/* How many of n fibers may live at once: ThreadSanitizer has a limit. */
static inline size_t crowd(size_t n)
{
	size_t most = API_TSAN ? 2000 : 1000000, some = threads_rounds(n);

	return some < most ? some : most;
}

/* ------------------------------------------------------------------------ */
/* Expectations. */

static struct {
	atomic_flag taken;
	_Atomic(bool) complete;
	char text[256];
} first_wrong = { .taken = ATOMIC_FLAG_INIT };

static inline bool expect_at(const char *file, int line, bool ok,
	const char *what, intmax_t got, intmax_t wanted)
{
	if (!ok && !atomic_flag_test_and_set(&first_wrong.taken)) {
		snprintf(first_wrong.text, sizeof(first_wrong.text),
			"%s:%d: %s (%jd, %jd)", file, line, what, got, wanted);
		atomic_store(&first_wrong.complete, true);
	}
	return ok;
}

/* For fibers and other threads; both give back whether it is so. */
#define expect(c) expect_at(__FILE__, __LINE__, (c), #c, 0, 0)
#define expect_eq(a, b)                                                     \
	({                                                                  \
		intmax_t a_ = (intmax_t)(a), b_ = (intmax_t)(b);            \
		expect_at(__FILE__, __LINE__, a_ == b_, #a " == " #b, a_, b_); \
	})

/* On the test's thread: has everything been as expected so far? */
static inline void assert_expected(void)
{
	char text[sizeof(first_wrong.text)];

	if (!atomic_load(&first_wrong.complete))
		return;
	memcpy(text, first_wrong.text, sizeof(text));
	atomic_store(&first_wrong.complete, false);
	atomic_flag_clear(&first_wrong.taken);
	fail_msg("%s", text);
}

/* ------------------------------------------------------------------------ */
/* Time. */

static inline void nap_ns(int64_t ns)
{
	const struct timespec nap = { .tv_sec = ns / NS_PER_S,
		.tv_nsec = ns % NS_PER_S };

	nanosleep(&nap, NULL);
}

/* Wait, on a thread, until c is true; gives back whether it became so. */
#define await(c)                                                            \
	({                                                                  \
		int64_t give_up_ = PATIENCE;                                \
		while (!(c) && weft_now() < give_up_)                       \
			nap_ns(100 * NS_PER_US);                            \
		(c);                                                        \
	})

/* Wait, in a fiber, until c is true; gives back whether it became so. */
#define await_yielding(c)                                                   \
	({                                                                  \
		int64_t give_up_ = PATIENCE;                                \
		while (!(c) && weft_now() < give_up_)                       \
			weft_yield();                                       \
		(c);                                                        \
	})

/* ------------------------------------------------------------------------ */
/* Runtimes. */

static inline weft_rt *rt_begin(const weft_config *cfg)
{
	weft_rt *rt = NULL;

	assert_int_equal(weft_rt_start(&rt, cfg), 0);
	assert_non_null(rt);
	return rt;
}

static inline weft_rt *rt_workers(unsigned workers)
{
	weft_config cfg = { .workers = workers };

	return rt_begin(&cfg);
}

/* Stop rt, whose fibers have ended or soon end. */
static inline void rt_end(weft_rt *rt)
{
	assert_int_equal(weft_rt_stop(rt, PATIENCE), 0);
}

/* Run fn(arg) in a fiber of a runtime made for it. */
static inline void play_with(
	const weft_config *cfg, void *(*fn)(void *), void *arg)
{
	weft_rt *rt = rt_begin(cfg);
	weft_fiber *f = NULL;
	int err;

	assert_int_equal(weft_rt_spawn(rt, &f, NULL, fn, arg), 0);
	err = weft_join(f, NULL, PATIENCE);
	assert_expected();
	assert_int_equal(err, 0);
	rt_end(rt);
	assert_expected();
}

static inline void play(unsigned workers, void *(*fn)(void *), void *arg)
{
	weft_config cfg = { .workers = workers };

	play_with(&cfg, fn, arg);
}

/* ------------------------------------------------------------------------ */
/* Fibers. */

static inline weft_fiber_state state_of(const weft_fiber *f)
{
	weft_fiber_info info;

	weft_fiber_look(f, &info);
	return info.state;
}

static inline void *echo(void *arg)
{
	return arg;
}

/* Count the group in arg down by one. */
static inline void one_done(void *group)
{
	weft_group_done(group);
}

/*
 * A baton: one fiber waits for it, any caller puts it down, once for each wait.
 * All-zero is valid.
 */
struct baton {
	struct weft_awaiter awaiter;
	_Atomic(uintptr_t) word;	/* BATON_*, or the fiber that waits */
};

enum { BATON_NONE = 0, BATON_DOWN = 1 };

static inline bool baton_commit(struct weft_awaiter *a, weft_fiber *f)
{
	struct baton *b = (struct baton *)a;
	uintptr_t none = BATON_NONE;

	if (atomic_compare_exchange_strong(&b->word, &none, (uintptr_t)f))
		return true;
	atomic_store(&b->word, BATON_NONE);
	return false;
}

static inline void baton_wait(struct baton *b)
{
	uintptr_t down = BATON_DOWN;
	int err;

	if (atomic_compare_exchange_strong(&b->word, &down, BATON_NONE))
		return;
	b->awaiter.commit = baton_commit;
	err = weft_suspend(&b->awaiter);
	expect(err == 0 || err == 1);
}

/* Take the waiter and the right to wake it; NULL: the baton is put down. */
static inline weft_fiber *baton_take(struct baton *b)
{
	uintptr_t seen = BATON_NONE;

	if (atomic_compare_exchange_strong(&b->word, &seen, BATON_DOWN))
		return NULL;
	expect(seen != BATON_DOWN);
	atomic_store(&b->word, BATON_NONE);
	return (weft_fiber *)seen;
}

static inline void baton_put(struct baton *b, weft_hint hint)
{
	weft_fiber *f = baton_take(b);

	if (f)
		weft_wake(f, hint);
}

/* ------------------------------------------------------------------------ */
/* Fibers, from inside. */

static const weft_hint hints[] = { WEFT_HINT_DEFAULT, WEFT_HINT_NEXT,
	WEFT_HINT_YIELD };
enum { HINTS = sizeof(hints) / sizeof(hints[0]) };

static inline weft_fiber *spawn(void *(*fn)(void *), void *arg)
{
	weft_fiber *f = NULL;

	expect_eq(weft_spawn(&f, NULL, fn, arg), 0);
	return f;
}

/* Join f, without a deadline; its result. */
static inline void *join(weft_fiber *f)
{
	void *result = NULL;

	expect_eq(weft_join(f, &result, WEFT_FOREVER), 0);
	return result;
}

#endif
