/* SPDX-License-Identifier: MIT */
/*
 * bench/plan.h - which benches to run: the rows of the table.
 */
#ifndef WEFT_BENCH_PLAN_H
#define WEFT_BENCH_PLAN_H

#include "bench/bench.h"

#define BENCH_PLAN_MAX 1024
#define BENCH_IMPLS_MAX 16

struct bench_plan {
	struct bench row[BENCH_PLAN_MAX];
	size_t n;
};

/* The options for workloads. */
struct bench_wish {
	const struct bench_impl *impl[BENCH_IMPLS_MAX];
	size_t n_impls;			/* 0: all of bench_impls that fit */
	unsigned workers;		/* 0: those of the workload */
	double scale;
};

/* Each of these does nothing if the row is there already. */
void bench_plan_floor(struct bench_plan *p, const struct bench *floor);

/*
 * Add rows of a workload, on every implementation and number of workers.
 * named: in its full size, and also on a requested implementation that cannot
 * run it; the row then says so.
 */
void bench_plan_load(struct bench_plan *p, const struct bench_load *load,
	const struct bench_wish *wish, bool named);

/* Add one row of a workload. */
void bench_plan_row(struct bench_plan *p, const struct bench_load *load,
	const struct bench_impl *on, unsigned workers, double scale);

/* Add, hidden, the rows that the rows so far are compared with. */
void bench_plan_complete(struct bench_plan *p);

/* The row of that workload, implementation and workers; NULL if none. */
const struct bench *bench_plan_find(const struct bench_plan *p,
	const struct bench_load *load, const struct bench_impl *on,
	unsigned workers);

/* The row of that name; NULL if none. */
const struct bench *bench_plan_named(
	const struct bench_plan *p, const char *name);

/* bench_run for all rows. */
void bench_plan_run(const struct bench_plan *p, unsigned rounds, bool progress,
	struct bench_result *results);

#endif
