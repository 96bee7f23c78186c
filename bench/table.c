/* SPDX-License-Identifier: MIT */
/*
 * bench/table.c - print the tables of floors and of workloads, and the lines
 * for programs.
 *
 * Reads next: bench/ratios.c
 */
#include "bench/table.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "bench/workloads.h"
#include "os/os.h"

const char *bench_reason(const struct bench *b, int err)
{
	if (err == -ENODEV)
		return "needs two CPUs";
	if (err == -ENOTSUP && b->load != NULL)
		return "its tasks cannot wait";
	if (err == -EILSEQ)
		return "the result is wrong";
	if (err == -ETIME)
		return "starved: it did not end";
	return strerror(-err);
}

void bench_print_tsv(
	const struct bench_plan *p, const struct bench_result *results)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct bench *b = &p->row[i];
		const struct bench_result *r = &results[i];

		if (b->hidden)
			continue;
		if (r->err) {
			fprintf(stderr, "weft: %s (%s): not measured: %s\n",
				b->name, b->impl, bench_reason(b, r->err));
			continue;
		}
		printf("%s\t%s\t%u\t%llu\t%.3f\t%.3f\t%.3f\t%ld\n", b->name,
			b->impl, b->workers, (unsigned long long)r->ops,
			bench_median(r), r->total_ms, r->cpu_ms,
			r->peak_rss_kb);
	}
}

const struct bench_result *bench_view_of(const struct bench_view *v,
	const struct bench_load *load, const struct bench_impl *on,
	unsigned workers)
{
	const struct bench *b = bench_plan_find(v->plan, load, on, workers);
	const struct bench_result *r;

	if (b == NULL)
		return NULL;
	r = &v->results[b - v->plan->row];
	return r->err || r->rounds == 0 || !bench_is_seen(r) ? NULL : r;
}

double bench_view_slower(const struct bench_view *v, const struct bench *b)
{
	const struct bench_result *one, *more;

	one = bench_view_of(v, b->load, b->on, 1);
	more = bench_view_of(v, b->load, b->on, b->workers);
	return one && more ? bench_median(more) / bench_median(one) : 0;
}

double bench_view_floor(const struct bench_view *v, const char *name)
{
	const struct bench *b = bench_plan_named(v->plan, name);
	const struct bench_result *r = b ? &v->results[b - v->plan->row] : NULL;

	return r == NULL || r->err || r->rounds == 0 ? 0 : bench_median(r);
}

/* Print a limit: a multiple of floor-cas, and a multiple of another floor. */
static void print_floor_limit(
	const struct bench_view *v, const struct bench *b, double ns)
{
	double base = b->base ? bench_view_floor(v, b->base) : 0;
	bool within = ns <= b->limit * v->cas + b->times * base;

	if ((b->limit > 0 && v->cas <= 0) || (b->base && base <= 0))
		return;
	if (b->limit > 0 || b->base)
		printf("   %s", within ? "within" : "OVER");
	if (b->limit > 0)
		printf(" %.1f", b->limit);
	if (b->limit > 0 && b->base)
		printf(" above %s", b->base);
	else if (b->base)
		printf(" %.1f x %s", b->times, b->base);
}

static void print_floor(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	if (r->err) {
		printf("%-18s %-38s not measured: %s\n", b->name, b->what,
			bench_reason(b, r->err));
		return;
	}
	printf("%-18s %-38s %10.2f %10.2f", b->name, b->what, bench_median(r),
		bench_min(r));
	if (v->cas > 0)
		printf(" %9.2f", bench_median(r) / v->cas);
	print_floor_limit(v, b, bench_median(r));
	printf("\n");
}

static void print_floors(const struct bench_view *v)
{
	bool begun = false;

	for (size_t i = 0; i < v->plan->n; i++) {
		const struct bench *b = &v->plan->row[i];

		if (b->load != NULL || b->hidden)
			continue;
		if (!begun)
			printf("\n%-18s %-38s %10s %10s%s\n", "floor",
				"one operation", "ns", "min ns",
				v->cas > 0 ? "     x cas   limit" : "");
		begun = true;
		print_floor(v, b, &v->results[i]);
	}
}

/*
 * The share of CPU time that is not user code.  The time of user code is known
 * to the workload, or was measured by plain calls, or is 0.
 */
static double outside_percent(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	const struct bench_result *plain =
		bench_view_of(v, b->load, &bench_plain, 1);
	double user = plain ? plain->cpu_ms : r->user_ms;
	double share = r->cpu_ms > 0 ? 1 - user / r->cpu_ms : 0;

	return share < 0 ? 0 : share * 100;
}

double bench_percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void print_sources(const struct bench_result *r)
{
	const struct bench_sources *s = &r->from;

	if (s->ticks == 0) {
		printf(" %5s %5s %5s %5s %8s %7s", "-", "-", "-", "-", "-",
			"-");
		return;
	}
	printf(" %5.1f %5.1f %5.1f %5.1f %8.1f %7.1f",
		bench_percent(s->lifo, s->ticks),
		bench_percent(s->local, s->ticks),
		bench_percent(s->global, s->ticks),
		bench_percent(s->stolen, s->ticks),
		(double)s->wakes / r->rounds,
		(double)s->wakes_futile / r->rounds);
}

/* Judge against floor-cas, and two workers against one. */
static void print_limit(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r)
{
	double slower = bench_view_slower(v, b);
	const struct bench_load *load = b->load;

	if (b->limit > 0 && v->cas > 0)
		printf("  %s %.1f",
			bench_median(r) <= b->limit * v->cas ? "within"
							     : "OVER",
			b->limit);
	if (b->on != &bench_weft || b->workers != 2 || slower <= 0)
		return;
	if (load->slower > 0)
		printf("  %s %.2f of 1 worker",
			slower <= load->slower ? "within" : "OVER",
			load->slower);
	if (load->faster > 0 && wf_os_cpus_default() >= 2)
		printf("  %s %.1f times 1 worker",
			1 / slower >= load->faster ? "reaches" : "BELOW",
			load->faster);
}

static void print_load(const struct bench_view *v, const struct bench *b,
	const struct bench_result *r, int width)
{
	printf("%-18s %-*s %2u", b->name, width, b->impl, b->workers);
	if (r->err) {
		printf("  not measured: %s\n", bench_reason(b, r->err));
		return;
	}
	if (bench_is_seen(r))
		printf(" %10.2f %10.2f", bench_median(r), bench_min(r));
	else
		printf(" %10s %10s", "-", "-");
	if (bench_is_seen(r) && v->cas > 0)
		printf(" %9.2f", bench_median(r) / v->cas);
	else
		printf(" %9s", "-");
	printf(" %8.2f %5.1f", r->cpu_ms, outside_percent(v, b, r));
	print_sources(r);
	if (bench_is_seen(r))
		print_limit(v, b, r);
	else
		printf("  below what can be measured");
	printf("\n");
}

/* The width of the longest name of an implementation. */
static int impl_width(const struct bench_view *v)
{
	size_t most = 5;

	for (size_t i = 0; i < v->plan->n; i++) {
		size_t n = strlen(v->plan->row[i].impl);

		if (v->plan->row[i].load != NULL && n > most)
			most = n;
	}
	return (int)most;
}

/* idle has no operation: bench/reports.c prints it, unless it failed. */
static void print_loads(const struct bench_view *v)
{
	int width = impl_width(v);
	bool begun = false;

	for (size_t i = 0; i < v->plan->n; i++) {
		const struct bench *b = &v->plan->row[i];

		if (b->load == NULL || b->hidden ||
			(b->load == &bench_idle && !v->results[i].err))
			continue;
		if (!begun)
			printf("\n%-18s %-*s %2s %10s %10s %9s %8s %5s %5s "
			       "%5s %5s %5s %8s %7s  limit\n",
				"workload", width, "impl", "w", "ns", "min ns",
				"x cas", "cpu ms", "out %", "lifo%", "loc %",
				"glob%", "stol%", "wakes", "futile");
		begun = true;
		print_load(v, b, &v->results[i], width);
	}
}

/* List the workloads that ran in a smaller size, each once. */
static void print_parts(const struct bench_view *v)
{
	const struct bench_load *last = NULL;

	for (size_t i = 0; i < v->plan->n; i++) {
		const struct bench *b = &v->plan->row[i];

		if (b->load == NULL || b->load == last || b->part <= 0)
			continue;
		printf("%s %s x %g",
			last ? "," : "smaller unless named:", b->name, b->part);
		last = b->load;
	}
	if (last != NULL)
		printf("\n");
}

static void print_title(const struct bench_view *v, unsigned rounds)
{
	printf("weft bench: %u CPUs, median of %u rounds", wf_os_cpus_default(),
		rounds);
	for (size_t i = 0; i < v->plan->n; i++) {
		double scale = v->plan->row[i].scale;

		if (scale > 0 && scale != 1) {
			printf(", workloads of %g times their size", scale);
			break;
		}
	}
	if (v->cas > 0)
		printf(", compare-and-swap %.2f ns", v->cas);
	printf("\n");
	print_parts(v);
}

void bench_print_tables(const struct bench_plan *p,
	const struct bench_result *results, unsigned rounds)
{
	struct bench_view v = { .plan = p, .results = results };

	v.cas = bench_view_floor(&v, "floor-cas");
	print_title(&v, rounds);
	print_floors(&v);
	print_loads(&v);
	bench_print_reports(&v);
	bench_print_ratios(&v);
}
