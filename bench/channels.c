/* SPDX-License-Identifier: MIT */
/*
 * bench/channels.c - from producers to consumers: pairs with two unbuffered
 * channels, over which the consumer selects; and four producers that send to
 * four consumers over one channel, with room for 0, 10 or 100.
 *
 * Reads next: bench/chain.c
 */
#include "bench/workloads.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/compiler.h"

#define PAIRS 50

/* A pair has its cache lines to itself. */
struct pair {
	weft_chan *chan[2];
	uint64_t messages;
	uint64_t got; /* written by the consumer only */
	weft_group *ended;
} wf_aligned(WF_FALSE_SHARING);

/*
 * A fiber that ends closes the channels, which ends the other one; after the
 * last message no fiber waits.
 */
static void leave(struct pair *p, int err)
{
	if (err)
		bench_fail(err);
	(void)weft_chan_close(p->chan[0]);
	(void)weft_chan_close(p->chan[1]);
	weft_group_done(p->ended);
}

static void producer(void *arg)
{
	struct pair *p = arg;
	int err = 0;

	for (uint64_t i = 0; i < p->messages && !err; i++)
		err = weft_chan_send(p->chan[i & 1], &i, WEFT_FOREVER);
	leave(p, err);
}

/* The numbers of each channel must come in order, with no gap. */
static void consumer(void *arg)
{
	struct pair *p = arg;
	uint64_t v = 0, next[2] = { 0, 1 };
	weft_case cases[2] = {
		{ .op = WEFT_RECV, .obj = p->chan[0], .value = &v },
		{ .op = WEFT_RECV, .obj = p->chan[1], .value = &v },
	};
	int err = 0;

	while (p->got < p->messages && !err) {
		int k = weft_select(cases, 2, WEFT_FOREVER);

		err = k < 0 ? k : cases[k].result;
		if (!err && v != next[k])
			err = -EILSEQ;
		if (!err) {
			next[k] += 2;
			p->got++;
		}
	}
	leave(p, err);
}

static int start_pair(struct pair *p)
{
	int err = bench_go(p->ended, consumer, p);

	if (!err)
		err = bench_go(p->ended, producer, p);
	if (err) {
		(void)weft_chan_close(p->chan[0]);
		(void)weft_chan_close(p->chan[1]);
	}
	return err;
}

static int channels(struct bench_job *j)
{
	struct pair p[PAIRS] = { 0 };
	weft_group ended = { 0 };
	uint64_t n = bench_many(j, 20000);
	int made = 0, err = bench_yielders_warm(2 * PAIRS);

	for (int i = 0; i < PAIRS && !err; i++) {
		p[i].messages = n;
		p[i].ended = &ended;
		err = bench_chans_open(p[i].chan, 2, 0);
		made += !err;
	}
	bench_begin(j);
	for (int i = 0; i < made && !err; i++)
		err = start_pair(&p[i]);
	err = bench_wait(&ended, err);
	bench_end(j, PAIRS * n);
	for (int i = 0; i < made; i++) {
		bench_chans_unref(p[i].chan, 2);
		if (!err && p[i].got != n)
			err = -EILSEQ;
	}
	return err;
}

const struct bench_load bench_channels = {
	.name = "channels",
	.also = "select",
	.what = "50 pairs, select over two, 20,000 messages",
	.run = channels,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2, 4 },
	.part = 0.25,
	.limit = 12,
};

#define SIDE 4
#define MESSAGES 1000000

struct market {
	weft_chan *chan;
	_Atomic(uint64_t) first; /* first number of the next producer */
	uint64_t each;
	_Atomic(uint64_t) got;
	_Atomic(uint64_t) sum;
	weft_group producers;
	weft_group consumers;
};

static void seller(void *arg)
{
	struct market *m = arg;
	uint64_t v = wf_add_rlx(&m->first, m->each);

	for (uint64_t i = 0; i < m->each; i++, v++) {
		int err = weft_chan_send(m->chan, &v, WEFT_FOREVER);

		if (err) {
			bench_fail(err);
			break;
		}
	}
	weft_group_done(&m->producers);
}

static void buyer(void *arg)
{
	struct market *m = arg;
	uint64_t v, got = 0, sum = 0;

	while (weft_chan_recv(m->chan, &v, WEFT_FOREVER) == 0) {
		got++;
		sum += v;
	}
	wf_add_rlx(&m->got, got);
	wf_add_rlx(&m->sum, sum);
	weft_group_done(&m->consumers);
}

/*
 * Start consumers first: if a consumer cannot be started, no producer waits for
 * it.
 */
static int trade(struct market *m)
{
	int err = 0;

	for (int i = 0; i < SIDE && !err; i++)
		err = bench_go(&m->consumers, buyer, m);
	for (int i = 0; i < SIDE && !err; i++)
		err = bench_go(&m->producers, seller, m);
	err = bench_wait(&m->producers, err);
	(void)weft_chan_close(m->chan);
	return bench_wait(&m->consumers, err);
}

static int prodcons(struct bench_job *j, size_t capacity)
{
	struct market m = { .each = bench_many(j, MESSAGES / SIDE) };
	uint64_t n = SIDE * m.each;
	int err = bench_chans_open(&m.chan, 1, capacity);

	if (err)
		return err;
	bench_begin(j);
	err = trade(&m);
	bench_end(j, n);
	weft_chan_unref(m.chan);
	if (err)
		return err;
	return wf_load_rlx(&m.got) == n &&
			wf_load_rlx(&m.sum) == n * (n - 1) / 2
		? 0
		: -EILSEQ;
}

static int prodcons_0(struct bench_job *j)
{
	return prodcons(j, 0);
}

static int prodcons_10(struct bench_job *j)
{
	return prodcons(j, 10);
}

static int prodcons_100(struct bench_job *j)
{
	return prodcons(j, 100);
}

const struct bench_load bench_prodcons_0 = {
	.name = "chan-prodcons-0",
	.also = "chan-prodcons",
	.what = "4 fibers send 1,000,000 to 4, unbuffered",
	.run = prodcons_0,
	.needs = BENCH_SUSPEND,
	.workers = { 1, 2 },
	.part = 0.1,
};

const struct bench_load bench_prodcons_10 = {
	.name = "chan-prodcons-10",
	.also = "chan-prodcons",
	.what = "4 fibers send 1,000,000 to 4, room for 10",
	.run = prodcons_10,
	.needs = BENCH_SUSPEND,
	.workers = { 1, 2 },
	.more = true,
};

const struct bench_load bench_prodcons_100 = {
	.name = "chan-prodcons-100",
	.also = "chan-prodcons",
	.what = "4 fibers send 1,000,000 to 4, room for 100",
	.run = prodcons_100,
	.needs = BENCH_SUSPEND,
	.workers = { 1, 2 },
	.part = 0.1,
};
