/* SPDX-License-Identifier: MIT */
/*
 * bench/process.h - figures that the system has about this process.
 */
#ifndef WEFT_BENCH_PROCESS_H
#define WEFT_BENCH_PROCESS_H

#include <stddef.h>
#include <stdint.h>

/* Resident memory, and memory that the system could still give; 0: unknown. */
uint64_t bench_rss_bytes(void);
uint64_t bench_memory_left(void);

/* The number of its mappings; 0: unknown. */
uint64_t bench_mappings(void);

/*
 * The voluntary context switches of all threads but the caller, each for
 * itself, since a thread may have ended before the next reading.
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
 * How many there were between two readings.  A thread that has ended meanwhile
 * counts as one: it must have woken up for that.
 */
uint64_t bench_switches_between(const struct bench_switches *before,
	const struct bench_switches *after);

#endif
