/* SPDX-License-Identifier: MIT */
/*
 * tests/sim/lock_scenarios.c - the short lock: one thread at a time touches
 * the data under it, none sleeps for ever, and the last one may free it.
 */
#include "sim/queue_kit.h"

#include <stdlib.h>

#include "os/lock.h"

enum { THREADS = 3 };

struct account {
	struct wf_lock lock;
	int sum;  /* plain, by lock */
	int refs; /* plain, by lock */
};

static struct account account; /* as new in each run */

static void lock_twice(void *arg)
{
	struct account *a = arg;

	for (int i = 0; i < 2; i++) {
		wf_lock(&a->lock);
		a->sum++;
		wf_unlock(&a->lock);
	}
}

static void three(struct account *a, void (*fn)(void *))
{
	int id[THREADS - 1];

	for (int i = 0; i < THREADS - 1; i++)
		id[i] = thread_start(fn, a, "locker");
	fn(a);
	for (int i = 0; i < THREADS - 1; i++)
		thread_join(id[i]);
}

void lock_three(void *arg)
{
	struct account *a = &account;

	(void)arg;
	three(a, lock_twice);
	weft_sim_assert(a->sum == 2 * THREADS, "the sum is %d", a->sum);
	weft_sim_assert(wf_trylock(&a->lock), "still locked");
}

/* Adds only while the lock is free, then waits for it to tell how often. */
static void lock_if_free(void *arg)
{
	struct account *a = arg;
	int times = 0;

	for (int i = 0; i < 2; i++) {
		if (!wf_trylock(&a->lock))
			continue;
		weft_sim_assert(a->sum >= times, "%d were added", times);
		a->sum++;
		wf_unlock(&a->lock);
		times++;
	}
	wf_lock(&a->lock);
	a->refs += times;
	wf_unlock(&a->lock);
}

void lock_try(void *arg)
{
	struct account *a = &account;

	(void)arg;
	three(a, lock_if_free);
	weft_sim_assert(a->sum == a->refs, "%d of %d", a->sum, a->refs);
	weft_sim_assert(wf_trylock(&a->lock), "still locked");
	weft_sim_assert(!wf_trylock(&a->lock), "locked twice");
}

/* The last thread to unlock frees the lock, right after the others left. */
static void lock_and_drop(void *arg)
{
	struct account *a = arg;
	bool last;

	wf_lock(&a->lock);
	last = --a->refs == 0;
	wf_unlock(&a->lock);
	if (last)
		free(a);
}

void lock_freed(void *arg)
{
	struct account *a = calloc(1, sizeof(*a));

	(void)arg;
	weft_sim_assert(a != NULL, "no memory");
	a->refs = THREADS;
	three(a, lock_and_drop);
}
