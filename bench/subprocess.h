/* SPDX-License-Identifier: MIT */
/*
 * bench/subprocess.h - measure a round in a process of its own, so that its
 * memory is neither counted with nor left to later rounds.
 */
#ifndef WEFT_BENCH_SUBPROCESS_H
#define WEFT_BENCH_SUBPROCESS_H

#include "bench/bench.h"

/*
 * Call measure(b, s) in a child process and return its result.  -ENOMEM also if
 * the system killed the child, -ECHILD if it ended in another way.  The calling
 * thread must be the only one.
 */
int bench_subprocess(
	int (*measure)(const struct bench *b, struct bench_sample *s),
	const struct bench *b, struct bench_sample *s);

#endif
