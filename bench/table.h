/* SPDX-License-Identifier: MIT */
/*
 * bench/table.h - print the results, for people and for programs.
 */
#ifndef WEFT_BENCH_TABLE_H
#define WEFT_BENCH_TABLE_H

#include "bench/plan.h"

/* Floors, workloads, reports and ratios. */
void bench_print_tables(const struct bench_plan *p,
	const struct bench_result *results, unsigned rounds);

/* One line each, separated by tabs; rows without a result on standard error. */
void bench_print_tsv(
	const struct bench_plan *p, const struct bench_result *results);

/* Why a row was not measured. */
const char *bench_reason(const struct bench *b, int err);

/* 100 * part / all; 0 if all is 0. */
double bench_percent(uint64_t part, uint64_t all);

/* The results, for bench_print_tables and its parts. */
struct bench_view {
	const struct bench_plan *plan;
	const struct bench_result *results;
	double cas;			/* ns; 0: not measured */
};

/* The result of a row that was measured and is more than noise, or NULL. */
const struct bench_result *bench_view_of(const struct bench_view *v,
	const struct bench_load *load, const struct bench_impl *on,
	unsigned workers);

/* The median of the floor of that name; 0: not measured. */
double bench_view_floor(const struct bench_view *v, const char *name);

/*
 * The time per operation on b->workers, as a multiple of that on one; 0:
 * unknown.
 */
double bench_view_slower(
	const struct bench_view *v, const struct bench *b);

/* In bench/reports.c and bench/ratios.c. */
void bench_print_reports(const struct bench_view *v);
void bench_print_ratios(const struct bench_view *v);

#endif
