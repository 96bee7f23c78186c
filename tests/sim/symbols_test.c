/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/symbols_test.c - variables and lines of the program have the names
 * that its source has.
 */
#include "sim/sim_kit.h"

#include <weft/weft.h>

#include "sim/engine.h"
#include "sim/program.h"
#include "sim/symbols.h"

int an_exported_variable = 1;
static int a_static_variable = 2;
static struct {
	long a, b;
} a_struct[3];
static char a_zero;

static bool named(const void *p, const char *name, size_t offset)
{
	char text[64] = "";
	size_t at = 99;

	if (!wf_sim_symbol((uintptr_t)p, text, sizeof(text), &at))
		return false;
	if (strcmp(text, name) != 0 || at != offset)
		fail_msg("%s + %zu is %s + %zu", name, offset, text, at);
	return true;
}

static void variables_have_names(void **state)
{
	(void)state;
	assert_true(named(&an_exported_variable, "an_exported_variable", 0));
	assert_true(named(&a_static_variable, "a_static_variable", 0));
	assert_true(
		named((char *)&a_static_variable + 3, "a_static_variable", 3));
	assert_true(named(&a_struct[2].b, "a_struct", 2 * 16 + 8));
	assert_true(named(&a_zero, "a_zero", 0));
}

static void a_variable_ends_where_it_ends(void **state)
{
	char text[64] = "";
	size_t at;

	(void)state;
	/* The linker decides which symbol comes next. */
	if (wf_sim_symbol((uintptr_t)(a_struct + 3), text, sizeof(text), &at))
		assert_string_not_equal(text, "a_struct");
}

static void functions_have_names(void **state)
{
	(void)state;
	assert_true(
		named((void *)variables_have_names, "variables_have_names", 0));
	assert_true(named(
		(char *)functions_have_names + 5, "functions_have_names", 5));
}

static void what_is_no_variable_has_no_name(void **state)
{
	char local, *block = malloc(1);
	char text[64];
	size_t at;

	(void)state;
	assert_false(wf_sim_symbol((uintptr_t)&local, text, sizeof(text), &at));
	assert_false(wf_sim_symbol((uintptr_t)block, text, sizeof(text), &at));
	assert_false(wf_sim_symbol(0, text, sizeof(text), &at));
	assert_false(wf_sim_symbol(UINTPTR_MAX, text, sizeof(text), &at));
	free(block);
}

static void a_name_is_cut_to_fit(void **state)
{
	char text[8];
	size_t at;

	(void)state;
	assert_true(wf_sim_symbol(
		(uintptr_t)&an_exported_variable, text, sizeof(text), &at));
	assert_string_equal(text, "an_expo");
}

/* Where it was called from. */
static __attribute__((noinline)) uintptr_t here(void)
{
	uintptr_t pc = (uintptr_t)__builtin_return_address(0);

	__asm__ volatile("" : "+r"(pc));
	return pc;
}

static void lines_have_function_file_and_number(void **state)
{
	struct wf_sim_line lines[3];
	unsigned number[3];
	char expected[80];

	(void)state;
	/* The call and its line, in one line. */
	lines[0].pc = here(), number[0] = __LINE__;
	lines[1].pc = here(), number[1] = __LINE__;
	lines[2].pc = here(), number[2] = __LINE__;
	wf_sim_lines(lines, 3);
	for (int i = 0; i < 3; i++) {
		/* As much of the name as there is room for. */
		snprintf(expected, sizeof(expected),
			"%.38s (symbols_test.c:%u)", __func__, number[i]);
		assert_string_equal(lines[i].text, expected);
		assert_false(lines[i].inside);
	}
	wf_sim_lines(lines, 0);
}

/* A return address is behind the call, so one further than the beginning. */
static void what_is_of_weft_is_told(void **state)
{
	struct wf_sim_line lines[2] = {
		{ .pc = (uintptr_t)weft_yield + 1 },
		{ .pc = (uintptr_t)weft_spawn + 1 },
	};

	(void)state;
	wf_sim_lines(lines, 2);
	assert_true(lines[0].inside && lines[1].inside);
	/* What a function begins with may be another, inlined. */
	kit_says(lines[0].text, "(sched/");
	kit_says(lines[1].text, "(life/");
}

/* More than fit into one command. */
static void many_lines_are_found(void **state)
{
	enum { MANY = 5000 };
	struct wf_sim_line *lines = calloc(MANY, sizeof(*lines));
	uintptr_t pc = here();

	(void)state;
	assert_non_null(lines);
	for (int i = 0; i < MANY; i++)
		lines[i].pc = pc;
	wf_sim_lines(lines, MANY);
	kit_says(lines[0].text, "many_lines_are_found (symbols_test.c:");
	for (int i = 1; i < MANY; i++)
		assert_string_equal(lines[i].text, lines[0].text);
	free(lines);
}

/* Without an addr2line there are still the addresses. */
static void addresses_are_better_than_nothing(void **state)
{
	char *path = getenv("PATH"), *saved = path ? strdup(path) : NULL;
	struct wf_sim_line l = { .pc = here(), .inside = true };

	(void)state;
	assert_int_equal(setenv("PATH", "/nowhere", 1), 0);
	wf_sim_lines(&l, 1);
	assert_true(strncmp(l.text, "0x", 2) == 0);
	assert_int_equal(
		strtoull(l.text, NULL, 16), wf_sim_program_offset(l.pc));
	assert_false(l.inside);
	assert_int_equal(
		saved ? setenv("PATH", saved, 1) : unsetenv("PATH"), 0);
	free(saved);
}

/* --------------------------------------------- names in what is reported */

static void write_static(void *arg)
{
	(void)arg;
	a_struct[1].b = 1;
}

static void race_on_static(void *arg)
{
	(void)arg;
	kit_pair(write_static, write_static);
}

/* How many maps this process has. */
static unsigned maps(void)
{
	FILE *in = fopen("/proc/self/maps", "r");
	unsigned n = 0;

	assert_non_null(in);
	for (int c; (c = fgetc(in)) != EOF;)
		n += c == '\n';
	(void)fclose(in);
	return n;
}

/* However often a name is looked for, the file is there once. */
static void the_file_is_mapped_once(void **state)
{
	weft_sim_opts o = kit_opts(WEFT_SIM_WALK, 0);
	weft_sim_report r;
	unsigned before;

	(void)state;
	kit_fails(&o, race_on_static, NULL, "race", &r);
	kit_says(r.message, "a plain write of a_struct + 24 by thread");
	before = maps();
	for (int i = 0; i < 50; i++)
		kit_fails(&o, race_on_static, NULL, "race", &r);
	assert_true(maps() < before + 10);
}

static int open_simulator(void **state)
{
	return kit_setup(state) != 0 || wf_sim_open() != 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		/* First, while nobody has mapped it outside of a run. */
		cmocka_unit_test(the_file_is_mapped_once),
		cmocka_unit_test(variables_have_names),
		cmocka_unit_test(a_variable_ends_where_it_ends),
		cmocka_unit_test(functions_have_names),
		cmocka_unit_test(what_is_no_variable_has_no_name),
		cmocka_unit_test(a_name_is_cut_to_fit),
		cmocka_unit_test(lines_have_function_file_and_number),
		cmocka_unit_test(what_is_of_weft_is_told),
		cmocka_unit_test(many_lines_are_found),
		cmocka_unit_test(addresses_are_better_than_nothing),
	};

	return cmocka_run_group_tests(tests, open_simulator, NULL);
}
