/* SPDX-License-Identifier: MIT */
/*
 * bench/workloads.h - the workloads, and the implementations they run on.
 *
 * A workload is written once, against the operations of `struct bench_impl', so
 * that all implementations do the same thing.  The operations have the types of
 * weft's own calls, so that weft is measured with nothing in between.  Groups,
 * mutexes, channels and timers are weft's own everywhere, since they serve
 * fibers on any executor, and plain threads too.
 *
 * The course of a round, for one bench:
 *
 *	bench_load_measure	bench_on = the implementation
 *	  impl->run(job)	start it, then in a fiber, or on this thread:
 *	    load->run(job)	prepare; bench_begin; work; bench_end; check
 *				take the figures, stop it
 *
 * A workload checks its result: a wrong one is -EILSEQ.  Where an error cannot
 * be returned (deep in a tree), bench_fail keeps it.
 *
 * Reads next: bench/spawn.c
 */
#ifndef WEFT_BENCH_WORKLOADS_H
#define WEFT_BENCH_WORKLOADS_H

#include <weft/chan.h>
#include <weft/fiber.h>
#include <weft/group.h>

#include "bench/bench.h"

/* What an implementation can do besides tasks, and a workload needs. */
#define BENCH_YIELD 1u		/* yield inside a task */
#define BENCH_JOIN 2u		/* wait for another task, inside a task */
#define BENCH_SUSPEND 4u	/* wait for anything, inside a task */

/* One round of a workload. */
struct bench_job {
	const struct bench *bench;
	struct bench_sample s;
	int64_t start_ns;		/* bench_begin: clock and CPU time */
	int64_t start_cpu_ns;
};

struct bench_impl {
	const char *name;
	const char *what;
	unsigned can;			/* BENCH_YIELD, ... */
	double share;			/* part of bench_many that it does */
	double forks;			/* of that, for workloads of forks */
	unsigned rounds;		/* at most; 0: as many as requested */
	const struct weft_policy *policy;	/* NULL: the default */

	int (*run)(struct bench_job *j);
	weft_executor *(*executor)(void);	/* that its fibers run on */
	int (*remote)(void (*fn)(void *), void *arg);	/* from outside */
	int (*go)(void (*fn)(void *), void *arg);	/* from inside */
	int (*spawn)(weft_fiber **f, const weft_fiber_attr *a,
		void *(*fn)(void *), void *arg);
	int (*join)(weft_fiber *f, void **result, weft_time deadline);
	void (*yield)(void);
	int (*suspend)(struct weft_awaiter *a);
	void (*wake)(weft_fiber *f, weft_hint hint);
};

/*
 * The implementation that the workload runs on now.  A copy, so that an
 * operation costs just what a call into a shared library does.
 */
extern struct bench_impl bench_on;

extern const struct bench_impl bench_weft, bench_pool, bench_plain;

/* The implementations that are measured by default.  Ends with a NULL. */
extern const struct bench_impl *const bench_impls[];

/* Policies in one run, at most, and bytes of the words of one. */
#define BENCH_POLICIES_MAX 64
#define BENCH_WORDS_BYTES 128

/*
 * Find one of bench_impls by its name, or make weft with the policy of these
 * words; its name is then the text of weft_policy_print.  On an error why says
 * what is wrong, as weft_policy_parse does.
 */
int bench_impl_find(const char *name, const struct bench_impl **im, char *why,
	size_t why_bytes);

/* A workload is measured with at most this many numbers of workers. */
#define BENCH_WORKERS 3

struct bench_load {
	const char *name;
	const char *also;		/* a name for several workloads, or
					 * NULL */
	const char *what;		/* one operation, described */
	int (*run)(struct bench_job *j);
	/* Runs the user code of the workload as plain calls; or NULL. */
	int (*plain)(struct bench_job *j);
	unsigned needs;			/* BENCH_YIELD, ... */
	unsigned workers[BENCH_WORKERS];	/* 0: no more */
	unsigned rounds;		/* at most; 0: as many as requested */
	double part;			/* part of its size, unless it is named;
					 * 0: all of it */
	bool more;			/* measured only if it is named */
	bool outside;			/* run is called on a plain thread */
	bool subprocess;		/* in a process of its own */
	bool sleeps;			/* the clock says how long it takes:
					   what it costs is CPU time */

	/* The limits it must keep; 0: none. */
	double limit;			/* 1 worker, multiple of floor-cas */
	double limit2;			/* 2 workers, multiple of floor-cas */
	double slower;			/* 2 workers: at most this multiple of
					 * the time of 1 worker */
	double faster;			/* 2 workers: at least this multiple of
					 * the speed of 1 worker */
	double pool;			/* 2 workers: at least this multiple of
					 * the speed of the pool; 0: 1 */
};

/* All workloads, in the order of the table.  Ends with a NULL. */
extern const struct bench_load *const bench_loads[];

extern const struct bench_load bench_mutexes, bench_channels,
	bench_single_spawner, bench_slow_thread, bench_merge_sort,
	bench_different_spawners, bench_starve, bench_starve_lifo, bench_pairs,
	bench_yields, bench_switch2, bench_spawn_join, bench_spawn_tree,
	bench_fib, bench_chained_spawn, bench_remote_spawn, bench_coarse,
	bench_sort, bench_ping_pong_1, bench_ping_pong_100, bench_ping_pong_hog,
	bench_prodcons_0, bench_prodcons_10, bench_prodcons_100,
	bench_mutexes_pthread, bench_mutexes_strand, bench_mutexes_inline,
	bench_mutexes_async, bench_mutex_free, bench_mutex_slack,
	bench_mutex_work, bench_rwlock_10, bench_rwlock_1, bench_ring,
	bench_sieve, bench_million, bench_timers, bench_timeouts, bench_idle,
	bench_handles_first, bench_handles_last, bench_handles_random;

/* Whether the workload can run on this implementation. */
static inline bool bench_fits(
	const struct bench_load *load, const struct bench_impl *im)
{
	return (load->needs & ~im->can) == 0;
}

/* `measure' of every workload.  -ENOTSUP: it cannot run there. */
int bench_load_measure(const struct bench *b, struct bench_sample *s);

/* Call load->run; returns its error, or the one that bench_fail kept. */
int bench_job_run(struct bench_job *j);

/*
 * scaled: n times the scale, at least 1.  many: for repetitions that only
 * improve the measurement: the part of that which the implementation does.
 */
uint64_t bench_scaled(const struct bench_job *j, uint64_t n);
uint64_t bench_many(const struct bench_job *j, uint64_t n);
uint64_t bench_forks(const struct bench_job *j, uint64_t n);

/* The work begins; it has ended, with that many operations. */
void bench_begin(struct bench_job *j);
void bench_end(struct bench_job *j, uint64_t ops);

/*
 * bench_go: start fn(arg), counted by g: 0 or -errno.  bench_wait: wait in any
 * case until all have ended; returns err, or the error of the wait.
 */
int bench_go(weft_group *g, void (*fn)(void *), void *arg);
int bench_wait(weft_group *g, int err);

/* Make n channels for numbers, or none if one cannot be made; give all back. */
int bench_chans_open(weft_chan **c, uint64_t n, size_t capacity);
void bench_chans_unref(weft_chan **c, uint64_t n);

/* Keep the first error; tell whether there is one. */
void bench_fail(int err);
bool bench_failed(void);

/* User code: compute for ns, by the CPU clock of this thread. */
void bench_compute(int64_t ns);

/* CPU time of the calling thread. */
int64_t bench_thread_cpu_ns(void);

/*
 * Fibers that yield this many times each, and end.  The first time they have
 * cold stacks; bench_yielders_warm runs it before the clock starts.
 */
struct bench_yielders {
	uint64_t yields;
	weft_group ended;
};

int bench_yielders_go(struct bench_yielders *y, uint64_t fibers);
int bench_yielders_warm(uint64_t fibers);

/* A fiber that computes for ns between its yields, until it is stopped. */
struct bench_hog {
	int64_t ns;
	_Atomic(bool) stop;
	uint64_t times;			/* written by the fiber only */
	weft_group ended;
};

int bench_hog_go(struct bench_hog *h);

/*
 * Stop the fiber; returns err, or the error of the wait.  Adds its user time to
 * the job.
 */
int bench_hog_end(struct bench_hog *h, struct bench_job *j, int err);

#endif
