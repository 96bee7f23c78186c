/* SPDX-License-Identifier: MIT */
/*
 * bench/documents.c - the workloads of the documents weft is built from: one
 * fiber spawns all others, the same beside a slow one, several spawn at once.
 *
 * Reads next: bench/starve.c
 */
#include "bench/workloads.h"

#include "base/atomic.h"
#include "base/units.h"

/* One time takes less than a millisecond, so a round is several. */
#define TIMES 20
#define FIBERS 1000
#define YIELDS 10

static int wait_for(weft_group *g, int err)
{
	int wait_err = weft_group_wait(g, WEFT_FOREVER);

	return err ? err : wait_err;
}

/* What both of the first two do: spawn them all and wait, several times. */
static int spawn_them(struct bench_job *j)
{
	uint64_t times = bench_scaled(j, TIMES);
	int err = 0;

	bench_begin(j);
	for (uint64_t i = 0; i < times && !err; i++) {
		struct bench_yielders y = { .yields = YIELDS };

		err = wait_for(&y.ended, bench_yielders_go(&y, FIBERS));
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

#define SLOW_NS (100 * WF_NS_PER_US)

struct slow {
	_Atomic(bool) stop;
	uint64_t times; /* that it has computed; its own until ended */
	weft_group ended;
};

static void slow_fiber(void *arg)
{
	struct slow *s = arg;

	while (!wf_load_rlx(&s->stop)) {
		bench_compute(SLOW_NS);
		s->times++;
		bench_on.yield();
	}
	weft_group_done(&s->ended);
}

static int slow_thread(struct bench_job *j)
{
	struct slow s = { 0 };
	int err = bench_yielders_warm(FIBERS);

	if (err)
		return err;
	weft_group_add(&s.ended, 1);
	err = bench_on.go(slow_fiber, &s);
	if (err)
		return err;
	err = spawn_them(j);
	wf_store_rlx(&s.stop, true);
	err = wait_for(&s.ended, err);
	j->s.user_ns = (int64_t)s.times * SLOW_NS;
	return err;
}

const struct bench_load bench_slow_thread = {
	.name = "slow-thread",
	.what = "as above, beside one that computes 100 us",
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
	weft_group_add(&s.ended, SPAWNERS);
	bench_begin(j);
	for (int i = 0; i < SPAWNERS; i++) {
		err = bench_on.go(spawner, &s);
		if (err) {
			weft_group_add(&s.ended, -(SPAWNERS - i));
			break;
		}
	}
	err = wait_for(&s.ended, err);
	err = wait_for(&s.y.ended, err);
	bench_end(j, SPAWNERS * s.share * SHARE_YIELDS);
	return err;
}

const struct bench_load bench_different_spawners = {
	.name = "different-spawners",
	.what = "10 spawn 1,000 each, each yields 100 times",
	.run = different_spawners,
	.needs = BENCH_YIELD,
	.workers = { 1, 2, 8 },
	.pool = 4,
};
