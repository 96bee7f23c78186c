/* SPDX-License-Identifier: MIT */
/*
 * bench/html.c - write text and numbers into a page.
 */
#include "bench/html.h"

#include <string.h>

static const char *entity(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void bench_html_text_n(FILE *out, const char *text, size_t n)
{
	for (size_t i = 0; i < n && text[i] != '\0'; i++) {
		const char *e = entity(text[i]);

		if (e != NULL)
			fputs(e, out);
		else
			fputc(text[i], out);
	}
}

void bench_html_text(FILE *out, const char *text)
{
	bench_html_text_n(out, text, strlen(text));
}

void bench_html_ns(FILE *out, double ns)
{
	if (ns < 100)
		fprintf(out, "%.1f ns", ns);
	else if (ns < 10000)
		fprintf(out, "%.0f ns", ns);
	else if (ns < 1e7)
		fprintf(out, "%.1f &micro;s", ns / 1e3);
	else
		fprintf(out, "%.1f ms", ns / 1e6);
}

void bench_html_ratio(FILE *out, double ratio)
{
	if (ratio <= 0)
		fputs("-", out);
	else if (ratio < 10)
		fprintf(out, "%.2f", ratio);
	else if (ratio < 100)
		fprintf(out, "%.1f", ratio);
	else
		fprintf(out, "%.0f", ratio);
}
