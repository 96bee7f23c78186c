/* SPDX-License-Identifier: MIT */
/*
 * bench/reports.c - print the results that only some workloads have: the memory
 * of a million fibers, how late sleepers wake, the cost of a deadline, how long
 * a fiber waits for a busy one, and the cost of an idle runtime.
 */
#include "bench/table.h"

#include <stdio.h>

#include "bench/workloads.h"

#define MILLION_BYTES 4400
#define MILLION_MAPPINGS 1000
#define MILLION_FAULTS 1.3
#define TIMERS 100000
#define TIMERS_CPU_MS 120
#define TIMERS_DONE_MS 20 /* after the longest sleep */
#define TIMERS_WORST_US 2000
#define IDLE_PERCENT 0.1
#define IDLE_SWITCHES 0

/* Only weft has limits. */
static void print_judgement(const struct bench *b, bool good, double limit)
{
	if (b->on == &bench_weft)
		printf(", %s %g", good ? "within" : "OVER", limit);
	printf("\n");
}

/*
 * Print a difference of two measurements, or that there is none: noise can make
 * the smaller one look larger.  Only a difference above 0 is judged.  Returns
 * whether there is one.
 */
static bool print_difference(double d, int decimals, const char *what)
{
	bool seen = d > 0;

	if (seen)
		printf("  %10.*f %s", decimals, d, what);
	else
		printf("  %10s %s: below what can be measured", "-", what);
	return seen;
}

static void print_title(const struct bench *b)
{
	printf("\n%s, %s, %u worker%s\n", b->name, b->impl, b->workers,
		b->workers == 1 ? "" : "s");
}

static void print_million(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	const struct bench_report *f = &r->report;
	double fault = bench_view_floor(v, "floor-fault"), ns = bench_median(r);

	print_title(b);
	printf("  %10llu fibers wait\n", (unsigned long long)f->parked);
	if (print_difference(f->bytes_each, 0, "bytes resident each"))
		print_judgement(
			b, f->bytes_each <= MILLION_BYTES, MILLION_BYTES);
	else
		printf("\n");
	printf("  %10llu mappings", (unsigned long long)f->mappings);
	print_judgement(b, f->mappings <= MILLION_MAPPINGS, MILLION_MAPPINGS);
	printf("  %10.2f seconds\n", r->total_ms / 1e3);
	if (fault > 0)
		printf("  %10.2f times floor-fault\n", ns / fault);
	printf("  %10.2f times the page faults alone", ns / f->fault_ns);
	print_judgement(b, ns <= MILLION_FAULTS * f->fault_ns, MILLION_FAULTS);
}

/* The limit of CPU time grows with the number of fibers. */
static void print_timers(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	const struct bench_sleep *cold = &r->report.sleep[0], *s = cold + 1;
	double cpu_ms = TIMERS_CPU_MS * (double)r->ops / TIMERS;
	double done_ms = s->longest_ms + TIMERS_DONE_MS;

	(void)v;
	print_title(b);
	printf("  %10llu fibers sleep\n", (unsigned long long)r->ops);
	printf("  %10.1f ms of CPU time with cold stacks\n", cold->cpu_ms);
	printf("  %10.1f ms of CPU time with warm stacks", s->cpu_ms);
	print_judgement(b, s->cpu_ms <= cpu_ms, cpu_ms);
	printf("  %10.1f ms from the release until all have woken", s->done_ms);
	print_judgement(b, s->done_ms <= done_ms, done_ms);
	printf("  %10.1f us late in the mean\n", s->late_us);
	printf("  %10.1f us late at worst", s->worst_us);
	print_judgement(b, s->worst_us < TIMERS_WORST_US, TIMERS_WORST_US);
}

static void print_timeouts(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	const struct bench_report *f = &r->report;

	(void)v;
	print_title(b);
	printf("  %10.2f ns a wait without a deadline, in the last round\n",
		f->without_ns);
	printf("  %10.2f ns a wait with a deadline\n", f->with_ns);
	(void)print_difference(
		f->with_ns - f->without_ns, 2, "ns to set and cancel it");
	printf("\n");
}

static void print_hog(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	const struct bench_report *f = &r->report;

	(void)v;
	print_title(b);
	printf("  %10.1f us a round trip, the median\n", f->middle_us);
	printf("  %10.1f us the 99th percentile\n", f->most_us);
	printf("  %10.1f us the slowest\n", f->worst_us);
}

static void print_idle(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	double percent = 100 * r->cpu_ms / r->total_ms;

	(void)v;
	print_title(b);
	printf("  %10.2f seconds\n", r->total_ms / 1e3);
	printf("  %10.4f %% of a CPU", percent);
	print_judgement(b, percent < IDLE_PERCENT, IDLE_PERCENT);
	printf("  %10llu context switches",
		(unsigned long long)r->report.switches);
	print_judgement(b, r->report.switches <= IDLE_SWITCHES, IDLE_SWITCHES);
}

static const struct {
	const struct bench_load *load;
	void (*print)(const struct bench_view *v, const struct bench *b,
		const struct bench_result *r);
} reports[] = {
	{ &bench_ping_pong_hog, print_hog },
	{ &bench_million, print_million },
	{ &bench_timers, print_timers },
	{ &bench_timeouts, print_timeouts },
	{ &bench_idle, print_idle },
};

void bench_print_reports(const struct bench_view *v)
{
	for (size_t i = 0; i < v->plan->n; i++) {
		const struct bench *b = &v->plan->row[i];

		for (size_t k = 0; k < sizeof(reports) / sizeof(*reports); k++)
			if (b->load == reports[k].load && !b->hidden &&
				!v->results[i].err)
				reports[k].print(v, b, &v->results[i]);
	}
}
