/* SPDX-License-Identifier: MIT */
/*
 * tests/base/assert_test.c - a broken rule ends the program with one line that
 * names file, line and sentence; debug assertions cost a release nothing.
 *
 * base/assert.h is read twice, as a release and as a debug build see it, so
 * both are tested whatever this build is.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "os/child.h"

#undef WF_DEBUG
#include "base/assert.h"

#define LINE_BYTES 512

static struct child child;

static int release_evaluates(void)
{
	int n = 0;

	wf_debug_assert(++n > 100, "not looked at");
	wf_check(++n > 100);
	return n;
}

#undef WF_BASE_ASSERT_H
#undef wf_debug_assert
#undef wf_check
#undef WF_DEBUGGING
#define WF_DEBUG 1
#include "base/assert.h"

static int debug_evaluates(void)
{
	int n = 0;

	wf_debug_assert(++n > 0, "once");
	wf_check(++n > 0);
	return n;
}

/* How many lines of ours are among what the child wrote. */
static size_t lines_of_ours(const char *text)
{
	size_t n = 0;

	for (; (text = strstr(text, "weft: ")) != NULL; text++)
		n++;
	return n;
}

static void check_last_words(const char *expected)
{
	assert_true(child_killed_by(&child, SIGABRT));
	assert_string_equal(child.first, expected);
	assert_int_equal(child.first_bytes, strlen(expected));
	assert_int_equal(lines_of_ours(child.text), 1);
}

static int line_of_failure;

static void fail_assertion(void *arg)
{
	int *word = arg;

	wf_assert(*word == 7, "the word is %d, not %s", *word, "seven");
}

static void fail_debug_assertion(void *arg)
{
	wf_debug_assert(arg == NULL, "a pointer");
}

static bool list_is_sound(void *list)
{
	return list == NULL;
}

static void fail_check(void *arg)
{
	wf_check(list_is_sound(arg));
}

static void panic(void *arg)
{
	wf_panic("file.c", line_of_failure, "%s", (const char *)arg);
}

static void panic_in_long_file(void *arg)
{
	wf_panic(arg, 1, "sentence");
}

static void an_assertion_that_holds_does_nothing(void **state)
{
	int n = 0;

	(void)state;
	wf_assert(++n == 1, "evaluated %d times", n);
	assert_int_equal(n, 1);
}

static void panic_prints_one_line_and_aborts(void **state)
{
	(void)state;
	line_of_failure = 12345;
	child_run(&child, panic, (void *)(uintptr_t) "100% wrong");
	check_last_words("weft: file.c:12345: 100% wrong\n");
}

/* The line is not known here, but it is a number in this file. */
static void a_failed_assertion_names_its_place(void **state)
{
	int word = 8, line = 0;
	char expected[LINE_BYTES];

	(void)state;
	child_run(&child, fail_assertion, &word);
	assert_int_equal(
		sscanf(child.first, "weft: assert_test.c:%d:", &line), 1);
	assert_in_range(line, 1, __LINE__);
	snprintf(expected, sizeof(expected),
		"weft: assert_test.c:%d: the word is 8, not seven\n", line);
	check_last_words(expected);
}

static void a_long_sentence_is_cut_before_its_newline(void **state)
{
	char sentence[3 * LINE_BYTES];
	const char *start = "weft: file.c:1: xxx";

	(void)state;
	line_of_failure = 1;
	/* All lengths around the limit: an error by one would show. */
	for (size_t n = LINE_BYTES - 20; n < LINE_BYTES + 2; n++) {
		memset(sentence, 'x', n);
		sentence[n] = '\0';
		child_run(&child, panic, sentence);
		assert_true(child_killed_by(&child, SIGABRT));
		assert_in_range(child.first_bytes, LINE_BYTES - 10, LINE_BYTES);
		assert_int_equal(strlen(child.first), child.first_bytes);
		assert_memory_equal(child.first, start, strlen(start));
		assert_ptr_equal(strchr(child.first, '\n'),
			child.first + child.first_bytes - 1);
	}
}

static void a_long_file_name_is_cut_too(void **state)
{
	char file[3 * LINE_BYTES];

	(void)state;
	memset(file, 'f', sizeof(file) - 1);
	file[sizeof(file) - 1] = '\0';
	child_run(&child, panic_in_long_file, file);
	assert_true(child_killed_by(&child, SIGABRT));
	assert_in_range(child.first_bytes, LINE_BYTES - 10, LINE_BYTES);
	assert_ptr_equal(strchr(child.first, '\n'),
		child.first + child.first_bytes - 1);
}

static void a_release_build_evaluates_no_debug_assertion(void **state)
{
	(void)state;
	assert_int_equal(release_evaluates(), 0);
}

static void a_debug_build_evaluates_each_once(void **state)
{
	(void)state;
	assert_int_equal(debug_evaluates(), 2);
}

static void a_debug_build_ends_when_one_fails(void **state)
{
	(void)state;
	child_run(&child, fail_debug_assertion, &child);
	assert_true(child_killed_by(&child, SIGABRT));
	assert_non_null(strstr(child.first, ": a pointer\n"));
	child_run(&child, fail_check, &child);
	assert_true(child_killed_by(&child, SIGABRT));
	assert_non_null(
		strstr(child.first, ": list_is_sound(arg) does not hold\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_assertion_that_holds_does_nothing),
		cmocka_unit_test(panic_prints_one_line_and_aborts),
		cmocka_unit_test(a_failed_assertion_names_its_place),
		cmocka_unit_test(a_long_sentence_is_cut_before_its_newline),
		cmocka_unit_test(a_long_file_name_is_cut_too),
		cmocka_unit_test(a_release_build_evaluates_no_debug_assertion),
		cmocka_unit_test(a_debug_build_evaluates_each_once),
		cmocka_unit_test(a_debug_build_ends_when_one_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
