/* SPDX-License-Identifier: MIT */
/*
 * bench/bench.c - runs benches round by round.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* CPU time of the process and its peak memory. */
static double cpu_ms(long *peak_rss_kb)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	*peak_rss_kb = u.ru_maxrss;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

static void one_round(const struct bench *b, struct bench_result *r)
{
	double before = cpu_ms(&r->peak_rss_kb);
	int64_t ns = 0;

	if (r->err)
		return;
	r->ops = b->ops;
	r->err = b->run(&r->ops, &ns);
	if (r->err)
		return;
	r->cpu_ms += cpu_ms(&r->peak_rss_kb) - before;
	r->ns[r->rounds++] = (double)ns / (double)r->ops;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void bench_run(const struct bench *const *benches, size_t n, unsigned rounds,
	bool progress, struct bench_result *results)
{
	for (size_t i = 0; i < n; i++)
		results[i] = (struct bench_result){ 0 };
	for (unsigned round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			if (progress)
				fprintf(stderr, "\r\033[Kround %u of %u: %s",
					round + 1, rounds, benches[i]->name);
			one_round(benches[i], &results[i]);
		}
	}
	if (progress)
		fprintf(stderr, "\r\033[K");
	for (size_t i = 0; i < n; i++) {
		struct bench_result *r = &results[i];

		if (r->rounds == 0)
			continue;
		qsort(r->ns, r->rounds, sizeof(r->ns[0]), by_size);
		r->total_ms = bench_median(r) * (double)r->ops / 1e6;
		r->cpu_ms /= r->rounds;
	}
}
