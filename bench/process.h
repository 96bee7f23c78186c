/* SPDX-License-Identifier: MIT */
/*
 * bench/process.h - what the system knows about this process.
 */
#ifndef WEFT_BENCH_PROCESS_H
#define WEFT_BENCH_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* Resident memory, and what the system could still give; 0: unknown. */
uint64_t bench_rss_bytes(void);
uint64_t bench_memory_left(void);

/* How many mappings it has; 0: unknown. */
uint64_t bench_mappings(void);

/*
 * The voluntary context switches of all threads but the caller, one by one,
 * since a thread may have gone the next time.
 */
#define BENCH_THREADS_MAX 256

struct bench_switches {
	size_t n;
	struct {
		long tid;
		uint64_t switches;
	} of[BENCH_THREADS_MAX];
};

/* 0 or -errno. */
int bench_switches_read(struct bench_switches *s);

/*
 * How many there were between two readings.  A thread that has gone meanwhile
 * counts as one: it must have woken up for it.
 */
uint64_t bench_switches_between(const struct bench_switches *before,
	const struct bench_switches *after);

#endif
