/* SPDX-License-Identifier: MIT */
/*
 * cli/bench.c - weft bench: measure, and print tables or lines for a program.
 *
 * Reads next: bench/floors.c, bench/workloads.h
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/plan.h"
#include "bench/table.h"
#include "bench/workloads.h"

#define ROUNDS_DEFAULT 15
#define WORKERS_MAX 4096
#define SCALE_MAX 1000
#define NAMES_MAX 64

struct request {
	const char *names[NAMES_MAX];
	size_t n;
	struct bench_wish wish;
	unsigned rounds;
	bool tsv;
	bool list;
	bool help;
};

static const char *const options[] = { "--help", "--impl", "--list", "--rounds",
	"--scale", "--tsv", "--workers", NULL };

static void help(void)
{
	printf("usage: weft bench [name...] [--workers N] [--impl NAME] "
	       "[--rounds N]\n"
	       "                  [--scale X] [--tsv] [--list]\n"
	       "\n"
	       "Measures the named benches, or all.  'floors' stands for all "
	       "floors.\n"
	       "\n"
	       "  --workers N  workloads on N workers (default: on 1, and on 2 "
	       "or more)\n"
	       "  --impl NAME  workloads only on this implementation: weft, or "
	       "pool, which\n"
	       "               is the baseline: threads with one shared queue\n"
	       "  --rounds N   rounds of each, 1 to %d (default %d); their\n"
	       "               median is the result\n"
	       "  --scale X    workloads of X times their size (default 1)\n"
	       "  --tsv        one line each, separated by tabs:\n"
	       "               workload impl workers ops ns_per_op total_ms "
	       "cpu_ms peak_rss_kb\n"
	       "  --list       only say what there is\n"
	       "\n"
	       "x cas: multiples of a compare-and-swap in the same run; "
	       "out %%: CPU time that\n"
	       "is not user code; lifo, loc, glob, stol: where tasks came "
	       "from.\n",
		BENCH_ROUNDS_MAX, ROUNDS_DEFAULT);
}

/* Is there a bench of that name?  If not, say which ones there are. */
static int check_name(const char *name)
{
	const char *names[NAMES_MAX + 1] = { "floors" };
	size_t n = 1;

	for (const struct bench *b = bench_floors; b->name; b++)
		names[n++] = b->name;
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		names[n++] = bench_loads[i]->name;
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return CLI_OK;
	return cli_unknown("bench", name, names);
}

static int parse_name(struct request *r, const char *name)
{
	int err = check_name(name);

	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->names[i], name) == 0)
			return err;
	if (!err && r->n < NAMES_MAX)
		r->names[r->n++] = name;
	return err;
}

static int parse_number(
	const char *option, const char *word, unsigned max, unsigned *number)
{
	char *end;
	long n;

	if (word == NULL) {
		fprintf(stderr, "weft: %s needs a number behind it\n", option);
		return CLI_USAGE;
	}
	errno = 0;
	n = strtol(word, &end, 10);
	if (errno || *end != '\0' || end == word || n < 1 || n > (long)max) {
		fprintf(stderr, "weft: %s takes 1 to %u, not '%s'\n", option,
			max, word);
		return CLI_USAGE;
	}
	*number = (unsigned)n;
	return CLI_OK;
}

static int parse_scale(struct request *r, const char *word)
{
	char *end;
	double x;

	if (word == NULL) {
		fprintf(stderr, "weft: --scale needs a number behind it\n");
		return CLI_USAGE;
	}
	x = strtod(word, &end);
	if (*end != '\0' || end == word || !(x > 0) || x > SCALE_MAX) {
		fprintf(stderr,
			"weft: --scale takes a number above 0, up to %d, "
			"not '%s'\n",
			SCALE_MAX, word);
		return CLI_USAGE;
	}
	r->wish.scale = x;
	return CLI_OK;
}

static int parse_impl(struct request *r, const char *word)
{
	const char *names[8] = { NULL };

	if (word == NULL) {
		fprintf(stderr, "weft: --impl needs a name behind it\n");
		return CLI_USAGE;
	}
	for (size_t i = 0; bench_impls[i] != NULL; i++) {
		names[i] = bench_impls[i]->name;
		if (strcmp(names[i], word) == 0) {
			r->wish.impl = bench_impls[i];
			return CLI_OK;
		}
	}
	return cli_unknown("implementation", word, names);
}

/* An option with a value; value is NULL at the end of the line. */
static int parse_valued(
	struct request *r, const char *option, const char *value)
{
	if (strcmp(option, "--rounds") == 0)
		return parse_number(
			option, value, BENCH_ROUNDS_MAX, &r->rounds);
	if (strcmp(option, "--workers") == 0)
		return parse_number(
			option, value, WORKERS_MAX, &r->wish.workers);
	if (strcmp(option, "--scale") == 0)
		return parse_scale(r, value);
	if (strcmp(option, "--impl") == 0)
		return parse_impl(r, value);
	return cli_unknown("option", option, options);
}

static int parse(int argc, char **argv, struct request *r)
{
	int err = CLI_OK;

	*r = (struct request){ .rounds = ROUNDS_DEFAULT, .wish.scale = 1 };
	for (int i = 0; i < argc && !err; i++) {
		if (strcmp(argv[i], "--tsv") == 0)
			r->tsv = true;
		else if (strcmp(argv[i], "--list") == 0)
			r->list = true;
		else if (strcmp(argv[i], "--help") == 0)
			r->help = true;
		else if (argv[i][0] != '-')
			err = parse_name(r, argv[i]);
		else {
			const char *option = argv[i];

			err = parse_valued(
				r, option, argv[++i < argc ? i : argc]);
		}
	}
	return err;
}

static bool wanted(const struct request *r, const char *name, const char *all)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->names[i], name) == 0 ||
			(all != NULL && strcmp(r->names[i], all) == 0))
			return true;
	return r->n == 0;
}

static void make_plan(const struct request *r, struct bench_plan *p)
{
	for (const struct bench *b = bench_floors; b->name; b++)
		if (wanted(r, b->name, "floors"))
			bench_plan_floor(p, b);
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		if (wanted(r, bench_loads[i]->name, NULL))
			bench_plan_load(p, bench_loads[i], &r->wish, r->n > 0);
	bench_plan_complete(p);
}

static void print_list(const struct request *r)
{
	for (const struct bench *b = bench_floors; b->name; b++)
		if (wanted(r, b->name, "floors"))
			printf("%-18s %s\n", b->name, b->what);
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		if (wanted(r, bench_loads[i]->name, NULL))
			printf("%-18s %s\n", bench_loads[i]->name,
				bench_loads[i]->what);
	for (size_t i = 0; bench_impls[i] != NULL && r->n == 0; i++)
		printf("--impl %-11s %s\n", bench_impls[i]->name,
			bench_impls[i]->what);
}

/* What cannot be measured here is no failure. */
static int status(const struct bench_plan *p, const struct bench_result *res)
{
	for (size_t i = 0; i < p->n; i++)
		if (res[i].err && res[i].err != -ENODEV &&
			res[i].err != -ENOTSUP)
			return CLI_FAILED;
	return CLI_OK;
}

int cli_bench(int argc, char **argv)
{
	static struct bench_result results[BENCH_PLAN_MAX];
	static struct bench_plan plan;
	struct request r;
	int err = parse(argc, argv, &r);

	if (err)
		return err;
	if (r.help) {
		help();
		return CLI_OK;
	}
	if (r.list) {
		print_list(&r);
		return CLI_OK;
	}
	make_plan(&r, &plan);
	bench_plan_run(&plan, r.rounds, isatty(STDERR_FILENO), results);
	if (r.tsv)
		bench_print_tsv(&plan, results);
	else
		bench_print_tables(&plan, results, r.rounds);
	return status(&plan, results);
}
