/* SPDX-License-Identifier: MIT */
/*
 * bench/workloads.c - the list of workloads, and what all of them use.
 */
#include "bench/workloads.h"

#include <errno.h>
#include <time.h>

#include "base/atomic.h"
#include "base/units.h"
#include "bench/apart.h"
#include "os/os.h"

const struct bench_load *const bench_loads[] = {
	&bench_single_spawner,
	&bench_slow_thread,
	&bench_merge_sort,
	&bench_different_spawners,
	&bench_starve,
	&bench_pairs,
	&bench_yields,
	&bench_switch2,
	&bench_spawn_join,
	&bench_spawn_tree,
	&bench_fib,
	&bench_chained_spawn,
	&bench_remote_spawn,
	&bench_coarse,
	&bench_sort,
	&bench_million,
	&bench_idle,
	NULL,
};

struct bench_impl bench_on;

/* The first error of this round. */
static _Atomic(int) failure;

void bench_fail(int err)
{
	int none = 0;

	(void)wf_cas_rlx(&failure, &none, err);
}

bool bench_failed(void)
{
	return wf_load_rlx(&failure) != 0;
}

int bench_job_run(struct bench_job *j)
{
	int err;

	wf_store_rlx(&failure, 0);
	err = j->bench->load->run(j);
	return err ? err : wf_load_rlx(&failure);
}

static uint64_t at_least_one(double n)
{
	return n < 1 ? 1 : (uint64_t)(n + 0.5);
}

uint64_t bench_scaled(const struct bench_job *j, uint64_t n)
{
	return at_least_one((double)n * j->bench->scale);
}

uint64_t bench_many(const struct bench_job *j, uint64_t n)
{
	return at_least_one((double)n * j->bench->scale * j->bench->on->share);
}

uint64_t bench_forks(const struct bench_job *j, uint64_t n)
{
	const struct bench_impl *on = j->bench->on;

	return at_least_one(
		(double)n * j->bench->scale * on->share * on->forks);
}

void bench_begin(struct bench_job *j)
{
	j->start_cpu_ns = bench_cpu_ns();
	j->start_ns = wf_os_now_ns();
}

void bench_end(struct bench_job *j, uint64_t ops)
{
	j->s.ns = wf_os_now_ns() - j->start_ns;
	j->s.ops = ops;
}

static int measure_here(const struct bench *b, struct bench_sample *s)
{
	struct bench_job j = { .bench = b };
	int err;

	bench_on = *b->on;
	err = b->on->run(&j);
	*s = j.s;
	s->peak_rss_kb = bench_peak_rss_kb();
	return err;
}

int bench_load_measure(const struct bench *b, struct bench_sample *s)
{
	if (!bench_fits(b->load, b->on))
		return -ENOTSUP;
	if (b->load->apart)
		return bench_apart(measure_here, b, s);
	return measure_here(b, s);
}

int64_t bench_thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * WF_NS_PER_S + t.tv_nsec;
}

/*
 * By the CPU clock, since on a machine with too few CPUs several threads could
 * watch the same second of the other clock go by.
 */
void bench_compute(int64_t ns)
{
	int64_t until = bench_thread_cpu_ns() + ns;

	while (bench_thread_cpu_ns() < until)
		;
}

/* No scheduler at all: what the user code alone takes. */
static int run_plain(struct bench_job *j)
{
	int err = j->bench->load->plain(j);

	j->s.cpu_ns = bench_cpu_ns() - j->start_cpu_ns;
	return err;
}

const struct bench_impl bench_plain = {
	.name = "plain",
	.what = "plain calls, no scheduler",
	.can = BENCH_YIELD | BENCH_JOIN | BENCH_SUSPEND,
	.share = 1,
	.forks = 1,
	.run = run_plain,
};
