/* SPDX-License-Identifier: MIT */
/*
 * bench/handles.c - spawn-join with handles: one fiber spawns trivial fibers in
 * batches of 1,000 and joins each of them, in several orders.  Most of a batch
 * overflows into the global queue before the first join.
 *
 * Reads next: bench/fork.c
 */
#include "bench/workloads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/random.h"

#define BATCH 1000

/* A batch: at[i] is the index of the fiber that is joined as the i-th. */
struct batch {
	weft_fiber *fiber[BATCH];
	uint32_t at[BATCH];
};

static void *trivial(void *arg)
{
	return arg;
}

static void first_to_last(struct batch *b)
{
	for (uint32_t i = 0; i < BATCH; i++)
		b->at[i] = i;
}

static void last_to_first(struct batch *b)
{
	for (uint32_t i = 0; i < BATCH; i++)
		b->at[i] = BATCH - 1 - i;
}

static void at_random(struct batch *b)
{
	struct wf_random r;

	wf_random_seed(&r, 1);
	first_to_last(b);
	for (uint32_t n = BATCH; n > 1; n--) {
		uint32_t *one = &b->at[wf_random_below(&r, n)];
		uint32_t last = b->at[n - 1];

		b->at[n - 1] = *one;
		*one = last;
	}
}

/*
 * Spawn a batch and join it; after an error too, join the fibers that were
 * spawned.
 */
static int run_batch(struct batch *b)
{
	void *result = NULL;
	uint32_t n = 0;
	int err = 0;

	for (; n < BATCH && !err; n += !err)
		err = bench_on.spawn(
			&b->fiber[n], NULL, trivial, &b->fiber[n]);
	for (uint32_t i = 0; i < BATCH; i++) {
		uint32_t at = b->at[i];
		int failed;

		if (at >= n)
			continue;
		failed = bench_on.join(b->fiber[at], &result, WEFT_FOREVER);
		if (!failed && result != &b->fiber[at])
			failed = -EILSEQ;
		err = err ? err : failed;
	}
	return err;
}

static int run_in(struct bench_job *j, void (*order)(struct batch *))
{
	uint64_t batches = bench_many(j, 1000);
	struct batch *b = malloc(sizeof(*b));
	int err = 0;

	if (b == NULL)
		return -ENOMEM;
	order(b);
	bench_begin(j);
	for (uint64_t i = 0; i < batches && !err; i++)
		err = run_batch(b);
	bench_end(j, batches * BATCH);
	free(b);
	return err;
}

static int run_first(struct bench_job *j)
{
	return run_in(j, first_to_last);
}

static int run_last(struct bench_job *j)
{
	return run_in(j, last_to_first);
}

static int run_random(struct bench_job *j)
{
	return run_in(j, at_random);
}

/* The limit is 1.5 times that of spawn-join. */
#define HANDLES(order, words, fn)                                    \
	{                                                            \
		.name = "handles-" order, .also = "spawn-join-handles", \
		.what = "spawn and join 1,000, " words, .run = fn,   \
		.needs = BENCH_JOIN, .workers = { 1, 2 }, .limit = 12, \
		.slower = 1.15, .pool = 4                            \
	}

const struct bench_load bench_handles_first =
	HANDLES("first", "first to last", run_first);
const struct bench_load bench_handles_last =
	HANDLES("last", "last to first", run_last);
const struct bench_load bench_handles_random =
	HANDLES("random", "in random order", run_random);
