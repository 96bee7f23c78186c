/* SPDX-License-Identifier: MIT */
/*
 * bench/plan.c - make rows of workloads, implementations and workers.
 */
#include "bench/plan.h"

#include <string.h>

#include "base/assert.h"
#include "bench/workloads.h"

const struct bench *bench_plan_find(const struct bench_plan *p,
	const struct bench_load *load, const struct bench_impl *on,
	unsigned workers)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct bench *b = &p->row[i];

		if (b->load == load && b->on == on && b->workers == workers)
			return b;
	}
	return NULL;
}

const struct bench *bench_plan_named(
	const struct bench_plan *p, const char *name)
{
	for (size_t i = 0; i < p->n; i++)
		if (strcmp(p->row[i].name, name) == 0)
			return &p->row[i];
	return NULL;
}

static struct bench *add(struct bench_plan *p, const struct bench *b)
{
	wf_assert(p->n < BENCH_PLAN_MAX, "the bench plan has no row left");
	p->row[p->n] = *b;
	return &p->row[p->n++];
}

void bench_plan_floor(struct bench_plan *p, const struct bench *floor)
{
	if (bench_plan_named(p, floor->name) == NULL)
		add(p, floor);
}

/* The smaller of two numbers of rounds; 0 means no limit. */
static unsigned fewer(unsigned a, unsigned b)
{
	return a == 0 || (b > 0 && b < a) ? b : a;
}

void bench_plan_row(struct bench_plan *p, const struct bench_load *load,
	const struct bench_impl *on, unsigned workers, double scale)
{
	const double limits[] = { 0, load->limit, load->limit2 };
	bool judged = on == &bench_weft && workers <= 2;
	const struct bench b = {
		.name = load->name,
		.what = load->what,
		.impl = on->name,
		.workers = workers,
		.limit = judged ? limits[workers] : 0,
		.measure = bench_load_measure,
		.rounds = fewer(load->rounds, on->rounds),
		.hidden = on == &bench_plain,
		.load = load,
		.on = on,
		.scale = scale,
		.part = load->part,
	};

	if (bench_plan_find(p, load, on, workers) == NULL)
		add(p, &b);
}

/* Add rows with every number of workers. */
static void add_load(struct bench_plan *p, const struct bench_load *load,
	const struct bench_impl *on, const struct bench_wish *wish)
{
	for (int k = 0; k < BENCH_WORKERS && load->workers[k] > 0; k++)
		bench_plan_row(p, load, on,
			wish->workers ? wish->workers : load->workers[k],
			wish->scale);
}

void bench_plan_load(struct bench_plan *p, const struct bench_load *load,
	const struct bench_wish *wish, bool named)
{
	size_t first = p->n;

	for (size_t i = 0; i < wish->n_impls; i++)
		if (named || bench_fits(load, wish->impl[i]))
			add_load(p, load, wish->impl[i], wish);
	for (size_t i = 0; wish->n_impls == 0 && bench_impls[i] != NULL; i++)
		if (bench_fits(load, bench_impls[i]))
			add_load(p, load, bench_impls[i], wish);
	if (p->n > first && load->plain != NULL)
		bench_plan_row(p, load, &bench_plain, 1, wish->scale);
	for (size_t i = first; i < p->n; i++)
		p->row[i].part = named ? 0 : load->part;
}

static void add_hidden(struct bench_plan *p, const char *name)
{
	const struct bench *floor = bench_floors;

	while (strcmp(floor->name, name) != 0)
		floor++;
	if (bench_plan_named(p, name) == NULL)
		add(p, floor)->hidden = true;
}

void bench_plan_complete(struct bench_plan *p)
{
	bool any = false;

	for (size_t i = 0; i < p->n; i++) {
		const struct bench *b = &p->row[i];

		any = any || b->load != NULL || b->limit > 0;
		if (b->base != NULL)
			add_hidden(p, b->base);
	}
	if (any)
		add_hidden(p, "floor-cas");
	if (bench_plan_named(p, bench_million.name) != NULL)
		add_hidden(p, "floor-fault");
}

void bench_plan_run(const struct bench_plan *p, unsigned rounds, bool progress,
	struct bench_result *results)
{
	const struct bench *rows[BENCH_PLAN_MAX];

	for (size_t i = 0; i < p->n; i++)
		rows[i] = &p->row[i];
	bench_run(rows, p->n, rounds, progress, results);
}
