/* SPDX-License-Identifier: MIT */
/*
 * bench/spawners.c - three workloads of the earlier experiment
 * (docs/POLICIES.md): one fiber spawns all others; one fiber spawns all others
 * beside a slow one; several fibers spawn at once.
 *
 * Reads next: bench/starve.c
 */
#include "bench/workloads.h"

#include "base/atomic.h"
#include "base/units.h"

/* Once takes less than a millisecond, so a round repeats it. */
#define TIMES 20
#define FIBERS 1000
#define YIELDS 10

/* Part of the first two: spawn all fibers and wait, several times. */
static int spawn_them(struct bench_job *j)
{
	uint64_t times = bench_scaled(j, TIMES);
	int err = 0;

	bench_begin(j);
	for (uint64_t i = 0; i < times && !err; i++) {
		struct bench_yielders y = { .yields = YIELDS };

		err = bench_wait(&y.ended, bench_yielders_go(&y, FIBERS));
	}
	bench_end(j, times * FIBERS * YIELDS);
	return err;
}

static int single_spawner(struct bench_job *j)
{
	int err = bench_yielders_warm(FIBERS);

	return err ? err : spawn_them(j);
}

const struct bench_load bench_single_spawner = {
	.name = "single-spawner",
	.what = "one fiber spawns 1,000, each yields 10 times",
	.run = single_spawner,
	.needs = BENCH_YIELD,
	.workers = { 1, 2, 4 },
};

static void hog(void *arg)
{
	struct bench_hog *h = arg;

	while (!wf_load_rlx(&h->stop)) {
		bench_compute(h->ns);
		h->times++;
		bench_on.yield();
	}
	weft_group_done(&h->ended);
}

int bench_hog_go(struct bench_hog *h)
{
	return bench_go(&h->ended, hog, h);
}

int bench_hog_end(struct bench_hog *h, struct bench_job *j, int err)
{
	wf_store_rlx(&h->stop, true);
	err = bench_wait(&h->ended, err);
	j->s.user_ns = (int64_t)h->times * h->ns;
	return err;
}

#define SLOW_NS (100 * WF_NS_PER_US)

static int slow_thread(struct bench_job *j)
{
	struct bench_hog slow = { .ns = SLOW_NS };
	int err = bench_yielders_warm(FIBERS);

	if (!err)
		err = bench_hog_go(&slow);
	if (err)
		return err;
	return bench_hog_end(&slow, j, spawn_them(j));
}

const struct bench_load bench_slow_thread = {
	.name = "slow-thread",
	.what = "single-spawner beside a fiber that computes",
	.run = slow_thread,
	.needs = BENCH_YIELD,
	.workers = { 1, 2, 4 },
};

#define SPAWNERS 10
#define SHARE 1000
#define SHARE_YIELDS 100

struct spawners {
	uint64_t share;
	struct bench_yielders y;
	weft_group ended;
};

static void spawner(void *arg)
{
	struct spawners *s = arg;
	int err = bench_yielders_go(&s->y, s->share);

	if (err)
		bench_fail(err);
	weft_group_done(&s->ended);
}

static int different_spawners(struct bench_job *j)
{
	struct spawners s = { .share = bench_scaled(j, SHARE),
		.y.yields = SHARE_YIELDS };
	int err = bench_yielders_warm(SPAWNERS * s.share);

	if (err)
		return err;
	bench_begin(j);
	for (int i = 0; i < SPAWNERS && !err; i++)
		err = bench_go(&s.ended, spawner, &s);
	err = bench_wait(&s.ended, err);
	err = bench_wait(&s.y.ended, err);
	bench_end(j, SPAWNERS * s.share * SHARE_YIELDS);
	return err;
}

const struct bench_load bench_different_spawners = {
	.name = "different-spawners",
	.what = "10 fibers spawn 1,000, each yields 100 times",
	.run = different_spawners,
	.needs = BENCH_YIELD,
	.workers = { 1, 2, 8 },
	.pool = 4,
};
