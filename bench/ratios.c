/* SPDX-License-Identifier: MIT */
/*
 * bench/ratios.c - how many times faster weft is than the pool, or than itself
 * on one worker.
 */
#include "bench/table.h"

#include <stdio.h>

#include "bench/workloads.h"

/* The most workers that weft was measured with in this workload; 0: none. */
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
		printf(" %8.2f", r);
	else
		printf(" %8s", "-");
}

struct row {
	unsigned workers;
	double pool[3]; /* on 1 worker, on 2, and on more */
	double one;
	double plain;
};

/* How many times faster weft is than the pool, with that many workers. */
static double than_pool(const struct bench_view *v,
	const struct bench_load *load, unsigned workers)
{
	return ratio(bench_view_of(v, load, &bench_pool, workers),
		bench_view_of(v, load, &bench_weft, workers));
}

/* Fill in the row; false if there is nothing to compare. */
static bool compare(const struct bench_view *v, const struct bench_load *load,
	struct row *row)
{
	unsigned most = most_workers(v, load);
	const struct bench_result *one, *more;

	one = bench_view_of(v, load, &bench_weft, 1);
	more = bench_view_of(v, load, &bench_weft, most);
	*row = (struct row){
		.workers = most,
		.pool = { than_pool(v, load, 1), than_pool(v, load, 2),
			most > 2 ? than_pool(v, load, most) : 0 },
		.one = most > 1 ? ratio(one, more) : 0,
		.plain = ratio(bench_view_of(v, load, &bench_plain, 1), more),
	};
	return load != &bench_idle &&
		row->pool[0] + row->pool[1] + row->pool[2] + row->one +
			row->plain >
		0;
}

/*
 * weft must never be slower than the pool, and where the queue matters most it
 * must be several times faster.  Compared to one decimal place, as the limit is
 * printed: a workload that only computes takes equally long on both.
 */
static void print_judgement(
	const struct bench_load *load, const struct row *row)
{
	double limit = load->pool > 0 ? load->pool : 1;

	if (row->pool[1] > 0)
		printf("  %s %.1f times the pool",
			row->pool[1] >= limit - 0.05 ? "reaches" : "BELOW",
			limit);
}

void bench_print_ratios(const struct bench_view *v)
{
	bool begun = false;
	struct row row;

	for (size_t i = 0; bench_loads[i] != NULL; i++) {
		if (!compare(v, bench_loads[i], &row))
			continue;
		if (!begun)
			printf("\n%-18s %2s %8s %8s %8s %8s %8s  limit\n",
				"weft is faster by", "w", "pool, 1", "pool, 2",
				"pool, w", "1 worker", "plain");
		begun = true;
		printf("%-18s %2u", bench_loads[i]->name, row.workers);
		for (int k = 0; k < 3; k++)
			print_ratio(row.pool[k]);
		print_ratio(row.one);
		print_ratio(row.plain);
		print_judgement(bench_loads[i], &row);
		printf("\n");
	}
}
