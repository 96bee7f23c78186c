/* SPDX-License-Identifier: MIT */
/*
 * bench/chart.c - one workload as horizontal bars, in SVG.
 *
 * Horizontal measures are in percent, and nothing is scaled: on a narrow screen
 * the bars shrink and the letters do not.  So the name and the figures of a row
 * stand above its bars, not beside them.
 *
 * Bars begin at 0, so that their lengths can be compared.  A bar that is so
 * long that the others would be invisible is drawn broken.
 */
#include "bench/html.h"

#include <string.h>

#include "bench/table.h"

/* The longest unbroken bar, in multiples of the default's. */
#define LONGEST 3.0

/* In CSS pixels. */
#define AXIS 20
#define HEADING 26
#define LINE 15
#define WALL 8
#define CPU 4
#define GAP 9

/* Letters of a name on one line, which leaves room for its figures. */
#define NAME_MAX_LETTERS 33

struct chart {
	FILE *out;
	const struct bench_policies *x;
	const struct bench_load *load;
	double full;  /* ns at the right edge */
	double usual; /* ns of the default; 0: unknown */
	int y;
	int height;
};

/* How much of a name goes on the first line: up to a comma, if it is long. */
static size_t line_of(const char *name)
{
	size_t n = strlen(name), cut = NAME_MAX_LETTERS;

	if (n <= NAME_MAX_LETTERS)
		return n;
	while (cut > 0 && name[cut - 1] != ',')
		cut--;
	return cut > 0 ? cut : NAME_MAX_LETTERS;
}

static int lines_of(const char *name)
{
	int lines = 0;

	do {
		name += line_of(name);
		lines++;
	} while (*name != '\0');
	return lines;
}

static int row_height(const char *name)
{
	return lines_of(name) * LINE + WALL + CPU + GAP;
}

static void measure(struct chart *c)
{
	double longest = 0, cap;

	c->height = AXIS;
	for (size_t i = 0; i < c->x->n; i++) {
		const struct bench_variant *v = &c->x->variant[i];
		struct bench_cell cell =
			bench_policies_cell(c->x, c->load, v->on);

		c->height += row_height(v->on->name);
		if (v->heading != NULL)
			c->height += HEADING;
		if (!cell.measured)
			continue;
		if (bench_median(cell.result) > longest)
			longest = bench_median(cell.result);
		if (bench_cpu_median(cell.result) > longest)
			longest = bench_cpu_median(cell.result);
		if (i == 0)
			c->usual = bench_median(cell.result);
	}
	cap = LONGEST * c->usual;
	c->full = cap > 0 && cap < longest ? cap : longest * 1.02;
}

static double across(const struct chart *c, double ns)
{
	return c->full > 0 ? 100 * ns / c->full : 0;
}

/* The distance of marks: 1, 2 or 5 times a power of ten, at most four marks. */
static double step_of(double full)
{
	static const double parts[] = { 1, 2, 5 };
	double unit = 1e-3;

	if (full <= 0)
		return 1;
	for (;; unit *= 10)
		for (int i = 0; i < 3; i++)
			if (full / (unit * parts[i]) <= 4)
				return unit * parts[i];
}

static void print_tick(const struct chart *c, double ns)
{
	double x = across(c, ns);
	bool micro = c->full >= 10000;

	fprintf(c->out,
		"<line class=\"grid\" x1=\"%.2f%%\" x2=\"%.2f%%\" y1=\"%d\" "
		"y2=\"%d\"/>",
		x, x, AXIS - 6, c->height);
	fprintf(c->out,
		"<text class=\"tick\" x=\"%.2f%%\" y=\"10\" "
		"text-anchor=\"%s\">%g%s</text>\n",
		x,
		x < 8		 ? "start"
			: x > 90 ? "end"
				 : "middle",
		micro ? ns / 1e3 : ns, micro ? " &micro;s" : " ns");
}

static void print_axis(struct chart *c)
{
	double step = step_of(c->full);

	for (int i = 0; i * step <= c->full; i++)
		print_tick(c, i * step);
	if (c->usual > 0)
		fprintf(c->out,
			"<line class=\"usual\" x1=\"%.2f%%\" x2=\"%.2f%%\" "
			"y1=\"%d\" y2=\"%d\"/>\n",
			across(c, c->usual), across(c, c->usual), AXIS - 6,
			c->height);
	c->y = AXIS;
}

static void print_bar(
	const struct chart *c, const char *kind, int y, int height, double ns)
{
	double width = across(c, ns);

	fprintf(c->out,
		"<rect class=\"%s\" x=\"0\" y=\"%d\" width=\"%.2f%%\" "
		"height=\"%d\"/>",
		kind, y, width > 100 ? 100 : width, height);
	if (width > 100)
		fprintf(c->out,
			"<svg class=\"break\" x=\"95%%\" y=\"%d\" "
			"width=\"9\" height=\"%d\" viewBox=\"0 0 9 8\" "
			"preserveAspectRatio=\"none\">"
			"<path d=\"M0 8L3 0H5L2 8zM4 8L7 0H9L6 8z\"/></svg>",
			y, height);
}

static void print_name(const struct chart *c, const char *name)
{
	for (int i = 0; *name != '\0'; i++) {
		size_t n = line_of(name);

		fprintf(c->out, "<text class=\"name\" x=\"0\" y=\"%d\">",
			c->y + i * LINE + 11);
		bench_html_text_n(c->out, name, n);
		fprintf(c->out, "</text>");
		name += n;
	}
}

/* The text for a mouse pointer, and for readers who cannot see the bars. */
static void print_title(const struct chart *c, const struct bench_cell *cell)
{
	fprintf(c->out, "<title>");
	bench_html_text(c->out, cell->bench->impl);
	fprintf(c->out, ": ");
	if (cell->measured) {
		bench_html_ns(c->out, bench_median(cell->result));
		fprintf(c->out, ", at best ");
		bench_html_ns(c->out, bench_min(cell->result));
		fprintf(c->out, "; CPU ");
		bench_html_ns(c->out, bench_cpu_median(cell->result));
		fprintf(c->out, "; ");
		bench_html_ratio(c->out, cell->ratio);
		fprintf(c->out, " times the default");
	} else {
		fprintf(c->out, "not measured: ");
		bench_html_text(
			c->out, bench_reason(cell->bench, cell->result->err));
	}
	fprintf(c->out, "</title>");
}

static void print_figures(const struct chart *c, const struct bench_cell *cell)
{
	fprintf(c->out,
		"<text class=\"figures\" x=\"100%%\" y=\"%d\" "
		"text-anchor=\"end\">",
		c->y + 11);
	if (cell->measured) {
		bench_html_ns(c->out, bench_median(cell->result));
		fprintf(c->out, " <tspan class=\"ratio\">");
		bench_html_ratio(c->out, cell->ratio);
		fprintf(c->out, "&times;</tspan>");
	} else {
		fprintf(c->out, "not measured");
	}
	fprintf(c->out, "</text>");
}

static void print_row(
	struct chart *c, const struct bench_variant *v, bool usual)
{
	struct bench_cell cell = bench_policies_cell(c->x, c->load, v->on);
	const char *name = v->on->name;
	int y = c->y + lines_of(name) * LINE;

	fprintf(c->out, "<g class=\"row%s\">", usual ? " default" : "");
	print_title(c, &cell);
	print_name(c, name);
	print_figures(c, &cell);
	if (cell.measured) {
		double best = across(c, bench_min(cell.result));

		print_bar(c, "wall", y, WALL, bench_median(cell.result));
		print_bar(
			c, "cpu", y + WALL, CPU, bench_cpu_median(cell.result));
		if (best < 100)
			fprintf(c->out,
				"<line class=\"best\" x1=\"%.2f%%\" "
				"x2=\"%.2f%%\" y1=\"%d\" y2=\"%d\"/>",
				best, best, y, y + WALL);
	}
	fprintf(c->out, "</g>\n");
	c->y += row_height(name);
}

void bench_html_chart(FILE *out, const struct bench_policies *x,
	const struct bench_load *load)
{
	struct chart c = { .out = out, .x = x, .load = load };

	measure(&c);
	fprintf(out,
		"<svg class=\"chart\" width=\"100%%\" height=\"%d\" "
		"role=\"img\" aria-label=\"",
		c.height);
	bench_html_text(out, load->name);
	fprintf(out, ": time per operation for each policy\">\n");
	print_axis(&c);
	for (size_t i = 0; i < x->n; i++) {
		if (x->variant[i].heading != NULL) {
			fprintf(out,
				"<text class=\"heading\" x=\"0\" "
				"y=\"%d\">",
				c.y + HEADING - 10);
			bench_html_text(out, x->variant[i].heading);
			fprintf(out, "</text>\n");
			c.y += HEADING;
		}
		print_row(&c, &x->variant[i], i == 0);
	}
	fprintf(out, "</svg>\n");
}
