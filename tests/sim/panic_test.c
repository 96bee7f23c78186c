/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/panic_test.c - a broken assertion of the library fails the run and
 * not the program; outside of a run it ends the program, with one line.
 */
#include "sim/sim_kit.h"

#include <signal.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(outside_it_ends_the_program),
		cmocka_unit_test(an_assertion_fails_the_run),
		cmocka_unit_test(it_is_found_in_some_schedule),
		cmocka_unit_test(checks_may_assert),
	};

	return cmocka_run_group_tests(tests, kit_setup, NULL);
}
