/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/trace_test.c - the trace of a failure says which thread did what,
 * where, in which order, and what was odd about it.
 */
#include "sim/sim_kit.h"

#include <weft/weft.h>

#include "base/units.h"
#include "os/lock.h"
#include "os/os.h"
#include "sim/memory.h"
#include "sim/token.h"
#include "sim/trace.h"

static struct kit_stderr *out;
static _Atomic(uint32_t) word, flag, turn;
static uint32_t plain;

/* Explore aloud; the output is in out->text. */
static int aloud(uint32_t modes, uint32_t flags, void (*body)(void *),
	weft_sim_report *r)
{
	weft_sim_opts o = kit_opts(modes, 0);
	int err;

	o.flags = flags;
	/* A thread that spins beside a stopped one need not do so for long. */
	if (flags & WEFT_SIM_LOCK_FREE)
		o.steps = 200;
	kit_stderr_begin(out);
	err = weft_sim_explore(&o, body, NULL, r);
	kit_stderr_end(out);
	return err;
}

/* The line of the text that has part in it. */
static const char *line_with(const char *part)
{
	static char line[512];
	const char *at = strstr(out->text, part), *from = at;

	if (at == NULL)
		fail_msg("no \"%s\" in:\n%s", part, out->text);
	while (from > out->text && from[-1] != '\n')
		from--;
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(from, "\n"), from);
	return line;
}

/* --------------------------------------------------------- two decisions */

enum { READ_LINE = __LINE__ + 7, WRITE_LINE = __LINE__ + 15 };

/* Fails if the first thread was left in time, and the word seen too late. */
static void read_word(void *arg)
{
	uint32_t f = atomic_load_explicit(&flag, memory_order_relaxed);
	uint32_t t = kit_newest(&turn);
	uint32_t w = atomic_load_explicit(&word, memory_order_relaxed);

	(void)arg;
	weft_sim_assert(f != 1 || t != 0 || w != 0, "too late");
}

static void write_word(void)
{
	atomic_store_explicit(&word, 0x2a, memory_order_release);
	atomic_store_explicit(&flag, 1, memory_order_relaxed);
}

static void two_decisions(void *arg)
{
	int id;

	(void)arg;
	weft_sim_name(&word, sizeof(word), "the word");
	id = kit_thread(read_word, NULL, "reader");
	write_word();
	kit_use(atomic_exchange(&turn, 1));
	kit_join(id);
}

static void the_odd_load_is_told(const char *line)
{
	char place[64];

	snprintf(
		place, sizeof(place), "read_word (trace_test.c:%d)", READ_LINE);
	kit_says(line, "1 (reader) ");
	kit_says(line, " load ");
	kit_says(line, " relaxed ");
	kit_says(line, " the word 0, stale by 1 ");
	kit_says(line, place);
}

static void the_store_is_told(const char *line)
{
	char place[64];

	/* It may have been inlined into its caller. */
	snprintf(place, sizeof(place), "(trace_test.c:%d)", WRITE_LINE);
	kit_says(line, "0 (main) ");
	kit_says(line, " store ");
	kit_says(line, " release ");
	kit_says(line, " the word -> 0x2a");
	kit_says(line, place);
}

static void a_failure_is_told(void **state)
{
	char text[1200];
	weft_sim_report r;

	(void)state;
	assert_int_equal(aloud(WEFT_SIM_WALK, 0, two_decisions, &r), 1);
	kit_says(out->text, "weft: sim: kit: assertion: too late\n");
	snprintf(text, sizeof(text), "schedule %llu; ",
		(unsigned long long)r.schedules);
	kit_says(line_with(" when shrunk"), text);
	kit_says(line_with(" when shrunk"), " decisions, 2 when shrunk");
	the_odd_load_is_told(line_with("stale by"));
	the_store_is_told(line_with("-> 0x2a"));
	kit_says(line_with(" add "), "1 (reader) add         relaxed  turn 0");
	assert_true(
		strstr(out->text, "-> 0x2a") < strstr(out->text, "stale by"));
	snprintf(text, sizeof(text), "  replay: WEFT_SIM_REPLAY=%s\n", r.token);
	kit_says(out->text, text);
	snprintf(
		text, sizeof(text), "  shrunk: WEFT_SIM_REPLAY=%s\n", r.shrunk);
	kit_says(out->text, text);
	/* Steps are numbered, and only go up. */
	for (const char *at = strstr(out->text, "where\n"), *last = at;
		(at = strstr(at, "\n  ")) != NULL && strtol(at, NULL, 10) > 0;
		at++) {
		assert_true(strtol(at, NULL, 10) >= strtol(last, NULL, 10));
		last = at;
	}
}

static void quiet_means_quiet(void **state)
{
	weft_sim_report r;

	(void)state;
	assert_int_equal(
		aloud(WEFT_SIM_WALK, WEFT_SIM_QUIET, two_decisions, &r), 1);
	assert_string_equal(out->text, "");
}

/* ------------------------------------------------------- what is printed */

/* One of everything that leaves an event. */
static void much(void *arg)
{
	uint64_t expected = 9;
	int64_t soon = wf_os_now_ns() + WF_NS_PER_MS;

	(void)arg;
	atomic_thread_fence(memory_order_acq_rel);
	kit_use(atomic_fetch_sub_explicit(&word, 1, memory_order_acquire));
	kit_use(wf_sim_cas(&flag, 4, &expected, 1, __ATOMIC_SEQ_CST,
		__ATOMIC_SEQ_CST, false, 1));
	expected = 0;
	kit_use(wf_sim_cas(&flag, 4, &expected, 1, __ATOMIC_SEQ_CST,
		__ATOMIC_SEQ_CST, false, 1));
	kit_use((uint64_t)wf_os_futex_wait(&turn, 0, soon));
	kit_use((uint64_t)wf_os_futex_wake(&turn, 1));
	kit_use(weft_sim_either(3));
	weft_sim_assert(!weft_sim_fault("the disk", 1), "all of it");
}

static void every_event_has_a_line(void **state)
{
	weft_sim_report r;

	(void)state;
	assert_int_equal(aloud(WEFT_SIM_WALK, WEFT_SIM_NO_SHRINK, much, &r), 1);
	kit_says(line_with(" fence "), "acq_rel");
	kit_says(line_with(" sub "), "acquire  word 0 -> 0xffffffff");
	kit_says(line_with(" cas fails"), "flag 0");
	kit_says(line_with(" cas  "), "seq_cst  flag 0 -> 0x1");
	kit_says(line_with(" futex_wait "), "much (trace_test.c:");
	kit_says(line_with(" futex_wake "), "much (trace_test.c:");
	kit_says(line_with(" either "), " of 3");
	kit_says(line_with(" fault "), " the disk");
}

static void write_plain(void *arg)
{
	(void)arg;
	plain = 1;
	kit_use(atomic_fetch_add(&word, 1));
}

static void two_write_plain(void *arg)
{
	(void)arg;
	kit_pair(write_plain, write_plain);
}

/* Plain accesses are told where two of them race, and only there. */
static void racing_accesses_are_told(void **state)
{
	const char *at;
	weft_sim_report r;

	(void)state;
	assert_int_equal(aloud(WEFT_SIM_WALK, 0, two_write_plain, &r), 1);
	kit_says(line_with("plain write of"), "race: a plain write of plain");
	at = strstr(out->text, " plain write  ");
	assert_non_null(at);
	kit_says(at, "1 (first)");
	assert_non_null(strstr(at + 1, " plain write  "));
	kit_says(at, "write_plain (trace_test.c:");
	assert_null(strstr(out->text, "plain read"));
}

static void spin(void *arg)
{
	(void)arg;
	while (atomic_exchange(&flag, 1) != 0)
		weft_sim_yield();
	atomic_store(&flag, 0);
}

static void two_spin(void *arg)
{
	(void)arg;
	kit_pair(spin, spin);
}

static void a_stop_is_told(void **state)
{
	weft_sim_report r;

	(void)state;
	assert_int_equal(
		aloud(WEFT_SIM_WALK, WEFT_SIM_LOCK_FREE, two_spin, &r), 1);
	kit_says(line_with(" stopped "), "(");
}

/* ---------------------------------------------------------------- length */

static void many_steps(void *arg)
{
	(void)arg;
	for (int i = 0; i < 70000; i++)
		kit_use(atomic_fetch_add(&word, 1));
	weft_sim_assert(false, "at last");
}

/* More than are kept, and more than are shown: the last ones. */
static void the_last_steps_are_shown(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;
	int err;

	(void)state;
	o.flags = WEFT_SIM_NO_SHRINK;
	o.steps = 100000;
	kit_stderr_begin(out);
	err = weft_sim_explore(&o, many_steps, NULL, &r);
	kit_stderr_end(out);
	assert_int_equal(err, 1);
	kit_says(out->text, " 0x1116f -> 0x11170");
	kit_says(out->text, " more");
	assert_true(kit_lines(out->text) > 20 && kit_lines(out->text) < 450);
}

static int in_fiber(void *arg)
{
	(void)arg;
	kit_use(atomic_fetch_add(&word, 1));
	weft_yield();
	weft_sim_assert(false, "in a fiber");
	return 0;
}

static void in_runtime(void *arg)
{
	weft_config c = { .workers = 2 };

	(void)arg;
	kit_use((uint64_t)weft_run(&c, in_fiber, NULL));
}

/* What the library does inside is left out, unless asked for. */
static void the_program_is_told_not_weft(void **state)
{
	weft_sim_report r;
	unsigned lines;

	(void)state;
	assert_int_equal(aloud(WEFT_SIM_WALK, 0, in_runtime, &r), 1);
	kit_says(line_with(" word 0 -> 0x1"), "in_fiber (trace_test.c:");
	kit_says(out->text, " more\n");
	assert_null(strstr(out->text, "(sched/"));
	lines = kit_lines(out->text);
	assert_int_equal(
		aloud(WEFT_SIM_WALK, WEFT_SIM_INSIDE, in_runtime, &r), 1);
	kit_says(out->text, "(sched/");
	assert_true(kit_lines(out->text) > lines);
	assert_int_equal(setenv("WEFT_SIM_INSIDE", "1", 1), 0);
	assert_int_equal(aloud(WEFT_SIM_WALK, 0, in_runtime, &r), 1);
	assert_int_equal(unsetenv("WEFT_SIM_INSIDE"), 0);
	kit_says(out->text, "(sched/");
}

static void one_step(void *arg)
{
	(void)arg;
	kit_use(atomic_fetch_add(&word, 1));
}

static void every_schedule_if_asked(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	int err;

	(void)state;
	o.flags = 0;
	o.schedules = 3;
	assert_int_equal(setenv("WEFT_SIM_TRACE", "1", 1), 0);
	kit_stderr_begin(out);
	err = weft_sim_explore(&o, one_step, NULL, NULL);
	kit_stderr_end(out);
	assert_int_equal(unsetenv("WEFT_SIM_TRACE"), 0);
	assert_int_equal(err, 0);
	kit_says(out->text, "schedule 1\n");
	kit_says(out->text, "schedule 3\n");
	kit_says(line_with("one_step (trace_test.c:"), " add ");
}

/* ---------------------------------------------------------------- places */

static bool place(const void *p, const char *name)
{
	return strcmp(wf_sim_trace_place(p), name) == 0;
}

static void name_things(void *arg)
{
	char *block = wf_os_alloc(100), local[8];
	struct {
		int a, b;
	} pair = { 0, 0 };

	(void)arg;
	weft_sim_assert(
		place(block, "block #1") && place(block + 99, "block #1 + 99"),
		"block");
	weft_sim_assert(strncmp(wf_sim_trace_place(local),
				"stack of thread 0, top - ", 25) == 0,
		"local");
	weft_sim_assert(place(&plain, "plain") &&
			place((char *)&plain + 2, "plain + 2"),
		"static");
	weft_sim_name(&pair, sizeof(pair), "pair");
	weft_sim_assert(
		place(&pair.a, "pair") && place(&pair.b, "pair + 4"), "named");
	weft_sim_name(&pair.b, sizeof(pair.b), "second");
	weft_sim_assert(
		place(&pair.b, "second") && place(&pair.a, "pair"), "renamed");
	weft_sim_name(block, 8, "the block");
	weft_sim_assert(place(block + 7, "the block + 7") &&
			place(block + 8, "block #1 + 8"),
		"named block");
	wf_os_free(block);
	weft_sim_assert(place(block + 8, "block #1 + 8"), "freed block");
	for (int i = 0; i < 100; i++)
		weft_sim_name(local, 1,
			"a name that is too long for the table "
			"of all the names that there are");
	weft_sim_assert(
		strstr(wf_sim_trace_place(local), "a name that") != NULL,
		"long name");
}

static void places_have_names(void **state)
{
	(void)state;
	kit_holds(name_things, 0);
}

/* A name is for one run. */
static void name_once(void *arg)
{
	(void)arg;
	weft_sim_assert(place(&plain, "plain"), "named by an earlier run");
	weft_sim_name(&plain, 4, "another");
	kit_use(weft_sim_either(3));
}

static void names_end_with_the_run(void **state)
{
	(void)state;
	kit_holds(name_once, 0);
}

static int setup(void **state)
{
	out = kit_keep(sizeof(*out));
	return kit_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_told),
		cmocka_unit_test(quiet_means_quiet),
		cmocka_unit_test(every_event_has_a_line),
		cmocka_unit_test(racing_accesses_are_told),
		cmocka_unit_test(a_stop_is_told),
		cmocka_unit_test(the_last_steps_are_shown),
		cmocka_unit_test(the_program_is_told_not_weft),
		cmocka_unit_test(every_schedule_if_asked),
		cmocka_unit_test(places_have_names),
		cmocka_unit_test(names_end_with_the_run),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
