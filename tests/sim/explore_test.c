/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/explore_test.c - options, the environment and tokens are taken or
 * refused as weft/sim.h says; an exploration ends when it should, and what it
 * reports is so.
 */
#include "sim/sim_kit.h"

#include <time.h>

static uint64_t *kept;
static struct kit_stderr *out;
static _Atomic(uint32_t) word;

static void count_run(void *arg)
{
	(void)arg;
	kit_count(&kept[0]);
	kit_use(atomic_fetch_add(&word, 1));
}

static void add_badly(void *arg)
{
	uint32_t v = atomic_load(&word);

	(void)arg;
	atomic_store(&word, v + 1);
}

static void lose_an_update(void *arg)
{
	kit_count(&kept[0]);
	(void)arg;
	kit_pair(add_badly, add_badly);
	weft_sim_assert(kit_newest(&word) == 2, "lost");
}

/* ------------------------------------------------------------ bad options */

/* Refused, with one line, and without a single run. */
static void refused(const weft_sim_opts *o, const char *says)
{
	weft_sim_report r;
	int err;

	memset(kept, 0, 4096);
	kit_stderr_begin(out);
	err = weft_sim_explore(o, count_run, NULL, &r);
	kit_stderr_end(out);
	assert_int_equal(err, -EINVAL);
	assert_int_equal(kept[0], 0);
	assert_int_equal(kit_lines(out->text), 1);
	assert_true(strncmp(out->text, "weft: sim: ", 11) == 0);
	kit_says(out->text, says);
}

static void bad_options_are_refused(void **state)
{
	weft_sim_opts o;

	(void)state;
	for (unsigned bit = 4; bit < 32; bit++) {
		o = kit_opts(WEFT_SIM_WALK | 1u << bit, 0);
		refused(&o, "modes");
	}
	o = kit_opts(WEFT_SIM_WALK, 1u << 31);
	refused(&o, "flags");
	o = kit_opts(WEFT_SIM_WALK, 1u << 12);
	refused(&o, "flags");
	o = kit_opts(WEFT_SIM_WALK, 0);
	o.steps = 16000001;
	refused(&o, "steps");
	o = kit_opts(WEFT_SIM_WALK, 0);
	o.budget_ns = -1;
	refused(&o, "budget_ns");
	o = kit_opts(WEFT_SIM_WALK, 0);
	o.steps = 16000000;
	o.schedules = 1;
	assert_int_equal(weft_sim_explore(&o, count_run, NULL, NULL), 0);
}

static void bad_numbers_of_the_environment_are_refused(void **state)
{
	static const char *const names[] = { "WEFT_SIM_SEED",
		"WEFT_SIM_SCHEDULES", "WEFT_SIM_BUDGET" };
	static const char *const values[] = { "x", "-1", "1x", "0x", "1 2",
		" -1", "18446744073709551616", "1.5", "+-3", "\t-7" };
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);

	(void)state;
	for (int i = 0; i < 3; i++) {
		for (int k = 0; k < 10; k++) {
			assert_int_equal(setenv(names[i], values[k], 1), 0);
			refused(&o, names[i]);
		}
		assert_int_equal(unsetenv(names[i]), 0);
	}
}

/* --------------------------------------------------- the environment wins */

static void explore_with(
	const char *name, const char *value, weft_sim_report *r)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);

	o.schedules = 20;
	assert_int_equal(setenv(name, value, 1), 0);
	memset(kept, 0, 4096);
	assert_int_equal(weft_sim_explore(&o, count_run, NULL, r), 0);
	assert_int_equal(unsetenv(name), 0);
}

static void the_environment_wins(void **state)
{
	weft_sim_report r;

	(void)state;
	explore_with("WEFT_SIM_SCHEDULES", "7", &r);
	assert_int_equal(r.schedules, 7);
	explore_with("WEFT_SIM_SCHEDULES", "", &r);
	assert_int_equal(r.schedules, 20);
	explore_with("WEFT_SIM_SEED", "0x1f", &r);
	assert_int_equal(r.seed, 31);
	explore_with("WEFT_SIM_SEED", "18446744073709551615", &r);
	assert_true(r.seed == UINT64_MAX);
	explore_with("WEFT_SIM_REPLAY", "a:walk:1:1:0", &r);
	assert_int_equal(r.schedules, 0);
	explore_with("WEFT_SIM_REPLAY", "kit:walk:1:1:0", &r);
	assert_int_equal(r.schedules, 1);
	explore_with("WEFT_SIM_REPLAY", "", &r);
	assert_int_equal(r.schedules, 20);
}

static void a_seed_is_drawn_if_none_is_given(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report a, b;

	(void)state;
	o.seed = 0;
	o.schedules = 1;
	kit_passes(&o, count_run, NULL, &a);
	kit_passes(&o, count_run, NULL, &b);
	assert_true(a.seed != 0 && b.seed != 0 && a.seed != b.seed);
}

/* --------------------------------------------------------- sizes of structs */

static void smaller_structs_are_taken(void **state)
{
	static const size_t sizes[] = { 0, 8, 16, 24,
		offsetof(weft_sim_opts, flags) };
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	union {
		weft_sim_report r;
		char bytes[sizeof(weft_sim_report)];
	} u;

	(void)state;
	o.schedules = 9;
	/* Fields beyond the size are not looked at. */
	o.flags = ~0u;
	o.invariant = (void (*)(void *))(uintptr_t)1;
	o.idle = (void (*)(void *))(uintptr_t)1;
	assert_int_equal(setenv("WEFT_SIM_SCHEDULES", "9", 1), 0);
	for (int i = 0; i < 5; i++) {
		memset(kept, 0, 4096);
		assert_int_equal(weft_sim_explore_sized(&o, sizes[i], count_run,
					 NULL, &u.r, sizeof(u.r)),
			0);
		assert_int_equal(u.r.schedules, 9);
		if (sizes[i] >= 16)
			assert_int_equal(u.r.seed, 1);
	}
	assert_int_equal(unsetenv("WEFT_SIM_SCHEDULES"), 0);
	for (size_t bytes = 0; bytes <= sizeof(u); bytes += 8) {
		memset(&u, 0x5a, sizeof(u));
		o = kit_opts(WEFT_SIM_WALK, 0);
		o.schedules = 3;
		assert_int_equal(weft_sim_explore_sized(&o, sizeof(o),
					 count_run, NULL, &u.r, bytes),
			0);
		for (size_t i = bytes; i < sizeof(u); i++)
			assert_int_equal(u.bytes[i], 0x5a);
		if (bytes >= 8)
			assert_int_equal(u.r.schedules, 3);
	}
}

/* Structs of a later header: what this one does not know must be zero. */
static void larger_structs_are_taken(void **state)
{
	struct {
		weft_sim_opts o;
		char more[64];
	} large = { .o = kit_opts(WEFT_SIM_WALK, 0) };
	struct {
		weft_sim_report r;
		char more[64];
	} report;

	(void)state;
	large.o.schedules = 4;
	memset(&report, 0x5a, sizeof(report));
	assert_int_equal(weft_sim_explore_sized(&large.o, sizeof(large),
				 count_run, NULL, &report.r, sizeof(report)),
		0);
	assert_int_equal(report.r.schedules, 4);
	large.more[63] = 1;
	memset(kept, 0, 4096);
	assert_int_equal(weft_sim_explore_sized(&large.o, sizeof(large),
				 count_run, NULL, &report.r, sizeof(report)),
		-E2BIG);
	assert_int_equal(kept[0], 0);
}

static void nothing_need_be_given(void **state)
{
	(void)state;
	memset(kept, 0, 4096);
	assert_int_equal(setenv("WEFT_SIM_SCHEDULES", "50", 1), 0);
	assert_int_equal(weft_sim_explore(NULL, count_run, NULL, NULL), 0);
	assert_int_equal(unsetenv("WEFT_SIM_SCHEDULES"), 0);
	assert_true(kept[0] >= 50);
}

/* ---------------------------------------------------------------- within */

static void explore_inside(void *arg)
{
	weft_sim_report r;

	weft_sim_assert(weft_sim_explore(NULL, count_run, arg, &r) == -EBUSY &&
			weft_sim_replay(NULL, count_run, arg, "a:walk:1:1:0",
				&r) == -EBUSY,
		"a simulation in a simulation");
	weft_sim_assert(weft_sim_main(NULL, count_run, arg) == 2, "main");
}

static void check_inside(void *arg)
{
	weft_sim_assert(weft_sim_explore(NULL, count_run, arg, NULL) == -EBUSY,
		"a simulation in a check");
}

static void one_simulation_at_a_time(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	kit_passes(&o, explore_inside, NULL, &r);
	assert_int_equal(kept[0], 0);
	o.invariant = check_inside;
	kit_passes(&o, count_run, NULL, &r);
}

/* ----------------------------------------------------------------- replay */

static void bad_tokens_are_refused(void **state)
{
	static const char *const tokens[] = { "", "x", "a:walk:1:1",
		"a:bounded:0:1:0", "@", "@/", "@/dev/null" };
	weft_sim_opts o = kit_opts(0, 0);

	(void)state;
	for (int i = 0; i < 7; i++) {
		weft_sim_report r;
		int err;

		memset(kept, 0, 4096);
		kit_stderr_begin(out);
		err = weft_sim_replay(&o, count_run, NULL, tokens[i], &r);
		kit_stderr_end(out);
		assert_int_equal(err, -EINVAL);
		assert_int_equal(kept[0], 0);
		assert_int_equal(kit_lines(out->text), 1);
	}
}

static void a_replay_is_one_schedule(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report found, r;

	(void)state;
	kit_fails(&o, lose_an_update, NULL, "assertion", &found);
	memset(kept, 0, 4096);
	assert_int_equal(
		weft_sim_replay(&o, lose_an_update, NULL, found.token, &r), 1);
	assert_int_equal(kept[0], 1);
	assert_int_equal(r.schedules, 1);
	assert_string_equal(r.token, found.token);
	/* One that does not fail any more is 0. */
	assert_int_equal(
		weft_sim_replay(&o, count_run, NULL, found.token, &r), 0);
	assert_false(r.failed);
	assert_int_equal(
		weft_sim_replay(&o, lose_an_update, NULL, "a:list:0::0", NULL),
		0);
	/* Asked to, it is made shorter. */
	assert_int_equal(setenv("WEFT_SIM_SHRINK", "1", 1), 0);
	assert_int_equal(
		weft_sim_replay(&o, lose_an_update, NULL, found.token, &r), 1);
	assert_int_equal(unsetenv("WEFT_SIM_SHRINK"), 0);
	assert_string_equal(r.shrunk, found.shrunk);
}

static void choose_of_five(void *arg)
{
	unsigned v = weft_sim_either(5);

	(void)arg;
	weft_sim_assert(v < 5, "%u of five", v);
	kit_set(&kept[1], v);
}

/* A decision that is impossible becomes the default one. */
static void choices_are_within_limits(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);

	(void)state;
	for (unsigned v = 0; v < 70; v++) {
		char token[32];

		snprintf(token, sizeof(token), "a:list:0:0.0e%u:0", v);
		assert_int_equal(
			weft_sim_replay(&o, choose_of_five, NULL, token, NULL),
			0);
		assert_int_equal(kept[1], v < 5 ? v : 0);
	}
}

/* A token need not be of the same program; it must only do no harm. */
static void any_list_can_be_run(void **state)
{
	static const char *const tokens[] = { "a:list:0:0.1t14,0.1t0,1.1t13:0",
		"a:list:0:14.1t1,13.5s7,0.1k9,0.2u1,0.1c1,0.1f1,0.1r65535:0",
		"a:list:0:0.4294967295t1,0.0t1,0.0e65535,0.0z1:0",
		"a:list:0:1.1s7,1.2s7,2.1s7,2.2s7,1.1w1,2.2w1:0",
		"a:pct:ffffffffffffffff:8.536870911:0", "a:walk:0:536870911:0",
		"a:urw:5:1.268435455.268435455:0" };
	weft_sim_opts o = kit_opts(0, WEFT_SIM_LOCK_FREE);

	(void)state;
	o.steps = 500;
	for (int i = 0; i < 7; i++)
		assert_true(weft_sim_replay(&o, lose_an_update, NULL, tokens[i],
				    NULL) >= 0);
}

/* ------------------------------------------------------------- the budget */

static double seconds(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void time_is_limited(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);
	double start = seconds(), took;
	weft_sim_report r;

	(void)state;
	o.schedules = UINT64_MAX;
	o.budget_ns = 100000000;
	kit_passes(&o, count_run, NULL, &r);
	took = seconds() - start;
	assert_true(took >= 0.1 && r.seconds >= 0.1 && r.seconds <= took);
	/* A machine may be busy, but not for so long. */
	assert_true(took < 20);
	assert_true(r.schedules > 100);
	start = seconds();
	assert_int_equal(setenv("WEFT_SIM_BUDGET", "1", 1), 0);
	kit_passes(&o, count_run, NULL, &r);
	assert_int_equal(unsetenv("WEFT_SIM_BUDGET"), 0);
	assert_true(seconds() - start >= 1 && seconds() - start < 20);
}

static void schedules_are_limited(void **state)
{
	static const uint32_t modes[] = { WEFT_SIM_WALK, WEFT_SIM_PCT,
		WEFT_SIM_URW, WEFT_SIM_WALK | WEFT_SIM_BOUNDED, 0 };

	(void)state;
	for (int i = 0; i < 5; i++) {
		weft_sim_opts o = kit_opts(modes[i], 0);
		weft_sim_report r;

		o.schedules = 1000;
		memset(kept, 0, 4096);
		kit_passes(&o, count_run, NULL, &r);
		assert_int_equal(r.schedules, 1000);
		/* Some are made twice, to compare. */
		assert_true(kept[0] >= 1000 && kept[0] < 1050);
		o.flags |= WEFT_SIM_TWICE;
		memset(kept, 0, 4096);
		kit_passes(&o, count_run, NULL, &r);
		assert_true(kept[0] > 1900 || modes[i] & WEFT_SIM_BOUNDED ||
			modes[i] == 0);
	}
}

/* -------------------------------------------------------- non-determinism */

/* Takes one step more each time. */
static void never_the_same(void *arg)
{
	uint64_t n = kit_count(&kept[0]);

	(void)arg;
	for (uint64_t i = 0; i < n % 7; i++)
		kit_use(atomic_fetch_add(&word, 1));
}

/* As many steps, but not the same ones. */
static void not_the_same_path(void *arg)
{
	(void)arg;
	if (kit_count(&kept[0]) % 2 == 0)
		kit_use(atomic_fetch_add(&word, 1));
	else
		kit_use(atomic_fetch_sub(&word, 1));
}

static void what_is_not_simulated_is_noticed(void **state)
{
	static const uint32_t modes[] = { WEFT_SIM_WALK, WEFT_SIM_PCT,
		WEFT_SIM_URW, 0 };

	(void)state;
	for (int i = 0; i < 4; i++) {
		weft_sim_opts o = kit_opts(modes[i], 0);
		weft_sim_report r;

		memset(kept, 0, 4096);
		kit_fails(&o, never_the_same, NULL, "non-determinism", &r);
		kit_says(r.message, "steps and then");
		assert_true(r.token[0] != '\0');
		memset(kept, 0, 4096);
		kit_fails(&o, not_the_same_path, NULL, "non-determinism", &r);
	}
}

/* The bounded search meets other decisions than it has noted. */
static void choose_differently(void *arg)
{
	(void)arg;
	if (kit_count(&kept[0]) % 3 == 1)
		kit_use(weft_sim_either(2));
	kit_use(weft_sim_either(5));
	kit_use(weft_sim_either(7));
}

static void the_bounded_search_notices_too(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_BOUNDED, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	kit_fails(&o, choose_differently, NULL, "non-determinism", &r);
}

/* A failure that its own list of decisions does not give again. */
static void fail_once(void *arg)
{
	(void)arg;
	kit_use(atomic_fetch_add(&word, 1));
	weft_sim_assert(kit_count(&kept[0]) != 3, "only once");
}

static void a_failure_that_goes_away_is_told(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	kit_fails(&o, fail_once, NULL, "assertion", &r);
	kit_says(r.message, "only once");
	kit_says(r.message, "a replay of its decisions differs");
	assert_string_equal(r.shrunk, "");
}

/* ------------------------------------------------------- one after another */

static void fail_at_once(void *arg)
{
	(void)arg;
	weft_sim_assert(false, "at once");
}

static void deadlock(void *arg)
{
	(void)arg;
	kit_join(kit_thread(deadlock, NULL, "t"));
}

static void crash(void *arg)
{
	(void)arg;
	__builtin_trap();
}

static void after_a_failure_all_is_as_before(void **state)
{
	weft_sim_opts o = kit_opts(0, 0);
	weft_sim_report r;

	(void)state;
	o.schedules = 300;
	for (int i = 0; i < 10; i++) {
		kit_fails(&o, fail_at_once, NULL, "assertion", &r);
		kit_passes(&o, count_run, NULL, &r);
		kit_fails(&o, crash, NULL, "crash", &r);
		kit_passes(&o, count_run, NULL, &r);
		kit_fails(&o, deadlock, NULL, "assertion", &r);
		kit_says(r.message, "no thread: -11");
		kit_passes(&o, count_run, NULL, &r);
	}
}

/* --------------------------------------------------------------- main() */

/* What weft_sim_main prints to standard output. */
static int main_says(const weft_sim_opts *o, void (*body)(void *), char *text)
{
	int file = memfd_create("stdout", MFD_CLOEXEC);
	int saved = dup(STDOUT_FILENO), status;
	ssize_t n;

	(void)fflush(stdout);
	assert_true(dup2(file, STDOUT_FILENO) >= 0);
	kit_stderr_begin(out);
	status = weft_sim_main(o, body, NULL);
	kit_stderr_end(out);
	(void)fflush(stdout);
	(void)dup2(saved, STDOUT_FILENO);
	n = pread(file, text, 255, 0);
	text[n < 0 ? 0 : n] = '\0';
	(void)close(saved);
	(void)close(file);
	return status;
}

static void main_prints_one_line(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	char text[256];
	const char *end;

	(void)state;
	o.flags = 0;
	o.schedules = 25;
	o.seed = 77;
	assert_int_equal(main_says(&o, count_run, text), 0);
	assert_string_equal(out->text, "");
	kit_says(text, "sim: 25 schedules, 1 scenarios, 0 failures, ");
	end = strstr(text, " schedules/s, seed 77\n");
	assert_true(end != NULL && end[22] == '\0');
	assert_int_equal(main_says(&o, fail_at_once, text), 1);
	kit_says(text, "sim: 1 schedules, 1 scenarios, 1 failures, ");
	kit_says(out->text, "assertion: at once");
	o.modes = 1u << 20;
	assert_int_equal(main_says(&o, count_run, text), 2);
	assert_string_equal(text, "");
}

/* Messages and tokens have the name that was given, or the program's. */
static void failures_have_a_name(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.name = "ring/two thieves";
	kit_fails(&o, fail_at_once, NULL, "assertion", &r);
	assert_true(strncmp(r.token, "ring/two_thieves:walk:", 22) == 0);
	o.name = NULL;
	kit_fails(&o, fail_at_once, NULL, "assertion", &r);
	assert_true(strncmp(r.token, program_invocation_short_name,
			    strlen(program_invocation_short_name)) == 0);
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	out = kit_keep(sizeof(*out));
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_options_are_refused),
		cmocka_unit_test(bad_numbers_of_the_environment_are_refused),
		cmocka_unit_test(the_environment_wins),
		cmocka_unit_test(a_seed_is_drawn_if_none_is_given),
		cmocka_unit_test(smaller_structs_are_taken),
		cmocka_unit_test(larger_structs_are_taken),
		cmocka_unit_test(nothing_need_be_given),
		cmocka_unit_test(one_simulation_at_a_time),
		cmocka_unit_test(bad_tokens_are_refused),
		cmocka_unit_test(a_replay_is_one_schedule),
		cmocka_unit_test(choices_are_within_limits),
		cmocka_unit_test(any_list_can_be_run),
		cmocka_unit_test(time_is_limited),
		cmocka_unit_test(schedules_are_limited),
		cmocka_unit_test(what_is_not_simulated_is_noticed),
		cmocka_unit_test(the_bounded_search_notices_too),
		cmocka_unit_test(a_failure_that_goes_away_is_told),
		cmocka_unit_test(after_a_failure_all_is_as_before),
		cmocka_unit_test(main_prints_one_line),
		cmocka_unit_test(failures_have_a_name),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
