/* SPDX-License-Identifier: MIT */
/*
 * cli/bench.c - weft bench: measure, and print a table or lines for a program.
 *
 * Reads next: bench/floors.c
 */
#include "cli/cli.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "os/os.h"

#define ROUNDS_DEFAULT 9
#define BENCHES_MAX 64

struct request {
	const struct bench *benches[BENCHES_MAX];
	size_t n;
	unsigned rounds;
	bool tsv;
	bool list;
	bool help;
};

static const char *const options[] = { "--help", "--list", "--rounds", "--tsv",
	NULL };

static void help(void)
{
	printf("usage: weft bench [name...] [--rounds N] [--tsv] [--list]\n"
	       "\n"
	       "Measures the named benches, or all.  'floors' stands for all "
	       "floors.\n"
	       "\n"
	       "  --rounds N  rounds of each, 1 to %d (default %d); their\n"
	       "              median is the result\n"
	       "  --tsv       one line each, separated by tabs:\n"
	       "              workload impl workers ops ns_per_op total_ms "
	       "cpu_ms peak_rss_kb\n"
	       "  --list      only say what there is\n",
		BENCH_ROUNDS_MAX, ROUNDS_DEFAULT);
}

/* Each bench once, in the order of the table. */
static bool wanted(const struct request *r, const struct bench *b)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->benches[i] == b)
			return true;
	return false;
}

static void want(struct request *r, const struct bench *b)
{
	if (!wanted(r, b) && r->n < BENCHES_MAX)
		r->benches[r->n++] = b;
}

static int want_by_name(struct request *r, const char *name)
{
	const char *names[BENCHES_MAX + 2] = { "floors" };
	size_t n = 1;
	bool found = false;

	for (const struct bench *b = bench_floors; b->name; b++) {
		names[n++] = b->name;
		if (strcmp(name, "floors") == 0 || strcmp(name, b->name) == 0) {
			want(r, b);
			found = true;
		}
	}
	return found ? CLI_OK : cli_unknown("bench", name, names);
}

static int parse_rounds(struct request *r, const char *word)
{
	char *end;
	long n;

	if (word == NULL) {
		fprintf(stderr, "weft: --rounds needs a number behind it\n");
		return CLI_USAGE;
	}
	errno = 0;
	n = strtol(word, &end, 10);
	if (errno || *end != '\0' || end == word || n < 1 ||
		n > BENCH_ROUNDS_MAX) {
		fprintf(stderr,
			"weft: --rounds takes 1 to %d, not '%s'\n",
			BENCH_ROUNDS_MAX, word);
		return CLI_USAGE;
	}
	r->rounds = (unsigned)n;
	return CLI_OK;
}

static int parse(int argc, char **argv, struct request *r)
{
	int err = CLI_OK;

	*r = (struct request){ .rounds = ROUNDS_DEFAULT };
	for (int i = 0; i < argc && !err; i++) {
		if (strcmp(argv[i], "--tsv") == 0)
			r->tsv = true;
		else if (strcmp(argv[i], "--list") == 0)
			r->list = true;
		else if (strcmp(argv[i], "--help") == 0)
			r->help = true;
		else if (strcmp(argv[i], "--rounds") == 0)
			err = parse_rounds(r, argv[++i < argc ? i : argc]);
		else if (argv[i][0] == '-')
			err = cli_unknown("option", argv[i], options);
		else
			err = want_by_name(r, argv[i]);
	}
	if (!err && r->n == 0)
		err = want_by_name(r, "floors");
	return err;
}

static void print_list(const struct request *r)
{
	for (size_t i = 0; i < r->n; i++)
		printf("%-18s %s\n", r->benches[i]->name, r->benches[i]->what);
}

static void print_tsv(const struct request *r, const struct bench_result *res)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct bench *b = r->benches[i];

		if (res[i].err) {
			fprintf(stderr, "weft: %s: not measured: %s\n", b->name,
				strerror(-res[i].err));
			continue;
		}
		printf("%s\t%s\t%u\t%llu\t%.3f\t%.3f\t%.3f\t%ld\n", b->name,
			b->impl, b->workers, (unsigned long long)res[i].ops,
			bench_median(&res[i]), res[i].total_ms, res[i].cpu_ms,
			res[i].peak_rss_kb);
	}
}

/* ns per compare-and-swap in this run; 0 if it was not measured. */
static double cas_ns(const struct request *r, const struct bench_result *res)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->benches[i]->name, "floor-cas") == 0 &&
			!res[i].err)
			return bench_median(&res[i]);
	return 0;
}

static void print_row(
	const struct bench *b, const struct bench_result *res, double cas)
{
	double multiple = cas > 0 ? bench_median(res) / cas : 0;

	if (res->err) {
		printf("%-18s %-38s not measured: %s\n", b->name, b->what,
			res->err == -ENODEV ? "needs two CPUs"
					    : strerror(-res->err));
		return;
	}
	printf("%-18s %-38s %10.2f %10.2f", b->name, b->what, bench_median(res),
		bench_min(res));
	if (cas > 0)
		printf(" %9.2f", multiple);
	if (cas > 0 && b->limit > 0)
		printf("   %s %.1f", multiple <= b->limit ? "within" : "OVER",
			b->limit);
	printf("\n");
}

static void print_table(const struct request *r, const struct bench_result *res)
{
	double cas = cas_ns(r, res);

	printf("weft bench: %u CPUs, median of %u rounds\n\n",
		wf_os_cpus_default(), r->rounds);
	printf("%-18s %-38s %10s %10s%s\n", "floor", "one operation", "ns",
		"min ns", cas > 0 ? "     x cas   limit" : "");
	for (size_t i = 0; i < r->n; i++)
		print_row(r->benches[i], &res[i], cas);
}

int cli_bench(int argc, char **argv)
{
	static struct bench_result results[BENCHES_MAX];
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
	bench_run(r.benches, r.n, r.rounds, isatty(STDERR_FILENO), results);
	if (r.tsv)
		print_tsv(&r, results);
	else
		print_table(&r, results);
	for (size_t i = 0; i < r.n; i++)
		if (results[i].err && results[i].err != -ENODEV)
			return CLI_FAILED;
	return CLI_OK;
}
