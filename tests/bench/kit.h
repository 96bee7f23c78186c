/* SPDX-License-Identifier: MIT */
/*
 * tests/bench/kit.h - an experiment whose results are made up, and what was
 * printed, as a string.
 */
#ifndef WEFT_TESTS_BENCH_KIT_H
#define WEFT_TESTS_BENCH_KIT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/policies.h"

/*
 * All rows measured: in row k of a workload an operation takes 10 + k / 2 ns,
 * and one more of CPU time.
 */
static inline void kit_fill(struct bench_policies *x)
{
	x->plan.n = 0;
	for (size_t l = 0; l < x->n_loads; l++) {
		for (size_t i = 0; i < x->n; i++) {
			struct bench_result *r = &x->result[x->plan.n];
			double ns = 10 + (double)i / 2;

			bench_plan_row(&x->plan, x->load[l], x->variant[i].on,
				bench_policies_workers(x, x->load[l]), 1);
			*r = (struct bench_result){ .rounds = 3,
				.ops = 1000,
				.ns = { ns - 1, ns, ns + 1 },
				.cpu_ns = { ns, ns + 1, ns + 2 },
				.total_ms = ns / 1e3,
				.cpu_ms = 2 * ns / 1e3,
				.peak_rss_kb = 1,
				.from = { 100, 10, 20, 30, 40, 6, 3 } };
		}
	}
}

/* What print(x, out) writes; to be freed. */
static inline char *kit_print(const struct bench_policies *x,
	void (*print)(const struct bench_policies *x, FILE *out))
{
	static char *text;
	static size_t n;
	FILE *out = open_memstream(&text, &n);

	print(x, out);
	fclose(out);
	return text;
}

static inline size_t kit_count(const char *text, const char *what)
{
	size_t n = 0;

	for (; (text = strstr(text, what)) != NULL; text += strlen(what))
		n++;
	return n;
}

#endif
