/* SPDX-License-Identifier: MIT */
/*
 * bench/subprocess.h - a round in a process of its own, so that the memory it takes
 * is neither counted with, nor left to, those that follow.
 */
#ifndef WEFT_BENCH_APART_H
#define WEFT_BENCH_APART_H

#include "bench/bench.h"

/*
 * What measure(b, s) says in a child process.  -ENOMEM also if the system
 * killed it, -ECHILD if it ended in another way.  No thread but the caller may
 * exist.
 */
int bench_apart(int (*measure)(const struct bench *b, struct bench_sample *s),
	const struct bench *b, struct bench_sample *s);

#endif
