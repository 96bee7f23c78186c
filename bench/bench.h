/* SPDX-License-Identifier: MIT */
/*
 * bench/bench.h - what is measured, and how.
 *
 * A bench does its operation *ops times, or lowers *ops to how often it did,
 * and tells how long that took.  Rounds of all benches alternate, so that a
 * slow moment of the machine hits all of them alike; what is reported is the
 * median of the rounds, and the minimum.
 */
#ifndef WEFT_BENCH_BENCH_H
#define WEFT_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_ROUNDS_MAX 99

struct bench {
	const char *name;
	const char *what;		/* one operation, in words */
	const char *impl;		/* whose work it is */
	unsigned workers;		/* threads that take part */
	uint64_t ops;			/* in one round, at most */
	double limit;			/* multiple of floor-cas; 0: none */
	int (*run)(uint64_t *ops, int64_t *ns);	/* 0 or -errno */
};

struct bench_result {
	int err;			/* of the first round that failed */
	unsigned rounds;
	uint64_t ops;			/* in the last round */
	double ns[BENCH_ROUNDS_MAX];	/* per operation; sorted at the end */
	double total_ms;		/* of ops at the median */
	double cpu_ms;			/* all threads; mean of the rounds */
	long peak_rss_kb;		/* of the process, so far */
};

/* The floors: what the machine and the lowest rooms cost.  Ends with a NULL. */
extern const struct bench bench_floors[];

/*
 * Run n benches for rounds rounds each (1 to BENCH_ROUNDS_MAX), one result
 * each.  With progress, say on standard error how far it is.
 */
void bench_run(const struct bench *const *benches, size_t n, unsigned rounds,
	bool progress, struct bench_result *results);

static inline double bench_median(const struct bench_result *r)
{
	return r->ns[r->rounds / 2];
}

static inline double bench_min(const struct bench_result *r)
{
	return r->ns[0];
}

#endif
