/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/shrink_test.c - of hundreds of decisions, those are left that the
 * failure needs.
 */
#include "sim/sim_kit.h"

#include "sim/shrink.h"
#include "sim/token.h"

#define MANY 4000

static uint64_t *kept;
static struct wf_sim_decision list[MANY];
static _Atomic(uint32_t) x, noise;

/* How many decisions a token has. */
static size_t decisions(const char *token)
{
	struct wf_sim_run how;
	uint32_t build;

	if (wf_sim_token_parse(token, &how, list, MANY, &build) != 0 ||
		how.mode != WF_SIM_LIST)
		fail_msg("\"%s\" is no list", token);
	return how.list_count;
}

/* Explore; how many decisions there were when it was found. */
static size_t found(const weft_sim_opts *o, void (*body)(void *),
	const char *oracle, weft_sim_report *r)
{
	static char text[1 << 17];
	char path[32];
	int fd = kit_file(path);
	size_t n;

	assert_int_equal(setenv("WEFT_SIM_LOG", path, 1), 0);
	kit_fails(o, body, NULL, oracle, r);
	assert_int_equal(unsetenv("WEFT_SIM_LOG"), 0);
	n = kit_file_text(fd, text, sizeof(text));
	assert_true(n > 0 && text[n - 1] == '\n');
	text[n - 1] = '\0';
	return decisions(text);
}

/* ------------------------------------------------- two of three hundred */

static void two_of_many(void *arg)
{
	unsigned hits = 0;

	(void)arg;
	for (int i = 0; i < 300; i++) {
		unsigned v = weft_sim_either(3);

		hits += (i == 57 && v == 2) || (i == 203 && v == 1);
		weft_sim_yield();
	}
	weft_sim_assert(hits < 2, "both");
}

static void two_choices_are_left(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	assert_true(found(&o, two_of_many, "assertion", &r) > 150);
	assert_int_equal(decisions(r.shrunk), 2);
	assert_int_equal(list[0].at, 57);
	assert_int_equal(list[0].value, 2);
	assert_int_equal(list[0].kind, WF_SIM_EITHER);
	assert_int_equal(list[0].sub, 0);
	assert_int_equal(list[1].at, 203);
	assert_int_equal(list[1].value, 1);
	assert_int_equal(
		weft_sim_replay(&o, two_of_many, NULL, r.shrunk, &r), 1);
	assert_string_equal(r.message, "both");
}

/* ------------------------------------------ two preemptions in a crowd */

static void make_noise(void *arg)
{
	(void)arg;
	for (int i = 0; i < 200; i++)
		atomic_store_explicit(&noise,
			atomic_load_explicit(&noise, memory_order_relaxed) + 1,
			memory_order_relaxed);
}

static uint32_t first_look, second_look;

static void look_twice(void *arg)
{
	(void)arg;
	first_look = kit_newest(&x);
	second_look = kit_newest(&x);
}

/* The first is left at one, and the other before it looks again. */
static void needs_two_preemptions(void *arg)
{
	int t[3];

	(void)arg;
	t[0] = kit_thread(look_twice, NULL, "looks");
	t[1] = kit_thread(make_noise, NULL, "noise");
	t[2] = kit_thread(make_noise, NULL, "noise");
	kit_use(atomic_fetch_add(&x, 1));
	kit_use(atomic_fetch_add(&x, 1));
	for (int i = 0; i < 3; i++)
		kit_join(t[i]);
	weft_sim_assert(first_look != 1 || second_look != 2, "one, then two");
}

/* Without any one of its decisions, the run does not fail. */
static void assert_all_needed(const weft_sim_opts *o, const char *token)
{
	static char text[WF_SIM_TOKEN_BYTES];
	struct wf_sim_decision whole[64], rest[64];
	size_t n = decisions(token);

	assert_true(n <= 64);
	memcpy(whole, list, n * sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		struct wf_sim_run how = {
			.mode = WF_SIM_LIST, .list = rest, .list_count = n - 1
		};
		weft_sim_report r;

		memcpy(rest, whole, i * sizeof(*rest));
		memcpy(rest + i, whole + i + 1, (n - 1 - i) * sizeof(*rest));
		assert_true(
			wf_sim_token_print(text, sizeof(text), "kit", &how));
		if (weft_sim_replay(o, needs_two_preemptions, NULL, text, &r) !=
			0)
			fail_msg("of %s, %s is enough", token, text);
	}
}

/* No less than two will do, and of many no more are left. */
static void two_preemptions_are_left(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
		weft_sim_report r;

		o.seed = seed;
		assert_true(
			found(&o, needs_two_preemptions, "assertion", &r) > 50);
		if (decisions(r.shrunk) != 2)
			fail_msg("seed %u: %s", (unsigned)seed, r.shrunk);
		assert_all_needed(&o, r.shrunk);
	}
}

/* ----------------------------------------------------------------- edges */

static void always(void *arg)
{
	(void)arg;
	for (int i = 0; i < 50; i++) {
		kit_use(weft_sim_either(4));
		weft_sim_yield();
	}
	weft_sim_assert(false, "always");
}

static void nothing_may_be_left(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	assert_true(found(&o, always, "assertion", &r) > 20);
	assert_int_equal(decisions(r.shrunk), 0);
}

/* The shrunk schedule must fail by the same check, not by any. */
static void another_way_to_fail(void *arg)
{
	unsigned a = weft_sim_either(64), b = weft_sim_either(64);

	(void)arg;
	if (a > 60 && b > 60)
		weft_sim_assert(false, "both");
	if (b > 60)
		kit_use((uint64_t)kit_thread(another_way_to_fail, NULL, "t"));
	while (a > 60)
		weft_sim_yield();
}

static void the_same_check_fires(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	o.steps = 100;
	for (o.seed = 1; o.seed < 200; o.seed++) {
		weft_sim_report as_found;

		o.flags |= WEFT_SIM_NO_SHRINK;
		assert_int_equal(weft_sim_explore(&o, another_way_to_fail, NULL,
					 &as_found),
			1);
		o.flags &= ~WEFT_SIM_NO_SHRINK;
		assert_int_equal(
			weft_sim_explore(&o, another_way_to_fail, NULL, &r), 1);
		assert_string_equal(r.oracle, as_found.oracle);
		if (strcmp(r.oracle, "assertion") == 0)
			break;
	}
	assert_string_equal(r.oracle, "assertion");
	assert_int_equal(decisions(r.shrunk), 2);
}

/* Asked not to, it stays as it was found. */
static void as_found_if_asked(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, WEFT_SIM_NO_SHRINK);
	weft_sim_report r;

	(void)state;
	kit_fails(&o, always, NULL, "assertion", &r);
	assert_true(r.shrunk[0] == '\0' || decisions(r.shrunk) > 20);
}

/* Decisions that had no effect need not be tried one by one. */
static void count_runs(void *arg)
{
	(void)arg;
	kit_count(&kept[0]);
	two_of_many(NULL);
}

static void it_takes_few_runs(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;

	(void)state;
	memset(kept, 0, 4096);
	kit_fails(&o, count_runs, NULL, "assertion", &r);
	assert_int_equal(decisions(r.shrunk), 2);
	assert_true(kept[0] > r.schedules && kept[0] < r.schedules + 200);
}

static int setup(void **state)
{
	kept = kit_keep(4096);
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_choices_are_left),
		cmocka_unit_test(two_preemptions_are_left),
		cmocka_unit_test(nothing_may_be_left),
		cmocka_unit_test(the_same_check_fires),
		cmocka_unit_test(as_found_if_asked),
		cmocka_unit_test(it_takes_few_runs),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
