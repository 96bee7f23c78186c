/* SPDX-License-Identifier: MIT */
/*
 * tests/api/too_often_test.c - a channel that is given back once too often, and
 * a fiber that is woken twice for one suspension, end the program with one line
 * that says so.
 *
 * Only debug builds of the library look for it, and the simulator
 * (tests/sim/panic_test.c).  In other builds the behaviour is not defined.
 */
#include "api/api.h"

#include <stdatomic.h>

#include <weft/weft.h>

#include "os/child.h"
#include "support/skip.h"

#ifdef WF_DEBUG
#define FOUND 1
#else
#define FOUND 0
#endif

/* ------------------------------------------------------------------------ */
/* In a child: no assertions here. */

static weft_chan *channel(void)
{
	weft_chan *c;

	if (weft_chan_create(&c, sizeof(int), 1) != 0)
		_exit(4);
	return c;
}

static void unref_twice(void *arg)
{
	weft_chan *c = channel();

	(void)arg;
	weft_chan_unref(c);
	weft_chan_unref(c);
}

/* Other channels are freed in between, and their memory is used again. */
static void unref_later(void *arg)
{
	weft_chan *c = channel();

	weft_chan_unref(c);
	for (int i = 0; i < 50; i++)
		weft_chan_unref(channel());
	weft_chan_unref(c);
	(void)arg;
}

static void ref_freed(void *arg)
{
	weft_chan *c = channel();

	(void)arg;
	weft_chan_unref(c);
	(void)weft_chan_ref(c);
}

static void send_freed(void *arg)
{
	weft_chan *c = channel();
	int v = 1;

	(void)arg;
	weft_chan_unref(c);
	(void)!weft_chan_send(c, &v, WEFT_NOW);
}

static void recv_freed(void *arg)
{
	weft_chan *c = channel();
	int v;

	(void)arg;
	weft_chan_unref(c);
	(void)!weft_chan_recv(c, &v, WEFT_NOW);
}

static void close_freed(void *arg)
{
	weft_chan *c = channel();

	(void)arg;
	weft_chan_unref(c);
	(void)!weft_chan_close(c);
}

static _Atomic(weft_fiber *) suspended;
static atomic_bool resumed;

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	atomic_store(&suspended, f);
	return true;
}

static void *sleeper(void *arg)
{
	struct weft_awaiter a = { .commit = publish };

	if (weft_suspend(&a) != 0)
		_exit(4);
	atomic_store(&resumed, true);
	return arg;
}

/* The second wake comes at once, or (arg) when the fiber runs again. */
static int wake_twice(void *arg)
{
	weft_fiber *f;

	if (weft_spawn(&f, NULL, sleeper, NULL) != 0)
		_exit(4);
	while (atomic_load(&suspended) == NULL)
		weft_yield();
	weft_wake(f, WEFT_HINT_DEFAULT);
	while (arg != NULL && !atomic_load(&resumed))
		weft_yield();
	weft_wake(f, WEFT_HINT_DEFAULT);
	return 0;
}

static void wake_twice_at_once(void *arg)
{
	(void)arg;
	(void)!weft_run(NULL, wake_twice, NULL);
}

static void wake_twice_apart(void *arg)
{
	(void)!weft_run(NULL, wake_twice, &arg);
}

/* The first waker names the fiber as its successor. */
static int give_and_wake(void *arg)
{
	struct weft_awaiter a = { .commit = publish };
	weft_fiber *f;

	(void)arg;
	if (weft_spawn(&f, NULL, sleeper, NULL) != 0)
		_exit(4);
	while (atomic_load(&suspended) == NULL)
		weft_yield();
	weft_wake(f, WEFT_HINT_DEFAULT);
	a.next = f;
	(void)!weft_suspend(&a);
	return 0;
}

static void woken_and_given(void *arg)
{
	(void)arg;
	(void)!weft_run(NULL, give_and_wake, NULL);
}

/* ------------------------------------------------------------------------ */

static void assert_found(void (*fn)(void *), const char *says)
{
	struct child c;

	if (!FOUND)
		skip_because("only debug builds look for it");
	child_run(&c, fn, NULL);
	if (!child_was_misuse(&c, says))
		fail_msg("status %#x, says %s", (unsigned)c.status, c.first);
}

static void a_channel_is_given_back_once_too_often(void **state)
{
	(void)state;
	assert_found(unref_twice, "once too often");
	assert_found(unref_later, "once too often");
	assert_found(ref_freed, "weft_chan_ref: channel");
	assert_found(send_freed, "weft_chan_send: channel");
	assert_found(recv_freed, "weft_chan_recv: channel");
	assert_found(close_freed, "weft_chan_close: channel");
}

static void a_fiber_is_woken_twice(void **state)
{
	(void)state;
	assert_found(wake_twice_at_once, "woken twice for one suspension");
	assert_found(wake_twice_apart, "woken twice for one suspension");
	assert_found(woken_and_given, "woken twice for one suspension");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_channel_is_given_back_once_too_often),
		cmocka_unit_test(a_fiber_is_woken_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
