/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/fibers_test.c - a deadlock names the fibers that wait, and why.
 */
#include "sim/fibers.h"

#include <weft/weft.h>

#include "os/os.h"
#include "sim/sim_kit.h"

enum { MANY = 24 };

static struct kit_stderr *out;
static weft_group never;
static weft_fiber *sleeper;

static void *waits_for_group(void *arg)
{
	kit_use((uint64_t)weft_group_wait(&never, WEFT_FOREVER));
	return arg;
}

static int waits_for_fiber(void *arg)
{
	weft_fiber_attr attr = { .name = "sleeper" };

	(void)arg;
	weft_group_add(&never, 1);
	weft_sim_assert(weft_spawn(&sleeper, &attr, waits_for_group, NULL) == 0,
		"no fiber");
	return weft_join(sleeper, NULL, WEFT_FOREVER);
}

static void all_wait(void *arg)
{
	weft_config c = { .workers = 2 };

	(void)arg;
	kit_use((uint64_t)weft_run(&c, waits_for_fiber, NULL));
}

static void lie_down(void *arg)
{
	_Atomic(uint32_t) word = 0;

	(void)arg;
	kit_use((uint64_t)wf_os_futex_wait(&word, 0, INT64_MAX));
	kit_use((uint64_t)wf_os_futex_wait(&word, 0, INT64_MAX));
}

static void fails_aloud(void (*body)(void *))
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;
	int err;

	o.flags = 0;
	kit_stderr_begin(out);
	err = weft_sim_explore(&o, body, NULL, &r);
	kit_stderr_end(out);
	assert_int_equal(err, 1);
	assert_string_equal(r.oracle, "deadlock");
}

static void fibers_are_told(void **state)
{
	(void)state;
	fails_aloud(all_wait);
	kit_says(out->text,
		"  fiber sleeper, waits_for_group, waits: group on never\n");
	kit_says(out->text, "  fiber main, ");
	kit_says(out->text, ", waits: join");
}

static void where_there_are_none_none_are_told(void **state)
{
	(void)state;
	fails_aloud(lie_down);
	assert_null(strstr(out->text, "  fiber "));
}

static int spawns_many(void *arg)
{
	static const char name[] = "a fiber whose name is as long as that of "
				   "few others, and which waits like them";
	weft_fiber_attr attr = { .name = name };
	weft_fiber *f;

	weft_group_add(&never, 1);
	for (int i = 0; i < MANY; i++)
		weft_sim_assert(
			weft_spawn(&f, &attr, waits_for_group, arg) == 0,
			"no fiber");
	return weft_group_wait(&never, WEFT_FOREVER);
}

static void many_wait(void *arg)
{
	kit_use((uint64_t)weft_run(NULL, spawns_many, arg));
}

/* They take more than the simulator keeps; the rest of the report is there. */
static void what_does_not_fit_is_cut(void **state)
{
	(void)state;
	fails_aloud(many_wait);
	kit_says(out->text, "  fiber a fiber whose name");
	kit_says(out->text, "  replay: ");
}

static int setup(void **state)
{
	out = kit_keep(sizeof(*out));
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fibers_are_told),
		cmocka_unit_test(where_there_are_none_none_are_told),
		cmocka_unit_test(what_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
