/* SPDX-License-Identifier: MIT */
/*
 * bench/weft.c - weft as an implementation: a runtime for each round.
 *
 * The CPU time of a round is counted until the runtime has stopped, because it
 * is exact only for threads that have ended.  The CPU time that this thread
 * needs to stop and free the runtime is subtracted.
 */
#include "bench/workloads.h"

#include <stdint.h>

#include <weft/obs.h>
#include <weft/runtime.h>

static weft_rt *rt;

static weft_executor *executor(void)
{
	return weft_rt_executor(rt);
}

static int remote(void (*fn)(void *), void *arg)
{
	return weft_rt_go(rt, fn, arg);
}

static void *job_fiber(void *job)
{
	return (void *)(intptr_t)bench_job_run(job);
}

static int run_inside(struct bench_job *j)
{
	weft_fiber *fiber;
	void *result = NULL;
	int err = weft_rt_spawn(rt, &fiber, NULL, job_fiber, j);

	if (!err)
		err = weft_join(fiber, &result, WEFT_FOREVER);
	return err ? err : (int)(intptr_t)result;
}

static int look(struct bench_sources *from)
{
	weft_metrics m;
	int err = weft_metrics_read(rt, &m, sizeof(m));

	if (err)
		return err;
	from->ticks = m.ticks;
	from->lifo = m.runs_lifo;
	from->local = m.runs_local;
	from->global = m.runs_global;
	from->stolen = m.runs_stolen;
	from->wakes = m.wakes;
	from->wakes_futile = m.wakes_futile;
	return 0;
}

static int run(struct bench_job *j)
{
	weft_config config = { .workers = j->bench->workers,
		.policy = j->bench->on->policy };
	int64_t stopping;
	int err, look_err, stop_err;

	err = weft_rt_start(&rt, &config);
	if (err)
		return err;
	err = j->bench->load->outside ? bench_job_run(j) : run_inside(j);
	look_err = look(&j->s.from);
	stopping = bench_thread_cpu_ns();
	stop_err = weft_rt_stop(rt, WEFT_FOREVER);
	stopping = bench_thread_cpu_ns() - stopping;
	if (j->s.cpu_ns == 0)
		j->s.cpu_ns = bench_cpu_ns() - j->start_cpu_ns - stopping;
	return err ? err : look_err ? look_err : stop_err;
}

const struct bench_impl bench_weft = {
	.name = "weft",
	.what = "fibers on a work-stealing scheduler",
	.can = BENCH_YIELD | BENCH_JOIN | BENCH_SUSPEND,
	.share = 1,
	.forks = 1,
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
