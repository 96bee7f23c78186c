/* SPDX-License-Identifier: MIT */
/*
 * bench/policies.h - the experiment: a few workloads on the baseline and on the
 * scheduler with changed heuristics, in one run.
 *
 *	bench_policies_open	then _add_load and _add, or _add_usual
 *	bench_policies_run	rounds of all alternate
 *	bench_policies_text, _tsv, _page
 *
 * Everything is compared with the default policy, which is the first variant.
 *
 * Reads next: bench/policies.c, bench/page.c
 */
#ifndef WEFT_BENCH_POLICIES_H
#define WEFT_BENCH_POLICIES_H

#include <stdio.h>

#include "bench/plan.h"
#include "bench/workloads.h"

#define BENCH_POLICIES_LOADS 32

/* One row of each table. */
struct bench_variant {
	const char *heading;		/* of the variants from here on, or
					 * NULL */
	const struct bench_impl *on;
};

struct bench_policies {
	const struct bench_load *load[BENCH_POLICIES_LOADS];
	size_t n_loads;
	struct bench_variant variant[BENCH_POLICIES_MAX];
	size_t n;
	unsigned rounds;
	unsigned workers;		/* 0: those of the workload */
	double scale;
	struct bench_plan plan;
	struct bench_result result[BENCH_PLAN_MAX];
};

/* The result of one variant in one workload. */
struct bench_cell {
	const struct bench *bench;
	const struct bench_result *result;
	double ratio;			/* to the default; 0: unknown */
	double cpu_ratio;		/* to the default, of CPU time */
	bool measured;
};

/* A word of a policy, or another name in the tables, and what it means. */
struct bench_word {
	const char *word;
	const char *what;
};

/* In the order of weft_policy, the default of each first.  Ends with a NULL. */
extern const struct bench_word bench_words[];

/* Open with only the default policy; 0 or -errno. */
int bench_policies_open(struct bench_policies *x);

/* Does nothing if the variant is there already; -ENOSPC. */
int bench_policies_add(struct bench_policies *x, const char *heading,
	const struct bench_impl *on);
int bench_policies_add_load(
	struct bench_policies *x, const struct bench_load *load);

/* The variants and workloads of the table that weft publishes; 0 or -errno. */
int bench_policies_add_usual(struct bench_policies *x);
int bench_policies_add_usual_loads(struct bench_policies *x);

/* With progress, show the progress on standard error. */
void bench_policies_run(struct bench_policies *x, bool progress);

/* The number of workers of that workload in the experiment. */
unsigned bench_policies_workers(
	const struct bench_policies *x, const struct bench_load *load);

struct bench_cell bench_policies_cell(const struct bench_policies *x,
	const struct bench_load *load, const struct bench_impl *on);

/* For people, at most 100 columns wide; for programs. */
void bench_policies_text(const struct bench_policies *x, FILE *out);
void bench_policies_tsv(const struct bench_policies *x, FILE *out);

/* A page of HTML that needs no other file. */
void bench_policies_page(const struct bench_policies *x, FILE *out);

#endif
