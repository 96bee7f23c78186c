/* SPDX-License-Identifier: MIT */
/*
 * bench/workloads.c - the list of workloads, and their common functions.
 */
#include "bench/workloads.h"

#include <errno.h>
#include <time.h>

#include "base/atomic.h"
#include "base/units.h"
#include "bench/subprocess.h"
#include "os/os.h"

const struct bench_load *const bench_loads[] = {
	&bench_mutexes,
	&bench_mutexes_pthread,
	&bench_mutexes_strand,
	&bench_mutexes_inline,
	&bench_mutexes_async,
	&bench_channels,
	&bench_single_spawner,
	&bench_slow_thread,
	&bench_merge_sort,
	&bench_different_spawners,
	&bench_starve,
	&bench_starve_lifo,
	&bench_pairs,
	&bench_yields,
	&bench_switch2,
	&bench_spawn_join,
	&bench_handles_first,
	&bench_handles_last,
	&bench_handles_random,
	&bench_spawn_tree,
	&bench_fib,
	&bench_chained_spawn,
	&bench_remote_spawn,
	&bench_coarse,
	&bench_sort,
	&bench_ping_pong_1,
	&bench_ping_pong_100,
	&bench_ping_pong_hog,
	&bench_prodcons_0,
	&bench_prodcons_10,
	&bench_prodcons_100,
	&bench_mutex_free,
	&bench_mutex_slack,
	&bench_mutex_work,
	&bench_rwlock_10,
	&bench_rwlock_1,
	&bench_ring,
	&bench_sieve,
	&bench_million,
	&bench_timers,
	&bench_timeouts,
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

static uint64_t scaled(const struct bench_job *j, uint64_t n, double share)
{
	const struct bench *b = j->bench;
	double x = (double)n * b->scale * (b->part > 0 ? b->part : 1) * share;

	return x < 1 ? 1 : (uint64_t)(x + 0.5);
}

uint64_t bench_scaled(const struct bench_job *j, uint64_t n)
{
	return scaled(j, n, 1);
}

uint64_t bench_many(const struct bench_job *j, uint64_t n)
{
	return scaled(j, n, j->bench->on->share);
}

uint64_t bench_forks(const struct bench_job *j, uint64_t n)
{
	return scaled(j, n, j->bench->on->share * j->bench->on->forks);
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

int bench_go(weft_group *g, void (*fn)(void *), void *arg)
{
	int err;

	weft_group_add(g, 1);
	err = bench_on.go(fn, arg);
	if (err)
		weft_group_done(g);
	return err;
}

int bench_wait(weft_group *g, int err)
{
	int wait_err = weft_group_wait(g, WEFT_FOREVER);

	return err ? err : wait_err;
}

int bench_chans_open(weft_chan **c, uint64_t n, size_t capacity)
{
	for (uint64_t i = 0; i < n; i++) {
		int err = weft_chan_create(&c[i], sizeof(uint64_t), capacity);

		if (err) {
			bench_chans_unref(c, i);
			return err;
		}
	}
	return 0;
}

void bench_chans_unref(weft_chan **c, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		weft_chan_unref(c[i]);
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
	if (b->load->subprocess)
		return bench_subprocess(measure_here, b, s);
	return measure_here(b, s);
}

int64_t bench_thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * WF_NS_PER_S + t.tv_nsec;
}

/*
 * Measured by the CPU clock: on a machine with too few CPUs, several threads
 * could otherwise count the same second.
 */
void bench_compute(int64_t ns)
{
	int64_t until = bench_thread_cpu_ns() + ns;

	while (bench_thread_cpu_ns() < until)
		;
}

/* Without a scheduler: the time of the user code alone. */
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
