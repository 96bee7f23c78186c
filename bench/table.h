/* SPDX-License-Identifier: MIT */
/*
 * bench/table.h - what was measured, for people and for programs.
 */
#ifndef WEFT_BENCH_TABLE_H
#define WEFT_BENCH_TABLE_H

#include "bench/plan.h"

/* Floors, workloads, what only some of them tell, and ratios. */
void bench_print_tables(const struct bench_plan *p,
	const struct bench_result *results, unsigned rounds);

/* One line each, separated by tabs; what was not measured on standard error. */
void bench_print_tsv(
	const struct bench_plan *p, const struct bench_result *results);

/* Why a row was not measured. */
const char *bench_reason(const struct bench *b, int err);

/* 0 of nothing. */
double bench_percent(uint64_t part, uint64_t all);

/* In one of bench_print_tables, and in bench/ratios.c. */
struct bench_view {
	const struct bench_plan *plan;
	const struct bench_result *results;
	double cas;			/* ns; 0: not measured */
};

/* The result of a row that was measured and seen; NULL if there is none. */
const struct bench_result *bench_view_of(const struct bench_view *v,
	const struct bench_load *load, const struct bench_impl *on,
	unsigned workers);

/* The median of the floor of that name; 0: not measured. */
double bench_view_floor(const struct bench_view *v, const char *name);

/* Time per operation on that many workers, times that on one; 0: unknown. */
double bench_view_slower(
	const struct bench_view *v, const struct bench *b);

/* bench/reports.c: what only some tell.  bench/ratios.c: who is faster. */
void bench_print_facts(const struct bench_view *v);
void bench_print_ratios(const struct bench_view *v);

#endif
