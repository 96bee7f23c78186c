/* SPDX-License-Identifier: MIT */
/*
 * bench/ratios.c - how many times faster weft is than something else, or on
 * several workers than on one.
 */
#include "bench/table.h"

#include <stdio.h>

#include "bench/workloads.h"

/* The most workers that weft was measured with there; 0: not at all. */
static unsigned most_workers(
	const struct bench_view *v, const struct bench_load *load)
{
	unsigned most = 0;

	for (size_t i = 0; i < v->plan->n; i++) {
		const struct bench *b = &v->plan->row[i];

		if (b->load == load && b->on == &bench_weft &&
			b->workers > most)
			most = b->workers;
	}
	return most;
}

static double ratio(
	const struct bench_result *slow, const struct bench_result *fast)
{
	return slow && fast ? bench_median(slow) / bench_median(fast) : 0;
}

static void print_ratio(double r)
{
	if (r > 0)
		printf(" %12.2f", r);
	else
		printf(" %12s", "-");
}

struct row {
	unsigned workers;
	double pool[2]; /* on 1 worker, and on the most */
	double one;
	double plain;
};

/* Is there anything to compare? */
static bool compare(const struct bench_view *v, const struct bench_load *load,
	struct row *row)
{
	unsigned most = most_workers(v, load);
	const struct bench_result *one, *more;

	one = bench_view_of(v, load, &bench_weft, 1);
	more = bench_view_of(v, load, &bench_weft, most);
	*row = (struct row){
		.workers = most,
		.pool = { ratio(bench_view_of(v, load, &bench_pool, 1), one),
			ratio(bench_view_of(v, load, &bench_pool, most),
				more) },
		.one = most > 1 ? ratio(one, more) : 0,
		.plain = ratio(bench_view_of(v, load, &bench_plain, 1), more),
	};
	if (most == 1)
		row->pool[1] = 0;
	return load != &bench_idle &&
		row->pool[0] + row->pool[1] + row->one + row->plain > 0;
}

void bench_print_ratios(const struct bench_view *v)
{
	bool begun = false;
	struct row row;

	for (size_t i = 0; bench_loads[i] != NULL; i++) {
		if (!compare(v, bench_loads[i], &row))
			continue;
		if (!begun)
			printf("\n%-18s  w %12s %12s %12s %12s\n", "ratio",
				"pool/weft, 1", "pool/weft, w", "weft 1/w",
				"plain/weft w");
		begun = true;
		printf("%-18s %2u", bench_loads[i]->name, row.workers);
		print_ratio(row.pool[0]);
		print_ratio(row.pool[1]);
		print_ratio(row.one);
		print_ratio(row.plain);
		printf("\n");
	}
}
