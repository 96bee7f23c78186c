/* SPDX-License-Identifier: MIT */
/*
 * cli/bench.h - the parsed command line of `weft bench'.
 */
#ifndef WEFT_CLI_BENCH_H
#define WEFT_CLI_BENCH_H

#include "bench/plan.h"
#include "cli/cli.h"

#define CLI_BENCH_NAMES 96

/* Defaults of weft bench --policies. */
#define CLI_POLICIES_ROUNDS 15
#define CLI_POLICIES_PAGE "weft-policies.html"

struct cli_bench_request {
	const char *names[CLI_BENCH_NAMES];
	size_t n;
	struct bench_wish wish;
	unsigned rounds;
	const char *page;		/* NULL: not given */
	bool all;
	bool policies;
	bool tsv;
	bool list;
	bool help;
};

/* cli/policies.c: weft bench --policies; returns the exit status. */
int cli_policies(const struct cli_bench_request *r);

/* The exit status: a bench that cannot be measured here is not a failure. */
int cli_bench_status(
	const struct bench_plan *p, const struct bench_result *results);

#endif
