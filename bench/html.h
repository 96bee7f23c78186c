/* SPDX-License-Identifier: MIT */
/*
 * bench/html.h - the small parts that a page is made of.
 */
#ifndef WEFT_BENCH_HTML_H
#define WEFT_BENCH_HTML_H

#include <stddef.h>
#include <stdio.h>

#include "bench/policies.h"

/* Write any text, with the characters of markup escaped. */
void bench_html_text(FILE *out, const char *text);
void bench_html_text_n(FILE *out, const char *text, size_t n);

/* Write the time of an operation, with its unit. */
void bench_html_ns(FILE *out, double ns);

/* Write a multiple of the default; "-" for 0. */
void bench_html_ratio(FILE *out, double ratio);

/* bench/chart.c: draw one workload as bars, in an element of its own. */
void bench_html_chart(FILE *out, const struct bench_policies *x,
	const struct bench_load *load);

/* bench/page_style.c */
extern const char bench_html_style[];

#endif
