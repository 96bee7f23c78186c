/* SPDX-License-Identifier: MIT */
/*
 * bench/facts.c - what only some workloads have to tell: the memory of a
 * million fibers, and what doing nothing costs.
 */
#include "bench/table.h"

#include <stdio.h>

#include "bench/workloads.h"

#define MILLION_BYTES 4400
#define MILLION_MAPPINGS 1000
#define MILLION_FAULTS 1.3
#define IDLE_PERCENT 0.1
#define IDLE_SWITCHES 0

/* Limits are weft's own. */
static void print_judgement(const struct bench *b, bool good, double limit)
{
	if (b->on == &bench_weft)
		printf(", %s %g", good ? "within" : "OVER", limit);
	printf("\n");
}

static void print_title(const struct bench *b)
{
	printf("\n%s, %s, %u worker%s\n", b->name, b->impl, b->workers,
		b->workers == 1 ? "" : "s");
}

/* The median of floor-fault in this run; 0: not measured. */
static double fault_ns(const struct bench_view *v)
{
	const struct bench *b = bench_plan_named(v->plan, "floor-fault");
	const struct bench_result *r;

	if (b == NULL)
		return 0;
	r = &v->results[b - v->plan->row];
	return r->err ? 0 : bench_median(r);
}

static void print_million(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	const struct bench_facts *f = &r->facts;
	double fault = fault_ns(v), ns = bench_median(r);

	print_title(b);
	printf("  %10llu fibers wait\n", (unsigned long long)f->parked);
	printf("  %10.0f bytes resident each", f->bytes_each);
	print_judgement(b, f->bytes_each <= MILLION_BYTES, MILLION_BYTES);
	printf("  %10llu mappings", (unsigned long long)f->mappings);
	print_judgement(b, f->mappings <= MILLION_MAPPINGS, MILLION_MAPPINGS);
	printf("  %10.2f seconds\n", r->total_ms / 1e3);
	if (fault > 0)
		printf("  %10.2f times floor-fault\n", ns / fault);
	printf("  %10.2f times as many faults", ns / f->fault_ns);
	print_judgement(b, ns <= MILLION_FAULTS * f->fault_ns, MILLION_FAULTS);
}

static void print_idle(const struct bench *b, const struct bench_result *r)
{
	double percent = 100 * r->cpu_ms / r->total_ms;

	print_title(b);
	printf("  %10.2f seconds\n", r->total_ms / 1e3);
	printf("  %10.4f %% of a CPU", percent);
	print_judgement(b, percent < IDLE_PERCENT, IDLE_PERCENT);
	printf("  %10llu context switches",
		(unsigned long long)r->facts.switches);
	print_judgement(b, r->facts.switches <= IDLE_SWITCHES, IDLE_SWITCHES);
}

void bench_print_facts(const struct bench_view *v)
{
	for (size_t i = 0; i < v->plan->n; i++) {
		const struct bench *b = &v->plan->row[i];
		const struct bench_result *r = &v->results[i];

		if (r->err || b->hidden ||
			(b->load != &bench_million && b->load != &bench_idle))
			continue;
		if (b->load == &bench_million)
			print_million(v, b, r);
		else
			print_idle(b, r);
	}
}
