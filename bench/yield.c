/* SPDX-License-Identifier: MIT */
/*
 * bench/yield.c - fibers that yield to each other: a thousand, and two.
 *
 * Reads next: bench/spawners.c
 */
#include "bench/workloads.h"

static void yielder(void *arg)
{
	struct bench_yielders *y = arg;
	uint64_t left = y->yields;

	while (left-- > 0)
		bench_on.yield();
	weft_group_done(&y->ended);
}

int bench_yielders_go(struct bench_yielders *y, uint64_t fibers)
{
	weft_group_add(&y->ended, (int64_t)fibers);
	for (uint64_t i = 0; i < fibers; i++) {
		int err = bench_on.go(yielder, y);

		if (err) {
			weft_group_add(&y->ended, -(int64_t)(fibers - i));
			return err;
		}
	}
	return 0;
}

/* Waits for the fibers that were started, whatever happened. */
static int go_and_wait(struct bench_yielders *y, uint64_t fibers)
{
	return bench_wait(&y->ended, bench_yielders_go(y, fibers));
}

int bench_yielders_warm(uint64_t fibers)
{
	struct bench_yielders y = { .yields = 2 };

	return go_and_wait(&y, fibers);
}

static int yields(struct bench_job *j, uint64_t fibers, uint64_t each)
{
	struct bench_yielders y = { .yields = each };
	int err = bench_yielders_warm(fibers);

	if (err)
		return err;
	bench_begin(j);
	err = go_and_wait(&y, fibers);
	bench_end(j, fibers * each);
	return err;
}

static int yield_1000(struct bench_job *j)
{
	return yields(j, 1000, bench_many(j, 1000));
}

const struct bench_load bench_yields = {
	.name = "yield",
	.what = "1,000 fibers yield",
	.run = yield_1000,
	.needs = BENCH_YIELD,
	.workers = { 1, 2 },
	.limit = 8,
	.slower = 1.15,
	.pool = 8,
};

static int switch2(struct bench_job *j)
{
	return yields(j, 2, bench_many(j, 1000000));
}

const struct bench_load bench_switch2 = {
	.name = "switch2",
	.what = "two fibers yield to each other",
	.run = switch2,
	.needs = BENCH_YIELD,
	.workers = { 1, 2 },
	.limit = 6,
	.slower = 1.15,
};
