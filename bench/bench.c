/* SPDX-License-Identifier: MIT */
/*
 * bench/bench.c - run benches round by round.
 */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

int64_t bench_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

long bench_peak_rss_kb(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* A floor reports only its time. */
static int run_floor(const struct bench *b, struct bench_sample *s)
{
	int64_t before = bench_cpu_ns();
	int err;

	s->ops = b->ops;
	err = b->run(&s->ops, &s->ns);
	s->cpu_ns = bench_cpu_ns() - before;
	s->peak_rss_kb = bench_peak_rss_kb();
	return err;
}

static void add_sources(
	struct bench_sources *sum, const struct bench_sources *one)
{
	sum->ticks += one->ticks;
	sum->lifo += one->lifo;
	sum->local += one->local;
	sum->global += one->global;
	sum->stolen += one->stolen;
	sum->wakes += one->wakes;
	sum->wakes_futile += one->wakes_futile;
}

static void one_round(const struct bench *b, struct bench_result *r)
{
	struct bench_sample s = { 0 };

	r->err = b->measure ? b->measure(b, &s) : run_floor(b, &s);
	if (r->err)
		return;
	r->ops = s.ops;
	r->cpu_ns[r->rounds] = (double)s.cpu_ns / (double)s.ops;
	r->ns[r->rounds++] = (double)s.ns / (double)s.ops;
	r->cpu_ms += (double)s.cpu_ns / 1e6;
	r->user_ms += (double)s.user_ns / 1e6;
	r->peak_rss_kb = s.peak_rss_kb;
	r->report = s.report;
	add_sources(&r->from, &s.from);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void conclude(struct bench_result *r)
{
	if (r->rounds == 0)
		return;
	qsort(r->ns, r->rounds, sizeof(r->ns[0]), by_size);
	qsort(r->cpu_ns, r->rounds, sizeof(r->cpu_ns[0]), by_size);
	r->total_ms = bench_median(r) * (double)r->ops / 1e6;
	r->cpu_ms /= r->rounds;
	r->user_ms /= r->rounds;
}

/* Spread the rounds of a bench that wants fewer evenly over all rounds. */
static bool takes_part(const struct bench *b, unsigned round, unsigned rounds)
{
	return b->rounds == 0 || round * b->rounds % rounds < b->rounds;
}

void bench_run(const struct bench *const *benches, size_t n, unsigned rounds,
	bool progress, struct bench_result *results)
{
	for (size_t i = 0; i < n; i++)
		results[i] = (struct bench_result){ 0 };
	for (unsigned round = 0; round < rounds; round++) {
		for (size_t i = 0; i < n; i++) {
			const struct bench *b = benches[i];

			if (results[i].err || !takes_part(b, round, rounds))
				continue;
			if (progress)
				fprintf(stderr,
					"\r\033[Kround %u of %u: %s (%s)",
					round + 1, rounds, b->name, b->impl);
			one_round(b, &results[i]);
		}
	}
	if (progress)
		fprintf(stderr, "\r\033[K");
	for (size_t i = 0; i < n; i++)
		conclude(&results[i]);
}
