/* SPDX-License-Identifier: MIT */
/*
 * bench/spawn.c - many short fibers: in batches, one after another, from a
 * plain thread; and a few long ones.  None of them waits.
 *
 * Reads next: bench/handles.c
 */
#include "bench/workloads.h"

#include <errno.h>

#include "base/compiler.h"
#include "base/units.h"

static void trivial(void *group)
{
	weft_group_done(group);
}

/*
 * Start n tasks of fn, counted by g, with start: go or remote.  On an error the
 * wait does not include those that were not started.
 */
static int start_all(weft_group *g, uint64_t n,
	int (*start)(void (*fn)(void *), void *arg), void (*fn)(void *))
{
	weft_group_add(g, (int64_t)n);
	for (uint64_t i = 0; i < n; i++) {
		int err = start(fn, g);

		if (err) {
			weft_group_add(g, -(int64_t)(n - i));
			return err;
		}
	}
	return 0;
}

#define BATCH 1000

static int spawn_join(struct bench_job *j)
{
	uint64_t batches = bench_many(j, 1000);
	weft_group g = { 0 };

	bench_begin(j);
	for (uint64_t i = 0; i < batches; i++) {
		int err = start_all(&g, BATCH, bench_on.go, trivial);

		err = bench_wait(&g, err);
		if (err)
			return err;
	}
	bench_end(j, batches * BATCH);
	return 0;
}

const struct bench_load bench_spawn_join = {
	.name = "spawn-join",
	.what = "spawn in batches of 1,000, wait for each",
	.run = spawn_join,
	.workers = { 1, 2 },
	.limit = 8,
	.slower = 1.15,
	.pool = 8,
};

struct chain {
	uint64_t left;
	weft_group ended;
};

static void chain_link(void *arg)
{
	struct chain *c = arg;
	int err;

	if (--c->left == 0) {
		weft_group_done(&c->ended);
		return;
	}
	err = bench_on.go(chain_link, c);
	if (err) {
		bench_fail(err);
		weft_group_done(&c->ended);
	}
}

static int chained_spawn(struct bench_job *j)
{
	uint64_t n = bench_many(j, 1000000);
	struct chain c = { .left = n };
	int err;

	weft_group_add(&c.ended, 1);
	bench_begin(j);
	err = bench_on.go(chain_link, &c);
	if (!err)
		err = weft_group_wait(&c.ended, WEFT_FOREVER);
	bench_end(j, n);
	return err;
}

const struct bench_load bench_chained_spawn = {
	.name = "chained-spawn",
	.what = "each fiber spawns the next",
	.run = chained_spawn,
	.workers = { 1, 2 },
	.limit = 4.5,
	.slower = 1.15,
};

/* Keeps the group out of the cache lines that the spawner uses. */
struct own_line {
	weft_group group;
} wf_aligned(WF_FALSE_SHARING);

static int remote_spawn(struct bench_job *j)
{
	uint64_t n = bench_many(j, 1000000);
	struct own_line a = { 0 };
	int err;

	bench_begin(j);
	err = start_all(&a.group, n, bench_on.remote, trivial);
	err = bench_wait(&a.group, err);
	bench_end(j, n);
	return err;
}

const struct bench_load bench_remote_spawn = {
	.name = "remote-spawn",
	.what = "a plain thread spawns",
	.run = remote_spawn,
	.workers = { 1, 2 },
	.outside = true,
	.limit = 25,
	.slower = 1.15,
};

#define COARSE_NS (200 * WF_NS_PER_US)

static void coarse_task(void *group)
{
	bench_compute(COARSE_NS);
	weft_group_done(group);
}

static int coarse(struct bench_job *j)
{
	uint64_t n = bench_scaled(j, 64);
	weft_group g = { 0 };
	int err;

	bench_begin(j);
	err = start_all(&g, n, bench_on.go, coarse_task);
	err = bench_wait(&g, err);
	bench_end(j, n);
	j->s.user_ns = (int64_t)n * COARSE_NS;
	return err;
}

const struct bench_load bench_coarse = {
	.name = "coarse",
	.what = "64 fibers that compute 200 us each",
	.run = coarse,
	.workers = { 1, 2 },
	.faster = 1.8,
};
