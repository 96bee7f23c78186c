/* SPDX-License-Identifier: MIT */
/*
 * bench/pool.c - the baseline: fibers on weft's own pool of threads, which has
 * one shared queue, a mutex and a condition variable.
 *
 * Fibers and all their calls are the same there; only the executor differs.
 */
#include "bench/workloads.h"

#include <errno.h>
#include <stdlib.h>

static weft_executor *pool;

static weft_executor *executor(void)
{
	return pool;
}

struct call {
	void (*fn)(void *);
	void *arg;
};

static void *call(void *arg)
{
	struct call c = *(struct call *)arg;

	free(arg);
	c.fn(c.arg);
	return NULL;
}

/* weft_rt_go for a pool. */
static int remote(void (*fn)(void *), void *arg)
{
	const weft_fiber_attr attr = { .executor = pool };
	struct call *c = malloc(sizeof(*c));
	weft_fiber *fiber;
	int err;

	if (c == NULL)
		return -ENOMEM;
	*c = (struct call){ fn, arg };
	err = weft_spawn(&fiber, &attr, call, c);
	if (err)
		free(c);
	else
		weft_detach(fiber);
	return err;
}

static void *job_fiber(void *job)
{
	return (void *)(intptr_t)bench_job_run(job);
}

static int run_inside(struct bench_job *j)
{
	const weft_fiber_attr attr = { .executor = pool };
	weft_fiber *fiber;
	void *result = NULL;
	int err = weft_spawn(&fiber, &attr, job_fiber, j);

	if (!err)
		err = weft_join(fiber, &result, WEFT_FOREVER);
	return err ? err : (int)(intptr_t)result;
}

static int run(struct bench_job *j)
{
	int err = weft_pool_create(&pool, j->bench->workers), stop_err;

	if (err)
		return err;
	err = j->bench->load->outside ? bench_job_run(j) : run_inside(j);
	stop_err = weft_executor_destroy(pool);
	if (j->s.cpu_ns == 0)
		j->s.cpu_ns = bench_cpu_ns() - j->start_cpu_ns;
	return err ? err : stop_err;
}

const struct bench_impl bench_pool = {
	.name = "pool",
	.what = "fibers on threads with one shared queue, the baseline",
	.can = BENCH_YIELD | BENCH_JOIN | BENCH_SUSPEND,
	/*
	 * The pool is slow enough that a tenth of the work measures as well.  A
	 * fork is slower still: a joiner waits behind everything in the queue,
	 * with a stack of its own.
	 */
	.share = 0.1,
	.forks = 0.2,
	.rounds = 5,
	.run = run,
	.executor = executor,
	.remote = remote,
	.go = weft_go,
	.spawn = weft_spawn,
	.join = weft_join,
	.yield = weft_yield,
	.suspend = weft_suspend,
	.wake = weft_wake,
};
