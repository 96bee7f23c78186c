/* SPDX-License-Identifier: MIT */
/*
 * bench/mutex.c - locks: the mutexes of the earlier experiment
 * (docs/POLICIES.md), and Go's own benchmarks of its locks.
 *
 *	mutexes			13 sets of 100 fibers, each takes the two
 *				mutexes of its set in turn
 *	mutex-work-free		each worker's fiber has a mutex of its own
 *	mutex-work-slack	ten fibers per worker share one
 *	mutex-work-busy		one per worker, which computes between sections
 *	mutex-work-rw10, -rw1	readers, and every 10th or 100th time a writer
 *
 * A section adds to a number in the cache line of its lock.  A writer adds to
 * two numbers, and a reader must find them equal.  Every implementation has the
 * same number of fibers: with fewer there would be less contention.
 *
 * Reads next: bench/mutex_kinds.c
 */
#include "bench/workloads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <weft/mutex.h>
#include <weft/rwlock.h>

#include "base/compiler.h"

struct room {
	weft_mutex mutex;
	weft_rwlock rwlock;
	uint64_t count; /* under the lock in use, these two */
	uint64_t again;
} wf_aligned(WF_FALSE_SHARING);

/* Which fibers take which locks, how often. */
struct shape {
	void (*member)(void *);
	uint64_t fibers;
	uint64_t set;	/* this many fibers share... */
	uint64_t rooms; /* ...this many locks, 1 or 2 */
	uint64_t sections;
	unsigned steps; /* to compute after each section */
	unsigned write_every;
};

struct member {
	struct room *room[2];
	const struct shape *shape;
	uint64_t wrote; /* written by its fiber only */
	weft_group *ended;
};

static void compute(unsigned steps)
{
	uint64_t x = steps;

	for (unsigned i = 0; i < steps; i++) {
		x = x * 3 + i;
		__asm__ volatile("" : "+r"(x));
	}
}

static void locker(void *arg)
{
	struct member *m = arg;
	const struct shape *s = m->shape;

	for (uint64_t i = 0; i < s->sections; i++) {
		struct room *r = m->room[i & 1];

		weft_mutex_lock(&r->mutex);
		r->count++;
		weft_mutex_unlock(&r->mutex);
		if (s->steps > 0)
			compute(s->steps);
	}
	m->wrote = s->sections;
	weft_group_done(m->ended);
}

static void reader_and_writer(void *arg)
{
	struct member *m = arg;
	const struct shape *s = m->shape;
	struct room *r = m->room[0];

	for (uint64_t i = 0; i < s->sections; i++) {
		if (i % s->write_every == 0) {
			weft_rwlock_wrlock(&r->rwlock);
			r->count++;
			r->again++;
			weft_rwlock_wrunlock(&r->rwlock);
			m->wrote++;
		} else {
			weft_rwlock_rdlock(&r->rwlock);
			if (r->count != r->again)
				bench_fail(-EILSEQ);
			weft_rwlock_rdunlock(&r->rwlock);
		}
	}
	weft_group_done(m->ended);
}

/* Check that every section ran once. */
static int check(const struct shape *s, const struct room *room,
	const struct member *member)
{
	uint64_t counted = 0, wrote = 0;

	for (uint64_t i = 0; i < s->fibers / s->set * s->rooms; i++)
		counted += room[i].count;
	for (uint64_t i = 0; i < s->fibers; i++)
		wrote += member[i].wrote;
	return counted == wrote ? 0 : -EILSEQ;
}

static int run_members(struct bench_job *j, const struct shape *s,
	struct room *room, struct member *member)
{
	weft_group ended = { 0 };
	int err = bench_yielders_warm(s->fibers);

	if (err)
		return err;
	for (uint64_t i = 0; i < s->fibers; i++) {
		struct room *first = &room[i / s->set * s->rooms];

		member[i].room[0] = first;
		member[i].room[1] = first + s->rooms - 1;
		member[i].shape = s;
		member[i].ended = &ended;
	}
	bench_begin(j);
	for (uint64_t i = 0; i < s->fibers && !err; i++)
		err = bench_go(&ended, s->member, &member[i]);
	err = bench_wait(&ended, err);
	bench_end(j, s->fibers * s->sections);
	return err ? err : check(s, room, member);
}

static int run(struct bench_job *j, const struct shape *s)
{
	size_t bytes = s->fibers / s->set * s->rooms * sizeof(struct room);
	struct room *room = aligned_alloc(WF_FALSE_SHARING, bytes);
	struct member *member = calloc(s->fibers, sizeof(*member));
	int err = -ENOMEM;

	if (room != NULL && member != NULL) {
		memset(room, 0, bytes);
		err = run_members(j, s, room, member);
	}
	free(member);
	free(room);
	return err;
}

#define SETS 13
#define SET 100

/* A small scale has fewer sets, too. */
static int mutexes(struct bench_job *j)
{
	uint64_t sections = bench_scaled(j, 2000);

	return run(j,
		&(struct shape){ .member = locker,
			.fibers = (sections < SETS ? sections : SETS) * SET,
			.set = SET,
			.rooms = 2,
			.sections = sections });
}

const struct bench_load bench_mutexes = {
	.name = "mutexes",
	.also = "mutex",
	.what = "13 x 100 fibers, each 2,000 short sections",
	.run = mutexes,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2, 4 },
	.part = 0.25,
	.limit2 = 2,
};

#define SECTIONS 1000000
#define STEPS 100

/* n fibers per worker, which share one lock or have one each. */
static int per_worker(struct bench_job *j, struct shape s, uint64_t n)
{
	s.fibers = n * j->bench->workers;
	s.set = s.set ? s.set : s.fibers;
	s.rooms = 1;
	s.sections = bench_scaled(j, SECTIONS / n);
	return run(j, &s);
}

static int mutex_free(struct bench_job *j)
{
	return per_worker(j, (struct shape){ .member = locker, .set = 1 }, 1);
}

static int mutex_slack(struct bench_job *j)
{
	return per_worker(j, (struct shape){ .member = locker }, 10);
}

static int mutex_busy(struct bench_job *j)
{
	return per_worker(
		j, (struct shape){ .member = locker, .steps = STEPS }, 1);
}

static int rwlock_10(struct bench_job *j)
{
	return per_worker(j,
		(struct shape){
			.member = reader_and_writer, .write_every = 10 },
		1);
}

static int rwlock_1(struct bench_job *j)
{
	return per_worker(j,
		(struct shape){
			.member = reader_and_writer, .write_every = 100 },
		1);
}

const struct bench_load bench_mutex_free = {
	.name = "mutex-work-free",
	.also = "mutex-work",
	.what = "each fiber has a mutex, 1,000,000 sections",
	.run = mutex_free,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.more = true,
};

const struct bench_load bench_mutex_slack = {
	.name = "mutex-work-slack",
	.also = "mutex-work",
	.what = "10 fibers per worker share a mutex",
	.run = mutex_slack,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.part = 0.25,
};

const struct bench_load bench_mutex_work = {
	.name = "mutex-work-busy",
	.also = "mutex-work",
	.what = "1 per worker, 100 steps between sections",
	.run = mutex_busy,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.more = true,
};

const struct bench_load bench_rwlock_10 = {
	.name = "mutex-work-rw10",
	.also = "mutex-work",
	.what = "1 per worker share a rwlock, 10% write",
	.run = rwlock_10,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.part = 0.25,
};

const struct bench_load bench_rwlock_1 = {
	.name = "mutex-work-rw1",
	.also = "mutex-work",
	.what = "1 per worker share a rwlock, 1% write",
	.run = rwlock_1,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2 },
	.more = true,
};
