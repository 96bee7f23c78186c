/* SPDX-License-Identifier: MIT */
/*
 * cli/bench.h - what the command line of `weft bench' asked for.
 */
#ifndef WEFT_CLI_BENCH_H
#define WEFT_CLI_BENCH_H

#include "bench/plan.h"
#include "cli/cli.h"

#define CLI_BENCH_NAMES 96

/* Of weft bench --policies, unless told otherwise. */
#define CLI_POLICIES_ROUNDS 15
#define CLI_POLICIES_PAGE "weft-policies.html"

struct cli_bench_request {
	const char *names[CLI_BENCH_NAMES];
	size_t n;
	struct bench_wish wish;
	unsigned rounds;
	const char *page;		/* NULL: not said */
	bool all;
	bool policies;
	bool tsv;
	bool list;
	bool help;
};

/* cli/policies.c: weft bench --policies; the exit status. */
int cli_policies(const struct cli_bench_request *r);

/* The exit status: what cannot be measured here is no failure. */
int cli_bench_status(
	const struct bench_plan *p, const struct bench_result *results);

#endif
