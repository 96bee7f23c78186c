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

/* How workloads are to be run. */
struct bench_wish {
	const struct bench_impl *impl[BENCH_IMPLS_MAX];
	size_t n_impls;			/* 0: bench_impls, as far as they can */
	unsigned workers;		/* 0: as the workload says */
	double scale;
};

/* Each does nothing if it is there already. */
void bench_plan_floor(struct bench_plan *p, const struct bench *floor);

/*
 * On every implementation and number of workers.  By name, in its full size,
 * and also on an implementation that is wished for and cannot: then the row
 * says so.
 */
void bench_plan_load(struct bench_plan *p, const struct bench_load *load,
	const struct bench_wish *wish, bool named);

/* One row of a workload. */
void bench_plan_row(struct bench_plan *p, const struct bench_load *load,
	const struct bench_impl *on, unsigned workers, double scale);

/* Add, hidden, what the rows so far are compared with. */
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
