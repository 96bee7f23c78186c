/* SPDX-License-Identifier: MIT */
/*
 * bench/page.c - the experiment as one page of HTML.
 *
 * The page needs no script, no network and no other file, so that it can be
 * kept, sent, or put anywhere.
 *
 * Reads next: bench/chart.c
 */
#include "bench/policies.h"

#include <string.h>

#include "bench/html.h"
#include "bench/machine.h"
#include "bench/table.h"

static void print_head(FILE *out, const struct bench_machine *m)
{
	fprintf(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
		"<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" "
		"content=\"width=device-width,initial-scale=1\">\n"
		"<title>weft: scheduling policies, measured</title>\n"
		"<style>\n%s</style>\n</head>\n<body>\n<main>\n"
		"<h1>Scheduling policies, measured</h1>\n"
		"<p class=\"soft\">weft ",
		bench_html_style);
	bench_html_text(out, m->version);
	fprintf(out, " &middot; ");
	bench_html_text(out, m->cpu);
	fprintf(out, " &middot; %u CPU%s &middot; ", m->cpus,
		m->cpus == 1 ? "" : "s");
	bench_html_text(out, m->date);
	fprintf(out, "</p>\n");
}

static void print_reading(const struct bench_policies *x, FILE *out)
{
	fprintf(out,
		"<p>Every row runs the same work with another set of "
		"heuristics. Shorter is better. The rows compare the time "
		"of one operation: the median of %u round%s, in which all rows "
		"take turns.</p>\n",
		x->rounds, x->rounds == 1 ? "" : "s");
	if (x->scale != 1)
		fprintf(out,
			"<p>The workloads have %g times their usual "
			"size.</p>\n",
			x->scale);
	fputs("<ul class=\"legend\">"
	      "<li><span class=\"key w\"></span>wall-clock time</li>"
	      "<li><span class=\"key c\"></span>CPU time of all threads</li>"
	      "<li><span class=\"key b\"></span>fastest round</li>"
	      "<li><span class=\"key d\"></span>the default</li></ul>\n"
	      "<p class=\"soft\">Beside each name: the time of one operation, "
	      "and how many times the default&#39;s that is. A bar with a gap "
	      "near its end is longer than its chart. A difference of a few "
	      "percent means nothing, least of all where there are more "
	      "workers than CPUs and the system decides which run.</p>\n",
		out);
}

/* The class of a cell: faster, about the same, or slower. */
static const char *shade(double ratio)
{
	static const struct {
		double below;
		const char *name;
	} shades[] = { { 0.8, "f2" }, { 0.95, "f1" }, { 1.05, "e" },
		{ 1.25, "s1" }, { 2, "s2" } };

	if (ratio <= 0)
		return "e";
	for (size_t i = 0; i < sizeof(shades) / sizeof(shades[0]); i++)
		if (ratio < shades[i].below)
			return shades[i].name;
	return "s3";
}

/* A line may break between two words of the policy, and nowhere else. */
static void print_policy(FILE *out, const char *name)
{
	fputs("<th class=\"policy\" scope=\"row\">", out);
	while (*name != '\0') {
		size_t n = strcspn(name, ",");

		n += name[n] == ',';
		fputs("<span>", out);
		bench_html_text_n(out, name, n);
		fputs("</span><wbr>", out);
		name += n;
	}
	fputs("</th>", out);
}

static void print_group(
	FILE *out, const struct bench_variant *v, size_t columns)
{
	if (v->heading == NULL)
		return;
	fprintf(out, "<tr class=\"group\"><th colspan=\"%zu\">", columns);
	bench_html_text(out, v->heading);
	fprintf(out, "</th></tr>\n");
}

static void print_ratio_cells(const struct bench_policies *x, FILE *out,
	const struct bench_impl *on, bool cpu)
{
	for (size_t l = 0; l < x->n_loads; l++) {
		struct bench_cell c = bench_policies_cell(x, x->load[l], on);
		double ratio = cpu ? c.cpu_ratio : c.ratio;

		fprintf(out, "<td class=\"%s\">", shade(ratio));
		bench_html_ratio(out, ratio);
		fputs("</td>", out);
	}
}

static void print_ratios(const struct bench_policies *x, FILE *out, bool cpu)
{
	fprintf(out,
		"<div class=\"scroll\"><table class=\"ratios\">\n"
		"<caption>%s</caption>\n<thead><tr>"
		"<th class=\"policy\">policy</th>",
		cpu ? "CPU time of all threads" : "Wall-clock time");
	for (size_t l = 0; l < x->n_loads; l++) {
		fputs("<th scope=\"col\"><span>", out);
		bench_html_text(out, x->load[l]->name);
		fputs("</span></th>", out);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < x->n; i++) {
		print_group(out, &x->variant[i], x->n_loads + 1);
		fputs("<tr>", out);
		print_policy(out, x->variant[i].on->name);
		print_ratio_cells(x, out, x->variant[i].on, cpu);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div>\n", out);
}

static void print_both_ratios(const struct bench_policies *x, FILE *out)
{
	fputs("<h2>In multiples of the default</h2>\n"
	      "<p class=\"soft\">Of the time of one operation; below 1 is "
	      "less than with the default policy, <code>ws</code>.</p>\n"
	      "<div class=\"charts\">\n",
		out);
	print_ratios(x, out, false);
	print_ratios(x, out, true);
	fputs("</div>\n", out);
}

static void print_percent(FILE *out, uint64_t part, uint64_t all)
{
	if (all == 0)
		fputs("<td>-</td>", out);
	else
		fprintf(out, "<td>%.1f</td>", bench_percent(part, all));
}

static void print_figures(FILE *out, const struct bench_cell *c)
{
	const struct bench_result *r = c->result;
	const struct bench_sources *s = &r->from;

	if (!c->measured) {
		fputs("<td colspan=\"10\">not measured: ", out);
		bench_html_text(out, bench_reason(c->bench, r->err));
		fputs("</td>", out);
		return;
	}
	fprintf(out, "<td>%.2f</td><td>%.2f</td><td>", bench_median(r),
		bench_min(r));
	bench_html_ratio(out, c->ratio);
	fprintf(out, "</td><td>%.2f</td>", bench_cpu_median(r));
	print_percent(out, s->lifo, s->ticks);
	print_percent(out, s->local, s->ticks);
	print_percent(out, s->global, s->ticks);
	print_percent(out, s->stolen, s->ticks);
	if (s->ticks == 0)
		fputs("<td>-</td><td>-</td>", out);
	else
		fprintf(out, "<td>%.1f</td><td>%.1f</td>",
			(double)s->wakes / r->rounds,
			(double)s->wakes_futile / r->rounds);
}

static void print_details(const struct bench_policies *x, FILE *out,
	const struct bench_load *load)
{
	fputs("<details><summary>All figures, and where tasks came "
	      "from</summary>\n<div class=\"scroll\"><table>\n<thead><tr>"
	      "<th class=\"policy\">policy</th><th>ns</th><th>min ns</th>"
	      "<th>&times;</th><th>CPU ns</th><th>lifo %</th><th>local %</th>"
	      "<th>global %</th><th>stolen %</th><th>wakes</th>"
	      "<th>futile</th></tr></thead>\n<tbody>\n",
		out);
	for (size_t i = 0; i < x->n; i++) {
		const struct bench_variant *v = &x->variant[i];
		struct bench_cell c = bench_policies_cell(x, load, v->on);

		print_group(out, v, 11);
		fputs("<tr>", out);
		print_policy(out, v->on->name);
		print_figures(out, &c);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table></div></details>\n", out);
}

static void print_loads(const struct bench_policies *x, FILE *out)
{
	fputs("<h2>Workload by workload</h2>\n<div class=\"charts\">\n", out);
	for (size_t l = 0; l < x->n_loads; l++) {
		const struct bench_load *load = x->load[l];
		unsigned workers = bench_policies_workers(x, load);

		fputs("<section class=\"card\">\n<h3>", out);
		bench_html_text(out, load->name);
		fprintf(out, "</h3>\n<p class=\"soft\">%u worker%s: ", workers,
			workers == 1 ? "" : "s");
		bench_html_text(out, load->what);
		fputs("</p>\n", out);
		bench_html_chart(out, x, load);
		print_details(x, out, load);
		fputs("</section>\n", out);
	}
	fputs("</div>\n", out);
}

static void print_words(FILE *out)
{
	fputs("<h2>What the words mean</h2>\n<dl>\n", out);
	for (const struct bench_word *w = bench_words; w->word; w++) {
		fputs("<dt>", out);
		bench_html_text(out, w->word);
		fputs("</dt><dd>", out);
		bench_html_text(out, w->what);
		fputs("</dd>\n", out);
	}
	fputs("</dl>\n", out);
}

static void print_fact(FILE *out, const char *name, const char *value)
{
	fputs("<dt>", out);
	bench_html_text(out, name);
	fputs("</dt><dd>", out);
	bench_html_text(out, value);
	fputs("</dd>\n", out);
}

static void print_machine(FILE *out, const struct bench_machine *m)
{
	fputs("<h2>The machine</h2>\n<dl>\n", out);
	print_fact(out, "CPU", m->cpu);
	fprintf(out, "<dt>CPUs</dt><dd>%u</dd>\n", m->cpus);
	print_fact(out, "Linux", m->kernel);
	print_fact(out, "date", m->date);
	print_fact(out, "weft", m->version);
	fputs("</dl>\n<p class=\"soft\">Made by <code>weft bench --policies "
	      "--page FILE</code>.</p>\n",
		out);
}

void bench_policies_page(const struct bench_policies *x, FILE *out)
{
	struct bench_machine m;

	bench_machine_read(&m);
	print_head(out, &m);
	print_reading(x, out);
	print_both_ratios(x, out);
	print_loads(x, out);
	print_words(out);
	print_machine(out, &m);
	fputs("</main>\n</body>\n</html>\n", out);
}
