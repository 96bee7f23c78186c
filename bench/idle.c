/* SPDX-License-Identifier: MIT */
/*
 * bench/idle.c - the cost of an idle runtime.
 *
 * Before the measurement there is work for all threads, so that all of them
 * exist.  Then this thread sleeps, and its own CPU time is not counted.
 */
#include "bench/workloads.h"

#include <time.h>

#include "base/units.h"
#include "bench/process.h"
#include "os/os.h"

#define IDLE_NS (10 * WF_NS_PER_S)

/* After their last work processors may search for more, for a moment. */
#define SETTLE_NS (100 * WF_NS_PER_MS)

#define WORK 64
#define WORK_NS (200 * WF_NS_PER_US)

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { .tv_sec = (time_t)(ns / 1000000000),
		.tv_nsec = (long)(ns % 1000000000) };

	while (nanosleep(&t, &t) != 0)
		;
}

static void work(void *group)
{
	bench_compute(WORK_NS);
	weft_group_done(group);
}

static int work_for_all(void)
{
	weft_group g = { 0 };
	int err = 0, wait_err;

	for (int i = 0; i < WORK && !err; i++) {
		weft_group_add(&g, 1);
		err = bench_on.remote(work, &g);
		if (err)
			weft_group_done(&g);
	}
	wait_err = weft_group_wait(&g, WEFT_FOREVER);
	return err ? err : wait_err;
}

static int idle(struct bench_job *j)
{
	static struct bench_switches before, after;
	uint64_t ns = bench_scaled(j, (uint64_t)IDLE_NS);
	int64_t own;
	int err = work_for_all();

	if (err)
		return err;
	sleep_ns(SETTLE_NS);
	err = bench_switches_read(&before);
	if (err)
		return err;
	own = bench_thread_cpu_ns();
	bench_begin(j);
	sleep_ns(ns);
	bench_end(j, 1);
	j->s.cpu_ns = bench_cpu_ns() - j->start_cpu_ns;
	j->s.cpu_ns -= bench_thread_cpu_ns() - own;
	if (j->s.cpu_ns <= 0)
		j->s.cpu_ns = 1;
	err = bench_switches_read(&after);
	j->s.report.switches = bench_switches_between(&before, &after);
	return err;
}

const struct bench_load bench_idle = {
	.name = "idle",
	.what = "nothing to do for 10 s",
	.run = idle,
	.workers = { 2, 0 },
	.rounds = 1,
	.part = 0.2,
	.outside = true,
	.sleeps = true,
};
