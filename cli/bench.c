/* SPDX-License-Identifier: MIT */
/*
 * cli/bench.c - weft bench: measure, and print tables or lines for a program.
 *
 * Reads next: cli/policies.c, bench/floors.c, bench/workloads.h
 */
#include "cli/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/policies.h"
#include "bench/table.h"
#include "bench/workloads.h"

#define ROUNDS_DEFAULT 15
#define WORKERS_MAX 4096
#define SCALE_MAX 1000

static const char *const options[] = { "--all", "--help", "--impl", "--list",
	"--page", "--policies", "--rounds", "--scale", "--tsv", "--workers",
	NULL };

static const char usage[] =
	"usage: weft bench [name...] [--workers N] [--impl NAME] [--rounds N]\n"
	"                  [--scale X] [--all] [--tsv] [--list]\n"
	"       weft bench --policies [name...] [--impl NAME] [--page FILE]\n"
	"                  [the other options]\n"
	"\n"
	"Measures the named benches, in their full size; without names the "
	"most useful\n"
	"ones, some of them smaller.  'floors' stands for all floors, "
	"chan-prodcons and\n"
	"mutex-work and mutexes for all benches whose names begin so, mutex "
	"for the first\n"
	"of these, select for channels.\n"
	"\n"
	"  --workers N  workloads on N workers (default: on 1, and on 2 or "
	"more)\n"
	"  --impl NAME  workloads on this implementation; may be given more "
	"than once:\n"
	"               weft\n"
	"               pool, the baseline: threads with one shared queue\n"
	"               words of a policy with commas between, such as "
	"mutex,steal-one\n"
	"  --rounds N   rounds of each, 1 to %d (default %d, of policies "
	"%d);\n"
	"               their median is the result\n"
	"  --scale X    workloads of X times their size (default 1)\n"
	"  --all        all benches, in their full size: takes minutes\n"
	"  --policies   compare the heuristics of the scheduler, in the "
	"workloads of an\n"
	"               earlier experiment or in those named; with --impl, "
	"only these\n"
	"               policies\n"
	"  --page FILE  the page with charts that --policies makes, for a "
	"browser\n"
	"               (default " CLI_POLICIES_PAGE ", here; with --tsv "
	"none)\n"
	"  --tsv        one line each, separated by tabs:\n"
	"               workload impl workers ops ns_per_op total_ms cpu_ms "
	"peak_rss_kb;\n"
	"               of policies also min_ns cpu_ns ratio lifo local global "
	"stolen\n"
	"               wakes futile\n"
	"  --list       only list the benches and the words of policies\n"
	"\n"
	"x cas: multiples of a compare-and-swap in the same run; out %%: CPU "
	"time that\n"
	"is not user code; lifo, loc, glob, stol: where tasks came from.\n";

static void help(void)
{
	printf(usage, BENCH_ROUNDS_MAX, ROUNDS_DEFAULT, CLI_POLICIES_ROUNDS);
}

/* Check that there is a bench of that name; if not, list the names. */
static int check_name(const char *name)
{
	const char *names[CLI_BENCH_NAMES + 1] = { "floors" };
	size_t n = 1;

	for (const struct bench *b = bench_floors; b->name; b++)
		names[n++] = b->name;
	for (size_t i = 0; bench_loads[i] != NULL; i++) {
		const char *also = bench_loads[i]->also;

		names[n++] = bench_loads[i]->name;
		if (also != NULL && strcmp(also, name) == 0)
			return CLI_OK;
	}
	for (size_t i = 0; i < n; i++)
		if (strcmp(names[i], name) == 0)
			return CLI_OK;
	return cli_unknown("bench", name, names);
}

static int parse_name(struct cli_bench_request *r, const char *name)
{
	int err = check_name(name);

	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->names[i], name) == 0)
			return err;
	if (!err && r->n < CLI_BENCH_NAMES)
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

static int parse_scale(struct cli_bench_request *r, const char *word)
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

static int parse_impl(struct cli_bench_request *r, const char *word)
{
	struct bench_wish *wish = &r->wish;
	const struct bench_impl *im;
	char why[300];

	if (word == NULL) {
		fprintf(stderr, "weft: --impl needs a name behind it\n");
		return CLI_USAGE;
	}
	if (bench_impl_find(word, &im, why, sizeof(why)) != 0) {
		fprintf(stderr,
			"weft: --impl %s: neither weft nor pool nor a policy: "
			"%s\n",
			word, why);
		return CLI_USAGE;
	}
	for (size_t i = 0; i < wish->n_impls; i++)
		if (wish->impl[i] == im)
			return CLI_OK;
	if (wish->n_impls == BENCH_IMPLS_MAX) {
		fprintf(stderr, "weft: more than %d times --impl\n",
			BENCH_IMPLS_MAX);
		return CLI_USAGE;
	}
	wish->impl[wish->n_impls++] = im;
	return CLI_OK;
}

static int parse_page(struct cli_bench_request *r, const char *word)
{
	if (word == NULL || word[0] == '\0') {
		fprintf(stderr, "weft: --page needs a file behind it\n");
		return CLI_USAGE;
	}
	r->page = word;
	return CLI_OK;
}

/* An option with a value; value is NULL at the end of the line. */
static int parse_valued(
	struct cli_bench_request *r, const char *option, const char *value)
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
	if (strcmp(option, "--page") == 0)
		return parse_page(r, value);
	return cli_unknown("option", option, options);
}

/* Set the flag of an option without a value; false if word is not one. */
static bool parse_flag(struct cli_bench_request *r, const char *word)
{
	const struct {
		const char *name;
		bool *flag;
	} flags[] = { { "--all", &r->all }, { "--tsv", &r->tsv },
		{ "--list", &r->list }, { "--help", &r->help },
		{ "--policies", &r->policies } };

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		if (strcmp(flags[i].name, word) == 0) {
			*flags[i].flag = true;
			return true;
		}
	}
	return false;
}

static int parse(int argc, char **argv, struct cli_bench_request *r)
{
	int err = CLI_OK;

	*r = (struct cli_bench_request){ .wish.scale = 1 };
	for (int i = 0; i < argc && !err; i++) {
		const char *word = argv[i];

		if (parse_flag(r, word))
			continue;
		if (word[0] != '-')
			err = parse_name(r, word);
		else
			err = parse_valued(
				r, word, argv[++i < argc ? i : argc]);
	}
	if (!err && r->page != NULL && !r->policies) {
		fprintf(stderr, "weft: --page goes with --policies\n");
		err = CLI_USAGE;
	}
	if (r->rounds == 0)
		r->rounds = r->policies ? CLI_POLICIES_ROUNDS : ROUNDS_DEFAULT;
	return err;
}

static bool wanted(
	const struct cli_bench_request *r, const char *name, const char *all)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->names[i], name) == 0 ||
			(all != NULL && strcmp(r->names[i], all) == 0))
			return true;
	return r->n == 0;
}

static bool wanted_load(
	const struct cli_bench_request *r, const struct bench_load *load)
{
	return wanted(r, load->name, load->also) &&
		(!load->more || r->n > 0 || r->all || r->list);
}

static void make_plan(const struct cli_bench_request *r, struct bench_plan *p)
{
	bool named = r->n > 0 || r->all;

	for (const struct bench *b = bench_floors; b->name; b++)
		if (wanted(r, b->name, "floors"))
			bench_plan_floor(p, b);
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		if (wanted_load(r, bench_loads[i]))
			bench_plan_load(p, bench_loads[i], &r->wish, named);
	bench_plan_complete(p);
}

static void print_load(const struct bench_load *load)
{
	printf("%-18s %s", load->name, load->what);
	if (load->more)
		printf("; only by name or with --all");
	else if (load->part > 0)
		printf("; unless named, %g of that", load->part);
	printf("\n");
}

static void print_list(const struct cli_bench_request *r)
{
	for (const struct bench *b = bench_floors; b->name; b++)
		if (wanted(r, b->name, "floors"))
			printf("%-18s %s\n", b->name, b->what);
	for (size_t i = 0; bench_loads[i] != NULL; i++)
		if (wanted_load(r, bench_loads[i]))
			print_load(bench_loads[i]);
	for (size_t i = 0; bench_impls[i] != NULL && r->n == 0; i++)
		printf("--impl %-12s %s\n", bench_impls[i]->name,
			bench_impls[i]->what);
	for (size_t i = 0; bench_words[i].word != NULL && r->n == 0; i++)
		if (strcmp(bench_words[i].word, bench_pool.name) != 0)
			printf("--impl %-12s %s\n", bench_words[i].word,
				bench_words[i].what);
}

int cli_bench_status(
	const struct bench_plan *p, const struct bench_result *results)
{
	for (size_t i = 0; i < p->n; i++)
		if (results[i].err && results[i].err != -ENODEV &&
			results[i].err != -ENOTSUP)
			return CLI_FAILED;
	return CLI_OK;
}

int cli_bench(int argc, char **argv)
{
	static struct bench_result results[BENCH_PLAN_MAX];
	static struct bench_plan plan;
	struct cli_bench_request r;
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
	if (r.policies)
		return cli_policies(&r);
	make_plan(&r, &plan);
	bench_plan_run(&plan, r.rounds, isatty(STDERR_FILENO), results);
	if (r.tsv)
		bench_print_tsv(&plan, results);
	else
		bench_print_tables(&plan, results, r.rounds);
	return cli_bench_status(&plan, results);
}
