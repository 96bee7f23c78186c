/* SPDX-License-Identifier: MIT */
/*
 * bench/floors.h - floors that need a runtime: a fiber alone, or two fibers, on
 * one worker (bench/floors_wait.c).
 */
#ifndef WEFT_BENCH_FLOORS_H
#define WEFT_BENCH_FLOORS_H

#include "bench/bench.h"

int bench_floor_mutex(uint64_t *ops, int64_t *ns);
int bench_floor_recv(uint64_t *ops, int64_t *ns);
int bench_floor_select(uint64_t *ops, int64_t *ns);
int bench_floor_recv_wait(uint64_t *ops, int64_t *ns);
int bench_floor_select_wait(uint64_t *ops, int64_t *ns);

#endif
