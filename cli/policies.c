/* SPDX-License-Identifier: MIT */
/*
 * cli/policies.c - weft bench --policies: compare the heuristics of the
 * scheduler.
 *
 * Reads next: bench/policies.h
 */
#include "cli/bench.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench/policies.h"

static int name_loads(struct bench_policies *x, const char *name)
{
	size_t before = x->n_loads;
	int err = 0;

	for (size_t i = 0; bench_loads[i] != NULL && !err; i++) {
		const struct bench_load *load = bench_loads[i];

		if (strcmp(load->name, name) == 0 ||
			(load->also && strcmp(load->also, name) == 0))
			err = bench_policies_add_load(x, load);
	}
	if (err || x->n_loads > before)
		return err;
	fprintf(stderr,
		"weft: --policies compares workloads, and '%s' is a floor\n",
		name);
	return -EINVAL;
}

static int prepare(struct bench_policies *x, const struct cli_bench_request *r)
{
	int err = bench_policies_open(x);

	x->rounds = r->rounds;
	x->workers = r->wish.workers;
	x->scale = r->wish.scale;
	for (size_t i = 0; i < r->n && !err; i++)
		err = name_loads(x, r->names[i]);
	if (r->n == 0 && !err)
		err = bench_policies_add_usual_loads(x);
	for (size_t i = 0; i < r->wish.n_impls && !err; i++)
		err = bench_policies_add(
			x, i == 0 ? "Compared with it" : NULL, r->wish.impl[i]);
	if (r->wish.n_impls == 0 && !err)
		err = bench_policies_add_usual(x);
	return err;
}

static int complain(const char *path)
{
	fprintf(stderr, "weft: cannot write %s: %s\n", path, strerror(errno));
	return CLI_FAILED;
}

/*
 * Check, before minutes of work, that the page can be written.  An old page
 * stays.
 */
static int try_page(const char *path)
{
	FILE *f = path ? fopen(path, "ae") : NULL;

	if (path != NULL && f == NULL)
		return complain(path);
	if (f != NULL)
		fclose(f);
	return CLI_OK;
}

static int write_page(const struct bench_policies *x, const char *path)
{
	FILE *f = fopen(path, "we");
	bool failed;

	if (f == NULL)
		return complain(path);
	bench_policies_page(x, f);
	failed = ferror(f) != 0;
	if (fclose(f) != 0 || failed)
		return complain(path);
	return CLI_OK;
}

/* The page to write: with --tsv only if it was requested. */
static const char *page_of(const struct cli_bench_request *r)
{
	if (r->page != NULL)
		return r->page;
	return r->tsv ? NULL : CLI_POLICIES_PAGE;
}

int cli_policies(const struct cli_bench_request *r)
{
	static struct bench_policies x;
	const char *page = page_of(r);
	int err = prepare(&x, r);

	if (err) {
		if (err != -EINVAL)
			fprintf(stderr, "weft: %s\n", strerror(-err));
		return CLI_USAGE;
	}
	err = try_page(page);
	if (err)
		return err;
	bench_policies_run(&x, isatty(STDERR_FILENO));
	/*
	 * Write the page first: standard output may be a pipe without a reader.
	 */
	if (page != NULL)
		err = write_page(&x, page);
	if (r->tsv)
		bench_policies_tsv(&x, stdout);
	else
		bench_policies_text(&x, stdout);
	if (!r->tsv && !err)
		printf("\ncharts, for a browser: %s\n", page);
	return err ? err : cli_bench_status(&x.plan, x.result);
}
