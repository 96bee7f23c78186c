/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/policies_test.c - the experiment has every heuristic in it, each
 * under its own words, ratios are to the default, and text and lines have every
 * result.
 */
#include "bench/policies.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <weft/policy.h>

#include "kit.h"

static struct bench_policies x;

static void usual(void)
{
	assert_int_equal(bench_policies_open(&x), 0);
	assert_int_equal(bench_policies_add_usual(&x), 0);
	assert_int_equal(bench_policies_add_usual_loads(&x), 0);
}

static const struct bench_impl *find(const char *name)
{
	const struct bench_impl *im = NULL;
	char why[300];

	assert_int_equal(bench_impl_find(name, &im, why, sizeof(why)), 0);
	return im;
}

static void implementations_by_name(void **state)
{
	const struct bench_impl *im;
	char why[300] = "";

	(void)state;
	assert_ptr_equal(find("weft"), &bench_weft);
	assert_ptr_equal(find("pool"), &bench_pool);
	assert_null(bench_weft.policy);
	im = find("wake-go,mutex");
	assert_ptr_equal(im, find("mutex,wake-go"));
	assert_ptr_not_equal(im, find("mutex"));
	assert_int_equal(im->policy->local, WEFT_LOCAL_MUTEX);
	assert_int_equal(im->policy->wake, WEFT_WAKE_GO);
	assert_ptr_equal(im->run, bench_weft.run);
	/* Words of the default may be left out. */
	assert_ptr_equal(find("steal-half,mutex"), find("mutex"));
	assert_string_equal(find("atomic,lifo")->name, "ws");

	assert_int_equal(
		bench_impl_find("mutexes", &im, why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "mutexes"));
	assert_non_null(strstr(why, "steal-one"));
}

/* Every value of every field is there, alone and with others. */
static void every_word_is_tried(void **state)
{
	bool pool = false;

	(void)state;
	usual();
	assert_string_equal(x.variant[0].on->name, "ws");
	assert_true(x.n >= 20 && x.n <= 30);
	assert_int_equal(x.n_loads, 7);
	for (size_t i = 0; i < x.n; i++)
		pool = pool || x.variant[i].on == &bench_pool;
	assert_true(pool);
	for (const struct bench_word *w = bench_words; w->word; w++) {
		const struct bench_impl *im = find(w->word);
		bool there = false;

		for (size_t i = 0; i < x.n; i++)
			there = there || x.variant[i].on == im;
		if (!there)
			printf("nobody tries %s\n", w->word);
		assert_true(there);
	}
}

/* All words of a policy that is tried are explained. */
static void every_word_is_explained(void **state)
{
	(void)state;
	usual();
	for (size_t i = 0; i < x.n; i++) {
		const char *name = x.variant[i].on->name;

		while (*name != '\0') {
			size_t n = strcspn(name, ",");
			const struct bench_word *w = bench_words;

			while (w->word &&
				(strlen(w->word) != n ||
					strncmp(w->word, name, n)))
				w++;
			assert_non_null(w->word);
			name += n + (name[n] == ',');
		}
	}
}

static void nothing_is_there_twice(void **state)
{
	size_t n;

	(void)state;
	usual();
	n = x.n;
	assert_int_equal(bench_policies_add_usual(&x), 0);
	assert_int_equal(bench_policies_add_usual_loads(&x), 0);
	assert_int_equal(x.n, n);
	assert_int_equal(x.n_loads, 7);
	for (size_t i = 0; i < x.n; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(strcmp(x.variant[i].on->name,
					    x.variant[k].on->name) != 0);
}

static void workers_are_of_the_experiment(void **state)
{
	(void)state;
	usual();
	assert_int_equal(bench_policies_workers(&x, &bench_single_spawner), 4);
	assert_int_equal(
		bench_policies_workers(&x, &bench_different_spawners), 8);
	x.workers = 3;
	assert_int_equal(bench_policies_workers(&x, &bench_single_spawner), 3);
}

static void ratios_are_to_the_default(void **state)
{
	struct bench_cell c;

	(void)state;
	usual();
	kit_fill(&x);
	c = bench_policies_cell(&x, x.load[0], x.variant[0].on);
	assert_true(c.measured && c.ratio == 1 && c.cpu_ratio == 1);
	c = bench_policies_cell(&x, x.load[1], x.variant[5].on);
	assert_true(c.measured && c.ratio == 1.25);
	assert_int_equal((int)(2 * bench_cpu_median(c.result)), 27);
	assert_true(c.cpu_ratio == 13.5 / 11);

	/* Without the default's result there is no ratio. */
	x.result[x.n].err = -ENOMEM;
	c = bench_policies_cell(&x, x.load[1], x.variant[0].on);
	assert_true(!c.measured && c.ratio == 0);
	c = bench_policies_cell(&x, x.load[1], x.variant[5].on);
	assert_true(c.measured && c.ratio == 0 && c.cpu_ratio == 0);
}

/* Lines of at most 100 columns, one per policy in each table. */
static void text_fits_a_terminal(void **state)
{
	char *text, *line;

	(void)state;
	usual();
	kit_fill(&x);
	x.result[3].err = -ENOMEM;
	text = kit_print(&x, bench_policies_text);
	assert_int_equal(kit_count(text, "\n  mutex  "), x.n_loads + 2);
	assert_int_equal(kit_count(text, "\n  pool  "), x.n_loads + 2);
	assert_int_equal(kit_count(text, " not measured: "), 1);
	assert_int_equal(kit_count(text, "   10   20   30   40       2\n"),
		x.n * x.n_loads - 1);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		if (strlen(line) > 100)
			printf("%s\n", line);
		assert_true(strlen(line) <= 100);
	}
	free(text);
}

static void lines_have_all_fields(void **state)
{
	char *text, *line, first[160];
	size_t lines = 0;

	(void)state;
	usual();
	kit_fill(&x);
	text = kit_print(&x, bench_policies_tsv);
	snprintf(first, sizeof(first), "%.*s", (int)strcspn(text, "\n"), text);
	assert_string_equal(first,
		"mutexes\tws\t4\t1000\t10.000\t0.010\t0.020\t1\t9.000\t"
		"11.000\t1.0000\t10.00\t20.00\t30.00\t40.00\t2.0\t1.0");
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
		assert_int_equal(kit_count(line, "\t"), 16);
		lines++;
	}
	assert_int_equal(lines, x.n * x.n_loads);
	free(text);
}

/* A small experiment runs, and every cell is measured. */
static void a_small_experiment_runs(void **state)
{
	(void)state;
	assert_int_equal(bench_policies_open(&x), 0);
	assert_int_equal(
		bench_policies_add(&x, NULL, find("mutex,steal-one")), 0);
	assert_int_equal(bench_policies_add(&x, NULL, &bench_pool), 0);
	assert_int_equal(bench_policies_add_load(&x, &bench_merge_sort), 0);
	assert_int_equal(bench_policies_add_load(&x, &bench_coarse), 0);
	x.rounds = 2;
	x.scale = 0.01;
	bench_policies_run(&x, false);
	assert_int_equal(x.plan.n, 6);
	for (size_t l = 0; l < x.n_loads; l++) {
		for (size_t i = 0; i < x.n; i++) {
			struct bench_cell c = bench_policies_cell(
				&x, x.load[l], x.variant[i].on);

			assert_int_equal(c.result->err, 0);
			assert_true(c.measured && c.ratio > 0);
			assert_int_equal(c.result->rounds, 2);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(implementations_by_name),
		cmocka_unit_test(every_word_is_tried),
		cmocka_unit_test(every_word_is_explained),
		cmocka_unit_test(nothing_is_there_twice),
		cmocka_unit_test(workers_are_of_the_experiment),
		cmocka_unit_test(ratios_are_to_the_default),
		cmocka_unit_test(text_fits_a_terminal),
		cmocka_unit_test(lines_have_all_fields),
		cmocka_unit_test(a_small_experiment_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
