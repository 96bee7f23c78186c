/* SPDX-License-Identifier: MIT */
/*
 * bench/policies_text.c - print the experiment for a terminal, and for
 * programs.
 *
 * Reads next: bench/page.c
 */
#include "bench/policies.h"

#include <string.h>

#include "bench/machine.h"
#include "bench/table.h"

#define NAME_WIDTH 34

static void print_heading(FILE *out, const struct bench_variant *v)
{
	if (v->heading != NULL)
		fprintf(out, "%s\n", v->heading);
}

static void print_sources(FILE *out, const struct bench_result *r)
{
	const struct bench_sources *s = &r->from;

	if (s->ticks == 0) {
		fprintf(out, " %4s %4s %4s %4s %7s", "-", "-", "-", "-", "-");
		return;
	}
	fprintf(out, " %4.0f %4.0f %4.0f %4.0f %7.0f",
		bench_percent(s->lifo, s->ticks),
		bench_percent(s->local, s->ticks),
		bench_percent(s->global, s->ticks),
		bench_percent(s->stolen, s->ticks),
		(double)s->wakes / r->rounds);
}

static void print_cell(FILE *out, const struct bench_cell *c, const char *name)
{
	fprintf(out, "  %-*s", NAME_WIDTH - 2, name);
	if (!c->measured) {
		fprintf(out, " not measured: %s\n",
			bench_reason(c->bench, c->result->err));
		return;
	}
	fprintf(out, " %9.2f %9.2f", bench_median(c->result),
		bench_min(c->result));
	if (c->ratio > 0)
		fprintf(out, " %6.2f", c->ratio);
	else
		fprintf(out, " %6s", "-");
	fprintf(out, " %9.2f", bench_cpu_median(c->result));
	print_sources(out, c->result);
	fprintf(out, "\n");
}

static void print_load(const struct bench_policies *x, FILE *out,
	const struct bench_load *load)
{
	unsigned workers = bench_policies_workers(x, load);

	fprintf(out, "\n%s, %u worker%s: %s\n", load->name, workers,
		workers == 1 ? "" : "s", load->what);
	fprintf(out, "%-*s %9s %9s %6s %9s %4s %4s %4s %4s %7s\n", NAME_WIDTH,
		"", "ns", "min ns", "x ws", "cpu ns", "lifo", "loc", "glob",
		"stol", "wakes");
	for (size_t i = 0; i < x->n; i++) {
		const struct bench_variant *v = &x->variant[i];
		struct bench_cell c = bench_policies_cell(x, load, v->on);

		print_heading(out, v);
		print_cell(out, &c, v->on->name);
	}
}

/* A name of two parts takes two lines: the length of the first part. */
static int first_part(const char *name)
{
	const char *dash = strchr(name, '-');

	return dash ? (int)(dash - name) : 0;
}

static const char *second_part(const char *name)
{
	return first_part(name) > 0 ? strchr(name, '-') + 1 : name;
}

/* The width of the column of that workload. */
static int width_of(const struct bench_load *load)
{
	size_t first = (size_t)first_part(load->name);
	size_t second = strlen(second_part(load->name));
	size_t most = first > second ? first : second;

	return most < 6 ? 6 : (int)most;
}

static void print_names(const struct bench_policies *x, FILE *out, bool first)
{
	fprintf(out, "%-*s", NAME_WIDTH, "");
	for (size_t l = 0; l < x->n_loads; l++) {
		const char *name = x->load[l]->name;
		int width = width_of(x->load[l]);

		if (first)
			fprintf(out, " %*.*s", width, first_part(name), name);
		else
			fprintf(out, " %*s", width, second_part(name));
	}
	fprintf(out, "\n");
}

static void print_ratios(const struct bench_policies *x, FILE *out, bool cpu)
{
	fprintf(out, "\n%s in multiples of the default, ws\n",
		cpu ? "CPU time" : "time");
	print_names(x, out, true);
	print_names(x, out, false);
	for (size_t i = 0; i < x->n; i++) {
		print_heading(out, &x->variant[i]);
		fprintf(out, "  %-*s", NAME_WIDTH - 2, x->variant[i].on->name);
		for (size_t l = 0; l < x->n_loads; l++) {
			struct bench_cell c = bench_policies_cell(
				x, x->load[l], x->variant[i].on);
			double ratio = cpu ? c.cpu_ratio : c.ratio;

			int width = width_of(x->load[l]);

			if (ratio > 0)
				fprintf(out, " %*.2f", width, ratio);
			else
				fprintf(out, " %*s", width, "-");
		}
		fprintf(out, "\n");
	}
}

void bench_policies_text(const struct bench_policies *x, FILE *out)
{
	struct bench_machine m;

	bench_machine_read(&m);
	fprintf(out, "weft %s, policies, %s\n%s\n%u CPU%s, Linux %.80s\n",
		m.version, m.date, m.cpu, m.cpus, m.cpus == 1 ? "" : "s",
		m.kernel);
	fprintf(out, "median of %u round%s", x->rounds,
		x->rounds == 1 ? "" : "s");
	if (x->scale != 1)
		fprintf(out, ", workloads of %g times their size", x->scale);
	fprintf(out,
		"; ns and cpu ns of one operation, cpu of all threads;\n"
		"lifo, loc, glob, stol: where tasks came from, in "
		"percent; wakes in one round\n");
	for (size_t l = 0; l < x->n_loads; l++)
		print_load(x, out, x->load[l]);
	print_ratios(x, out, false);
	print_ratios(x, out, true);
}

static void print_line(FILE *out, const struct bench_cell *c)
{
	const struct bench_result *r = c->result;
	const struct bench_sources *s = &r->from;

	fprintf(out, "%s\t%s\t%u\t%llu\t%.3f\t%.3f\t%.3f\t%ld", c->bench->name,
		c->bench->impl, c->bench->workers, (unsigned long long)r->ops,
		bench_median(r), r->total_ms, r->cpu_ms, r->peak_rss_kb);
	fprintf(out, "\t%.3f\t%.3f\t%.4f", bench_min(r), bench_cpu_median(r),
		c->ratio);
	fprintf(out, "\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\n",
		bench_percent(s->lifo, s->ticks),
		bench_percent(s->local, s->ticks),
		bench_percent(s->global, s->ticks),
		bench_percent(s->stolen, s->ticks),
		(double)s->wakes / r->rounds,
		(double)s->wakes_futile / r->rounds);
}

void bench_policies_tsv(const struct bench_policies *x, FILE *out)
{
	for (size_t l = 0; l < x->n_loads; l++) {
		for (size_t i = 0; i < x->n; i++) {
			struct bench_cell c = bench_policies_cell(
				x, x->load[l], x->variant[i].on);

			if (c.measured)
				print_line(out, &c);
			else
				fprintf(stderr,
					"weft: %s (%s): not measured: %s\n",
					c.bench->name, c.bench->impl,
					bench_reason(c.bench, c.result->err));
		}
	}
}
