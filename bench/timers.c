/* SPDX-License-Identifier: MIT */
/*
 * bench/timers.c - fibers that sleep, and deadlines that never come.
 *
 * timers: all fibers are spawned and wait for an event; then each sleeps for a
 * random time.  Each fiber sleeps twice, so that its stack is warm the second
 * time; the line of the table shows that second time.  CPU time
 * counts from the release until the last fiber has woken: it contains neither
 * spawning nor ending.  The lateness of a fiber counts from when it itself fell
 * asleep.  Each fiber keeps that time and the length of its sleep in its own
 * frame until the end: in an array, which is read at random, they took a
 * quarter of the CPU time.  Below a tenth of the size the sleeps are shorter,
 * too.
 *
 * timeouts: two fibers wake each other in turn, with a far deadline and without
 * one.  The difference is the cost of the deadline.  The two kinds alternate in
 * short turns, and the fastest turn of each counts: a disturbance only adds
 * time.
 *
 * Reads next: bench/million.c
 */
#include "bench/workloads.h"

#include <errno.h>
#include <stdlib.h>

#include <weft/event.h>
#include <weft/sem.h>
#include <weft/time.h>

#include "base/random.h"
#include "base/units.h"
#include "bench/process.h"

#define SLEEPERS 100000
#define LEAST_NS WF_NS_PER_MS
#define MOST_NS (1000 * WF_NS_PER_MS)
#define FEW (SLEEPERS / 10)
#define BYTES_EACH_MAX 12000

/* With cold stacks, then with warm ones. */
#define TIMES 2

struct crowd {
	weft_event release[TIMES];
	weft_group arrived[TIMES];
	weft_group up[TIMES];
	weft_event over;
	weft_group ended;
};

struct sleeper {
	struct crowd *crowd;
	int64_t ns[TIMES];
	int64_t late_ns[TIMES];
};

/* Waking too early is an error. */
static int sleep_once(struct sleeper *s, int time)
{
	weft_time begin;
	int err = weft_event_wait(&s->crowd->release[time], WEFT_FOREVER);

	begin = weft_now();
	if (!err)
		err = weft_sleep_until(begin + s->ns[time]);
	s->late_ns[time] = weft_now() - begin - s->ns[time];
	return !err && s->late_ns[time] < 0 ? -EILSEQ : err;
}

/* How fibers end, and what happens to their stacks, is not measured. */
static void sleep_twice(void *arg)
{
	struct sleeper s = *(struct sleeper *)arg;
	int err;

	for (int i = 0; i < TIMES; i++) {
		weft_group_done(&s.crowd->arrived[i]);
		err = sleep_once(&s, i);
		if (err)
			bench_fail(err);
		weft_group_done(&s.crowd->up[i]);
	}
	err = weft_event_wait(&s.crowd->over, WEFT_FOREVER);
	if (err)
		bench_fail(err);
	*(struct sleeper *)arg = s;
	weft_group_done(&s.crowd->ended);
}

/* Fibers that could not be started are not waited for. */
static int start_all(struct crowd *c, struct sleeper *s, uint64_t n)
{
	uint64_t i = 0;
	int err = 0;

	for (int k = 0; k < TIMES; k++) {
		weft_group_add(&c->arrived[k], (int64_t)n);
		weft_group_add(&c->up[k], (int64_t)n);
	}
	while (i < n && (err = bench_go(&c->ended, sleep_twice, &s[i])) == 0)
		i++;
	for (int k = 0; k < TIMES; k++) {
		weft_group_add(&c->arrived[k], (int64_t)i - (int64_t)n);
		weft_group_add(&c->up[k], (int64_t)i - (int64_t)n);
	}
	return err;
}

static void tell_lateness(
	struct bench_sleep *f, const struct sleeper *s, uint64_t n, int time)
{
	double sum = 0;
	int64_t worst = 0;

	for (uint64_t i = 0; i < n; i++) {
		sum += (double)s[i].late_ns[time];
		if (s[i].late_ns[time] > worst)
			worst = s[i].late_ns[time];
	}
	f->late_us = sum / (double)n / 1e3;
	f->worst_us = (double)worst / 1e3;
}

/* Measure from the release, when all have arrived, until all have woken. */
static int one_sleep(struct bench_job *j, struct crowd *c, int time, int err)
{
	struct bench_sleep *f = &j->s.report.sleep[time];

	err = bench_wait(&c->arrived[time], err);
	bench_begin(j);
	weft_event_set(&c->release[time]);
	err = bench_wait(&c->up[time], err);
	j->s.cpu_ns = bench_cpu_ns() - j->start_cpu_ns;
	bench_end(j, 1);
	f->cpu_ms = (double)j->s.cpu_ns / 1e6;
	f->done_ms = (double)j->s.ns / 1e6;
	return err;
}

static int sleep_all(struct bench_job *j, struct sleeper *s, uint64_t n)
{
	int64_t most_ns = n < FEW ? (int64_t)n * MOST_NS / FEW : MOST_NS;
	struct wf_random random;
	struct crowd c = { 0 };
	int err;

	if (most_ns < LEAST_NS)
		most_ns = LEAST_NS;
	wf_random_seed(&random, 1);
	for (uint64_t i = 0; i < n; i++) {
		s[i].crowd = &c;
		for (int k = 0; k < TIMES; k++)
			s[i].ns[k] = LEAST_NS +
				wf_random_below(&random,
					(uint32_t)(most_ns - LEAST_NS) + 1);
	}
	err = start_all(&c, s, n);
	for (int k = 0; k < TIMES; k++)
		err = one_sleep(j, &c, k, err);
	weft_event_set(&c.over);
	err = bench_wait(&c.ended, err);
	j->s.ops = n;
	for (int k = 0; k < TIMES; k++) {
		j->s.report.sleep[k].longest_ms = (double)most_ns / 1e6;
		tell_lateness(&j->s.report.sleep[k], s, n, k);
	}
	return err;
}

static int timers(struct bench_job *j)
{
	uint64_t n = bench_scaled(j, SLEEPERS);
	struct sleeper *s;
	int err;

	if (bench_memory_left() < n * BYTES_EACH_MAX)
		return -ENOMEM;
	s = calloc(n, sizeof(*s));
	err = s ? sleep_all(j, s, n) : -ENOMEM;
	free(s);
	return err;
}

const struct bench_load bench_timers = {
	.name = "timers",
	.what = "100,000 fibers sleep 1 to 1,000 ms",
	.run = timers,
	.needs = BENCH_SUSPEND,
	.workers = { 1, 2 },
	.rounds = 1,
	.subprocess = true,
	.sleeps = true,
};

#define WAITS 10000000
#define FAR_NS (3600 * WF_NS_PER_S)

/* Round trips of one turn. */
#define TURN 2500

struct exchange {
	weft_sem sem[2];
	weft_time deadline;
	uint64_t trips;
	weft_group ended;
};

/* A fiber that fails lets the other one run to its end. */
static bool failed(struct exchange *x, weft_sem *other, int err)
{
	if (err) {
		bench_fail(err);
		weft_sem_release(other, (uint32_t)x->trips);
	}
	return err != 0;
}

/* One fiber wakes and waits, the other waits and wakes: so both always wait. */
static void one_side(void *arg)
{
	struct exchange *x = arg;

	for (uint64_t i = 0; i < x->trips; i++) {
		weft_sem_release(&x->sem[1], 1);
		if (failed(x, &x->sem[1],
			    weft_sem_acquire(&x->sem[0], x->deadline)))
			break;
	}
	weft_group_done(&x->ended);
}

static void other_side(void *arg)
{
	struct exchange *x = arg;

	for (uint64_t i = 0; i < x->trips; i++) {
		if (failed(x, &x->sem[0],
			    weft_sem_acquire(&x->sem[1], x->deadline)))
			break;
		weft_sem_release(&x->sem[0], 1);
	}
	weft_group_done(&x->ended);
}

/* Store the time of one wait in *ns. */
static int exchange(uint64_t trips, weft_time deadline, double *ns)
{
	struct exchange x = { .deadline = deadline, .trips = trips };
	weft_time begin = weft_now();
	int err = bench_go(&x.ended, one_side, &x), other_err;

	if (err)
		return err;
	other_err = bench_go(&x.ended, other_side, &x);
	if (other_err)
		weft_sem_release(&x.sem[0], (uint32_t)trips);
	err = bench_wait(&x.ended, other_err);
	*ns = (double)(weft_now() - begin) / (double)(2 * trips);
	return err;
}

/*
 * One turn without a deadline and one with it; keep the times of the fastest.
 */
static int two_turns(struct bench_report *f, uint64_t trips)
{
	double without, with;
	int err = exchange(trips, WEFT_FOREVER, &without);

	if (!err)
		err = exchange(trips, weft_after(FAR_NS), &with);
	if (err)
		return err;
	if (f->without_ns == 0 || without < f->without_ns)
		f->without_ns = without;
	if (f->with_ns == 0 || with < f->with_ns)
		f->with_ns = with;
	return 0;
}

static int timeouts(struct bench_job *j)
{
	uint64_t turns = bench_many(j, WAITS / (2 * TURN));
	uint64_t ops = turns * 2 * TURN;
	struct bench_report *f = &j->s.report;
	double ns;
	int err = bench_yielders_warm(2);

	bench_begin(j);
	for (uint64_t i = 0; i < turns && !err; i++)
		err = two_turns(f, TURN);
	bench_end(j, ops);
	if (err)
		return err;
	ns = (f->with_ns - f->without_ns) * (double)ops;
	/* On a busy machine there may be no measurable difference. */
	j->s.ns = ns < 1 ? 1 : (int64_t)ns;
	return 0;
}

const struct bench_load bench_timeouts = {
	.name = "timeouts",
	.what = "set and cancel one of 10,000,000 deadlines",
	.run = timeouts,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.part = 0.02,
	.limit = 8,
};
