/* SPDX-License-Identifier: MIT */
/*
 * bench/chain.c - fibers in a row, with an unbuffered channel between
 * neighbours: a token that goes around, and the sieve of primes.
 *
 * Both end from one place: the fiber that has seen enough closes a channel; a
 * fiber that finds its channel closed closes the next one and ends.  The
 * token's channels close ahead of the token, those of the sieve from the last
 * filter back to the source.
 *
 * Reads next: bench/timers.c
 */
#include "bench/workloads.h"

#include <errno.h>
#include <stdlib.h>

#define RING 503
#define HOPS 5000000

/*
 * The token goes around this many times; with fewer hops the ring is smaller.
 */
#define ROUNDS 50

struct stop {
	weft_chan *in;
	weft_chan *out;
	uint64_t hops; /* written by its fiber only */
	weft_group *ended;
};

static void pass_on(void *arg)
{
	struct stop *s = arg;
	uint64_t left;

	while (weft_chan_recv(s->in, &left, WEFT_FOREVER) == 0) {
		s->hops++;
		if (--left == 0 ||
			weft_chan_send(s->out, &left, WEFT_FOREVER) != 0)
			break;
	}
	(void)weft_chan_close(s->out);
	weft_group_done(s->ended);
}

/* If a fiber cannot be started there is no ring, but all the others end. */
static int go_around(struct bench_job *j, weft_chan **chan, struct stop *stop,
	uint64_t size, uint64_t n)
{
	weft_group ended = { 0 };
	uint64_t hops = 0;
	int err = 0;

	for (uint64_t i = 0; i < size && !err; i++) {
		stop[i] = (struct stop){ .in = chan[i],
			.out = chan[(i + 1) % size],
			.ended = &ended };
		err = bench_go(&ended, pass_on, &stop[i]);
	}
	bench_begin(j);
	if (!err)
		err = weft_chan_send(chan[0], &n, WEFT_FOREVER);
	else
		(void)weft_chan_close(chan[0]);
	err = bench_wait(&ended, err);
	bench_end(j, n);
	for (uint64_t i = 0; i < size && !err; i++)
		hops += stop[i].hops;
	return err ? err : hops == n ? 0 : -EILSEQ;
}

static int ring(struct bench_job *j)
{
	static weft_chan *chan[RING];
	static struct stop stop[RING];
	uint64_t n = bench_many(j, HOPS);
	uint64_t size = n / ROUNDS < RING ? n / ROUNDS + 1 : RING;
	int err = bench_yielders_warm(size);

	if (!err)
		err = bench_chans_open(chan, size, 0);
	if (err)
		return err;
	err = go_around(j, chan, stop, size, n);
	bench_chans_unref(chan, size);
	return err;
}

const struct bench_load bench_ring = {
	.name = "ring",
	.what = "a token around 503 fibers, 5,000,000 hops",
	.run = ring,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.part = 0.1,
	.limit = 10,
	.limit2 = 10,
};

#define PRIMES 2000

/* The first stage counts; each other stage drops the multiples of its prime. */
struct stage {
	weft_chan *in;
	weft_chan *out;
	uint32_t prime; /* the first number that reached this stage */
	weft_group *ended;
};

static void count_up(void *arg)
{
	struct stage *s = arg;
	uint64_t v = 2;

	while (weft_chan_send(s->out, &v, WEFT_FOREVER) == 0)
		v++;
	weft_group_done(s->ended);
}

static void filter(void *arg)
{
	struct stage *s = arg;
	uint64_t v;

	while (weft_chan_recv(s->in, &v, WEFT_FOREVER) == 0)
		if ((uint32_t)v % s->prime != 0 &&
			weft_chan_send(s->out, &v, WEFT_FOREVER) != 0)
			break;
	(void)weft_chan_close(s->in);
	weft_group_done(s->ended);
}

/* Add a stage behind the others, for the prime that comes out of them. */
static int add_stage(struct stage *s, uint64_t i)
{
	uint64_t v = 0;
	int err = weft_chan_create(&s[i].out, sizeof(v), 0);

	if (err || i == 0)
		return err ? err : bench_go(s->ended, count_up, s);
	s[i].in = s[i - 1].out;
	s[i].ended = s->ended;
	err = weft_chan_recv(s[i].in, &v, WEFT_FOREVER);
	s[i].prime = (uint32_t)v;
	return err ? err : bench_go(s->ended, filter, &s[i]);
}

static bool is_prime(uint32_t n)
{
	for (uint32_t i = 2; i * i <= n; i++)
		if (n % i == 0)
			return false;
	return true;
}

/*
 * Check that the stages have all primes up to the last one, and nothing else.
 */
static int check_primes(const struct stage *s, uint64_t n)
{
	uint64_t k = 1;

	for (uint32_t v = 2; v <= s[n].prime && k <= n; v++) {
		if (!is_prime(v))
			continue;
		if (s[k++].prime != v)
			return -EILSEQ;
	}
	return k == n + 1 ? 0 : -EILSEQ;
}

/* s has room for n stages and for the one that counts. */
static int run_sieve(struct bench_job *j, struct stage *s, uint64_t n)
{
	weft_group ended = { 0 };
	uint64_t made = 0;
	int err = bench_yielders_warm(n + 1);

	s->ended = &ended;
	bench_begin(j);
	while (made <= n && !err)
		err = add_stage(s, made++);
	/*
	 * A stage that failed has no fiber; closing its channels ends those
	 * before it.
	 */
	for (uint64_t i = made; i-- > 0 && (err || i + 1 == made);)
		if (s[i].out != NULL)
			(void)weft_chan_close(s[i].out);
	err = bench_wait(&ended, err);
	bench_end(j, n);
	for (uint64_t i = 0; i < made; i++)
		if (s[i].out != NULL)
			weft_chan_unref(s[i].out);
	return err ? err : check_primes(s, n);
}

/*
 * The more primes, the longer each takes, so all implementations find as many.
 */
static int sieve(struct bench_job *j)
{
	uint64_t n = bench_scaled(j, PRIMES);
	struct stage *s = calloc(n + 1, sizeof(*s));
	int err = s ? run_sieve(j, s, n) : -ENOMEM;

	free(s);
	return err;
}

const struct bench_load bench_sieve = {
	.name = "sieve",
	.what = "a prime of the first 2,000, by filters",
	.run = sieve,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.rounds = 5,
	.part = 0.25,
	.pool = 3,
};
