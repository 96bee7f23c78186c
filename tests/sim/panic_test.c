/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/panic_test.c - a broken assertion of the library fails the run and
 * not the program; outside of a run it ends the program, with one line.
 */
#include "sim/sim_kit.h"

#include <signal.h>

#include <weft/weft.h>

#include "base/assert.h"

static _Atomic(uint32_t) x;

enum { BROKEN_LINE = __LINE__ + 4 };

static void broken(void *arg)
{
	wf_assert(arg != NULL, "it is %d", 42);
}

static void an_assertion_fails_the_run(void **state)
{
	weft_sim_report r;
	char text[64];

	(void)state;
	kit_breaks(broken, 0, "assertion", &r);
	snprintf(text, sizeof(text), "panic_test.c:%d: it is 42", BROKEN_LINE);
	assert_string_equal(r.message, text);
}

static void raise_x(void *arg)
{
	(void)arg;
	kit_use(atomic_fetch_add(&x, 1));
	wf_assert(kit_newest(&x) != 2, "both");
}

static void two_raise(void *arg)
{
	(void)arg;
	kit_pair(raise_x, raise_x);
}

static void it_is_found_in_some_schedule(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);
	weft_sim_report r;

	(void)state;
	kit_fails(&o, two_raise, NULL, "assertion", &r);
	kit_says(r.message, "both");
	assert_int_equal(weft_sim_replay(&o, two_raise, NULL, r.shrunk, &r), 1);
	kit_says(r.message, "both");
}

static void nothing(void *arg)
{
	(void)arg;
	kit_use(atomic_fetch_add(&x, 1));
}

static void in_a_check(void *arg)
{
	wf_assert(arg != NULL, "checked");
}

/* A check of the user's may use it as well. */
static void checks_may_assert(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.invariant = in_a_check;
	kit_fails(&o, nothing, NULL, "assertion", &r);
	kit_says(r.message, "checked");
	o.schedules = 10;
	kit_passes(&o, nothing, &o, &r);
}

static void outside(void)
{
	broken(NULL);
}

/* After a simulation as before one. */
static void outside_after(void)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);

	o.schedules = 1;
	if (weft_sim_explore(&o, nothing, NULL, NULL) == 0)
		broken(NULL);
}

static void outside_it_ends_the_program(void **state)
{
	struct kit_stderr *s = malloc(sizeof(*s));
	void (*fns[])(void) = { outside, outside_after };

	(void)state;
	for (int i = 0; i < 2; i++) {
		int status = kit_process(fns[i], s);

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
		assert_int_equal(kit_lines(s->text), 1);
		assert_true(strncmp(s->text, "weft: panic_test.c:", 19) == 0);
		kit_says(s->text, ": it is 42\n");
	}
	free(s);
}

/* ---------------------------------------------------------------- misuse */

/* Two have a reference each, and the first one gives back one more. */
static void *give_back(void *c)
{
	weft_chan_unref(c);
	return NULL;
}

static int share_a_channel(void *arg)
{
	weft_fiber *f;
	weft_chan *c;

	weft_sim_assert(weft_chan_create(&c, 4, 1) == 0, "no channel");
	weft_sim_assert(weft_spawn(&f, NULL, give_back, weft_chan_ref(c)) == 0,
		"no fiber");
	weft_chan_unref(c);
	if (arg != NULL)
		weft_chan_unref(c);
	weft_sim_assert(weft_join(f, NULL, WEFT_FOREVER) == 0, "no join");
	return 0;
}

static void channel_body(void *arg)
{
	weft_config cfg = { .workers = 2 };

	weft_sim_assert(weft_run(&cfg, share_a_channel, arg) == 0, "run");
}

static void send_to_freed(void *arg)
{
	weft_chan *c;

	(void)arg;
	weft_sim_assert(weft_chan_create(&c, 4, 1) == 0, "no channel");
	weft_chan_unref(c);
	weft_sim_assert(weft_chan_send(c, "abc", WEFT_NOW) == 0, "no send");
}

static void a_channel_given_back_too_often_is_named(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK | WEFT_SIM_PCT, 0);
	weft_sim_report r;
	int more;

	(void)state;
	o.schedules = 500;
	kit_passes(&o, channel_body, NULL, &r);
	for (o.seed = 1; o.seed <= 10; o.seed++) {
		kit_fails(&o, channel_body, &more, "assertion", &r);
		assert_int_equal(r.schedules, 1);
		kit_says(r.message, "weft_chan_unref: channel 0x");
		kit_says(r.message, "once too often");
	}
	kit_fails(&o, send_to_freed, NULL, "assertion", &r);
	kit_says(r.message, "weft_chan_send: channel 0x");
}

static _Atomic(weft_fiber *) suspended;

static bool publish(struct weft_awaiter *a, weft_fiber *f)
{
	(void)a;
	atomic_store(&suspended, f);
	return true;
}

static void *sleeper(void *arg)
{
	struct weft_awaiter a = { .commit = publish };

	weft_sim_assert(weft_suspend(&a) == 0, "no suspension");
	return arg;
}

static void waker(void *arg)
{
	weft_fiber *f;

	(void)arg;
	while ((f = atomic_load(&suspended)) == NULL)
		weft_sim_yield();
	weft_wake(f, WEFT_HINT_DEFAULT);
}

/* One waker, or two (arg), which know nothing of each other. */
static int wake_by_threads(void *arg)
{
	int one = kit_thread(waker, NULL, "one");
	int two = arg != NULL ? kit_thread(waker, NULL, "two") : 0;

	(void)!sleeper(NULL);
	kit_join(one);
	if (arg != NULL)
		kit_join(two);
	return 0;
}

static void wake_body(void *arg)
{
	weft_config cfg = { .workers = 1 };

	weft_sim_assert(weft_run(&cfg, wake_by_threads, arg) == 0, "run");
}

static void a_fiber_woken_twice_is_named(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK | WEFT_SIM_PCT, 0);
	weft_sim_report r;
	int two;

	(void)state;
	o.schedules = 500;
	kit_passes(&o, wake_body, NULL, &r);
	for (o.seed = 1; o.seed <= 10; o.seed++) {
		kit_fails(&o, wake_body, &two, "assertion", &r);
		kit_says(r.message, "weft_wake: fiber 0x");
		kit_says(r.message, "woken twice for one suspension");
		assert_true(r.schedules <= 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outside_it_ends_the_program),
		cmocka_unit_test(an_assertion_fails_the_run),
		cmocka_unit_test(it_is_found_in_some_schedule),
		cmocka_unit_test(checks_may_assert),
		cmocka_unit_test(a_channel_given_back_too_often_is_named),
		cmocka_unit_test(a_fiber_woken_twice_is_named),
	};

	return cmocka_run_group_tests(tests, kit_setup, NULL);
}
