/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/page_test.c - the page has a bar for every row, closes every tag,
 * needs no other file, and escapes markup in names.
 */
#include "bench/html.h"

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kit.h"

static struct bench_policies x;

static void usual(void)
{
	assert_int_equal(bench_policies_open(&x), 0);
	assert_int_equal(bench_policies_add_usual(&x), 0);
	assert_int_equal(bench_policies_add_usual_loads(&x), 0);
	kit_fill(&x);
}

static void a_bar_for_every_row(void **state)
{
	size_t rows;
	char *page;

	(void)state;
	usual();
	rows = x.n * x.n_loads;
	/* One row was not measured, and one bar is too long. */
	x.result[1].err = -ENOMEM;
	x.result[2].ns[1] = 12345678;
	page = kit_print(&x, bench_policies_page);
	assert_int_equal(kit_count(page, "<svg class=\"chart\""), x.n_loads);
	assert_int_equal(kit_count(page, "<g class=\"row"), rows);
	assert_int_equal(kit_count(page, "class=\"wall\""), rows - 1);
	assert_int_equal(kit_count(page, "class=\"cpu\""), rows - 1);
	assert_int_equal(kit_count(page, ">not measured</text>"), 1);
	assert_int_equal(kit_count(page, "<svg class=\"break\""), 1);
	assert_int_equal(kit_count(page, "12.3 ms"), 2);
	/* The default's bar ends at its time; so does another's. */
	assert_int_equal(
		kit_count(page, "<g class=\"row default\">"), x.n_loads);
	assert_non_null(strstr(page, "1.20&times;"));
	free(page);
}

/* The length of a bar is its time: 10 and 11.5 ns of at most 30. */
static void bars_have_the_right_length(void **state)
{
	const char *bar;
	char *page;

	(void)state;
	usual();
	x.n = 4;
	x.n_loads = 1;
	kit_fill(&x);
	for (size_t i = 0; i < x.plan.n; i++)
		x.result[i].cpu_ns[1] = 30;
	page = kit_print(&x, bench_policies_page);
	bar = strstr(page, "class=\"wall\"");
	/* 30 is the longest, and not longer than 3 x 10. */
	assert_int_equal(atoi(strstr(bar, " width=\"") + 8), 32);
	for (int i = 0; i < 3; i++)
		bar = strstr(bar + 1, "class=\"wall\"");
	assert_int_equal(atoi(strstr(bar, " width=\"") + 8), 37);
	bar = strstr(page, "class=\"cpu\"");
	assert_int_equal(atoi(strstr(bar, " width=\"") + 8), 98);
	assert_null(strstr(page, "class=\"break\""));
	free(page);
}

static void the_page_needs_no_other_file(void **state)
{
	static const char *const bad[] = { "http:", "https:", "//",
		"src=", "href=", "url(", "@import", "@font-face", "<script",
		"<link", "<img", "<iframe", "<object", " onload=" };
	char *page;

	(void)state;
	usual();
	page = kit_print(&x, bench_policies_page);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (strstr(page, bad[i]) != NULL)
			printf("the page has %s in it\n", bad[i]);
		assert_null(strstr(page, bad[i]));
	}
	assert_non_null(strstr(page, "prefers-color-scheme:dark"));
	free(page);
}

static bool is_void(const char *name)
{
	return strcmp(name, "meta") == 0 || strcmp(name, "wbr") == 0;
}

/* Walk over all tags with a stack of the open ones. */
static const char *first_fault(const char *page)
{
	static char open[64][16];
	size_t depth = 0;

	for (page = strchr(page, '<'); page; page = strchr(page, '<')) {
		bool closes = page[1] == '/';
		const char *end = strchr(page, '>'), *name = page + 1 + closes;
		size_t n = 0;
		char tag[16];

		if (end == NULL)
			return page;
		while (isalnum((unsigned char)name[n]) && n < 15)
			n++;
		snprintf(tag, sizeof(tag), "%.*s", (int)n, name);
		if (closes) {
			if (depth == 0 || strcmp(open[--depth], tag) != 0)
				return page;
		} else if (*name != '!' && end[-1] != '/' && !is_void(tag)) {
			if (n == 0 || depth == 64)
				return page;
			strcpy(open[depth++], tag);
		}
		page = end;
	}
	return depth == 0 ? NULL : "something is left open";
}

static void every_tag_is_closed(void **state)
{
	const char *fault;
	char *page;

	(void)state;
	assert_null(first_fault("<p><b>x</b><wbr></p><hr/>"));
	assert_non_null(first_fault("<p><b>x</p></b>"));
	assert_non_null(first_fault("<p>"));
	assert_non_null(first_fault("<p>1 < 2</p>"));
	usual();
	x.result[1].err = -ENOMEM;
	x.result[2].ns[1] = 12345678;
	page = kit_print(&x, bench_policies_page);
	fault = first_fault(page);
	if (fault != NULL)
		printf("wrong: %.80s\n", fault);
	assert_null(fault);
	assert_memory_equal(page, "<!DOCTYPE html>", 15);
	free(page);
}

static void markup_in_names_is_escaped(void **state)
{
	struct bench_impl odd = bench_weft;
	struct bench_load load = bench_merge_sort;
	char *page;

	(void)state;
	odd.name = "<b>&\"quoted\"'";
	load.name = "a<i>";
	load.what = "x & y";
	assert_int_equal(bench_policies_open(&x), 0);
	assert_int_equal(bench_policies_add(&x, "<u>", &odd), 0);
	assert_int_equal(bench_policies_add_load(&x, &load), 0);
	kit_fill(&x);
	page = kit_print(&x, bench_policies_page);
	assert_null(strstr(page, "<b>"));
	assert_null(strstr(page, "<i>"));
	assert_null(strstr(page, "<u>"));
	assert_null(strstr(page, "x & y"));
	/* Three tables, and in the chart once as text and once as a title. */
	assert_int_equal(
		kit_count(page, "&lt;b&gt;&amp;&quot;quoted&quot;&#39;"), 5);
	assert_null(first_fault(page));
	free(page);
}

/* A long name is broken where a word of it ends. */
static void long_names_are_broken(void **state)
{
	struct bench_impl odd = bench_weft;
	char *page;

	(void)state;
	odd.name = "mutex,steal-one,take-all,offload-one,no-lifo,wake-flare";
	assert_int_equal(bench_policies_open(&x), 0);
	assert_int_equal(bench_policies_add(&x, NULL, &odd), 0);
	assert_int_equal(bench_policies_add_load(&x, &bench_starve), 0);
	kit_fill(&x);
	page = kit_print(&x, bench_policies_page);
	assert_non_null(strstr(page, ">mutex,steal-one,take-all,</text>"));
	assert_non_null(strstr(page, ">offload-one,no-lifo,wake-flare</text>"));
	odd.name = "a-word-without-any-comma-that-goes-on-and-on-and-on";
	kit_fill(&x);
	free(page);
	page = kit_print(&x, bench_policies_page);
	assert_non_null(
		strstr(page, ">a-word-without-any-comma-that-goe</text>"));
	free(page);
}

static void numbers_have_units(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} cases[] = { { 1.234, "1.2 ns" }, { 99.94, "99.9 ns" },
		{ 1234.5, "1234 ns" }, { 12345, "12.3 &micro;s" },
		{ 1.2e7, "12.0 ms" } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[32] = "";
		FILE *out = fmemopen(text, sizeof(text), "w");

		bench_html_ns(out, cases[i].ns);
		fclose(out);
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bar_for_every_row),
		cmocka_unit_test(bars_have_the_right_length),
		cmocka_unit_test(the_page_needs_no_other_file),
		cmocka_unit_test(every_tag_is_closed),
		cmocka_unit_test(markup_in_names_is_escaped),
		cmocka_unit_test(long_names_are_broken),
		cmocka_unit_test(numbers_have_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
