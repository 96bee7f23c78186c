/* SPDX-License-Identifier: MIT */
/*
 * bench/workloads.h - the workloads, and what they run on.
 *
 * A workload is written once, against the operations of `struct bench_impl', so
 * that two implementations do the same thing.  The operations have the types of
 * weft's own calls: weft is then measured with nothing between.  What waits
 * (groups, mutexes, channels, timers) is weft's own everywhere, since it serves
 * fibers on any executor, and plain threads too.
 *
 * The course of a round, for one bench:
 *
 *	bench_load_measure	bench_on = the implementation
 *	  impl->run(job)	start it, then in a fiber, or on this thread:
 *	    load->run(job)	prepare; bench_begin; work; bench_end; check
 *				take the figures, stop it
 *
 * A workload checks what it has computed: a wrong result is -EILSEQ.  Where an
 * error cannot be returned (deep in a tree), bench_fail keeps it.
 *
 * Reads next: bench/spawn.c
 */
#ifndef WEFT_BENCH_WORKLOADS_H
#define WEFT_BENCH_WORKLOADS_H

#include <weft/chan.h>
#include <weft/fiber.h>
#include <weft/group.h>

#include "bench/bench.h"

/* What an implementation can do, and a workload needs, besides tasks. */
#define BENCH_YIELD 1u		/* give way inside a task */
#define BENCH_JOIN 2u		/* wait for another one, inside a task */
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
	unsigned can;			/* BENCH_YIELD and so on */
	double share;			/* of bench_many that it can bear */
	double forks;			/* of that, where all are forks */
	unsigned rounds;		/* at most; 0: as many as asked for */
	const struct weft_policy *policy;	/* NULL: the default */

	int (*run)(struct bench_job *j);
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
 * What the workload runs on now.  A copy, so that an operation costs what a
 * call into a shared library does, and no more.
 */
extern struct bench_impl bench_on;

extern const struct bench_impl bench_weft, bench_pool, bench_plain;

/* Those that are measured unless others are asked for.  Ends with a NULL. */
extern const struct bench_impl *const bench_impls[];

/* How many policies there can be in one run, and bytes of the words of one. */
#define BENCH_POLICIES_MAX 64
#define BENCH_WORDS_BYTES 128

/*
 * One of bench_impls by its name, or weft with a policy by the words of it; its
 * name is then what weft_policy_print makes of them.  On an error why says what
 * is wrong, as weft_policy_parse does.
 */
int bench_impl_find(const char *name, const struct bench_impl **im, char *why,
	size_t why_bytes);

/* With so many different numbers of workers a workload is measured. */
#define BENCH_WORKERS 3

struct bench_load {
	const char *name;
	const char *also;		/* another name, of several; or NULL */
	const char *what;		/* one operation, in words */
	int (*run)(struct bench_job *j);
	/* The same user code as plain calls; NULL: there is none. */
	int (*plain)(struct bench_job *j);
	unsigned needs;			/* BENCH_YIELD and so on */
	unsigned workers[BENCH_WORKERS];	/* 0: no more of them */
	unsigned rounds;		/* at most; 0: as many as asked for */
	double part;			/* of its size, unless it is named; 0:
					   all of it */
	bool more;			/* not measured unless it is named */
	bool outside;			/* run is called on a plain thread */
	bool apart;			/* in a process of its own */

	/* What it must reach; 0: nothing. */
	double limit;			/* 1 worker, multiple of floor-cas */
	double limit2;			/* 2 workers, the same */
	double slower;			/* 2 workers: at most so many times
					   the time of 1 worker */
	double faster;			/* 2 workers: at least so many times
					   the speed of 1 worker */
	double pool;			/* 2 workers: at least so many times
					   the speed of the pool; 0: 1 */
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
	bench_mutex_free, bench_mutex_slack, bench_mutex_work, bench_rwlock_10,
	bench_rwlock_1, bench_ring, bench_sieve, bench_million, bench_timers,
	bench_timeouts, bench_idle, bench_handles_first, bench_handles_last,
	bench_handles_random;

/* Can it run there? */
static inline bool bench_fits(
	const struct bench_load *load, const struct bench_impl *im)
{
	return (load->needs & ~im->can) == 0;
}

/* `measure' of every bench that is a workload.  -ENOTSUP: it does not fit. */
int bench_load_measure(const struct bench *b, struct bench_sample *s);

/* load->run, and the error that bench_fail kept, if any. */
int bench_job_run(struct bench_job *j);

/*
 * n times the scale, at least 1; and for what is only done so often to be
 * measured well: as much of that as the implementation can bear.
 */
uint64_t bench_scaled(const struct bench_job *j, uint64_t n);
uint64_t bench_many(const struct bench_job *j, uint64_t n);
uint64_t bench_forks(const struct bench_job *j, uint64_t n);

/* The work begins; it has ended, and that many operations are done. */
void bench_begin(struct bench_job *j);
void bench_end(struct bench_job *j, uint64_t ops);

/*
 * Start fn(arg), counted by g: 0 or -errno.  Then, whatever has happened, wait
 * until all are done; err, or what the wait says.
 */
int bench_go(weft_group *g, void (*fn)(void *), void *arg);
int bench_wait(weft_group *g, int err);

/* n channels for numbers, closed again if one cannot be made; and unref all. */
int bench_chans_open(weft_chan **c, uint64_t n, size_t capacity);
void bench_chans_unref(weft_chan **c, uint64_t n);

/* Keep the first error; whether there is one. */
void bench_fail(int err);
bool bench_failed(void);

/* User code: compute for so long, by the CPU clock of this thread. */
void bench_compute(int64_t ns);

/* CPU time of the calling thread. */
int64_t bench_thread_cpu_ns(void);

/*
 * Fibers that yield so many times each, and end.  The first round of them has
 * cold stacks; bench_yielders_warm has it over before the clock starts.
 */
struct bench_yielders {
	uint64_t yields;
	weft_group ended;
};

int bench_yielders_go(struct bench_yielders *y, uint64_t fibers);
int bench_yielders_warm(uint64_t fibers);

/* A fiber that computes so long between its yields, until it is ended. */
struct bench_hog {
	int64_t ns;
	_Atomic(bool) stop;
	uint64_t times;			/* its own until it has ended */
	weft_group ended;
};

int bench_hog_go(struct bench_hog *h);

/* Returns err, or what went wrong; the job is told what was user code. */
int bench_hog_end(struct bench_hog *h, struct bench_job *j, int err);

#endif
