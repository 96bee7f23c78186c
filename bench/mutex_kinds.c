/* SPDX-License-Identifier: MIT */
/*
 * bench/mutex_kinds.c - the sections of `mutexes' (bench/mutex.c), kept apart
 * in other ways than by a weft_mutex.
 *
 *	mutexes-pthread	a mutex of the system, which blocks the thread
 *	mutexes-strand	weft_strand_call; strands over the fibers' executor
 *	mutexes-inline	weft_strand_call; strands over the inline executor
 *	mutexes-async	weft_amutex, with a task in place of each fiber
 *
 * 13 sets of 100 members each share two locks, which a member takes in turn; a
 * section adds to a number in the cache line of its lock.
 *
 * These are apart from bench/mutex.c so that tools/compare, with an older
 * library that lacks some of these calls, leaves out this file only.
 *
 * Reads next: bench/pingpong.c
 */
#include "bench/workloads.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <weft/amutex.h>
#include <weft/task.h>

#include "base/compiler.h"

#define SETS 13
#define SET 100
#define ROOMS 2 /* of a set */

struct room {
	uint64_t count;
	union {
		pthread_mutex_t blocking;
		weft_executor *strand;
		weft_amutex async;
	};
} wf_aligned(WF_FALSE_SHARING);

struct member {
	weft_task task;		/* must be first */
	struct room *room[ROOMS];
	weft_executor *on;	/* that runs its task */
	uint64_t sections;
	uint64_t done;		/* of them */
	weft_group *ended;
};

/* A way to keep sections apart. */
struct way {
	int (*open)(struct room *r);
	int (*close)(struct room *r);
	int (*start)(struct member *m);
};

/* The room of a member's next section. */
static struct room *next_room(const struct member *m)
{
	return m->room[m->done % ROOMS];
}

/* ------------------------------------------------------------------------ */
/* A mutex of the system. */

static int open_blocking(struct room *r)
{
	return -pthread_mutex_init(&r->blocking, NULL);
}

static int close_blocking(struct room *r)
{
	return -pthread_mutex_destroy(&r->blocking);
}

static void block(void *arg)
{
	struct member *m = arg;

	for (; m->done < m->sections; m->done++) {
		struct room *r = next_room(m);

		pthread_mutex_lock(&r->blocking);
		r->count++;
		pthread_mutex_unlock(&r->blocking);
	}
	weft_group_done(m->ended);
}

static int start_blocking(struct member *m)
{
	return bench_go(m->ended, block, m);
}

/* ------------------------------------------------------------------------ */
/* A strand. */

static int open_strand(struct room *r)
{
	return weft_strand_create(&r->strand, bench_on.executor());
}

static int open_inline(struct room *r)
{
	return weft_strand_create(&r->strand, weft_inline());
}

static int close_strand(struct room *r)
{
	return weft_executor_destroy(r->strand);
}

static void count_up(void *arg)
{
	struct room *r = arg;

	r->count++;
}

static void call(void *arg)
{
	struct member *m = arg;

	for (; m->done < m->sections; m->done++) {
		struct room *r = next_room(m);
		int err = weft_strand_call(r->strand, count_up, r);

		if (err)
			bench_fail(err);
	}
	weft_group_done(m->ended);
}

static int start_call(struct member *m)
{
	return bench_go(m->ended, call, m);
}

/* ------------------------------------------------------------------------ */
/* The asynchronous mutex. */

static int nothing(struct room *r)
{
	(void)r;
	return 0;
}

static void section(weft_task *task)
{
	struct member *m = (struct member *)task;
	struct room *r = next_room(m);
	int err;

	r->count++;
	weft_amutex_unlock(&r->async);
	if (++m->done == m->sections) {
		weft_group_done(m->ended);
		return;
	}
	err = weft_amutex_lock(&next_room(m)->async, task, m->on);
	if (err) {
		bench_fail(err);
		weft_group_done(m->ended);
	}
}

static int start_async(struct member *m)
{
	int err;

	m->task.run = section;
	weft_group_add(m->ended, 1);
	err = weft_amutex_lock(&next_room(m)->async, &m->task, m->on);
	if (err)
		weft_group_done(m->ended);
	return err;
}

/* ------------------------------------------------------------------------ */
/* All of them. */

static int run_members(struct bench_job *j, const struct way *way,
	struct room *room, struct member *member, uint64_t members)
{
	uint64_t sections = bench_many(j, 2000), counted = 0;
	weft_group ended = { 0 };
	int err = bench_yielders_warm(members);

	for (uint64_t i = 0; i < members; i++)
		member[i] = (struct member){
			.room = { &room[i / SET * ROOMS],
				&room[i / SET * ROOMS + 1] },
			.on = bench_on.executor(),
			.sections = sections,
			.ended = &ended };
	bench_begin(j);
	for (uint64_t i = 0; i < members && !err; i++)
		err = way->start(&member[i]);
	err = bench_wait(&ended, err);
	bench_end(j, members * sections);
	for (uint64_t i = 0; i < members / SET * ROOMS; i++)
		counted += room[i].count;
	return err || counted == members * sections ? err : -EILSEQ;
}

/* Open the first n rooms; returns how many could be opened. */
static uint64_t open_rooms(
	const struct way *way, struct room *room, uint64_t n, int *err)
{
	for (uint64_t i = 0; i < n; i++) {
		*err = way->open(&room[i]);
		if (*err)
			return i;
	}
	return n;
}

static int run_in_rooms(struct bench_job *j, const struct way *way,
	struct room *room, struct member *member, uint64_t members)
{
	int err = 0, close_err;
	uint64_t n = open_rooms(way, room, members / SET * ROOMS, &err);

	if (!err)
		err = run_members(j, way, room, member, members);
	while (n-- > 0) {
		close_err = way->close(&room[n]);
		err = err ? err : close_err;
	}
	return err;
}

/* A small scale has fewer sets, too. */
static int run(struct bench_job *j, const struct way *way)
{
	uint64_t sets = bench_scaled(j, 2000);
	uint64_t members = (sets < SETS ? sets : SETS) * SET;
	size_t bytes = members / SET * ROOMS * sizeof(struct room);
	struct room *room = aligned_alloc(WF_FALSE_SHARING, bytes);
	struct member *member = calloc(members, sizeof(*member));
	int err = -ENOMEM;

	if (room != NULL && member != NULL) {
		memset(room, 0, bytes);
		err = run_in_rooms(j, way, room, member, members);
	}
	free(member);
	free(room);
	return err;
}

static int run_pthread(struct bench_job *j)
{
	return run(j, &(struct way){
		open_blocking, close_blocking, start_blocking });
}

static int run_strand(struct bench_job *j)
{
	return run(j, &(struct way){ open_strand, close_strand, start_call });
}

static int run_inline(struct bench_job *j)
{
	return run(j, &(struct way){ open_inline, close_strand, start_call });
}

static int run_async(struct bench_job *j)
{
	return run(j, &(struct way){ nothing, nothing, start_async });
}

const struct bench_load bench_mutexes_pthread = {
	.name = "mutexes-pthread",
	.also = "mutexes",
	.what = "mutexes, with a mutex of the system",
	.run = run_pthread,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2, 4 },
	.more = true,
};

const struct bench_load bench_mutexes_strand = {
	.name = "mutexes-strand",
	.also = "mutexes",
	.what = "mutexes, with calls of a strand",
	.run = run_strand,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2, 4 },
	.more = true,
};

const struct bench_load bench_mutexes_inline = {
	.name = "mutexes-inline",
	.also = "mutexes",
	.what = "mutexes, with calls of an inline strand",
	.run = run_inline,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2, 4 },
	.more = true,
};

const struct bench_load bench_mutexes_async = {
	.name = "mutexes-async",
	.also = "mutexes",
	.what = "mutexes, with tasks and a weft_amutex",
	.run = run_async,
	.needs = BENCH_YIELD | BENCH_SUSPEND,
	.workers = { 1, 2, 4 },
	.more = true,
};
