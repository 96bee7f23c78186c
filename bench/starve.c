/* SPDX-License-Identifier: MIT */
/*
 * bench/starve.c - two fibers wake each other, always to run next, beside one
 * that yields ten times and then stops them; and many such pairs.
 *
 * A scheduler that always runs `next' first starves the third fiber, and the
 * two never stop.  Then they give up after a while: -ETIME.  How often the two
 * run before that depends on the scheduler.  So to measure the worth of `next',
 * the pairs of the second workload make a fixed number of hops.
 *
 * There is one token.  The player that has it gives it to the other one and
 * waits for it to come back.  Each player has a slot to wait in:
 *
 *	0	nothing here	give: TOKEN		take: the fiber
 *	TOKEN	it has come	give: never		take: 0
 *	fiber	it waits	give: 0, wake it	take: never
 *
 * Reads next: bench/mutex.c
 */
#include "bench/workloads.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/units.h"
#include "os/os.h"

#define TIMES 100
#define YIELDS 10
#define PATIENCE_NS (5 * WF_NS_PER_S)
#define TOKEN ((uintptr_t)1)

struct player {
	struct weft_awaiter awaiter;
	_Atomic(uintptr_t) slot;
	struct game *game;
	struct player *other;
	uint64_t hops;
};

struct game {
	struct player player[2];
	_Atomic(bool) stop;
	uint64_t hops; /* of each player; 0: until stopped */
	int64_t give_up_ns;
	weft_group ended;
};

static void give(struct player *to)
{
	uintptr_t seen;

	/*
	 * [pair: starve.fiber] A fiber found here has left its stack; were this
	 * relaxed, it could be woken before that is visible.
	 */
	while ((seen = wf_load_acq(&to->slot)) == 0) {
		/*
		 * [pair: starve.token] Hand on everything that the holder of
		 * the token has written.
		 */
		if (wf_cas_rel(&to->slot, &seen, TOKEN))
			return;
	}
	/* It waits, and only this thread may wake it. */
	wf_store_rlx(&to->slot, 0);
	bench_on.wake((weft_fiber *)seen, WEFT_HINT_NEXT);
}

static bool wait_in_slot(struct weft_awaiter *a, weft_fiber *self)
{
	struct player *p = wf_container_of(a, struct player, awaiter);
	uintptr_t seen = 0;

	/* [pair: starve.fiber] We have left our stack. */
	if (wf_cas_rel(&p->slot, &seen, (uintptr_t)self))
		return true;
	/* [pair: starve.token] The token has come meanwhile. */
	(void)wf_xchg_acq(&p->slot, 0);
	return false;
}

static void take(struct player *p)
{
	if (wf_load_rlx(&p->slot) == TOKEN) {
		/* [pair: starve.token] The token is here already. */
		(void)wf_xchg_acq(&p->slot, 0);
		return;
	}
	if (bench_on.suspend(&p->awaiter) < 0)
		bench_fail(-EPERM);
}

static bool is_over(struct player *p)
{
	if (wf_load_rlx(&p->game->stop) || bench_failed())
		return true;
	if (p->game->hops > 0)
		return p->hops == p->game->hops;
	if (p->hops % 1024 != 0 || wf_os_now_ns() < p->game->give_up_ns)
		return false;
	bench_fail(-ETIME);
	return true;
}

static void play(void *arg)
{
	struct player *p = arg;
	bool over;

	do {
		take(p);
		p->hops++;
		over = is_over(p);
		give(p->other);
	} while (!over);
	weft_group_done(&p->game->ended);
}

static void yield_and_stop(void *arg)
{
	struct game *g = arg;

	for (int i = 0; i < YIELDS; i++)
		bench_on.yield();
	wf_store_rlx(&g->stop, true);
	weft_group_done(&g->ended);
}

static void set_up(struct game *g)
{
	for (int i = 0; i < 2; i++)
		g->player[i] = (struct player){ .awaiter.commit = wait_in_slot,
			.game = g,
			.other = &g->player[1 - i] };
}

/*
 * Returns how often the token changed hands, or -errno.  If not all fibers
 * could be started, the others stop at once.
 */
static int64_t play_once(void)
{
	struct game g = { .give_up_ns = wf_os_now_ns() + PATIENCE_NS };
	void (*const fn[3])(void *) = { yield_and_stop, play, play };
	void *const arg[3] = { &g, &g.player[0], &g.player[1] };
	int started = 0, err = 0, wait_err;

	set_up(&g);
	weft_group_add(&g.ended, 3);
	while (started < 3 &&
		(err = bench_on.go(fn[started], arg[started])) == 0)
		started++;
	weft_group_add(&g.ended, started - 3);
	if (err)
		wf_store_rlx(&g.stop, true);
	if (started > 1)
		give(&g.player[0]);
	wait_err = weft_group_wait(&g.ended, WEFT_FOREVER);
	if (err || wait_err)
		return err ? err : wait_err;
	return (int64_t)(g.player[0].hops + g.player[1].hops);
}

static int starve(struct bench_job *j)
{
	uint64_t times = bench_scaled(j, TIMES), hops = 0;

	bench_begin(j);
	for (uint64_t i = 0; i < times; i++) {
		int64_t n = play_once();

		if (n < 0)
			return (int)n;
		hops += (uint64_t)n;
	}
	bench_end(j, hops);
	return 0;
}

const struct bench_load bench_starve = {
	.name = "starve",
	.what = "two fibers wake each other, a third yields",
	.run = starve,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
};

#define PAIRS 100
#define HOPS 1000

/* A player without a partner learns that something failed, and ends. */
static int start_pair(struct game *g)
{
	int started = 0, err = 0;

	set_up(g);
	weft_group_add(&g->ended, 2);
	while (started < 2 &&
		(err = bench_on.go(play, &g->player[started])) == 0)
		started++;
	weft_group_add(&g->ended, started - 2);
	if (err)
		bench_fail(err);
	if (started > 0)
		give(&g->player[0]);
	return err;
}

static int pairs(struct bench_job *j)
{
	struct game g[PAIRS] = { 0 };
	uint64_t hops = bench_many(j, HOPS);
	int started = 0, err = 0;

	bench_begin(j);
	while (started < PAIRS && !err) {
		g[started].hops = hops;
		err = start_pair(&g[started++]);
	}
	for (int i = 0; i < started; i++) {
		int wait_err = weft_group_wait(&g[i].ended, WEFT_FOREVER);

		err = err ? err : wait_err;
	}
	bench_end(j, 2 * PAIRS * hops);
	return err;
}

const struct bench_load bench_pairs = {
	.name = "pairs",
	.what = "100 pairs, two wake each other to run next",
	.run = pairs,
	.needs = BENCH_SUSPEND,
	.workers = { 1, 2, 4 },
};
