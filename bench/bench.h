/* SPDX-License-Identifier: MIT */
/*
 * bench/bench.h - one measured operation, and how it is measured.
 *
 * A bench repeats its operation and reports how long that took: a floor
 * (bench/floors.c) by `run', a workload (bench/workloads.h) by `measure', which
 * reports more.  Rounds of all benches alternate, so that a slow moment of the
 * machine affects all of them alike.  The results are the median and the
 * minimum of the rounds.
 */
#ifndef WEFT_BENCH_BENCH_H
#define WEFT_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ROUNDS_MAX 99

struct bench_load;
struct bench_impl;

/* Where the tasks of a round came from; all 0 if they are not counted. */
struct bench_sources {
	uint64_t ticks;			/* all of them */
	uint64_t lifo;
	uint64_t local;
	uint64_t global;
	uint64_t stolen;
	uint64_t wakes;			/* of processors */
	uint64_t wakes_futile;
};

/* Sleeping fibers that one event has released. */
struct bench_sleep {
	double longest_ms;		/* longest sleep */
	double cpu_ms;			/* from the release... */
	double done_ms;			/* ...until all have woken */
	double late_us;			/* mean */
	double worst_us;
};

/* Results that only some workloads have. */
struct bench_report {
	uint64_t parked;		/* million: fibers that wait */
	double bytes_each;		/* million: resident memory of a
					 * fiber */
	uint64_t mappings;		/* million: of the process */
	double fault_ns;		/* million: a page fault, without
					 * fibers */
	uint64_t switches;		/* idle: voluntary, of all threads */
	struct bench_sleep sleep[2];	/* timers: with cold and warm stacks */
	double without_ns;		/* timeouts: a wait without a
					 * deadline */
	double with_ns;			/* timeouts: a wait with a deadline */
	double middle_us;		/* ping-pong-hog: median latency */
	double most_us;			/* ping-pong-hog: 99th percentile */
	double worst_us;		/* ping-pong-hog: maximum */
};

/* One round. */
struct bench_sample {
	uint64_t ops;
	int64_t ns;
	int64_t cpu_ns;			/* of all threads */
	int64_t user_ns;		/* of that, known to be user code */
	long peak_rss_kb;		/* of the process, so far */
	struct bench_sources from;
	struct bench_report report;
};

struct bench {
	const char *name;
	const char *what;		/* one operation, described */
	const char *impl;		/* name of the implementation */
	unsigned workers;		/* worker threads */
	uint64_t ops;			/* floors: in one round, at most */

	/* The limit is limit x floor-cas + times x base.  0: no limit. */
	double limit;
	double times;
	const char *base;		/* another floor; NULL: none */

	/* One of the two is set; they return 0 or -errno. */
	int (*run)(uint64_t *ops, int64_t *ns);
	int (*measure)(const struct bench *b, struct bench_sample *s);

	unsigned rounds;		/* at most; 0: as many as requested */
	bool hidden;			/* measured only for comparisons */
	const struct bench_load *load;	/* NULL: a floor */
	const struct bench_impl *on;	/* the implementation it runs on */
	double scale;			/* of the workload's parameters */
	double part;			/* part of its size; 0: all of it */
};

struct bench_result {
	int err;			/* of the first round that failed */
	unsigned rounds;
	uint64_t ops;			/* in the last round */
	double ns[BENCH_ROUNDS_MAX];	/* per operation; sorted at the end */
	double cpu_ns[BENCH_ROUNDS_MAX];	/* per operation, all threads */
	double total_ms;		/* time of ops operations at the
					 * median */
	double cpu_ms;			/* all threads; mean of the rounds */
	double user_ms;			/* of that, known to be user code */
	long peak_rss_kb;		/* of the process, so far */
	struct bench_sources from;	/* sum of the rounds */
	struct bench_report report;	/* of the last round */
};

/*
 * The floors: costs of the machine and of the lowest rooms.  Ends with a NULL.
 */
extern const struct bench bench_floors[];

/*
 * Run n benches for rounds rounds each (1 to BENCH_ROUNDS_MAX), one result
 * each.  With progress, show the progress on standard error.
 */
void bench_run(const struct bench *const *benches, size_t n, unsigned rounds,
	bool progress, struct bench_result *results);

/* CPU time of all threads of the process so far, and its peak memory. */
int64_t bench_cpu_ns(void);
long bench_peak_rss_kb(void);

static inline double bench_median(const struct bench_result *r)
{
	return r->ns[r->rounds / 2];
}

static inline double bench_cpu_median(const struct bench_result *r)
{
	return r->cpu_ns[r->rounds / 2];
}

static inline double bench_min(const struct bench_result *r)
{
	return r->ns[0];
}

/*
 * Whether the median is more than noise.  A workload that measures a difference
 * of two times may find none on a busy machine: such a median prints as 0.00,
 * and must not be judged or used as a divisor.
 */
static inline bool bench_is_seen(const struct bench_result *r)
{
	return bench_median(r) >= 0.005;
}

#endif
