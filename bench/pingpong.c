/* SPDX-License-Identifier: MIT */
/*
 * bench/pingpong.c - pairs of fibers that answer each other over two unbuffered
 * channels: one pair, a hundred, one beside a fiber that computes, and one that
 * runs until a third fiber has yielded ten times.
 *
 * Ping sends a number and gets it back, one greater.  A fiber that ends closes
 * the channel to the other; if that one cannot be started, its starter closes
 * it.
 *
 * Reads next: bench/channels.c
 */
#include "bench/workloads.h"

#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/units.h"
#include "os/os.h"

/* A pair has its cache lines to itself. */
struct pair {
	weft_chan *chan[2]; /* there and back */
	uint64_t trips;	    /* how many ping makes */
	uint64_t answers;   /* written by pong only */
	int64_t *took_ns;   /* time of each trip; NULL: not wanted */
	_Atomic(bool) stop;
	int64_t give_up_ns;
	weft_group ended;
} wf_aligned(WF_FALSE_SHARING);

wf_inline int trip(struct pair *p, uint64_t n)
{
	uint64_t v = n;
	int err = weft_chan_send(p->chan[0], &v, WEFT_FOREVER);

	if (!err)
		err = weft_chan_recv(p->chan[1], &v, WEFT_FOREVER);
	if (!err && v != n + 1)
		err = -EILSEQ;
	if (err)
		bench_fail(err);
	return err;
}

static void leave(struct pair *p, int chan)
{
	(void)weft_chan_close(p->chan[chan]);
	weft_group_done(&p->ended);
}

static void ping(void *arg)
{
	struct pair *p = arg;

	for (uint64_t i = 0; i < p->trips && trip(p, i) == 0; i++)
		;
	leave(p, 0);
}

static void timed_ping(void *arg)
{
	struct pair *p = arg;

	for (uint64_t i = 0; i < p->trips; i++) {
		int64_t begin = wf_os_now_ns();

		if (trip(p, i) != 0)
			break;
		p->took_ns[i] = wf_os_now_ns() - begin;
	}
	leave(p, 0);
}

static bool is_over(struct pair *p)
{
	if (wf_load_rlx(&p->stop))
		return true;
	if (p->trips % 1024 != 0 || wf_os_now_ns() < p->give_up_ns)
		return false;
	bench_fail(-ETIME);
	return true;
}

static void endless_ping(void *arg)
{
	struct pair *p = arg;

	while (trip(p, p->trips) == 0 && (p->trips++, !is_over(p)))
		;
	leave(p, 0);
}

static void pong(void *arg)
{
	struct pair *p = arg;
	uint64_t v;

	while (weft_chan_recv(p->chan[0], &v, WEFT_FOREVER) == 0) {
		v++;
		if (weft_chan_send(p->chan[1], &v, WEFT_FOREVER) != 0)
			break;
		p->answers++;
	}
	leave(p, 1);
}

/* If ping cannot be started, pong must not wait for it. */
static int start_pair(struct pair *p, void (*pinger)(void *))
{
	int err = bench_go(&p->ended, pong, p);

	if (err)
		return err;
	err = bench_go(&p->ended, pinger, p);
	if (err)
		(void)weft_chan_close(p->chan[0]);
	return err;
}

static int end_pair(struct pair *p, int err)
{
	err = bench_wait(&p->ended, err);
	bench_chans_unref(p->chan, 2);
	return err ? err : p->answers == p->trips ? 0 : -EILSEQ;
}

#define PAIRS_MAX 100

static int ping_pong(struct bench_job *j, int pairs, uint64_t trips)
{
	struct pair p[PAIRS_MAX] = { 0 };
	int made = 0, err = bench_yielders_warm(2 * (uint64_t)pairs);

	for (int i = 0; i < pairs && !err; i++) {
		p[i].trips = trips;
		err = bench_chans_open(p[i].chan, 2, 0);
		made += !err;
	}
	bench_begin(j);
	for (int i = 0; i < made && !err; i++)
		err = start_pair(&p[i], ping);
	for (int i = 0; i < made; i++)
		err = end_pair(&p[i], err);
	bench_end(j, (uint64_t)pairs * trips);
	return err;
}

static int ping_pong_1(struct bench_job *j)
{
	return ping_pong(j, 1, bench_many(j, 1000000));
}

const struct bench_load bench_ping_pong_1 = {
	.name = "ping-pong-1",
	.what = "one pair, 1,000,000 round trips",
	.run = ping_pong_1,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.part = 0.2,
	.limit = 20,
	.limit2 = 20,
};

static int ping_pong_100(struct bench_job *j)
{
	return ping_pong(j, 100, bench_many(j, 20000));
}

const struct bench_load bench_ping_pong_100 = {
	.name = "ping-pong-100",
	.what = "100 pairs at once, 20,000 round trips each",
	.run = ping_pong_100,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.part = 0.2,
	.limit = 20,
	.limit2 = 11,
};

#define HOG_NS WF_NS_PER_MS

static int by_size(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void tell_latency(struct bench_report *f, int64_t *ns, uint64_t n)
{
	qsort(ns, n, sizeof(*ns), by_size);
	f->middle_us = (double)ns[n / 2] / 1e3;
	f->most_us = (double)ns[n * 99 / 100] / 1e3;
	f->worst_us = (double)ns[n - 1] / 1e3;
}

static int beside_hog(struct bench_job *j, struct pair *p)
{
	struct bench_hog hog = { .ns = HOG_NS };
	int err = bench_chans_open(p->chan, 2, 0);

	if (err)
		return err;
	err = bench_hog_go(&hog);
	if (err) {
		bench_chans_unref(p->chan, 2);
		return err;
	}
	bench_begin(j);
	err = end_pair(p, start_pair(p, timed_ping));
	bench_end(j, p->trips);
	err = bench_hog_end(&hog, j, err);
	if (!err)
		tell_latency(&j->s.report, p->took_ns, p->trips);
	return err;
}

static int ping_pong_hog(struct bench_job *j)
{
	struct pair p = { .trips = bench_many(j, 200) };
	int err;

	p.took_ns = calloc(p.trips, sizeof(*p.took_ns));
	err = p.took_ns ? beside_hog(j, &p) : -ENOMEM;
	free(p.took_ns);
	return err;
}

const struct bench_load bench_ping_pong_hog = {
	.name = "ping-pong-hog",
	.what = "a pair beside a fiber that yields every 1 ms",
	.run = ping_pong_hog,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.rounds = 3,
};

#define TIMES 100
#define YIELDS 10
#define PATIENCE_NS (5 * WF_NS_PER_S)

static void yield_and_stop(void *arg)
{
	struct pair *p = arg;

	for (int i = 0; i < YIELDS; i++)
		bench_on.yield();
	wf_store_rlx(&p->stop, true);
	weft_group_done(&p->ended);
}

/* Returns how many round trips there were, or -errno. */
static int64_t play_once(void)
{
	struct pair p = { .give_up_ns = wf_os_now_ns() + PATIENCE_NS };
	int err = bench_chans_open(p.chan, 2, 0);

	if (err)
		return err;
	err = bench_go(&p.ended, yield_and_stop, &p);
	if (!err)
		err = start_pair(&p, endless_ping);
	err = end_pair(&p, err);
	return err ? err : (int64_t)p.trips;
}

static int starve_lifo(struct bench_job *j)
{
	uint64_t times = bench_scaled(j, TIMES), trips = 0;
	int err = bench_yielders_warm(3);

	if (err)
		return err;
	bench_begin(j);
	for (uint64_t i = 0; i < times; i++) {
		int64_t n = play_once();

		if (n < 0)
			return (int)n;
		trips += (uint64_t)n;
	}
	bench_end(j, trips);
	return 0;
}

const struct bench_load bench_starve_lifo = {
	.name = "starve-lifo",
	.what = "starve over two channels, on one worker",
	.run = starve_lifo,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1 },
};
